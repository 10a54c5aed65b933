"""The worker's side of the talk with the engine: one loop that alternates between listening and training."""

import contextlib
import queue
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypedDict

from core.base.problems import Damaged, WorkerProblem
from core.training.checkpoint import Saved
from core.training.round import Learner, TrainerState
from core.workers.arena import Arena
from core.workers.frames import (
    CHUNKS_BYTES_MAX,
    Absorb,
    Collect,
    Collected,
    Evaluate,
    Evaluated,
    Go,
    Hold,
    Load,
    Loaded,
    Progress,
    Release,
    Replay,
    Start,
    Stepped,
    TakeMean,
    ToEngine,
    ToWorker,
    WantsMean,
    WorkerReady,
)

PROGRESS_INTERVAL_S = 0.25
MEANINGLESS_BATCHES_MAX = 100
"""So many gradients in a row that are not finite mean that the model is lost."""


class Conversation:
    """Does what the engine says, and trains in between.

    Args:
        start: The first frame.
        learner: What trains.
        arena: Shared with the engine.
        say: Sends a frame to the engine.
        clock: Seconds that only go forward.
    """

    def __init__(
        self,
        start: Start,
        *,
        learner: Learner,
        arena: Arena,
        say: Callable[[ToEngine], None],
        clock: Callable[[], float],
    ) -> None:
        self._learner = learner
        self._arena = arena
        self._say = say
        self._clock = clock
        self._held = start.hold
        self._hold_at_epoch = start.hold_at_epoch
        self._round: bytes | None = None
        self._said_at: float | None = None
        self._meaningless = 0
        self._replay: Replay | None = None
        """What is replayed just now."""
        self._step: _Step | None = None
        """The last step, until its state is saved and the engine knows."""

    @property
    def training(self) -> bool:
        """Whether there is something to do without being told."""
        averaged = self._round is not None
        epoch = self._learner.state.epoch + averaged
        last = self._hold_at_epoch is not None and epoch >= self._hold_at_epoch
        return not self._held and not last and (not averaged or self._learner.overlaps)

    def begin(self) -> None:
        """The worker tells the engine that the model stands, and how large it is; then it begins to read text."""
        learner = self._learner
        task = learner.task
        sizes = {"numel": learner.numel, "parameters": learner.numel}
        aside = tuple(path.name for path in learner.damaged)
        self._say(
            WorkerReady(
                **_named(learner.state),
                **sizes,
                exact=learner.exact,
                layout=learner.layout,
                loss_name=task.loss_name,
                loss_unit=task.loss_unit,
                guesses=task.guesses,
                set_aside=aside,
            )
        )
        learner.data.start()

    def run(self, inbox: "queue.Queue[ToWorker]") -> None:
        """Listen and train for ever; the process ends when its stdin closes."""
        while True:
            self.turn(inbox)

    def turn(self, inbox: "queue.Queue[ToWorker]") -> None:
        """Hear one frame if there is one, else train one batch; wait for a frame while there is nothing to train.

        Raises:
            Problem: the worker cannot go on.
        """
        if self._step is not None and (self._step.told.is_set() or not self.training):
            self.settle()
        try:
            frame = inbox.get(block=not self.training)
        except queue.Empty:
            self._train()
        else:
            self.hear(frame)

    def hear(self, frame: ToWorker) -> None:
        """Do what one frame says, once the engine knows of the last step.

        Raises:
            Problem: it cannot be done, and the worker has to end.
        """
        self.settle()
        match frame:
            case Collect():
                self._collect(frame)
            case Absorb():
                self._absorb(frame)
            case Release():
                if frame.round == self._round:
                    self._learner.take_back()
                    self._round = None
            case Load() | Replay() | TakeMean():
                self._follow(frame)
            case Evaluate():
                found = self._learner.evaluate()
                epoch = self._learner.state.epoch
                self._say(
                    Evaluated(epoch=epoch, score=found.score, baselines=dict(found.baselines), filled=found.filled)
                )
            case Hold():
                self._held = True
            case Go():
                self._held = False
            case Start():
                raise WorkerProblem("The training process was started twice.")

    def _follow(self, frame: Load | Replay | TakeMean) -> None:
        """Go to a state that others hold."""
        match frame:
            case Load():
                self._load(frame)
            case Replay():
                self._begin_replay(frame)
            case TakeMean():
                self._replay_step(frame)

    def _load(self, frame: Load) -> None:
        try:
            self._learner.load(Path(frame.path), epoch=frame.epoch, lineage=frame.lineage)
            self._round, self._said_at = None, None
        except Damaged as problem:
            sys.stderr.write(f"{problem}\n")
        with contextlib.suppress(OSError):  # it is among our own now, or of no use to anybody
            Path(frame.path).unlink()
        self._say(Loaded(**_named(self._learner.state)))

    def _begin_replay(self, frame: Replay) -> None:
        own = self._learner.state
        self._replay, self._round, self._said_at = frame, None, None
        self._learner.replay.begin(own.saved.path, epoch=own.epoch, to=frame.header.epoch)
        self._say(WantsMean() if self._learner.replay.left else Loaded(**_named(own)))

    def _replay_step(self, frame: TakeMean) -> None:
        learner, wanted = self._learner, self._replay
        assert wanted is not None
        try:
            learner.replay.step(self._arena.slot("mean") if frame.there else None)
            if learner.replay.left:
                self._say(WantsMean())
                return
            learner.state = TrainerState.of(wanted.header, learner.replay.end(wanted.header, wanted.digest))
        except (Damaged, WorkerProblem) as problem:
            sys.stderr.write(f"{problem}\n")
            learner.replay.undo()
        self._replay = None
        self._say(Loaded(**_named(learner.state)))

    def _collect(self, frame: Collect) -> None:
        learner = self._learner
        self._arena.slot("contribution")[:] = learner.hand_over()
        self._round = frame.round
        self._say(Collected(round=frame.round, epoch=learner.state.epoch, samples=learner.samples, loss=learner.loss))

    def _absorb(self, frame: Absorb) -> None:
        if frame.epoch != self._learner.state.epoch + 1:
            raise WorkerProblem(
                f"A step to epoch {frame.epoch} was ordered at epoch {self._learner.state.epoch}.",
                hint="Training goes on from the last saved state.",
            )
        began = self._clock()
        state = self._learner.absorb(
            self._arena.slot("mean"), epoch=frame.epoch, lineage=frame.lineage, ledger=frame.ledger, mean=frame.mean
        )
        self._round = None
        learner = self._learner
        self._step = _Step(state, seconds=self._clock() - began, samples=learner.samples, loss=learner.loss)
        self._step.tell_when_saved(self._say)

    def settle(self) -> None:
        """Wait until the last step's state is saved and the engine knows.

        Raises:
            NoSpace: the disk is full; the state before is untouched.
        """
        step, self._step = self._step, None
        if step is not None:
            step.told.wait()
            step.state.saving.result()
            self._said_at = None

    def _train(self) -> None:
        learner = self._learner
        self._meaningless = 0 if learner.accumulate() else self._meaningless + 1
        if self._meaningless >= MEANINGLESS_BATCHES_MAX:
            raise WorkerProblem(
                "The model gives numbers that are not finite.", hint="Training goes on from the last saved state."
            )
        now = self._clock()
        if (
            self._step is None
            and learner.samples
            and (self._said_at is None or now - self._said_at >= PROGRESS_INTERVAL_S)
        ):
            self._said_at = now
            self._say(
                Progress(
                    epoch=learner.state.epoch,
                    samples=learner.samples,
                    ahead=learner.rule.ahead,
                    samples_per_s=learner.samples_per_s,
                    loss=learner.loss,
                )
            )


class _Step:
    """A step whose state is being saved beside training.

    Args:
        state: Where it led.
        seconds: How long it took.
        samples: Accumulated while the round was averaged.
        loss: Of these.
    """

    def __init__(self, state: TrainerState, *, seconds: float, samples: int, loss: float) -> None:
        self.state = state
        self.told = threading.Event()
        """Whether the engine knows, or will hear why not."""
        self._kept = (seconds, samples, loss)

    def tell_when_saved(self, say: Callable[[ToEngine], None]) -> None:
        """Have the engine told as soon as the state is on disk, in the thread that wrote it."""

        def tell(saving: "Future[Saved]") -> None:
            try:
                if saving.exception() is None:
                    seconds, samples, loss = self._kept
                    say(Stepped(**_named(self.state), seconds=seconds, samples=samples, loss=loss))
            finally:
                self.told.set()

        self.state.saving.add_done_callback(tell)


def _named(state: TrainerState) -> "_Named":
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


class _Named(TypedDict):
    """Fields by which a StateFrame names the state that the learner holds."""

    epoch: int
    lineage: bytes
    ancestors: bytes
    means: bytes
    digest: bytes
    chunks: bytes
    checkpoint: str
    ledger: bytes
