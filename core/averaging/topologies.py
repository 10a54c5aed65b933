"""Which members of a round send what to whom.  A new topology is a module and one line in `TOPOLOGIES`."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol

from core.averaging.allreduce.vectors import RoundInput
from core.averaging.butterfly import Butterfly
from core.averaging.grid.grid import Grid
from core.averaging.outcome import RoundFailed, RoundFinished
from core.averaging.penalties import NOTHING, Remembered
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick
from core.base.trace import Trace
from core.base.wire import Message

Outputs = Sequence[Send[Message] | RoundFinished | RoundFailed]


class Topology(Protocol):
    """One member's side of one round.  After its end it still answers: keep it until the next round begins.

    Args:
        me: This member.
        plan: A plan that has been checked (`check_plan`).
        work: What this member brings, and how numbers travel and are averaged.
        trace: Counts misuse and incidents.
        secret: Bytes that no other member can guess; the same ones may serve many rounds.
        remembered: With which members this one has less patience.
    """

    plan: Plan

    def __init__(
        self,
        me: PeerId,
        plan: Plan,
        work: RoundInput,
        *,
        trace: Trace,
        secret: bytes = b"",
        remembered: Remembered = NOTHING,
    ) -> None: ...

    def start(self, now: float) -> Outputs:
        """The owner begins the round, once and before any event, and sends what it returns."""

    def leave(self, now: float) -> Outputs:
        """End the round for this member, and tell the others at once."""

    def concerns(self, round_id: bytes) -> bool:
        """Whether messages of the round with this id are for it."""

    @property
    def leader(self) -> PeerId:
        """The coordinator that this member follows."""

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""

    def handle(self, event: Received[Any] | Tick | Lost, now: float) -> Outputs:
        """A message, a Tick or a lost link moves the round on; the owner sends what it returns."""


TOPOLOGIES: Final[Mapping[str, type[Topology]]] = MappingProxyType({"butterfly": Butterfly, "grid": Grid})
"""Every topology by the name that a plan gives it."""
