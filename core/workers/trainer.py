"""The trainer: keeps a worker process alive while the person contributes, and passes on what both sides say.

Orders of the participant become frames on the pipe; frames of the worker become events for the participant
(`core.workers.interpreter`), one after the other, in the order in which the worker said them.
"""

import asyncio
import logging
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from core.api.settings import CPU
from core.api.snapshot import LossView
from core.base.problems import NoSpace, Problem, Sentence, WorkerProblem
from core.base.work import Collect, Evaluate, Evaluated, Go, Hold, Loaded, Release, Stepped
from core.swarm.words import orders
from core.swarm.words.answers import TrainerAnswer, TrainerGone
from core.system.restarts import Restarts
from core.system.unused_memory import return_unused_memory
from core.workers import frames
from core.workers.data_frames import DataNews
from core.workers.evaluations import RESUME_HINT, AwaitedEvaluations
from core.workers.interpreter import Interpreter, LedgerKeeper, SharedFiles
from core.workers.moves import Moves
from core.workers.place import TrainerPlace
from core.workers.suspension import Suspension
from core.workers.worker import Worker

_LOG = logging.getLogger(__name__)
FATAL_CODES = frozenset({"bad_input", "not_trusted", "damaged"})
"""Problems that a restart cannot mend: the person has to."""

CRASHES_MAX = 2
"""Number of workers in a row that crashed before they had a model after which the device is to blame."""
CRASHED: Final = WorkerProblem.code
"""Code of the end of a worker that named no cause: any other is a person's, the text's or the disk's."""
ROOM_BYTES: Final = 1 << 20
"""Bytes that must be free beyond twice those of the moment at which the disk was full, before that is tried again."""


class DeviceFallback:
    """The device of the next worker: the person's, until workers crash at their start too often there."""

    def __init__(self) -> None:
        self._crashes = 0
        self._fallen_back = False

    def ended(self, *, crashed: bool) -> None:
        """A worker has ended; `crashed`: before it was ready, and without a word why."""
        self._crashes = self._crashes + 1 if crashed else 0

    def choose(self, wish: str, *, notice: Callable[[Sentence], object]) -> str:
        """The device for the next worker.

        Args:
            wish: The person's.
            notice: Told in a sentence, once, where it is the processor instead.
        """
        if self._crashes >= CRASHES_MAX and wish != CPU and not self._fallen_back:
            self._fallen_back = True
            notice(Sentence("Training ended at its start again and again; it is tried with the processor alone."))
        return CPU if self._fallen_back else wish


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
        )
        self._moves = Moves(self._interpreter, ledger, place.peer)
        self._changed = changed
        self._notice = notice
        self._restarts = Restarts(random)
        self._worker: Worker | None = None
        self._suspension = Suspension(self._interpreter.new_arena)
        self._evaluations = AwaitedEvaluations()
        self._ready = False
        self._fallback = DeviceFallback()
        self.data: Callable[[DataNews | None], object] = lambda _: None
        """Told how the text comes; None: no worker computes."""
        self.problem: Problem | None = None
        self.computes_on = ""
        """The device that the worker computes on, as torch calls it; empty until one has said it."""
        self.device = ""
        """What the worker computes on, as people call it; empty until one has said it."""
        self.loss = LossView()
        """What the task's losses mean, and what this computer's last look at the held-out text gave."""

    @property
    def pid(self) -> int | None:
        """The worker's process number while it runs, also while it is suspended."""
        return self._worker.pid if self._worker is not None else None

    def resume(self) -> None:
        """The person contributes: have the worker go on, or start one, also after a problem, and without a wait."""
        self.problem = None
        self._fallback = DeviceFallback()
        self._suspension.resume()
        self._restarts.skip_wait()

    async def pause(self, *, memory_s: float = 0.0) -> None:
        """The person pauses: returns when the worker stands still, or is gone.

        Args:
            memory_s: Time for which it may keep its memory, to go on at once when the person resumes.
        """
        await self._suspension.pause(memory_s=memory_s)

    def throttle(self, limit: frames.Throttle) -> None:
        """Limit what this worker, and those after it, use of the computer."""
        self._suspension.throttle(limit)

    async def evaluate(self) -> Evaluated:
        """Have the worker look at the held-out text.

        Raises:
            WorkerProblem: no worker runs, or it ended meanwhile.
        """
        if self._worker is None or not self._ready:
            raise WorkerProblem("No training process runs.", hint=RESUME_HINT)
        self._worker.send(Evaluate())
        return await self._evaluations.answer()

    async def run(self) -> None:
        """Keep a worker running whenever one is wanted, until cancelled."""
        try:
            await self._keep_running()
        finally:
            self._interpreter.close()

    async def _keep_running(self) -> None:
        while True:
            await self._suspension.until_wanted()
            problem = await self._run_once()
            if problem is None or not self._suspension.wanted:
                continue
            known = self.problem is not None and self.problem.message == problem.message
            self.problem = problem
            if not known or problem.code == CRASHED:
                _LOG.warning("%s", problem)
                self._notice(problem.sentence)
            if problem.code in FATAL_CODES:
                self._suspension.give_up()
            self._changed()
            if self._suspension.wanted:
                await self._restarts.wait(over=_mended(problem, self._place.states.parent))

    def order(self, order: orders.TrainerOrder) -> None:
        """Carry out an order of the participant; without a worker that is ready there is nothing to do."""
        if self._worker is None or not self._ready:
            return
        match order:
            case Go() | Hold() | Collect() | Release() | Evaluate():
                self._worker.send(order)
            case orders.Absorb() | orders.Load() | orders.Replay():
                self._moves.order(order, self._worker)
            case orders.Restart():
                self._worker.failure = frames.Failed.of(
                    WorkerProblem("The training process did not answer any more.", hint="It is started again.")
                )
                self._worker.kill()

    async def _run_once(self) -> Problem | None:
        """Run a worker until it ends; returns why, unless nobody wanted it any more."""
        queue: asyncio.Queue[frames.ToEngine] = asyncio.Queue()
        worker = self._worker = Worker(log=self._place.log, on_frame=queue.put_nowait, command=self._place.command)
        self._suspension.began(worker)
        self._changed()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._listen(queue)), group.create_task(self._suspension.follow(worker))]
                try:
                    code = await worker.run(self._start())
                except Problem as problem:
                    worker.failure = frames.Failed.of(problem)
                    code = 0
                for task in tasks:
                    task.cancel()
        finally:
            self._worker = None
            self._stand_still(paused=not self._suspension.wanted)
            self._suspension.ended()
            return_unused_memory()
            self._changed()
        if worker.killed and worker.failure is None:
            return None
        why = _problem(worker, code)
        self._fallback.ended(crashed=not worker.began and why.code == CRASHED)
        return why

    def _stand_still(self, *, paused: bool) -> None:
        """The worker computes no more: evaluations that were asked for fail, and the participant has no trainer."""
        self._evaluations.fail()
        self._moves.forget()
        self.data(None)
        if self._ready:
            self._ready = False
            self._tell(TrainerGone(paused=paused))

    def _start(self) -> frames.Start:
        place, share = self._place, self._place.share()
        return frames.Start(
            manifest_path=str(place.manifest_path),
            blobs_dir=str(place.blobs),
            state_dir=str(place.states),
            arena_path=str(self._interpreter.new_arena()),
            seed=place.seed,
            device=self._fallback.choose(share.device, notice=self._notice),
            threads=share.threads,
            compile=share.compile,
            memory_bytes=share.memory_bytes,
            hold=True,
            hold_at_epoch=place.last_epoch,
            metrics=place.metrics,
            data=place.data(),
        )

    async def _listen(self, queue: "asyncio.Queue[frames.ToEngine]") -> None:
        """Pass on the worker's frames one by one; a problem with one of them ends this run of the worker."""
        while True:
            frame = await queue.get()
            if isinstance(frame, DataNews):
                self.data(frame)
                self._changed()
                continue
            try:
                await self._heard(frame)
            except Problem as problem:
                worker = self._worker
                assert worker is not None
                worker.failure = frames.Failed.of(problem)
                worker.kill()
                return

    async def _heard(self, frame: frames.ToEngine) -> None:
        match frame:
            case frames.Computes(device=device, title=title, notes=notes):
                for note in notes:
                    self._notice(note)
                self.computes_on, self.device = device, title
                self._changed()
            case Stepped():
                self.problem = None
            case Loaded():
                self.loss = msgspec.structs.replace(self.loss, epoch=None, score=None, filled=())
            case Evaluated():
                finite = math.isfinite(frame.score.loss)
                score, filled = (frame.score, frame.filled) if finite else (None, ())
                told = {"epoch": frame.epoch, "score": score, "baselines": frame.baselines, "filled": filled}
                self.loss = msgspec.structs.replace(self.loss, **told)
                self._evaluations.answered(frame)
            case frames.Suspended():
                self._stand_still(paused=True)
                self._suspension.stands()
                self._changed()
            case frames.WorkerReady():
                self._suspension.goes_on()
                self._ready = True  # its participant may order something while it is told
        await self._moves.heard(frame, self._worker)
        await self._interpreter.heard(frame)
        if isinstance(frame, frames.WorkerReady):
            for name in frame.set_aside:
                where = Sentence("epoch {epoch}", frame.epoch) if frame.epoch else Sentence("the beginning")
                aside = "A damaged checkpoint was set aside as {name}. Training goes on from {where}."
                self._notice(Sentence(aside, name, where))
            self.loss = msgspec.structs.replace(
                self.loss, name=frame.loss_name, unit=frame.loss_unit, guesses=frame.guesses
            )
            self._changed()


def _problem(worker: Worker, code: int) -> Problem:
    failure = worker.failure
    if failure is not None:
        problem: Problem = WorkerProblem(failure.message, hint=failure.hint)
        problem.code = failure.code
        return problem
    ended = (
        "The training process was ended by signal {signal}."
        if code < 0
        else "The training process ended with code {code}."
    )
    return WorkerProblem(ended, abs(code), hint="It is started again; the log says more.")


def _mended(problem: Problem, folder: Path) -> Callable[[], bool] | None:
    """Return what tells that a problem is over; None: it was a crash.

    Args:
        problem: Why the worker ended.
        folder: Lies on the disk that was full.
    """
    if problem.code == CRASHED:
        return None
    if problem.code != NoSpace.code:
        return lambda: False
    needed = 2 * _free_bytes(folder) + ROOM_BYTES
    return lambda: _free_bytes(folder) >= needed


def _free_bytes(folder: Path) -> int:
    """Bytes that are free on a folder's disk; 0 where the disk is gone."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
