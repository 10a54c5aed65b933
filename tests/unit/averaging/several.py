"""Rounds one after the other among the same members, who remember each other; one of them may be a nuisance."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec
import numpy as np

from core.averaging.allreduce.butterfly import Butterfly
from core.averaging.balance.fleet import Line
from core.averaging.matchmaking.division import divide, work_of
from core.averaging.outcome import RoundFinished
from core.averaging.penalties.ledger import Reputation
from core.averaging.plan import Plan, Rates
from core.base.ids import PeerId
from core.base.machine import Send, earliest
from core.sim.rounds.fleet_plan import RoundTask, fleet_plan, vectors
from core.sim.rounds.run import Round
from tests.unit.averaging.liars import Liar

BYTES_PER_S = 50_000.0
TASK = {"numel": 32_000, "chunk_numel": 256, "round_timeout_s": 60.0, "stall_timeout_s": 6.0}
"""A round takes about four seconds."""
Nuisance = Callable[[Butterfly, "Several"], Liar]


@dataclass
class Several:
    """Members on lines of their own, whose leaders make plans by what they hold against others.

    Args:
        count: How many they are.
        nuisance: Makes something worse of one member's machine, by its place; None: all are honest.
        place: That member's.
        rates: What plans take the members' lines for; None: what they are.
    """

    count: int
    nuisance: Nuisance | None = None
    place: int = 0
    lines: list[Line] = field(default_factory=list)
    rates: list[Rates] | None = None
    seed: int = 0
    task: RoundTask = field(default_factory=lambda: RoundTask(**TASK))

    def __post_init__(self) -> None:
        self.lines = self.lines or [Line(up_bytes_per_s=BYTES_PER_S, down_bytes_per_s=2 * BYTES_PER_S)] * self.count
        self.random = Random(self.seed)
        self.now = 1000.0
        self.peers = self._bare_plan().peers
        self.held = {p: Reputation(p, round_timeout_s=self.task.round_timeout_s) for p in self.peers}
        self.going: Round | None = None
        self.plans: list[Plan] = []
        self.missing: list[dict[PeerId, int]] = []

    def _bare_plan(self) -> Plan:
        shares = [self.task.chunk_total, *[0] * (self.count - 1)]
        return fleet_plan(self.lines, self.task, seed=self.seed, chunks=shares, paced=False)

    @property
    def outcast(self) -> PeerId:
        """The nuisance."""
        return self.peers[self.place]

    def plan(self, leader: int) -> Plan:
        """As `leader` makes it."""
        bare = self._bare_plan()
        members = tuple(self.held[self.peers[leader]].without_excluded(bare.members, self.now))
        rates = tuple(self.rates) if self.rates is not None else bare.lines
        chunks, gifts = divide(members, rates, chunks=bare.chunk_total, work=work_of(bare.numel, bare.codec))
        order = (leader, *(m for m in range(self.count) if m != leader))
        round_ = len(self.plans).to_bytes(32, "big")
        return msgspec.structs.replace(
            bare, round=round_, members=members, lines=rates, chunks=chunks, gifts=gifts, leaders=order
        )

    def round(self, leader: int) -> float:
        """One round; how long it took the honest ones, in seconds."""
        plan = self.plan(leader)
        self.plans.append(plan)
        self.going = going = Round(plan, self.lines, self.task, contributions=vectors(plan, len(self.plans)))
        for member, peer in enumerate(self.peers):
            machine = Butterfly(
                peer,
                plan,
                contribution=going.contributions[member],
                result=going.results[member],
                trace=going.traces[member],
                remembered=self.held[peer].remembered(self.peers),
            )
            going.machines[member] = machine
            if self.nuisance is not None and member == self.place:
                going.machines[member] = self.nuisance(machine, self)  # type: ignore[assignment]
        going.run()
        honest = [m for m in range(self.count) if self.nuisance is None or m != self.place]
        rows = set()
        for member in honest:
            end = going.ends[member]
            assert isinstance(end, RoundFinished), end
            rows.add(np.asarray(going.results[member]).tobytes())
            self.held[self.peers[member]].committed(
                plan, end.outcome.versions, going.machines[member].leader, self.now, seen=end.outcome.seen
            )
            self.missing.append(dict(end.outcome.missing))
        assert len(rows) == 1
        self.now += 600.0
        return max(going.ended_s[member] or 0.0 for member in honest)

    def rounds(self, number: int) -> list[float]:
        """So many, each led by another of the honest ones; how long they took."""
        honest = [m for m in range(self.count) if self.nuisance is None or m != self.place]
        return [self.round(honest[index % len(honest)]) for index in range(number)]


class Trickle(Liar):
    """Lets the words of some kinds leave one by one, so many seconds apart."""

    def __init__(self, machine: Butterfly, *kinds: type, each_s: float) -> None:
        super().__init__(machine)
        self._kinds = kinds
        self._each_s = each_s
        self._kept: list[Send[Any]] = []
        self._next_at = 0.0

    @property
    def deadline(self) -> float | None:
        return earliest(self.machine.deadline, self._next_at if self._kept else None)

    def _twisted(self, outputs: list[Any], now: float) -> list[Any]:
        said: list[Any] = []
        for output in outputs:
            kept = isinstance(output, Send) and self._keeps(output)
            (self._kept if kept else said).append(output)
        while self._kept and now >= self._next_at:
            said.append(self._kept.pop(0))
            self._next_at = max(self._next_at, now - self._each_s) + self._each_s
        return said

    def _keeps(self, send: Send[Any]) -> bool:
        return isinstance(send.message, self._kinds)
