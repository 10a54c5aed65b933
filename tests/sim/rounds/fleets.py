"""Random fleets of volunteers' lines, and how near to its bound a round on each comes."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from random import Random

from core.averaging.balance.portions import best_portions
from core.averaging.balance.solver import round_seconds, share_chunks
from core.averaging.balance.traffic import Line, Work, fleet
from core.codecs.registry import CODECS
from tests.sim.rounds.fleet_plan import RoundTask
from tests.sim.rounds.network import NetworkSettings
from tests.sim.rounds.report import simulate_round

MEMBERS = (4, 64)
SLOWEST_BYTES_PER_S = 2.5e6 / 8
FASTEST_BYTES_PER_S = 1e9 / 8
"""Bounds of downloads: a slow line of copper, and a fast one of glass."""
SPREAD_MAX = 400.0
"""The fastest download of one fleet over its slowest, at most.  Where it is small many lines are full at once."""
ASYMMETRY_MAX = 16.0
"""A home line's download over its upload, at most."""
HELPER_BYTES_PER_S = (2e8 / 8, 2e9 / 8)
"""A rented server's line."""
CLIENTS_MAX = 0.4
HELPERS_MAX = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetVerdict:
    """How a round on one fleet went.  Times in seconds."""

    seed: int
    members: int
    clients: int
    helpers: int
    bound_s: float
    """Optimum where only the lines count, with chunks of any size, seconds."""
    whole_s: float
    """The same in whole chunks."""
    round_s: float
    ratio: float
    """`round_s` over `bound_s`."""
    finished: int
    same: bool
    relative_error: float
    messages: int
    busy: float
    """Greatest share of the round in which one direction of one line was carrying bulk."""

    def as_dict(self) -> dict[str, object]:
        """The verdict in a form for JSON."""
        return asdict(self)


def log_uniform(random: Random, least: float, most: float) -> float:
    """A number whose logarithm is uniform."""
    return math.exp(random.uniform(math.log(least), math.log(most)))


def drawn_fleet(seed: int) -> list[Line]:
    """The members' lines of fleet `seed`: 4 to 64, some in client mode, some helpers.

    Within a fleet, and over the fleets how far its lines lie apart and how asymmetric they are: all log-uniform.
    """
    random = Random(f"fleet {seed}")
    members = round(log_uniform(random, *MEMBERS))
    clients = random.uniform(0.0, CLIENTS_MAX)
    helpers = random.uniform(-HELPERS_MAX, HELPERS_MAX)
    asymmetry = log_uniform(random, 1.0, ASYMMETRY_MAX)
    spread = log_uniform(random, 1.0, SPREAD_MAX)
    slowest = log_uniform(random, SLOWEST_BYTES_PER_S, FASTEST_BYTES_PER_S / spread)
    lines = []
    for index in range(members):
        down = log_uniform(random, slowest, slowest * spread)
        up = down / log_uniform(random, 1.0, asymmetry)
        if random.random() < helpers and index > 1:
            rate = log_uniform(random, *HELPER_BYTES_PER_S)
            lines.append(Line(up_bytes_per_s=rate, down_bytes_per_s=rate, gives=False))
        else:
            client = random.random() < clients and index > 0
            lines.append(Line(up_bytes_per_s=up, down_bytes_per_s=down, reduces=not client))
    return lines


def fleet_round(seed: int, task: RoundTask, *, settings: NetworkSettings | None = None) -> FleetVerdict:
    """A round of the balance's plan on the fleet `seed`."""
    lines = drawn_fleet(seed)
    codec = CODECS[task.codec]
    number_bytes = codec.max_bytes(task.numel) / task.numel
    work = Work(numel=task.numel, number_bytes=number_bytes)
    members = fleet(lines, work)
    best = best_portions(members)
    chunks = share_chunks(members, best, total=task.chunk_total)
    task = with_time(task, best.seconds)
    report = simulate_round(lines, task, seed=seed, chunks=chunks, portions=best.portions, settings=settings)
    return FleetVerdict(
        seed=seed,
        members=len(lines),
        clients=sum(not line.reduces for line in lines),
        helpers=sum(not line.gives for line in lines),
        bound_s=round(best.seconds, 3),
        whole_s=round(round_seconds(members, chunks=chunks, portions=best.portions), 3),
        round_s=round(report.seconds, 3),
        ratio=round(report.seconds / best.seconds, 4),
        finished=report.finished,
        same=report.same,
        relative_error=report.relative_error,
        messages=report.messages,
        busy=round(max(busy_shares(lines, report.sent_bytes, report.received_bytes, seconds=report.seconds)), 4),
    )


def with_time(task: RoundTask, seconds: float) -> RoundTask:
    """The same task, with timeouts that a round of about `seconds` does not meet."""
    longest = min(3600.0, 60.0 + 20 * seconds)
    return replace(task, stall_timeout_s=longest, round_timeout_s=longest)


def busy_shares(
    lines: Sequence[Line], sent_bytes: Sequence[float], received_bytes: Sequence[float], *, seconds: float
) -> list[float]:
    """How much of the time each line was carrying bulk upwards, then downwards."""
    up = [sent / line.up_bytes_per_s / seconds for line, sent in zip(lines, sent_bytes, strict=True)]
    return up + [got / line.down_bytes_per_s / seconds for line, got in zip(lines, received_bytes, strict=True)]
