"""`python -m tests.sim shards`: a swarm reads a data set and shares its shards; how often does the origin give each?"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from statistics import median
from typing import Final

from core.base.problems import BadInput
from core.system.progress_bar import ProgressBar
from tests.sim.shards.swarm import ShardSwarm, ShardSwarmSettings
from tests.sim.stays import Replaced, read_pattern

STEP_S: Final = 300.0
NEWCOMERS: Final = 7
"""One for each kind of home line."""
WANTED: Final = 10
"""Number of shards that a newcomer wants at once."""
NEWCOMER_S: Final = 600.0
ORIGIN_MOST: Final = 2.0
RAREST_LEAST: Final = 3
SLOWER_MOST: Final = 1.5
EXIT_FAILED: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardsReport:
    """What came of one swarm, and of newcomers."""

    seed: int
    without: str
    origin: float
    """How often the origin gave the data set."""
    unshared: float
    """How often it would have without sharing."""
    seeded_s: float | None
    """When each shard had three holders; None: never."""
    rarest: int
    """The fewest holders of any shard after that."""
    kept: int
    """Number of shards that somebody held at the end."""
    slower: float
    """A newcomer's time for its first shards from a swarm that holds all, over that of its own line: the median."""
    slower_most: float
    """The same: the slowest newcomer."""
    hours: float
    replaced: int
    """Number of peers that went, each followed by a new one."""
    directory_bytes_s: float
    """What each peer reads and writes in the DHT, bytes a second, without what the DHT adds."""
    messages: int
    wall_s: float

    @property
    def holds(self) -> bool:
        """Whether the swarm does what it is there for."""
        return self.origin < ORIGIN_MOST and self.rarest >= RAREST_LEAST and self.slower_most <= SLOWER_MOST


def run(args: argparse.Namespace) -> int:
    """Run swarms.

    Args:
        args: seeds (how many), seed (the first), peers, shards, disk (share), hours, churn, seeder (minutes),
            without, json.

    Returns:
        0 if the origin was spared, no shard became rare and newcomers were quick, 1 otherwise.

    Raises:
        BadInput: there is no such churn here.
    """
    pattern = read_pattern(args.churn) if args.churn else None
    if isinstance(pattern, Replaced):
        raise BadInput("Here peers are not replaced by share.", hint="Give s000, s003 or a file of stays.")
    settings = ShardSwarmSettings(
        peers=args.peers,
        shards=args.shards,
        disk=args.disk,
        stays=pattern.stays if pattern else None,
        seeder_s=None if args.seeder is None else 60.0 * args.seeder,
        without=args.without,
    )
    bar = ProgressBar(json=args.json)
    held = True
    for seed in range(args.seed, args.seed + args.seeds):
        report = simulate(settings, seed, hours=args.hours, bar=bar)
        bar.clear()
        held = held and report.holds
        sys.stdout.write((json.dumps(asdict(report)) if args.json else _row(report)) + "\n")
        sys.stdout.flush()
    return 0 if held else EXIT_FAILED


def simulate(settings: ShardSwarmSettings, seed: int, *, hours: float, bar: ProgressBar) -> ShardsReport:
    """One swarm that reads the data set once, and newcomers to one that holds it.

    Args:
        settings: The swarm's numbers.
        seed: Decides everything.
        hours: The longest that the swarm may take.
        bar: Shows how far it is.
    """
    began = time.perf_counter()
    swarm = ShardSwarm(settings, seed=seed)
    while swarm.world.elapsed_s < hours * 3600.0 and len(swarm.finished) + swarm.gone < settings.peers:
        swarm.world.run(STEP_S)
        bar.show(swarm.world.elapsed_s / (hours * 3600.0), f"seed {seed}")
    seeded_s = next((at for at, fewest in swarm.rarest if fewest >= RAREST_LEAST), None)
    after = [fewest for at, fewest in swarm.rarest if seeded_s is not None and at >= seeded_s]
    slower = newcomers(settings, seed)
    readers = [*swarm.readers.values()]
    return ShardsReport(
        seed=seed,
        without=settings.without,
        origin=round(swarm.origin_shards / settings.shards, 3),
        unshared=round(sum(settings.shards - len(reader.left) for reader in readers) / settings.shards, 1),
        seeded_s=seeded_s,
        rarest=min(after, default=0),
        kept=swarm.kept,
        slower=round(median(slower), 2),
        slower_most=round(max(slower), 2),
        hours=round(swarm.world.elapsed_s / 3600.0, 2),
        replaced=swarm.gone,
        directory_bytes_s=round(swarm.directory_bytes / swarm.world.elapsed_s / settings.peers, 1),
        messages=swarm.world.messages,
        wall_s=round(time.perf_counter() - began, 1),
    )


def newcomers(settings: ShardSwarmSettings, seed: int) -> list[float]:
    """How much longer newcomers take for `WANTED` shards of 16 MiB than their own lines would.

    Args:
        settings: Of the swarm that holds them.
        seed: Decides everything.
    """
    seeded = ShardSwarmSettings(
        peers=settings.peers,
        shards=settings.shards,
        disk=settings.disk,
        without=settings.without,
        chunks=64,
        seeded=True,
    )
    swarm = ShardSwarm(seeded, seed=seed)
    swarm.world.run(30.0)
    slower: list[float] = []
    for _ in range(NEWCOMERS):
        reader, ideal_s = swarm.newcomer(WANTED)
        swarm.world.run(NEWCOMER_S)
        took_s = reader.times[-1] if len(reader.times) == WANTED else NEWCOMER_S
        slower.append(took_s / ideal_s)
    return slower


def _row(report: ShardsReport) -> str:
    without = f" without {report.without}" if report.without else ""
    seeded = "never seeded" if report.seeded_s is None else f"seeded after {report.seeded_s / 60:.0f} min"
    return (
        f"seed {report.seed}{without}: the origin gave the data set {report.origin:.2f} times "
        f"({report.unshared:.0f} without sharing); {seeded}, then no shard had fewer than {report.rarest} holders, "
        f"and {report.kept} had any at the end; "
        f"{WANTED} shards took {report.slower:.2f} times their line's time (at most {report.slower_most:.2f})"
    )
