"""The worker process as the engine sees it: started, spoken to, killed."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from core.base.problems import UserProblem, WireProblem, WorkerProblem
from core.base.work import Frame
from core.system.atomic_files import scarcity_of
from core.system.child_process import open_log, own_command
from core.system.reports import start
from core.workers.expert_frames import ExpertsReady
from core.workers.frames import (
    LENGTH_BYTES,
    Failed,
    Ping,
    Pong,
    Suspended,
    ToEngine,
    WorkerReady,
    encode_frame,
    frame_decoder,
    frame_length,
)

F = TypeVar("F")

EXIT_TIMEOUT_S = 2.0
"""How long a worker that has closed its pipe may take to end."""
PING_S = 1.0
"""An engine that is busy for less than five seconds so delays no worker (core.training.standstill)."""
UNANSWERED_MAX = 15
"""Number of unanswered pings in a row after which the worker counts as frozen.  Pings are counted, not seconds, so that
a computer that slept does not blame its worker."""
START_MAX = 900
"""Number of seconds, counted likewise, after which a worker that is not ready counts as frozen: a driver, or a drive of
the network, may hang.  To import torch takes five minutes at most (core.parts.getting)."""


class Worker(Generic[F]):
    """One run of a worker process.

    The pipe watches the parent: when this process ends, for whatever reason, the worker's stdin closes and it ends too.

    Args:
        log: Where the worker's stderr goes; begun anew when it has grown beyond 4 MiB.
        on_frame: Called with every frame of the worker, in order.
        frames: The union of the frames that it says; by default those of a worker that trains.
        command: The program; by default that worker.
        ping_s: How often it is asked whether it runs, once it is ready, and not while it is suspended.
    """

    def __init__(
        self,
        *,
        log: Path,
        on_frame: Callable[[F], None],
        frames: Any = ToEngine,
        command: Sequence[str] | None = None,
        ping_s: float = PING_S,
    ) -> None:
        self._log = log
        self._on_frame = on_frame
        self._decoder: msgspec.msgpack.Decoder[F] = frame_decoder(frames)
        self._command = list(command or own_command("worker", "core.training"))
        self._process: asyncio.subprocess.Process | None = None
        self.killed = False
        """Whether it was ended, for `failure` or because nobody wants it."""
        self.began = False
        """Whether it has been ready."""
        self._ping_s = ping_s
        self._ready = asyncio.Event()
        self._unanswered = 0
        self.failure: Failed | None = None

    @property
    def pid(self) -> int | None:
        """The process's number while it runs."""
        if self._process is None or self._process.returncode is not None:
            return None
        return self._process.pid

    async def run(self, start: Frame) -> int:
        """Start it, pass on its frames until it ends, and return its exit code (negative: the signal).

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        if self.killed:
            return 0
        self._process = process = await self._started()
        if self.killed:
            process.kill()
        asking = asyncio.create_task(self._ask())
        try:
            self.send(start)
            await self._read(process)
            # A kill asks whether the process has ended, and would take its exit code from the task that waits for it.
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(process.wait(), EXIT_TIMEOUT_S)
        finally:
            asking.cancel()
            if process.returncode is None:
                self.kill()
                await process.wait()
        return await process.wait()

    async def _started(self) -> asyncio.subprocess.Process:
        with open_log(self._log) as log:
            try:
                return await start(self._command, log=log, environ={"PYTHONUNBUFFERED": "1"})
            except OSError as error:
                gone = isinstance(error, FileNotFoundError | NotADirectoryError)
                hint = "If Potluck was removed or moved, install it again." if gone else ""
                told = UserProblem("{program} does not start: {why}.", self._command[0], error.strerror, hint=hint)
                raise scarcity_of(error) or told from error

    def send(self, frame: Frame) -> None:
        """Say something to the worker; without effect once it is gone."""
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            return
        process.stdin.write(encode_frame(frame))

    def kill(self) -> None:
        """End it at once: its memory, and the graphics card's, are free a moment later."""
        self.killed = True
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _ask(self) -> None:
        """Ping while it is ready, until nothing comes back; then end it, as one that does not become ready."""
        waited = 0
        while self._unanswered < UNANSWERED_MAX and waited < START_MAX:
            if self.began:
                await self._ready.wait()
                self._unanswered += 1
                self.send(Ping())
            else:
                waited += 1
            await asyncio.sleep(self._ping_s)
        self.failure = Failed.of(WorkerProblem("The training process does not answer.", hint="It is started again."))
        self.kill()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        try:
            while True:
                header = await process.stdout.readexactly(LENGTH_BYTES)
                frame = self._decoder.decode(await process.stdout.readexactly(frame_length(header)))
                self._unanswered = 0
                match frame:
                    case Pong():
                        continue
                    case WorkerReady() | ExpertsReady():
                        self.began = True
                        self._ready.set()
                    case Suspended():
                        self._ready.clear()
                    case Failed():
                        self.failure = frame
                self._on_frame(frame)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        except (WireProblem, msgspec.MsgspecError) as problem:
            self.failure = Failed.of(
                WorkerProblem("The training process said something unreadable: {problem}", problem)
            )
            self.kill()
