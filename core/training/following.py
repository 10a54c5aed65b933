"""New states: what the engine is told of one, and going to one of others, whole or by the means that led there."""

import contextlib
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from core.base.problems import Damaged, WorkerProblem
from core.base.work import Loaded, StateFields, Stepped
from core.training.learner import Learner, TrainerState
from core.training.states.checkpoint import Saved
from core.workers.arena import Arena
from core.workers.frames import CHUNKS_BYTES_MAX, Load, Replay, TakeMean, ToEngine, WantsMean


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


class Following:
    """Does what the engine says of others' states, and says what the learner holds then: theirs, or still its own.

    Args:
        learner: Goes there.
        say: Sends a frame to the engine.
    """

    def __init__(self, learner: Learner, say: Callable[[ToEngine], None]) -> None:
        self._learner = learner
        self._say = say
        self._wanted: Replay | None = None
        """What is replayed just now."""

    def hear(self, frame: Load | Replay | TakeMean, arena: Arena) -> None:
        """Do what one frame says.

        Args:
            frame: Frame of the engine.
            arena: Holds the mean of a TakeMean.

        Raises:
            Problem: the own state cannot be read again, or the disk is full.
        """
        match frame:
            case Load():
                self._load(frame)
            case Replay():
                self._begin(frame)
            case TakeMean():
                self._step(frame, arena)

    def stop(self) -> None:
        """Be at the own state again, where a replay has not come to its end.

        Raises:
            WorkerProblem: it cannot be read again.
        """
        if self._wanted is not None:
            self._wanted = None
            self._learner.replay.undo()

    def _load(self, frame: Load) -> None:
        try:
            self._learner.load(Path(frame.path), epoch=frame.epoch, lineage=frame.lineage, counted=frame.counted)
        except Damaged as problem:
            sys.stderr.write(f"{problem}\n")
        with contextlib.suppress(OSError):  # it is among our own now, or of no use to anybody
            Path(frame.path).unlink()
        self._say(Loaded(**state_fields(self._learner.state)))

    def _begin(self, frame: Replay) -> None:
        own, replay = self._learner.state, self._learner.replay
        replay.begin(own.saved.path, epoch=own.epoch, to=frame.header.epoch)
        self._wanted = frame if replay.left else None
        self._say(WantsMean() if replay.left else Loaded(**state_fields(own)))

    def _step(self, frame: TakeMean, arena: Arena) -> None:
        learner, wanted = self._learner, self._wanted
        if wanted is None:
            raise WorkerProblem("A mean came that nobody had asked for.")
        try:
            learner.replay.step(arena.slot("mean") if frame.there else None)
            if learner.replay.left:
                self._say(WantsMean())
                return
            saved = learner.replay.end(wanted.header, wanted.digest, counted=wanted.counted)
            learner.state = TrainerState.of(wanted.header, saved)
        except (Damaged, WorkerProblem) as problem:
            sys.stderr.write(f"{problem}\n")
            learner.replay.undo()
        self._wanted = None
        self._say(Loaded(**state_fields(learner.state)))
