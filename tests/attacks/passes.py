"""Simulated collaborations to which many passes of one person come, and give a false state: who follows them.

python -m tests.attacks.passes                    one seed of each kind
python -m tests.attacks.passes --seeds 20 --jobs 2
python -m tests.attacks.passes --earned 19 20 21  so many of 40 members that were in rounds turn liars instead

Honest members train; then the passes come all at once, were in no round, and give a state which they say came from
nowhere, or from the newest true one.  Those who are honest are killed one by one and come back, with empty disks as
well.  Addresses are of no account here: no peer weighs others by them (`docs/protocols/states.md`).
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np

from core.base.ids import PeerId
from core.swarm.words import orders
from core.swarm.words.progress import ProgressReport
from core.swarm.words.states import StateName
from tests.sim.checkers import Checker
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.disk import Disk, MemoryFile, ModelState
from tests.sim.swarm.liars import Lie
from tests.sim.swarm.settings import EPOCH_S, SwarmSettings
from tests.sim.swarm.swarm import Swarm, Volunteer, state_of
from tests.sim.world.links import LOCAL
from tests.sim.world.node import End, Node

LINEAGE: Final = b"\xff" * 32
FAR: Final = 10**6
SCHEDULE: Final = 1000
"""Epochs that the collaboration lasts."""
KINDS: Final = {"noise": FAR, "1e30": FAR, "end of the schedule": SCHEDULE}
"""What the false state is, and its epoch."""
EARLY: Final = 3
"""Epochs before the passes come: in the first minute nobody has earned a voice (`docs/protocols/states.md`)."""
HONEST: Final = (2, 8)
PASSES: Final = (3, 8, 40)
EARNED: Final = 40


@dataclass(frozen=True, slots=True)
class Job:
    """One world."""

    kind: str
    honest: int
    liars: int
    seed: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of it."""

    job: Job
    followed: int
    """Honest members that were to load a false state, or hold one."""
    epochs: int
    """Steps that honest members took since the liars came, of those the fewest."""
    kept: bool
    """Whether the backbone's newest copy is a true one."""


def false_state(swarm: Swarm, kind: str) -> tuple[StateName, MemoryFile]:
    """A state that every worker loads, and its file."""
    first, name = swarm.worker_settings.first_state(), StateName(KINDS[kind], LINEAGE)
    size = first.parameters.size
    noise = np.random.default_rng(swarm.world.seed).standard_normal(size).astype(np.float32)
    numbers = np.full_like(noise, 1e30) if kind == "1e30" else 3 * noise
    return name, MemoryFile(ModelState(name, numbers, np.zeros_like(numbers)).to_bytes(0))


def told(name: StateName, file: MemoryFile, others: Sequence[Volunteer]) -> Callable[[ProgressReport], ProgressReport]:
    """Reports of a false state, which is said to come from the newest one of these."""

    def tell(report: ProgressReport) -> ProgressReport:
        held = [one for volunteer in others if (one := state_of(volunteer)) and one.lineage != LINEAGE]
        mark = max(held).mark if held else b""
        false = {"epoch": name.epoch, "lineage": name.lineage, "digest": file.digest, "ancestors": mark}
        return msgspec.structs.replace(report, in_step=True, **false)

    return tell


class Watched(Checker):
    """What honest members are told to load, and hold.

    Args:
        epoch: From this one on a state is false, or follows from one that is.
    """

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch
        self.others: Sequence[Volunteer] = ()
        """They, once the liars come."""
        self.followed: set[PeerId] = set()

    def said(self, node: Node, output: Any, now: float) -> None:
        """Note who is to load a false state."""
        del now
        honest = any(node.peer == volunteer.peer for volunteer in self.others)
        if honest and isinstance(output, orders.Load) and output.name.epoch >= self._epoch:
            self.followed.add(node.peer)

    def look(self) -> None:
        """Note who holds a false state."""
        names = {volunteer.peer: state_of(volunteer) for volunteer in self.others}
        self.followed |= {peer for peer, name in names.items() if name is not None and name.epoch >= self._epoch}

    def fewest(self) -> int:
        """The lowest epoch that any of them holds."""
        names = [state_of(volunteer) for volunteer in self.others]
        return min((name.epoch if name is not None else 0) for name in names)


def settings_of(peers: int, live: int, kind: str) -> SwarmSettings:
    """A calm world that keeps copies, with a batch for those that are there before the passes come."""
    churn = ChurnSettings(live=(live, live), up_s=1e9, down_s=1.0, first_s=1.0)
    ends = kind == "end of the schedule"
    return SwarmSettings(
        peers=peers,
        epochs=SCHEDULE,
        epoch_s=EPOCH_S * live / peers,
        churn=churn,
        links=LOCAL,
        blank=0.0,
        copies=True,
        ends=ends,
        parameters=64,
    )


def come(swarm: Swarm, liars: Sequence[Volunteer], kind: str, others: Sequence[Volunteer]) -> None:
    """These begin to lie."""
    name, file = false_state(swarm, kind)
    for volunteer in liars:
        volunteer.lie = Lie(tells=told(name, file, others if volunteer.number % 2 else []), gives=file)
        volunteer.begin()


def passes(job: Job) -> Verdict:
    """Passes alone against honest members."""
    watched = Watched(KINDS[job.kind])
    swarm = Swarm(job.seed, settings_of(job.honest + job.liars, job.honest, job.kind), [watched])
    everybody = list(swarm.volunteers.values())
    swarm.world.run(50.0)
    others = [volunteer for volunteer in everybody if volunteer.node is not None]
    watched.others = others
    while (before := watched.fewest()) < EARLY:
        swarm.world.run(10.0)
    come(swarm, [volunteer for volunteer in everybody if volunteer not in others], job.kind, others)
    swarm.world.run(60.0)
    watched.look()
    for number, volunteer in enumerate(others[:3]):
        volunteer.end(End.CRASH)
        if number % 2:
            volunteer.disk = Disk()
        swarm.world.run(3.0 + 30.0 * (number % 2))
        volunteer.begin()
        swarm.world.run(40.0)
        watched.look()
    return verdict_of(job, swarm, watched, before)


def earned(job: Job) -> Verdict:
    """Some of those that were in rounds turn liars."""
    watched = Watched(KINDS[job.kind])
    swarm = Swarm(job.seed, settings_of(EARNED, EARNED, job.kind), [watched])
    everybody = list(swarm.volunteers.values())
    swarm.world.run(60.0)
    liars, others = everybody[: job.liars], everybody[job.liars :]
    watched.others = others
    before = watched.fewest()
    for volunteer in liars:
        volunteer.end(End.CRASH)
    come(swarm, liars, job.kind, others)
    swarm.world.run(90.0)
    watched.look()
    return verdict_of(job, swarm, watched, before)


def verdict_of(job: Job, swarm: Swarm, watched: Watched, before: int) -> Verdict:
    """What a world has come to."""
    kept, _ = swarm.backbone.disk.checkpoints[-1]
    return Verdict(job, len(watched.followed), watched.fewest() - before, kept.name.epoch < KINDS[job.kind])


def jobs(asked: argparse.Namespace) -> Iterator[Job]:
    """All worlds."""
    seeds = range(asked.seed, asked.seed + asked.seeds)
    for kind in asked.only or KINDS:
        if asked.earned:
            yield from (Job(kind, EARNED - liars, liars, seed) for liars in asked.earned for seed in seeds)
            continue
        for honest in HONEST:
            yield from (Job(kind, honest, liars, seed) for liars in asked.passes or PASSES for seed in seeds)


def main() -> int:
    """Print a line for each kind of world.

    Returns:
        0 when nobody followed passes alone; else 1.
    """
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seeds", type=int, default=1, help="of each kind")
    arguments.add_argument("--seed", type=int, default=1, help="the first")
    arguments.add_argument("--only", nargs="+", choices=[*KINDS])
    arguments.add_argument("--passes", nargs="+", type=int)
    arguments.add_argument("--earned", nargs="+", type=int)
    arguments.add_argument("--jobs", type=int, default=2)
    asked = arguments.parse_args()
    played, followed = earned if asked.earned else passes, 0
    with ProcessPoolExecutor(asked.jobs) as pool:
        for one in pool.map(played, jobs(asked)):
            job = one.job
            followed += bool(one.followed)
            sys.stdout.write(
                f"{job.kind:20} {job.liars:3} against {job.honest:3}, seed {job.seed:4}: {one.followed} followed, "
                f"{one.epochs} steps since, newest copy {'true' if one.kept else 'false'}\n"
            )
            sys.stdout.flush()
    return 1 if followed and not asked.earned else 0


if __name__ == "__main__":
    sys.exit(main())
