"""A fleet that nobody has told its lines: round after round its members measure, tell, doubt and plan."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from core.averaging.balance.portions import best_portions
from core.averaging.balance.traffic import Line, fleet
from core.averaging.bandwidth.book import LineBook
from core.averaging.bandwidth.demand import demand_of
from core.averaging.bandwidth.records import LineFacts, decode_facts, encode_facts
from core.averaging.matchmaking.attempts import by_distance
from core.averaging.matchmaking.division import work_of
from core.averaging.matchmaking.plans import PlanRequest, check_division, make_plan
from core.averaging.plan import Member, Plan
from core.base.ids import Key, PeerId, hashed_key
from core.base.manifest import AveragingNumbers
from core.base.meter import LOOK_S
from core.base.problems import RemoteProblem
from tests.sim.rounds.fleet_plan import RoundTask, vectors
from tests.sim.rounds.report import report_of
from tests.sim.rounds.run import Round

Tongue = Callable[[PeerId, LineFacts], LineFacts]
"""Replaces the facts that a peer should publish."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Figures of one round and of its plan."""

    seconds: float
    """How long it took."""
    predicted_s: float | None
    """Duration according to its plan, seconds."""
    bound_s: float
    """Duration of the best plan for the true lines, seconds."""
    refusals: tuple[str, ...]
    """Members' reasons to refuse the plan."""
    failed: tuple[PeerId, ...]
    """Members that did not end the round."""
    plan: Plan

    @property
    def ratio(self) -> float:
        """How much longer than need be."""
        return self.seconds / self.bound_s


def honest(peer: PeerId, facts: LineFacts) -> LineFacts:
    """Publishes the facts that the peer knows."""
    del peer
    return facts


class Learning:
    """A fleet and its members' books of bandwidths.

    Args:
        lines: The true lines; they may be changed between rounds.
        task: The vector to average; not scaled, for the plan goes by the vector's true size.
        seed: Decides names and leaders.
        tongue: Facts that members publish.
        overrun: Duration of rounds in units of the time that their bytes need: processors and beginnings cost time as
            well.
    """

    def __init__(
        self, lines: Sequence[Line], task: RoundTask, *, seed: int, tongue: Tongue = honest, overrun: float = 1.0
    ) -> None:
        self.lines = list(lines)
        self.peers = sorted(PeerId(hashed_key(b"learner", bytes([seed % 256, index]))) for index in range(len(lines)))
        self.books = {peer: LineBook(peer) for peer in self.peers}
        self._task = task
        self.tongue = tongue
        self._overrun = overrun
        self._random = Random(seed)
        self._now = 0.0
        self._number = 0

    def round(self) -> Lesson:
        """Plan, verify and average one round, and learn from it."""
        self._number += 1
        leader = self._random.choice(self.peers)
        plan = self._plan(leader)
        refusals = [said for peer in self.peers if peer != leader and (said := self._refusal(peer, plan))]
        going = _Watched(self, plan, self.lines, self._task, contributions=vectors(plan, self._number))
        for book in self.books.values():
            book.begun(plan, 0.0)
        going.agenda.at(0.0, self._look, going)
        going.run()
        report = report_of(going)
        for peer, outcome, ended_s in zip(self.peers, report.outcomes, report.ended_s, strict=True):
            if outcome is not None:
                seen = replace(outcome, seconds=outcome.seconds * self._overrun)
                self.books[peer].finished(plan, seen, report.seconds * self._overrun)
            elif ended_s is not None:
                self.books[peer].failed(plan, ended_s * self._overrun)
        self._now += report.seconds + 10.0
        self._tell()
        best = best_portions(fleet(self.lines, work_of(plan.numel, plan.codec)))
        return Lesson(
            seconds=report.seconds,
            predicted_s=demand_of(plan).seconds,
            bound_s=best.seconds,
            refusals=tuple(refusals),
            failed=tuple(peer for peer, outcome in zip(self.peers, report.outcomes, strict=True) if outcome is None),
            plan=plan,
        )

    def rounds(self, count: int) -> list[Lesson]:
        """Run `count` rounds, one after the other."""
        return [self.round() for _ in range(count)]

    def _plan(self, leader: PeerId) -> Plan:
        members = [
            Member(peer, int(line.gives), 1.0, line.reduces, line.receives)
            for peer, line in zip(self.peers, self.lines, strict=True)
        ]
        task = self._task
        numbers = AveragingNumbers(
            codec=task.codec,
            chunk_numel=task.chunk_numel,
            stall_timeout_s=task.stall_timeout_s,
            round_timeout_s=task.round_timeout_s,
        )
        request = PlanRequest(
            round=hashed_key(b"lesson", self._number.to_bytes(4, "big")),
            epoch=self._number,
            lineage=bytes(32),
            numel=task.numel,
            numbers=numbers,
        )
        others = by_distance((peer for peer in self.peers if peer != leader), Key(bytes(32)))
        return make_plan(request, members, [leader, *others], known=self.books[leader].known(self.peers))

    def _refusal(self, peer: PeerId, plan: Plan) -> str | None:
        book = self.books[peer]
        try:
            check_division(plan, peer, book)
        except RemoteProblem as problem:
            return str(problem)
        return None

    def _look(self, going: Round) -> None:
        for index, peer in enumerate(self.peers):
            now = self._now + going.agenda.now
            self.books[peer].own.meter.look(now, going.network.glances(index, self.peers))
        if any(end is None for end in going.ends):
            going.agenda.after(LOOK_S, self._look, going)

    def _tell(self) -> None:
        for peer in self.peers:
            facts = decode_facts(encode_facts(self.tongue(peer, self.books[peer].facts())))
            for other, book in self.books.items():
                if other != peer:
                    book.heard(peer, facts)


class _Watched(Round):
    """A round whose members note for which peers they wait."""

    def __init__(self, learning: Learning, *plan: Any, **options: Any) -> None:
        super().__init__(*plan, **options)
        self._books = list(learning.books.values())
        self._at: tuple[PeerId, Any] | None = None

    def _deliver(self, sender: int, receiver: int, message: Any) -> None:
        self._at = (self.plan.peers[sender], message)
        super()._deliver(sender, receiver, message)
        self._at = None

    def _apply(self, member: int, outputs: Sequence[Any]) -> None:
        if self._at is not None:
            self._books[member].saw(*self._at, outputs, self.agenda.now)
        super()._apply(member, outputs)
