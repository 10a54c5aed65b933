"""Series of rounds with members that hold up the others, out of malice or bad luck; and what each mechanism saves.

The members of a series remember each other from round to round, as peers do.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random
from statistics import mean
from typing import Any, Final

import msgspec
import numpy as np

from core.averaging import failure_detector
from core.averaging.allreduce import lane
from core.averaging.balance.traffic import Line
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.matchmaking.division import divide
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.penalties import Penalties
from core.averaging.plan import Plan, Rates
from core.codecs.registry import codec_of
from tests.sim.rounds import hostile
from tests.sim.rounds.fleet_plan import RoundTask, fleet_plan, vectors
from tests.sim.rounds.run import Cut, Death, DeathWay, Freeze, Mishap, Round

BYTES_PER_S: Final = 50_000.0
"""Up; down twice as much."""
TASK: Final = RoundTask(numel=32_000, chunk_numel=256, round_timeout_s=60.0, stall_timeout_s=6.0)
"""A round takes about four seconds."""
MEMBERS: Final = 5
ROUNDS: Final = 12
PAUSE_S: Final = 12.0
"""Between two rounds."""


class Mechanism(StrEnum):
    """What keeps a member from holding up the others; each can be switched off to see what it saves."""

    DEADLINES = "deadlines"
    """The timetable of `failure_detector`."""
    SILENCE = "silence"
    """Giving up members of which nothing comes."""
    REPAIR = "repair"
    """Asking other members for means."""
    PATIENCE = "patience"
    """Waiting for a member no longer than it has earned, and for strangers least (`core.averaging.patience`)."""
    IGNORED_VOTES = "ignored votes"
    """Beginning nothing anew in the next rounds for a member that voted for other means."""
    NO_SHARES = "no shares"
    """Giving no share in the next rounds to members that are bad reducers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What goes wrong in each round of a series."""

    name: str
    kind: Callable[[Random], hostile.Kind] | None = None
    """Kind of the last member; None: all are honest."""
    leads: bool = False
    """The hostile member is a leader like the others."""
    lines: Callable[[int], Sequence[Line]] | None = None
    """The members' lines in round number n, where plans know others."""
    mishaps: Callable[[Random], Sequence[Mishap]] | None = None
    """What happens to honest members in a round."""
    late_part: float = 0.0
    """Share of the messages that come 0.5 to 2 s late."""


def line(part: float = 1.0) -> Line:
    """The usual line, or a part of it."""
    return Line(up_bytes_per_s=BYTES_PER_S * part, down_bytes_per_s=2 * BYTES_PER_S * part)


def _always(kind: hostile.Kind) -> Callable[[Random], hostile.Kind]:
    return lambda _: kind


def _death(way: DeathWay) -> Callable[[Random], Sequence[Mishap]]:
    def mishaps(random: Random) -> Sequence[Mishap]:
        death = Death(member=random.randrange(MEMBERS), at_s=random.uniform(0.2, 4.0), way=way)
        return [death] if random.random() < 0.5 else []

    return mishaps


def _freeze(seconds: float) -> Callable[[Random], Sequence[Mishap]]:
    def mishaps(random: Random) -> Sequence[Mishap]:
        freeze = Freeze(member=random.randrange(MEMBERS), at_s=random.uniform(0.3, 3.5), seconds=seconds)
        return [freeze] if random.random() < 0.7 else []

    return mishaps


def _cut(random: Random) -> Sequence[Mishap]:
    first, second = random.sample(range(MEMBERS), 2)
    return [Cut(first=first, second=second, at_s=random.uniform(0.2, 3.5))]


def _one_slow(number: int) -> list[Line]:
    return [line(0.2 if member == MEMBERS - 1 and number in {4, 5, 6} else 1.0) for member in range(MEMBERS)]


SCENARIOS: Final = (
    Scenario(name="all honest"),
    Scenario(name="gives no part and no mean", kind=_always(hostile.mute)),
    Scenario(name="parts in 20 s", kind=_always(hostile.slow_parts(20.0))),
    Scenario(name="parts in 100 s", kind=_always(hostile.slow_parts(100.0))),
    Scenario(name="means in 20 s", kind=_always(hostile.slow_means(20.0))),
    Scenario(name="means in 100 s", kind=_always(hostile.slow_means(100.0))),
    Scenario(name="starves one, 40 s", kind=_always(hostile.starves(0, seconds=40.0, last=0.4))),
    Scenario(name="starves one for ever", kind=_always(hostile.starves(0, seconds=1e4, last=0.4))),
    Scenario(name="always lacks means", kind=_always(hostile.always_lacks)),
    Scenario(name="complains of all", kind=_always(hostile.Complains)),
    Scenario(name="slanders a reducer", kind=hostile.slanders),
    Scenario(name="gives one another mean", kind=hostile.cheats),
    Scenario(name="leads, never commits", kind=_always(hostile.never_commits), leads=True),
    Scenario(name="a line at 1/5 in 3 of 12", lines=_one_slow),
    Scenario(name="all lines at 0.6", lines=lambda _: [line(0.6)] * MEMBERS),
    Scenario(name="one freezes for 4 s", mishaps=_freeze(4.0)),
    Scenario(name="one freezes for 10 s", mishaps=_freeze(10.0)),
    Scenario(name="one crashes", mishaps=_death(DeathWay.CRASH)),
    Scenario(name="one power cut", mishaps=_death(DeathWay.POWER_CUT)),
    Scenario(name="a link is cut", mishaps=_cut),
    Scenario(name="3 % of messages late", late_part=0.03),
)


@dataclass(frozen=True, slots=True)
class RoundResult:
    """What became of one round, for its honest members that lived."""

    plan: Plan
    seconds: float
    """Until the last of them had ended."""
    outcomes: tuple[Outcome, ...]
    """Outcomes of those that finished."""
    reasons: tuple[str, ...]
    """Reasons of those that did not."""
    lost: float
    """Part of the vector that the mean lacks of an honest member, of the one of which it lacks the most."""
    same: bool
    """Those that finished hold the same mean, bit for bit."""


@dataclass
class Series:
    """Rounds one after the other among the same members, whose leaders plan by what they remember.

    Args:
        count: Number of members.
        kind: Makes the machine at `place` hostile; None: all are honest.
        place: The hostile member's.
        accomplices: Members that are hostile in the same way.
        lines: The members'; empty: the usual ones.
        rates: What plans take the members' lines for; None: what they are.
        seed: Decides the members' keys and the mishaps.
        without: What members do not remember.
    """

    count: int
    kind: hostile.Kind | None = None
    place: int = 0
    accomplices: frozenset[int] = frozenset()
    lines: Sequence[Line] = ()
    rates: Sequence[Rates] | None = None
    seed: int = 0
    without: frozenset[Mechanism] = frozenset()
    task: RoundTask = TASK
    results: list[RoundResult] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lines = self.lines or [line()] * self.count
        self.random = Random(self.seed)
        self.now = 1000.0
        self.peers = self._bare_plan().peers
        self.ledgers = {p: Penalties(p, round_timeout_s=self.task.round_timeout_s) for p in self.peers}

    @property
    def honest(self) -> list[int]:
        """Places of the members that keep to the protocol; all of them where no kind is given."""
        return [member for member in range(self.count) if self.kind is None or member not in self._hostile]

    def plan(self, leader: int) -> Plan:
        """The next round's, as `leader` makes it."""
        bare = self._bare_plan()
        ledger = self.ledgers[self.peers[leader]]
        spares = Mechanism.NO_SHARES not in self.without
        members = tuple(ledger.without_excluded(bare.members, self.now)) if spares else bare.members
        rates = tuple(self.rates) if self.rates is not None else bare.lines
        bare = msgspec.structs.replace(bare, members=members, lines=rates)
        chunks, portions = divide(bare)
        order = (leader, *(member for member in range(self.count) if member != leader))
        number = len(self.results).to_bytes(32, "big")
        return msgspec.structs.replace(bare, round=number, chunks=chunks, portions=portions, leaders=order)

    def round(self, leader: int, scenario: Scenario = SCENARIOS[0]) -> RoundResult:
        """Plays one round under `leader`; what its members learn holds in the next one."""
        plan, number = self.plan(leader), len(self.results)
        lines = self.lines if scenario.lines is None else scenario.lines(number)
        round_ = Round(plan, lines, self.task, contributions=vectors(plan, number + 1), machine=self._machine)
        if scenario.late_part:
            late = scenario.late_part
            round_.late_s = lambda: self.random.uniform(0.5, 2.0) if self.random.random() < late else 0.0
        mishaps = [] if scenario.mishaps is None else scenario.mishaps(self.random)
        round_.run(mishaps)
        result = self._learn(plan, round_)
        self.results.append(result)
        self.now += PAUSE_S
        return result

    def rounds(self, number: int, scenario: Scenario = SCENARIOS[0]) -> list[float]:
        """Let rounds happen, each led by the next member; how long they took, in seconds."""
        leaders = range(self.count) if scenario.leads else self.honest
        return [self.round(leaders[index % len(leaders)], scenario).seconds for index in range(number)]

    # --- inside ---

    @property
    def _hostile(self) -> frozenset[int]:
        return self.accomplices | {self.place}

    def _bare_plan(self) -> Plan:
        shares = [self.task.chunk_total, *[0] * (self.count - 1)]
        return fleet_plan(self.lines, self.task, seed=self.seed, chunks=shares)

    def _machine(self, plan: Plan, member: int, round_: Round) -> Any:
        peer = self.peers[member]
        remembered = self.ledgers[peer].remembered(self.peers, self.now)
        if Mechanism.IGNORED_VOTES in self.without:
            remembered = replace(remembered, vote_ignored=frozenset())
        given, mean = round_.contributions[member], round_.results[member]
        work = RoundInput(given, mean, codec_of(plan.codec), remembered=remembered)
        machine = Butterfly(peer, plan, work, trace=round_.traces[member])
        return self.kind(machine, self) if self.kind is not None and member in self._hostile else machine

    def _learn(self, plan: Plan, round_: Round) -> RoundResult:
        alive = [member for member in self.honest if member not in round_.dead]
        honest, lost = {self.peers[member] for member in alive}, 0
        outcomes, reasons, rows = [], [], set()
        for member in alive:
            end, ledger = round_.ends[member], self.ledgers[self.peers[member]]
            if isinstance(end, RoundFinished):
                outcomes.append(end.outcome)
                rows.add(np.asarray(round_.results[member]).tobytes())
                leader = round_.machines[member].leader
                ledger.committed(plan, end.outcome.versions, leader, self.now, seen=end.outcome.seen)
                if Mechanism.PATIENCE not in self.without:
                    ended_at, me = self.now + end.outcome.seconds, self.peers[member]
                    ledger.patience.committed(plan, end.outcome, ended_at, me=me)
                lost = max(lost, sum(chunks for peer, chunks in end.outcome.missing if peer in honest))
            else:
                suspects = end.suspects if isinstance(end, RoundFailed) else ()
                reasons.append(end.reason if isinstance(end, RoundFailed) else "it never ended")
                ledger.failed(plan, suspects, self.now)
        seconds = max((round_.ended_s[member] or plan.round_timeout_s for member in alive), default=0.0)
        return RoundResult(plan, seconds, tuple(outcomes), tuple(reasons), lost / plan.chunk_total, len(rows) <= 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesReport:
    """What became of one scenario's series."""

    scenario: str
    seed: int
    seconds: float
    """Mean over the rounds in which all honest members finished."""
    worst_s: float
    failed: int
    """Number of rounds that some honest member did not finish."""
    lost: float
    """See `RoundResult.lost`; the mean over all rounds."""
    split: int
    """Number of rounds after which honest members held different means: must be 0."""


def run_scenario(
    scenario: Scenario, seed: int, *, without: frozenset[Mechanism] = frozenset(), task: RoundTask = TASK
) -> SeriesReport:
    """One series of `ROUNDS` rounds among `MEMBERS` members.

    Args:
        scenario: What goes wrong.
        seed: Decides what happens when.
        without: Mechanisms that are switched off.
        task: What is averaged.
    """
    kind = None if scenario.kind is None else scenario.kind(Random(seed))
    series = Series(MEMBERS, kind, place=MEMBERS - 1, seed=seed, without=without, task=task)
    with switched_off(without):
        series.rounds(ROUNDS, scenario)
    whole = [result.seconds for result in series.results if not result.reasons]
    return SeriesReport(
        scenario=scenario.name,
        seed=seed,
        seconds=mean(whole) if whole else 0.0,
        worst_s=max(result.seconds for result in series.results),
        failed=ROUNDS - len(whole),
        lost=mean(result.lost for result in series.results),
        split=sum(not result.same for result in series.results),
    )


@contextlib.contextmanager
def switched_off(mechanisms: frozenset[Mechanism]) -> Iterator[None]:
    """Run without these mechanisms; what members remember is the series' to leave out."""
    never: Callable[..., float] = lambda *_: 1e18  # noqa: E731
    changes: dict[Mechanism, tuple[object, str, object]] = {
        Mechanism.DEADLINES: (failure_detector.Timetable, "due_at", never),
        Mechanism.SILENCE: (failure_detector.FailureDetector, "_silent_at", never),
        Mechanism.REPAIR: (lane.Lane, "ask", lambda *_: None),
    }
    saved = []
    for owner, name, value in (changes[mechanism] for mechanism in mechanisms if mechanism in changes):
        saved.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in reversed(saved):
            setattr(owner, name, value)
