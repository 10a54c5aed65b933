"""A round of Butterfly machines in a simulated network, from its start to its last end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.averaging.balance.traffic import Line
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.messages import Mean, Part
from core.averaging.outcome import RoundFailed, RoundFinished
from core.averaging.plan import Plan
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.codecs.registry import codec_of
from tests.sim.rounds.fleet_plan import RoundTask
from tests.sim.rounds.network import NetworkSettings, SimulatedLines
from tests.sim.world.agenda import Agenda

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
class Freeze:
    """One member hears nothing for a while, and then all at once: its computer sleeps."""

    member: int
    at_s: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The link between two members ends, and both are told."""

    first: int
    second: int
    at_s: float


Mishap = Death | Freeze | Cut
MakeMachine = Callable[[Plan, int, "Round"], Butterfly]


def honest_machine(plan: Plan, member: int, round_: "Round") -> Butterfly:
    """A member's machine, without memory of other rounds."""
    work = RoundInput(round_.contributions[member], round_.results[member], codec_of(plan.codec))
    return Butterfly(plan.peers[member], plan, work, trace=round_.traces[member])


class Round:
    """The machines of one plan, one for each member.

    Args:
        plan: The round's plan; member i has `lines[i]`.
        task: The vector to average.
        contributions: Shape (members, numel), float32.
        settings: The network's; None: its defaults.
        machine: Makes each member's machine.
    """

    def __init__(
        self,
        plan: Plan,
        lines: Sequence[Line],
        task: RoundTask,
        *,
        contributions: NDArray[np.float32],
        settings: NetworkSettings | None = None,
        machine: MakeMachine = honest_machine,
    ) -> None:
        members = len(plan.members)
        self.plan = plan
        self.agenda = Agenda(0.0)
        self.contributions = contributions
        self.results = np.full((members, plan.numel), np.nan, dtype=np.float32)
        self.traces = [Trace() for _ in range(members)]
        self.machines = [machine(plan, member, self) for member in range(members)]
        self.late_s: Callable[[], float] = lambda: 0.0
        """How late the next message is."""
        self.network = SimulatedLines(self.agenda, lines, deliver=self._deliver, settings=settings)
        self.ends: list[RoundFinished | RoundFailed | None] = [None] * members
        self.ended_s: list[float | None] = [None] * members
        self.dead: dict[int, Death] = {}
        self._lost: set[tuple[int, int]] = set()
        self._frozen: dict[int, list[Received[Any] | Lost]] = {}
        self._peers = plan.peers
        self._index = {peer: index for index, peer in enumerate(self._peers)}
        self._chunk_bytes = task.chunk_bytes()
        self._scale = task.scale
        self._first_chunks = [plan.first_chunk(share) for share in range(members)]
        self._wakes: list[float | None] = [None] * members

    def run(self, mishaps: Sequence[Mishap] = (), *, starts: Sequence[float] | None = None) -> None:
        """Let the whole round happen.

        Args:
            mishaps: What goes wrong when.
            starts: When each member begins; None: all at once.
        """
        for member in range(len(self.machines)):
            self.agenda.at(starts[member] if starts else 0.0, self._start, member)
        for mishap in mishaps:
            match mishap:
                case Death():
                    self.agenda.at(mishap.at_s, self._die, mishap)
                case Freeze():
                    self.agenda.at(mishap.at_s, self._freeze, mishap)
                case Cut():
                    self.agenda.at(mishap.at_s, self._cut, mishap)
        latest = max(starts) if starts else 0.0
        self.agenda.run(latest + self.plan.round_timeout_s + 1.0)

    # --- machines ---

    def _start(self, member: int) -> None:
        if member not in self.dead:
            self._apply(member, self.machines[member].start(self.agenda.now))
            self._plan_wake(member)

    def _deliver(self, sender: int, receiver: int, message: Any) -> None:
        late_s = self.late_s()
        if late_s:
            self.agenda.after(late_s, self._arrive, sender, receiver, message)
        else:
            self._arrive(sender, receiver, message)

    def _arrive(self, sender: int, receiver: int, message: Any) -> None:
        if (sender, receiver) not in self._lost:
            self._handle(receiver, Received(self._peers[sender], message))

    def _handle(self, member: int, event: Received[Any] | Lost) -> None:
        if member in self._frozen:
            self._frozen[member].append(event)
            return
        self._apply(member, self.machines[member].handle(event, self.agenda.now))
        soothing = isinstance(event, Received) and isinstance(event.message, _SOOTHING)
        if self._wakes[member] is None or not soothing:
            self._plan_wake(member)

    def _plan_wake(self, member: int) -> None:
        at = self.machines[member].deadline
        planned = self._wakes[member]
        if at is not None and (planned is None or at < planned):
            self._wakes[member] = at
            self.agenda.at(at, self._wake, member, at)

    def _wake(self, member: int, at: float) -> None:
        if self._wakes[member] != at or member in self.dead or member in self._frozen:
            return
        self._wakes[member] = None
        deadline = self.machines[member].deadline
        if deadline is not None and deadline <= self.agenda.now:
            self._apply(member, self.machines[member].handle(Tick(), self.agenda.now))
        self._plan_wake(member)

    def _apply(self, member: int, outputs: Sequence[Any]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                if output.transfer is not None:
                    whole = output.transfer
                    if self._scale > 1:
                        whole = replace(whole, bulk_bytes=whole.bulk_bytes * self._scale)
                    self.network.begin(member, self._index[output.to], whole)
                self._send(member, self._index[output.to], output.message)
            else:
                self.ends[member] = output
                self.ended_s[member] = self.agenda.now

    def _send(self, sender: int, receiver: int, message: Any) -> None:
        if (receiver, sender) in self._lost:
            return
        if isinstance(message, Part | Mean):
            size = self._chunk_bytes[self._first_chunks[message.share] + message.chunk] if len(message.payload) else 0
            self.network.carry(sender, receiver, message, payload_bytes=size)
        else:
            self.network.say(sender, receiver, message)

    # --- mishaps ---

    def _die(self, death: Death) -> None:
        member = death.member
        if member in self.dead:
            return
        if death.way is DeathWay.LEAVE and self.ends[member] is None:
            self._apply(member, self.machines[member].leave())
        self.dead[member] = death
        self.network.stop(member)
        after_s = death.noticed_s if death.way is DeathWay.POWER_CUT else self.network.settings.delay_s
        for other in range(len(self.machines)):
            if other != member:
                self.agenda.after(after_s, self._lose, member, other)

    def _lose(self, member: int, other: int) -> None:
        self._lost.add((member, other))
        self.network.forget(other, member)
        if other not in self.dead:
            self._handle(other, Lost(self._peers[member], "gone"))

    def _cut(self, cut: Cut) -> None:
        self._lose(cut.first, cut.second)
        self._lose(cut.second, cut.first)

    def _freeze(self, freeze: Freeze) -> None:
        self._frozen[freeze.member] = []
        self.agenda.after(freeze.seconds, self._thaw, freeze.member)

    def _thaw(self, member: int) -> None:
        self._wakes[member] = None
        for event in self._frozen.pop(member):
            self._handle(member, event)
        self._plan_wake(member)
