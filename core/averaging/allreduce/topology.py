"""What every topology can do."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.averaging.feedback import Carry
from core.averaging.penalties.observed import NOTHING, Remembered
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Tick
from core.base.trace import Trace


class Topology(Protocol):
    """One member's side of one round.  After its end it still answers: keep it until the next round begins.

    Args:
        me: This member.
        plan: A plan that has been checked (`check_plan`).
        contribution: Shape (numel,), float32; not written, and not to be changed before the end.  None: a helper's.
        result: Shape (numel,), float32; written all along, the group's mean once `RoundFinished` is out.
        trace: Where misuse and incidents are marked.
        layout: Sizes of the tensors in the vector, in order; codecs that treat them differently need it.
        carry: Carries what the codec loses from round to round.
        secret: Bytes that nobody can guess; the same ones may serve many rounds.
        remembered: With whom this member has less patience.
    """

    plan: Plan

    def __init__(  # noqa: PLR0913 - a round and all that it works on
        self,
        me: PeerId,
        plan: Plan,
        *,
        contribution: NDArray[np.float32] | None,
        result: NDArray[np.float32] | None,
        trace: Trace,
        layout: Sequence[int] = (),
        carry: Carry | None = None,
        secret: bytes = b"",
        remembered: Remembered = NOTHING,
    ) -> None: ...

    def start(self, now: float) -> Sequence[Any]:
        """Begin.  Call once."""

    def leave(self, now: float) -> Sequence[Any]:
        """End the round for me, and tell the others at once."""

    def concerns(self, round_id: bytes) -> bool:
        """Whether words of the round with this id are for it."""

    @property
    def leader(self) -> PeerId:
        """Whose orders count."""

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""

    def handle(self, event: Received[Any] | Tick | Lost, now: float) -> Sequence[Any]:
        """Advance by one event."""
