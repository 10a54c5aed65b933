"""Going to a state that others hold: loaded whole, or reached with the means of the rounds that led there."""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

from core.base.problems import Damaged, WorkerProblem
from core.base.work import Loaded
from core.training.learner import Learner, TrainerState
from core.training.state_frames import state_fields
from core.workers.arena import Arena
from core.workers.frames import Load, Replay, TakeMean, ToEngine, WantsMean


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
