"""The trainer: keeps a worker process alive while the person contributes, and passes on what both sides say.

Orders become frames on the pipe, and frames of the worker events for the participant (`core.workers.interpreter`), one
after the other, in the order in which the worker said them.
"""

import asyncio
import math
from collections.abc import Callable
from random import Random
from typing import Final

import msgspec

from core.api.snapshot import LossView
from core.base.problems import Problem, Sentence, WorkerProblem
from core.base.work import Collect, Evaluate, Evaluated, Go, Hold, Loaded, Release, Stepped
from core.swarm.words import orders
from core.swarm.words.answers import TrainerAnswer, TrainerGone
from core.workers import frames
from core.workers.data_frames import DataNews
from core.workers.flight_frames import FlightNews, FlightsUnmeasured, FlightWish
from core.workers.interpreter import Interpreter, LedgerKeeper, SharedFiles
from core.workers.keeper import WorkerKeeper, WorkerProgram
from core.workers.place import TrainerPlace

RESUME_HINT: Final = "Resume contributing, then try again."


class AwaitedEvaluations:
    """Requests for an evaluation that the worker has not answered yet; one answer is for all of them."""

    def __init__(self) -> None:
        self._asking: list[asyncio.Future[Evaluated]] = []

    async def answer(self) -> Evaluated:
        """Wait for the worker's next answer.

        Raises:
            WorkerProblem: the worker ended or was suspended meanwhile, or its loss is not finite.
        """
        future: asyncio.Future[Evaluated] = asyncio.get_running_loop().create_future()
        self._asking.append(future)
        return await future

    def answered(self, frame: Evaluated) -> None:
        """The worker has looked at the held-out text."""
        asking, self._asking = self._asking, []
        for future in asking:
            if future.done():
                continue
            if math.isfinite(frame.score.loss):
                future.set_result(frame)
            else:
                future.set_exception(
                    WorkerProblem("The model's loss is not a finite number.", hint="Its learning rate may be too high.")
                )

    def fail(self, problem: WorkerProblem) -> None:
        """Tell all who wait that there will be no answer, and why."""
        asking, self._asking = self._asking, []
        for future in asking:
            if not future.done():
                future.set_exception(problem)


class Trainer:
    """Keeps a worker process alive, and carries orders and reports between it and the participant.

    Args:
        place: Paths and options of the worker.
        tell: Gives the participant an event.
        ledger: Kept along with each state.
        changed: Called when something that people see has changed.
        notice: Told in a sentence what people should know.
        random: Spreads restarts.
    """

    def __init__(
        self,
        place: TrainerPlace,
        *,
        tell: Callable[[TrainerAnswer], None],
        ledger: LedgerKeeper,
        changed: Callable[[], None],
        notice: Callable[[Sentence], object],
        random: Random,
    ) -> None:
        self._place = place
        self._tell = tell
        self._interpreter = Interpreter(
            SharedFiles(manifest=place.manifest, arena=place.arena, residuals=place.residuals, means=place.means),
            tell=tell,
            ledger=ledger,
            peer=place.peer,
        )
        self.changed = changed
        self.notice = notice
        program = WorkerProgram(
            log=place.log, folder=place.states.parent, frames=frames.ToEngine, command=place.command
        )
        self._keeper: WorkerKeeper[frames.ToEngine] = WorkerKeeper(
            program, owner=self, new_arena=self._interpreter.new_arena, random=random
        )
        self._evaluations = AwaitedEvaluations()
        self._ready = False
        self.data: Callable[[DataNews | None], object] = lambda _: None
        """Told how the text comes; None: no worker computes."""
        self.flight: Callable[[FlightWish | None], object] = lambda _: None
        """Told what flights to experts want; None: no worker computes."""
        self.computes_on = ""
        """The device that the worker computes on, as torch calls it; empty until one has said it."""
        self.device = ""
        """What the worker computes on, as people call it; empty until one has said it."""
        self.loss = LossView()
        """What the task's losses mean, and what this computer's last look at the held-out text gave."""

    @property
    def pid(self) -> int | None:
        """The worker's process number while it runs, also while it is suspended."""
        return self._keeper.pid

    @property
    def problem(self) -> Problem | None:
        """Why the last worker ended, until one steps again or the person resumes."""
        return self._keeper.problem

    def resume(self) -> None:
        """The person contributes: have the worker go on, or start one, also after a problem, and without a wait."""
        self._keeper.resume()

    async def pause(self, *, memory_s: float = 0.0) -> None:
        """The person pauses: returns when the worker stands still, or is gone.

        Args:
            memory_s: Time for which it may keep its memory, to go on at once when the person resumes.
        """
        await self._keeper.pause(memory_s=memory_s)

    def throttle(self, limit: frames.Throttle) -> None:
        """Limit what this worker, and those after it, use of the computer."""
        self._keeper.throttle(limit)

    async def evaluate(self) -> Evaluated:
        """Have the worker look at the held-out text.

        Raises:
            WorkerProblem: no worker runs, or it ended meanwhile.
        """
        if not self._ready:
            raise WorkerProblem("No training process runs.", hint=RESUME_HINT)
        self._keeper.send(Evaluate())
        return await self._evaluations.answer()

    async def run(self) -> None:
        """Keep a worker running whenever one is wanted, until cancelled."""
        try:
            await self._keeper.run()
        finally:
            self._interpreter.close()

    def order(self, order: orders.TrainerOrder) -> None:
        """Carry out an order of the participant; without a worker that is ready there is nothing to do."""
        worker = self._keeper.worker
        if worker is None or not self._ready:
            return
        match order:
            case Go() | Hold() | Collect() | Release() | Evaluate():
                worker.send(order)
            case orders.Absorb() | orders.Load() | orders.Replay():
                self._interpreter.order(order, worker)
            case orders.Restart():
                self._keeper.end(
                    WorkerProblem("The training process did not answer any more.", hint="It is started again.")
                )

    def fly_on(self, frame: FlightNews) -> None:
        """Tell the worker something of experts, on which flights may go on."""
        self._keeper.send(frame)

    def stood_still(self, *, paused: bool) -> None:
        """The worker computes no more: evaluations that were asked for fail, and the participant has no trainer."""
        self._evaluations.fail(WorkerProblem("The training process stopped.", hint=RESUME_HINT))
        self._interpreter.forget()
        self.data(None)
        self.flight(None)
        if self._ready:
            self._ready = False
            self._tell(TrainerGone(paused=paused))

    def start_frame(self) -> frames.Start:
        """The first frame of the next worker."""
        place, share = self._place, self._place.share()
        return frames.Start(
            manifest_path=str(place.manifest_path),
            blobs_dir=str(place.blobs),
            state_dir=str(place.states),
            arena_path=str(self._interpreter.new_arena()),
            seed=place.seed,
            device=self._keeper.fallback.choose(share.device, notice=self.notice),
            threads=share.threads,
            compile=share.compile,
            memory_bytes=share.memory_bytes,
            hold=True,
            hold_at_epoch=place.last_epoch,
            metrics=place.metrics,
            data=place.data(),
        )

    async def heard(self, frame: frames.ToEngine) -> None:
        """The worker has said something.

        Raises:
            Problem: it ends this run of the worker.
        """
        match frame:
            case _ if isinstance(frame, DataNews):
                self.data(frame)
                self.changed()
            case _ if isinstance(frame, FlightWish):
                self.flight(frame)
            case _:
                await self._heard(frame)

    async def _heard(self, frame: frames.ToEngine) -> None:
        match frame:
            case frames.Computes(device=device, title=title, notes=notes):
                for note in notes:
                    self.notice(note)
                self.computes_on, self.device = device, title
                self.changed()
            case Stepped():
                self._keeper.problem = None
            case Loaded():
                self.loss = msgspec.structs.replace(self.loss, epoch=None, score=None, filled=())
            case Evaluated():
                finite = math.isfinite(frame.score.loss)
                score, filled = (frame.score, frame.filled) if finite else (None, ())
                told = {"epoch": frame.epoch, "score": score, "baselines": frame.baselines, "filled": filled}
                self.loss = msgspec.structs.replace(self.loss, **told)
                self._evaluations.answered(frame)
            case FlightsUnmeasured():
                self._evaluations.fail(WorkerProblem("Too few experts answer to measure the model."))
            case frames.WorkerReady():
                self._ready = True  # its participant may order something while it is told
        await self._interpreter.heard(frame, self._keeper.worker)
        if isinstance(frame, frames.WorkerReady):
            for name in frame.set_aside:
                where = Sentence("step {epoch}", frame.epoch) if frame.epoch else Sentence("the beginning")
                aside = "A damaged checkpoint was set aside as {name}. Training goes on from {where}."
                self.notice(Sentence(aside, name, where))
            self.loss = msgspec.structs.replace(
                self.loss, name=frame.loss_name, unit=frame.loss_unit, guesses=frame.guesses
            )
            self.changed()
