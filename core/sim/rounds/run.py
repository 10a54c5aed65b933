"""A round of Butterfly machines in a simulated network, from its start to its last end."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.averaging.allreduce.butterfly import Butterfly
from core.averaging.balance.fleet import Line
from core.averaging.messages import Mean, Part
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.plan import Plan
from core.base.machine import Lost, Received, Send, Tick
from core.base.trace import Trace
from core.sim.agenda import Agenda
from core.sim.rounds.fleet_plan import RoundTask, fleet_plan, shares, vectors
from core.sim.rounds.network import NetworkSettings, SimulatedLines

_SOOTHING = (Part,)
"""After this event no deadline is earlier than before: a machine that will be woken is not asked again, which takes
time."""


class DeathWay(StrEnum):
    """How a member's part in a round ends before the round does."""

    CRASH = "crash"
    """Its system closes the links: the others are told at once."""
    POWER_CUT = "power cut"
    """Nobody is told; the links are given up after `Death.noticed_s`."""
    LEAVE = "leave"
    """It says goodbye."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """The death of one member during a round."""

    member: int
    at_s: float
    way: DeathWay = DeathWay.CRASH
    noticed_s: float = 15.0
    """Silence after which the others' links to it end, seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReport:
    """Figures of a round.  Seconds are simulated, and count from the round's start."""

    seconds: float
    """Until the last member that lived had ended the round."""
    outcomes: tuple[Outcome | None, ...]
    """Of each member that finished."""
    reasons: tuple[str, ...]
    """Why each member failed; empty for those that finished or died."""
    ended_s: tuple[float | None, ...]
    """When each member ended the round; None: it never did."""
    dead: tuple[int, ...]
    sent_bytes: tuple[float, ...]
    """Bulk bytes on each member's line."""
    received_bytes: tuple[float, ...]
    messages: int
    same: bool
    """Whether all who finished, the dead among them, hold the same mean, bit for bit, under the same name."""
    relative_error: float
    """Of the mean against the exact one, in float64, of those whose parts each chunk is said to hold: norm of the
    difference over the norm of the exact mean, at the first survivor that finished; the others' is the `same`."""
    marks: dict[str, int]
    """Counts of misuse and incidents, over all machines."""

    @property
    def finished(self) -> int:
        """Number of members that hold the mean."""
        return sum(1 for outcome in self.outcomes if outcome is not None)


class Round:
    """The machines of one plan, one for each member.

    Args:
        plan: The round's plan; member i has `lines[i]`.
        task: The vector to average.
        contributions: Shape (members, numel), float32.
    """

    def __init__(
        self,
        plan: Plan,
        lines: Sequence[Line],
        task: RoundTask,
        *,
        contributions: NDArray[np.float32],
        settings: NetworkSettings | None = None,
    ) -> None:
        members = len(plan.members)
        self.plan = plan
        self.agenda = Agenda(0.0)
        self.contributions = contributions
        self.results = np.full((members, plan.numel), np.nan, dtype=np.float32)
        self.traces = [Trace() for _ in range(members)]
        self.machines = [
            Butterfly(peer, plan, contribution=contributions[i], result=self.results[i], trace=self.traces[i])
            for i, peer in enumerate(plan.peers)
        ]
        self.network = SimulatedLines(self.agenda, lines, deliver=self._deliver, settings=settings)
        self.ends: list[RoundFinished | RoundFailed | None] = [None] * members
        self.ended_s: list[float | None] = [None] * members
        self.dead: dict[int, Death] = {}
        self._lost: set[tuple[int, int]] = set()
        self._peers = plan.peers
        self._index = {peer: index for index, peer in enumerate(self._peers)}
        self._chunk_bytes = task.chunk_bytes()
        self._first_chunks = [plan.first_chunk(share) for share in range(members)]
        self._wakes: list[float | None] = [None] * members

    def run(self, deaths: Sequence[Death] = (), *, starts: Sequence[float] | None = None) -> None:
        """Run the whole round.

        Args:
            deaths: Members that die, and when.
            starts: Time at which each member begins; None: all at once.
        """
        for member in range(len(self.machines)):
            self.agenda.at(starts[member] if starts else 0.0, self._start, member)
        for death in deaths:
            self.agenda.at(death.at_s, self._die, death)
        latest = max(starts) if starts else 0.0
        self.agenda.run(latest + self.plan.round_timeout_s + 1.0)

    # --- machines ---

    def _start(self, member: int) -> None:
        if member not in self.dead:
            self._apply(member, self.machines[member].start(self.agenda.now))
            self._plan_wake(member)

    def _deliver(self, sender: int, receiver: int, message: Any) -> None:
        if (sender, receiver) in self._lost:
            return
        machine = self.machines[receiver]
        self._apply(receiver, machine.handle(Received(self._peers[sender], message), self.agenda.now))
        if self._wakes[receiver] is None or not isinstance(message, _SOOTHING):
            self._plan_wake(receiver)

    def _plan_wake(self, member: int) -> None:
        at = self.machines[member].deadline
        planned = self._wakes[member]
        if at is not None and (planned is None or at < planned):
            self._wakes[member] = at
            self.agenda.at(at, self._wake, member, at)

    def _wake(self, member: int, at: float) -> None:
        if self._wakes[member] != at or member in self.dead:
            return
        self._wakes[member] = None
        deadline = self.machines[member].deadline
        if deadline is not None and deadline <= self.agenda.now:
            self._apply(member, self.machines[member].handle(Tick(), self.agenda.now))
        self._plan_wake(member)

    def _apply(self, member: int, outputs: Sequence[Any]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self._send(member, self._index[output.to], output.message, ahead=output.ahead)
            else:
                self.ends[member] = output
                self.ended_s[member] = self.agenda.now

    def _send(self, sender: int, receiver: int, message: Any, *, ahead: bool) -> None:
        if (receiver, sender) in self._lost:
            return
        if isinstance(message, Part | Mean):
            size = self._chunk_bytes[self._first_chunks[message.share] + message.chunk] if len(message.payload) else 0
            self.network.carry(sender, receiver, message, payload_bytes=size, ahead=ahead)
        else:
            self.network.say(sender, receiver, message)

    # --- deaths ---

    def _die(self, death: Death) -> None:
        member = death.member
        if member in self.dead:
            return
        if death.way is DeathWay.LEAVE and self.ends[member] is None:
            self._apply(member, self.machines[member].leave(self.agenda.now))
        self.dead[member] = death
        self.network.stop(member)
        after_s = death.noticed_s if death.way is DeathWay.POWER_CUT else self.network.settings.delay_s
        for other in range(len(self.machines)):
            if other != member:
                self.agenda.after(after_s, self._lose, member, other)

    def _lose(self, member: int, other: int) -> None:
        self._lost.add((member, other))
        self.network.forget(other, member)
        if other in self.dead:
            return
        lost = Lost(self._peers[member], self.dead[member].way.value)
        self._apply(other, self.machines[other].handle(lost, self.agenda.now))
        self._plan_wake(other)

    # --- what became of it ---

    def report(self) -> RoundReport:
        """Compute the figures of the round."""
        alive = [member for member in range(len(self.machines)) if member not in self.dead]
        outcomes = [end.outcome if isinstance(end, RoundFinished) else None for end in self.ends]
        holders = [member for member in alive if outcomes[member] is not None]
        marks: Counter[str] = Counter()
        for trace in self.traces:
            marks.update(trace.counts())
        return RoundReport(
            seconds=max((self.ended_s[member] or self.agenda.now for member in alive), default=0.0),
            outcomes=tuple(outcomes),
            reasons=tuple(end.reason if isinstance(end, RoundFailed) else "" for end in self.ends),
            ended_s=tuple(self.ended_s),
            dead=tuple(sorted(self.dead)),
            sent_bytes=tuple(self.network.sent_bytes),
            received_bytes=tuple(self.network.received_bytes),
            messages=self.network.messages,
            same=self._same([member for member, outcome in enumerate(outcomes) if outcome is not None]),
            relative_error=max((self._error(member) for member in holders[:1]), default=0.0),
            marks=dict(sorted(marks.items())),
        )

    def _same(self, holders: Sequence[int]) -> bool:
        if not holders:
            return True
        first = holders[0]
        fingerprint = self._fingerprint(first)
        return all(
            self._fingerprint(member) == fingerprint and np.array_equal(self.results[member], self.results[first])
            for member in holders
        )

    def _fingerprint(self, member: int) -> bytes:
        end = self.ends[member]
        return end.outcome.fingerprint if isinstance(end, RoundFinished) else b""

    def _error(self, member: int) -> float:
        exact = self.exact(member)
        return relative_error(self.results[member], exact)

    def exact(self, member: int) -> NDArray[np.float64]:
        """The mean in float64 of what `member` says is in each chunk of its result."""
        exact = np.zeros(self.plan.numel)
        samples = [m.samples for m in self.plan.members]
        for chunk in range(self.plan.chunk_total):
            bits = self.machines[member].contributors(chunk)
            givers = [m for m, weight in enumerate(samples) if weight and bits >> m & 1]
            span = self.plan.span(chunk)
            whole = sum(samples[m] for m in givers)
            for giver in givers:
                exact[span] += samples[giver] / whole * self.contributions[giver, span].astype(np.float64)
        return exact


def relative_error(found: NDArray[Any], exact: NDArray[np.float64]) -> float:
    """Norm of the difference over the norm of `exact`; without the threads that `numpy.linalg.norm` would start."""
    scale = float(np.square(exact).sum())
    return float((np.square(found - exact).sum() / scale) ** 0.5) if scale else 0.0


def simulate_round(  # noqa: PLR0913 - a round is what it is
    lines: Sequence[Line],
    task: RoundTask,
    *,
    seed: int,
    weights: Sequence[int] | None = None,
    chunks: Sequence[int] | None = None,
    gifts: Sequence[int] | None = None,
    samples: Sequence[int] | None = None,
    deaths: Sequence[Death] = (),
    settings: NetworkSettings | None = None,
) -> RoundReport:
    """Simulate one round among members with these lines.

    Args:
        lines: The members' lines.
        task: The vector to average.
        seed: Decides the vectors, the leaders and all names.
        weights: Shares of the reducing (`Balance.weights`); None: equal ones for all reducers.
        chunks: Number of chunks that each member reduces, instead of `weights`.
        gifts: Number of 256ths of its chunks that each member contributes (`Balance.gifts`); None: all.
        samples: Each member's weight; None: 1 where its line contributes, else 0.
        deaths: Members that die, and when.
        settings: The network's; None: its defaults.
    """
    given = chunks or shares(lines, task, weights)
    plan = fleet_plan(lines, task, seed=seed, chunks=given, gifts=gifts, samples=samples)
    going = Round(plan, lines, task, contributions=vectors(plan, seed), settings=settings)
    going.run(deaths)
    return going.report()
