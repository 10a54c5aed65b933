"""What a trainer tells its participant, as events for `Participant.handle`; `core.swarm.words.orders` is the other way.

In the real program the engine makes them of the worker's frames, in the simulator a simulated worker says them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.averaging.feedback import ResidualStore
from core.base.arrays import np
from core.swarm.words.files import StateFile
from core.swarm.words.states import State

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplesCounted:
    """The trainer has accumulated samples that no step has taken up.

    Attributes:
        epoch: Of the state on which it trains; what it says of an earlier one comes too late.
        samples: All of them.
        samples_per_s: Its speed.
        loss: Mean training loss, nats.
        ahead: How many of `samples` came since `Collect`: none, unless it computes on while a round is averaged.
            Before a trainer hears of the round's end it counts them so; afterwards they are samples like others.
    """

    epoch: int
    samples: int
    samples_per_s: float
    loss: float
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class ContributionWritten:
    """The contribution to a round is in its vector.

    Attributes:
        round: Its id.
        samples: How many samples it holds.
        loss: Their mean training loss, nats.
    """

    round: bytes
    samples: int
    loss: float


@dataclass(frozen=True, slots=True)
class StepTaken:
    """The optimiser took its step to `state`.

    Attributes:
        state: What the trainer holds now.
        samples: Accumulated for the next step already.
        loss: Their mean training loss, nats.
    """

    state: State
    samples: int = 0
    loss: float = 0.0


@dataclass(frozen=True, slots=True)
class StateLoaded:
    """The trainer has obeyed `Load`, and holds this state."""

    state: State


@dataclass(frozen=True, slots=True)
class HeldoutEvaluated:
    """The trainer looked at the held-out text in this epoch: mean loss in nats."""

    epoch: int
    loss: float


@dataclass(frozen=True, slots=True, eq=False)
class StateOffered:
    """Others may have this state file."""

    file: StateFile


@dataclass(frozen=True, slots=True, eq=False)
class MeanOffered:
    """Others may have this file of a round's mean."""

    file: StateFile


TrainerNews = (
    TrainerReady | TrainerGone | SamplesCounted | ContributionWritten | StepTaken | StateLoaded | HeldoutEvaluated
)
"""What a trainer says of itself."""
TrainerAnswer = TrainerNews | StateOffered | MeanOffered
