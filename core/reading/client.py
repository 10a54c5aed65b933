"""The reader as its worker sees it: a child that is started, spoken to, and started again when it dies."""

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import msgspec

from core.base.back_off import BackOff
from core.base.problems import WireProblem, WorkerProblem
from core.reading.frames import BeginReading, GoOn, ReadFailed, ReadFrame, Rest, ToReader, ToTrainer
from core.system.child_process import own_command
from core.workers.frames import LENGTH_BYTES, frame_decoder, frame_length, framed

RESTART_S: Final = 1.0
RESTART_S_MAX: Final = 60.0
"""Longest pause between two starts of a reader that dies, jitter apart."""
DEATHS_MAX: Final = 6
"""Readers that die in a row without a word about text; then the worker has a problem."""
ENDS_S: Final = 10.0
"""A reader that rests for longer is ended, and its memory given back; the next one starts in a second."""
_READER: Final = "reader"


class ReaderClient:
    """Runs one reader after the other, until `close`.

    Args:
        begin: What each is told first.
        hear: Called with each of its frames, in a thread; a new reader begins with Opened.
        fail: Called once, with the last words of a reader that it makes no sense to start again.
        command: The program; by default this program's own reader.
        random: Jitter of the back-off.
    """

    def __init__(
        self,
        begin: BeginReading,
        hear: Callable[[ToTrainer], None],
        fail: Callable[[ReadFailed], None],
        *,
        command: Sequence[str] | None = None,
        random: Random | None = None,
    ) -> None:
        self._begin = begin
        self._hear = hear
        self._fail = fail
        self._command = list(command or own_command(_READER, "core.reading"))
        chance = random or Random()  # noqa: S311 - jitter is not secret
        self._deaths = BackOff[str](first=RESTART_S, longest=RESTART_S_MAX, random=chance)
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = threading.Lock()
        self._going = threading.Event()
        self._going.set()
        self._ending = threading.Timer(ENDS_S, self._end)
        self._closed = threading.Event()
        threading.Thread(target=self._run, name=_READER, daemon=True).start()

    @property
    def pid(self) -> int | None:
        """The process's number; None while there is none."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def say(self, frame: ToReader) -> None:
        """Say something to the reader; without effect while there is none: a new one is told anew."""
        with self._pipe:
            if self._process is not None:
                self._write(self._process, frame)

    def rest(self) -> None:
        """Have nothing read nor computed until `go_on`."""
        if not self._going.is_set():
            return
        self._going.clear()
        self.say(Rest())
        self._ending = threading.Timer(ENDS_S, self._end)
        self._ending.daemon = True
        self._ending.start()

    def go_on(self) -> None:
        """After `rest`: have the reader work again."""
        if not self._going.is_set():
            self._ending.cancel()
            self._going.set()
            self.say(GoOn())

    def close(self) -> None:
        """End it, and wait until it is gone."""
        self._ending.cancel()
        self._closed.set()
        self._going.set()
        process = self._end()
        if process is not None:
            process.wait()

    def _end(self) -> "subprocess.Popen[bytes] | None":
        """Tell the reader that runs, if one does, to end; not one that was told to go on a moment ago."""
        with self._pipe:
            process = self._process
            if self._going.is_set() and not self._closed.is_set():
                return process
            if process is not None and process.stdin is not None:
                with contextlib.suppress(OSError):
                    process.stdin.close()
        return process

    def _run(self) -> None:
        quick = 0
        while not self._closed.is_set():
            last = self._run_once()
            if isinstance(last, ReadFailed) and last.code != WorkerProblem.code:
                self._fail(last)
                return
            quick = quick + 1 if last is not None and self._going.is_set() else 0
            if quick >= DEATHS_MAX and not self._closed.is_set():
                said = last.message if isinstance(last, ReadFailed) else "The reading process ends again and again."
                self._fail(ReadFailed.of(WorkerProblem(said, hint="The log says more.")))
                return
            now = time.monotonic()
            self._closed.wait(self._deaths.fail(_READER, now) - now)
            self._going.wait()

    def _run_once(self) -> ReadFailed | bool | None:
        """Start a reader and hear it until it ends.

        Returns:
            Its last words; True: it had none, and said nothing else of text either; None: it worked.
        """
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as error:
            return ReadFailed.of(WorkerProblem("The reading process could not be started: {error}.", error))
        with self._pipe:
            self._write(process, self._begin)
            if not self._going.is_set():
                self._write(process, Rest())
            self._process = process
            if self._closed.is_set() and process.stdin is not None:
                process.stdin.close()
        worked, last = self._listen(process)
        with self._pipe:
            self._process = None
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        return last or (None if worked else True)

    def _listen(self, process: "subprocess.Popen[bytes]") -> tuple[bool, ReadFailed | None]:
        """Pass on its frames until it ends; whether it said anything, and its last words."""
        assert process.stdout is not None
        decoder, worked = frame_decoder(ToTrainer), False
        try:
            while header := process.stdout.read(LENGTH_BYTES):
                frame: ToTrainer = decoder.decode(process.stdout.read(frame_length(header)))
                if isinstance(frame, ReadFailed):
                    return worked, frame
                worked = True
                self._deaths.clear(_READER)
                if not self._closed.is_set():
                    self._hear(frame)
        except (OSError, WireProblem, ValueError, msgspec.MsgspecError):
            pass  # it died within a frame
        return worked, None

    @staticmethod
    def _write(process: "subprocess.Popen[bytes]", frame: ReadFrame) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it has just ended
            process.stdin.write(framed(frame))
            process.stdin.flush()
