"""What a trainer tells its participant, as events for `Participant.handle`; `core.swarm.words.orders` is the other way.

What the worker says goes through the engine as it is (`core.base.work`); in the simulator a simulated worker says it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.averaging.feedback import ResidualStore
from core.base.arrays import np
from core.base.work import Collected, Evaluated, Loaded, Progress, Stepped
from core.swarm.words.states import State, StateFile

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainerReady:
    """The trainer stands still with `state`, and its vectors are these.

    Attributes:
        state: What it holds.
        contribution: Shape (parameters,); what it contributes to a round is written there.
        mean: Shape (parameters,); where the mean of a round is to be.
        layout: Sizes of the tensors in both, in order.
        residuals: Where the errors of a coarse codec are kept; None: where they are now, at first in memory.
        mean_bytes: Length of a kept mean at most, bytes.
    """

    state: State
    contribution: NDArray[np.float32]
    mean: NDArray[np.float32]
    layout: Sequence[int] = ()
    residuals: ResidualStore | None = None
    mean_bytes: int = 0


@dataclass(frozen=True, slots=True)
class TrainerGone:
    """The trainer computes no more, and obeys no orders; a round that it had contributed to goes on without it.

    Until the next `TrainerReady` nothing counts that it had accumulated; one that was suspended still has it then.

    Attributes:
        paused: Whether the person wants it so; else it ended by itself.
    """

    paused: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class StateOffered:
    """Others may have this state file."""

    file: StateFile


@dataclass(frozen=True, slots=True, eq=False)
class MeanOffered:
    """Others may have this file of a round's mean."""

    file: StateFile


TrainerNews = TrainerReady | TrainerGone | Progress | Collected | Stepped | Loaded | Evaluated
"""What a trainer says of itself."""
TrainerAnswer = TrainerNews | StateOffered | MeanOffered
