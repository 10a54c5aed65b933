"""Keeps a worker process alive while the person contributes: one that trains, or one that hosts experts."""

import asyncio
import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, Generic, Protocol, TypeVar

from core.api.settings import CPU
from core.base.problems import NoSpace, Problem, Sentence, WorkerProblem
from core.base.work import Frame
from core.system.restarts import Restarts
from core.system.usage import return_unused_memory
from core.workers.expert_frames import ExpertsReady
from core.workers.frames import Failed, Suspended, Throttle, WorkerReady
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

F = TypeVar("F")
F_contra = TypeVar("F_contra", contravariant=True)


class WorkerOwner(Protocol[F_contra]):
    """What a keeper serves: it knows what the worker is told, and what its frames mean."""

    def start_frame(self) -> Frame:
        """The first frame of the next worker.

        Raises:
            Problem: it cannot be started.
        """

    async def heard(self, frame: F_contra) -> None:
        """The worker has said something; one frame after the other.

        Raises:
            Problem: it ends this run of the worker.
        """

    def stood_still(self, *, paused: bool) -> None:
        """The worker computes no more: it is gone, or stands still.

        Args:
            paused: Whether the person wants it so.
        """

    @property
    def changed(self) -> Callable[[], object]:
        """Called when something that people see has changed."""

    @property
    def notice(self) -> Callable[[Sentence], object]:
        """Told in a sentence what people should know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerProgram:
    """Which program a worker is, and where it leaves its things."""

    log: Path
    folder: Path
    """Lies on the disk that it writes to."""
    frames: Any
    """The union of the frames that it says."""
    command: Sequence[str] | None = None
    """None: this program's own worker that trains."""


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


class WorkerKeeper(Generic[F]):
    """Keeps a worker process running whenever one is wanted, and has it stand still when none is.

    Args:
        program: What runs.
        owner: Told what the worker says.
        new_arena: Makes room for what a worker that is resumed shares with the engine.
        random: Spreads restarts.
    """

    def __init__(
        self, program: WorkerProgram, *, owner: WorkerOwner[F], new_arena: Callable[[], Path], random: Random
    ) -> None:
        self._program = program
        self._owner = owner
        self._restarts = Restarts(random)
        self._suspension = Suspension(new_arena)
        self.fallback = DeviceFallback()
        self.worker: Worker[F] | None = None
        """The process, while one runs."""
        self.problem: Problem | None = None

    @property
    def pid(self) -> int | None:
        """The worker's process number while it runs, also while it is suspended."""
        return self.worker.pid if self.worker is not None else None

    def resume(self) -> None:
        """The person contributes: have the worker go on, or start one, also after a problem, and without a wait."""
        self.problem = None
        self.fallback = DeviceFallback()
        self._suspension.resume()
        self._restarts.skip_wait()

    async def pause(self, *, memory_s: float = 0.0) -> None:
        """The person pauses: returns when the worker stands still, or is gone.

        Args:
            memory_s: Time for which it may keep its memory, to go on at once when the person resumes.
        """
        await self._suspension.pause(memory_s=memory_s)

    def throttle(self, limit: Throttle) -> None:
        """Limit what this worker, and those after it, use of the computer."""
        self._suspension.throttle(limit)

    def send(self, frame: Frame) -> None:
        """Say something to the worker; without effect while none runs."""
        if self.worker is not None:
            self.worker.send(frame)

    def end(self, problem: Problem) -> None:
        """End this run of the worker for a problem; another one follows, if that may help."""
        if self.worker is not None:
            self.worker.failure = Failed.of(problem)
            self.worker.kill()

    async def run(self) -> None:
        """Keep a worker running whenever one is wanted, until cancelled."""
        while True:
            await self._suspension.until_wanted()
            problem = await self._run_once()
            if problem is None or not self._suspension.wanted:
                continue
            known = self.problem is not None and self.problem.message == problem.message
            self.problem = problem
            if not known or problem.code == CRASHED:
                _LOG.warning("%s", problem)
                self._owner.notice(problem.sentence)
            if problem.code in FATAL_CODES:
                self._suspension.give_up()
            self._owner.changed()
            if self._suspension.wanted:
                await self._restarts.wait(over=_mended(problem, self._program.folder))

    async def _run_once(self) -> Problem | None:
        """Run a worker until it ends; returns why, unless nobody wanted it any more."""
        queue: asyncio.Queue[F] = asyncio.Queue()
        program = self._program
        worker: Worker[F] = Worker(
            log=program.log, on_frame=queue.put_nowait, frames=program.frames, command=program.command
        )
        self.worker = worker
        self._suspension.began(worker)
        self._owner.changed()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._listen(queue)), group.create_task(self._suspension.follow(worker))]
                try:
                    code = await worker.run(self._owner.start_frame())
                except Problem as problem:
                    worker.failure = Failed.of(problem)
                    code = 0
                for task in tasks:
                    task.cancel()
        finally:
            self.worker = None
            self._owner.stood_still(paused=not self._suspension.wanted)
            self._suspension.ended()
            return_unused_memory()
            self._owner.changed()
        if worker.killed and worker.failure is None:
            return None
        why = _problem(worker.failure, code)
        self.fallback.ended(crashed=not worker.began and why.code == CRASHED)
        return why

    async def _listen(self, queue: "asyncio.Queue[F]") -> None:
        """Pass on the worker's frames one by one; a problem with one of them ends this run of the worker."""
        while True:
            frame = await queue.get()
            match frame:
                case Suspended():
                    self._owner.stood_still(paused=True)
                    self._suspension.stands()
                    self._owner.changed()
                case WorkerReady() | ExpertsReady():
                    self._suspension.goes_on()
            try:
                await self._owner.heard(frame)
            except Problem as problem:
                self.end(problem)
                return


def _problem(failure: Failed | None, code: int) -> Problem:
    """Why a worker ended, as it or its keeper said, or else by its exit code."""
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
