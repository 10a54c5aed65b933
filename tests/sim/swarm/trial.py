"""One world from its seed to its verdict."""

from dataclasses import asdict, dataclass

from tests.sim.checkers import CheckFailed
from tests.sim.moments import Moment, MomentWatch
from tests.sim.swarm.checkers import (
    BoundedMemory,
    EpochsEnd,
    OneOutcome,
    ReceiptsAgree,
    WholeMeans,
    all_agree,
    all_finished,
    last_plan,
)
from tests.sim.swarm.coverage import Coverage
from tests.sim.swarm.sample_checkers import EachSampleOnce
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.state_checkers import CatchesUp, History, NeverBack, SameNameSameState
from tests.sim.swarm.swarm import Swarm

SETTLE_S = 150.0
"""Once nothing goes wrong any more, all agree within this time."""
TRIAL_S = 4 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldVerdict:
    """Result of one world, and its figures."""

    seed: int
    ok: bool
    problem: str
    """The violated rule; empty when all is well."""
    at_s: float
    """Simulated seconds from the beginning to the end, or to the problem."""
    drawn: dict[str, object]
    """What the seed has drawn, where that is not the plainest."""
    epochs: int
    """The greatest epoch that a volunteer held."""
    rounds: dict[str, int]
    """Number of committed rounds, and how many of them were of which kind."""
    agreed_s: float
    """How long it took until all agreed, once nothing went wrong any more."""
    slowest_epoch_s: float
    lost: dict[str, int]
    """Number of members that left a round without the mean, by reason."""
    truncated: int
    """Rounds whose record says that parts are missing."""
    receipts: int
    """All that members hold; each has been checked."""
    signatures: int
    """On all of them."""
    comings: int
    goings: int
    partitions: int
    messages: int
    events: int
    node_bytes: int
    """The most that one machine held in memory."""
    digest: str

    def as_dict(self) -> dict[str, object]:
        """The verdict in a form for JSON."""
        return asdict(self)


class Trial:
    """Runs the world of one seed under all checkers.

    Args:
        settings: The world; None: the one that the seed draws.
        delayed: Whether computing goes on, in a drawn world, while a round is averaged.
    """

    def __init__(
        self, seed: int, *, peers: int, epochs: int, settings: SwarmSettings | None = None, delayed: bool = False
    ) -> None:
        self.seed = seed
        drawn = settings or SwarmSettings.drawn(seed, peers=peers, epochs=epochs, delayed=delayed)
        self.swarm = Swarm(seed, drawn)
        self._epochs = epochs if settings else drawn.epochs
        self._coverage = Coverage(self.swarm.liars)
        self._means = WholeMeans(self.swarm, last_plan)
        self._ends = EpochsEnd(self.swarm)
        self._history = History()
        self._receipts = ReceiptsAgree(self.swarm.splitters, last_plan)
        self._memory = BoundedMemory(self.swarm)
        self._watch = MomentWatch(
            self.swarm.world, lambda: best.epoch if (best := self.swarm.best()) is not None else 0
        )
        self.swarm.world.checkers += [
            self._history,
            NeverBack(self._history),
            SameNameSameState(),
            EachSampleOnce(),
            self._means,
            OneOutcome(self.swarm.splitters, last_plan),
            self._receipts,
            self._ends,
            CatchesUp(self.swarm, self._history),
            self._coverage,
            self._memory,
            self._watch,
        ]
        self._agreed_s = 0.0

    @property
    def moments(self) -> list[Moment]:
        """How the world stood, second by second."""
        return self._watch.moments

    def run(self) -> WorldVerdict:
        """The whole world, to its end or to the first violation."""
        problem, at_s = "", None
        try:
            self._run()
        except CheckFailed as failed:
            problem, at_s = failed.text, failed.time
        swarm, world = self.swarm, self.swarm.world
        best = swarm.best()
        return WorldVerdict(
            seed=self.seed,
            ok=not problem,
            problem=problem,
            at_s=round(world.elapsed_s if at_s is None else at_s, 3),
            drawn=swarm.settings.drawn_fields,
            epochs=best.epoch if best is not None else 0,
            rounds=dict(sorted(self._coverage.rounds.items())),
            agreed_s=self._agreed_s,
            slowest_epoch_s=round(self._ends.slowest_s, 1),
            lost=dict(sorted(self._ends.lost.items())),
            truncated=self._means.truncated,
            receipts=self._receipts.kept,
            signatures=self._receipts.signatures,
            comings=swarm.churn.comings,
            goings=sum(swarm.churn.goings.values()),
            partitions=swarm.partitions,
            messages=world.messages,
            events=world.agenda.happened,
            node_bytes=self._memory.largest_bytes,
            digest=world.digest.hex(),
        )

    def _run(self) -> None:
        world = self.swarm.world
        while (best := self.swarm.best()) is None or best.epoch < self._epochs:
            world.run(1.0)
            if world.elapsed_s > TRIAL_S:
                raise CheckFailed(self.seed, world.elapsed_s, f"no end after {TRIAL_S:.0f} s")
        self.swarm.settle()
        while not self._settled():
            if self._agreed_s > SETTLE_S:
                raise CheckFailed(self.seed, world.elapsed_s, "all is calm, and the volunteers do not agree")
            world.run(1.0)
            self._agreed_s += 1.0

    def _settled(self) -> bool:
        return all_agree(self.swarm) and (not self.swarm.settings.ends or all_finished(self.swarm))
