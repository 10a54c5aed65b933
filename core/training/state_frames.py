"""How the engine is told which state the worker holds."""

import threading
from collections.abc import Callable
from concurrent.futures import Future

from core.base.work import StateFields, Stepped
from core.training.learner import TrainerState
from core.training.states.checkpoint import Saved
from core.workers.frames import CHUNKS_BYTES_MAX, ToEngine


class SavedStep:
    """A step whose state is being saved beside training.

    Args:
        state: Where it led.
        samples: Accumulated while the round was averaged.
        loss: Mean loss of these samples.
    """

    def __init__(self, state: TrainerState, *, samples: int, loss: float) -> None:
        self.state = state
        self.told = threading.Event()
        """Whether the engine knows, or will hear why not."""
        self._kept = (samples, loss)

    def tell_when_saved(self, say: Callable[[ToEngine], None]) -> None:
        """Have the engine told as soon as the state is on disk, in the thread that wrote it."""

        def tell(saving: "Future[Saved]") -> None:
            try:
                if saving.exception() is None:
                    samples, loss = self._kept
                    say(Stepped(**state_fields(self.state), samples=samples, loss=loss))
            finally:
                self.told.set()

        self.state.saving.add_done_callback(tell)


def state_fields(state: TrainerState) -> StateFields:
    """The fields by which a StateFrame names this state."""
    return {
        "epoch": state.epoch,
        "lineage": state.lineage,
        "ancestors": state.ancestors,
        "means": state.means,
        "digest": state.saved.digest,
        "chunks": state.saved.chunks if len(state.saved.chunks) <= CHUNKS_BYTES_MAX else b"",
        "checkpoint": str(state.saved.path.absolute()),
        "ledger": state.ledger,
    }
