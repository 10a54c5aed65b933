"""The worker's side of the talk with the engine: one loop that alternates between listening and training."""

import queue
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import torch

from core.api.data_state import DataCode
from core.base.problems import Problem, Sentence, WorkerProblem
from core.base.work import Collect, Collected, Evaluate, Go, Hold, Progress, Release
from core.training.carried import Carried
from core.training.devices.devices import titles_of
from core.training.devices.duty import DutyCycle
from core.training.devices.replica_thread import MEANINGLESS_BATCHES_MAX
from core.training.following import Following, SavedStep, state_fields
from core.training.learner import Learner
from core.training.measuring import Measuring
from core.training.metrics import EpochMeter, EpochMetrics, Sink, write_all
from core.training.standstill import EngineHeard, EngineSilent, Heard, Standstill, Unattended
from core.training.states.bookmarks import BOOKMARK_NAME
from core.training.states.checkpoint import Saved
from core.workers.arena import Arena
from core.workers.data_frames import DataLeftOut
from core.workers.flight_frames import FlightNews
from core.workers.frames import (
    Absorb,
    Computes,
    Load,
    Replay,
    Resume,
    Start,
    Suspend,
    Suspended,
    TakeMean,
    Throttle,
    ToEngine,
    ToWorker,
    WorkerReady,
)

PROGRESS_INTERVAL_S = 0.25
DATA_S = 0.05
"""Time between two looks for frames of the engine while text lacks."""


class Conversation:
    """Does what the engine says, and trains in between.

    Args:
        start: The first frame.
        learner: What trains.
        arena: Shared with the engine.
        say: Sends a frame to the engine.
        clock: Seconds that only go forward.
        sinks: Where metrics go.
    """

    def __init__(
        self,
        start: Start,
        *,
        learner: Learner,
        arena: Arena,
        say: Callable[[ToEngine], None],
        clock: Callable[[], float],
        sinks: Sequence[Sink] = (),
    ) -> None:
        self._learner = learner
        self._sinks = sinks
        self._meter = EpochMeter(learner, clock)
        self._arena = arena
        self._say = say
        self._clock = clock
        self._held = start.hold
        self._standstill: Standstill | None = None
        self._unattended = Unattended(learner)
        self._hold_at_epoch = start.hold_at_epoch
        self._round: bytes | None = None
        self._said_at: float | None = None
        self._duty = DutyCycle(clock)
        self._carried = Carried()
        self._contributed = 0
        """Samples of the last contribution."""
        self._meaningless = 0
        self._following = Following(learner, say)
        self._step: SavedStep | None = None
        """The last step, until its state is saved and the engine knows."""
        self._measuring = Measuring(learner, say, clock)

    @property
    def training(self) -> bool:
        """Whether there is something to do without being told."""
        averaged = self._round is not None
        epoch = self._learner.state.epoch + averaged
        last = self._hold_at_epoch is not None and epoch >= self._hold_at_epoch
        still = self._held or self._standstill is not None or self._unattended.silent
        still = still or last or self._learner.replicas.held.lead is None
        return not still and (not averaged or self._learner.overlaps)

    def begin(self) -> None:
        """The worker tells the engine that the model stands, and how large it is; then it begins to read text."""
        learner, task = self._learner, self._learner.task
        sizes = {"numel": learner.numel, "parameters": learner.numel}
        aside = tuple(path.name for path in learner.damaged)
        learner.damaged.clear()
        for name in aside:
            if name.startswith(BOOKMARK_NAME):
                self._say(DataLeftOut(code=DataCode.LOST_PLACE, arguments={"name": name}))
        self._say(
            WorkerReady(
                **state_fields(learner.state),
                **sizes,
                exact=learner.exact,
                layout=tuple(span.numel for span in learner.parameters.spans),
                loss_name=task.loss_name,
                loss_unit=task.loss_unit,
                guesses=task.guesses,
                set_aside=aside,
            )
        )
        learner.data.go_on()
        for replica in learner.replicas.held.each:
            replica.data.start()

    def turn(self, inbox: "queue.SimpleQueue[Heard]") -> None:
        """Hear one frame if there is one, else train one batch; wait for a frame while there is nothing to train.

        A rest between two passes ends with the next frame, or with its time.

        Raises:
            Problem: the worker cannot go on.
        """
        if self._step is not None and (self._step.told.is_set() or not self.training):
            self.settle()
        self._tell_who_left()
        flights = self._learner.flights
        computes = self.training or (self._measuring.under_way and self._standstill is None)
        wait_s = max(self._duty.rest_s, 0.0 if flights is None else flights.idle_s) if computes else None
        try:
            frame = inbox.get(block=wait_s != 0.0, timeout=wait_s)
        except queue.Empty:
            lead = self._learner.replicas.held.lead
            if flights is not None or (lead is not None and lead.data.wait(DATA_S)):
                self._train()
        else:
            flights.hear(frame) if flights is not None and isinstance(frame, FlightNews) else self.hear(frame)

    def hear(self, frame: Heard) -> None:
        """Do what one frame says, once the engine knows of the last step; to stand still waits for no disk.

        No device computes meanwhile, nor while the engine is silent.

        Raises:
            Problem: it cannot be done, and the worker has to end.
        """
        self._learner.replicas.rest()
        match frame:
            case Throttle():
                self._duty.set_share(frame.share)
                self._learner.replicas.held.set_share(frame.share)
                self._learner.replicas.held.left_out = frame.left_out
                if self._standstill is None:
                    self._learner.replicas.held.arrange()
                torch.set_num_threads(frame.threads)
            case Resume() if self._standstill is not None:
                self.settle()
                self._standstill.end()
                self._resume(frame)
            case _ if self._standstill is not None:
                return  # the engine had not heard yet that the worker stands still
            case EngineSilent() | EngineHeard():
                self._unattended.hear(frame)
            case Suspend():
                self._suspend()
            case _:
                self.settle()
                self._do(frame)

    def _do(self, frame: ToWorker) -> None:
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
                self._following.hear(frame, self._arena)
                if isinstance(frame, Load):
                    self._measuring.again()
                self._round, self._said_at = None, None
                self._carried.forget()
            case Evaluate():
                self._measuring.begin()
            case Hold() | Go():
                self._held = isinstance(frame, Hold)
            case Start():
                raise WorkerProblem("The training process was started twice.")

    def _suspend(self) -> None:
        self._following.stop()
        self._measuring.under_way = False
        self._standstill = Standstill(self._learner)
        self._arena.close()
        self._round = None
        self._say(Suspended())

    def _resume(self, frame: Resume) -> None:
        self._arena = Arena.create(Path(frame.arena_path), self._learner.numel)
        self._said_at, self._held, self._standstill = None, True, None
        self.begin()

    def _collect(self, frame: Collect) -> None:
        learner = self._learner
        contribution = self._arena.slot("contribution")
        contribution[:] = learner.hand_over()
        self._carried.add_to(contribution, samples=learner.samples)
        learner.note_out()
        self._round, self._contributed = frame.round, learner.samples
        self._say(Collected(round=frame.round, epoch=learner.state.epoch, samples=learner.samples, loss=learner.loss))

    def _absorb(self, frame: Absorb) -> None:
        if frame.epoch != self._learner.state.epoch + 1:
            told = Sentence("Step {epoch} was ordered after step {own}.", frame.epoch, self._learner.state.epoch)
            raise WorkerProblem(told, hint="Training goes on from the last saved state.")
        learner, mean = self._learner, self._arena.slot("mean")
        if frame.averaged is not None:
            self._meter.step_begins(mean, samples=frame.averaged.samples, loss=frame.averaged.loss)
        names = {"lineage": frame.lineage, "ledger": frame.ledger, "mean_digest": frame.mean_digest}
        state = learner.absorb(mean, epoch=frame.epoch, **names)
        contribution = self._arena.slot("contribution")
        self._carried.keep(contribution, samples=self._contributed, untaken=frame.untaken)
        self._round = None
        self._step = SavedStep(state, samples=learner.samples, loss=learner.loss)
        self._step.tell_when_saved(self._say)
        if frame.averaged is not None:
            self._meter.step_taken()
            metrics = self._meter.epoch_ends(averaged=frame.averaged)
            state.saving.add_done_callback(partial(_write, self._sinks, metrics))

    def _tell_who_left(self) -> None:
        held = self._learner.replicas.held
        if held.left:
            names, notes = held.devices, tuple(held.left)
            self._say(Computes(device=",".join(names), title=titles_of(names), notes=notes))
            held.left.clear()

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
        self._duty.pass_begins()
        flights = learner.flights
        counted = learner.accumulate() if flights is None else flights.step(begin=self.training)
        self._duty.pass_ends()
        self._measuring.go_on()
        if counted is None:
            return
        self._meaningless = 0 if counted else self._meaningless + 1
        if self._meaningless >= MEANINGLESS_BATCHES_MAX:
            raise WorkerProblem(
                "The model gives numbers that are not finite.", hint="Training goes on from the last saved state."
            )
        now, beside = self._clock(), learner.replicas.beside
        samples = learner.rule.samples + beside
        if self._step is None and samples and (self._said_at is None or now - self._said_at >= PROGRESS_INTERVAL_S):
            self._said_at = now
            passes = learner.replicas.samples_per_s * self._duty.share
            self._say(
                Progress(
                    epoch=learner.state.epoch,
                    samples=samples,
                    ahead=learner.rule.ahead + (beside if self._round is not None else 0),
                    samples_per_s=passes if flights is None else flights.samples_per_s,
                    loss=learner.loss,
                )
            )


def _write(sinks: Sequence[Sink], metrics: EpochMetrics, saving: "Future[Saved]") -> None:
    """Write an epoch's metrics in the thread that has written its state; training goes on if that fails."""
    try:
        if saving.exception() is None:
            write_all(sinks, metrics)
    except Problem as problem:
        sys.stderr.write(f"{problem}\n")
