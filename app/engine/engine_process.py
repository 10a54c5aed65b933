"""Starts the engine as a process of its own, which outlives the window, and tells how that went."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from app.words import text
from core.api.program_folder import LAUNCHER
from core.api.sentence import Sentence, Spoken
from core.api.snapshot import ProblemView

LOG_BYTES_MAX = 1024 * 1024
TAIL_BYTES = 8192
LOOK_MS = 200
ROOM_BYTES = 1_000_000
"""With less free on its disk an engine could not even write down why it ends."""


def own_program() -> list[str]:
    """How to run a command of Potluck, in a frozen build or with this Python.

    An AppImage runs again as a whole: what it has mounted for this program is gone when this program ends.
    """
    launcher = os.environ.get(LAUNCHER, "")
    if launcher and launcher == os.environ.get("APPIMAGE"):
        return [launcher]
    return [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "core"]


OR_ALONE = "--or-embedded"
"""Has an engine train alone on this computer where no collaboration was joined: only after the person chose that."""


def engine_command(home: Path) -> list[str]:
    """How to start an engine on `home`, in the collaboration that was joined last."""
    return [*own_program(), "engine", "--home", str(home), "--stay", "--json"]


class EngineProcess(QObject):
    """An engine that this window started, if it did.

    Args:
        home: The engine's home; its output goes to `engine.log` there.
        command: The command line.
    """

    died = Signal()
    """The process ended by itself; `code` and `last_words` say how."""

    def __init__(self, home: Path, command: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.home = home
        self._command = list(command)
        self._log = home / "engine.log"
        self._log_start = 0
        self.child: subprocess.Popen[bytes] | None = None
        self._looking = QTimer(self, interval=LOOK_MS)
        self._looking.timeout.connect(self._look)

    @property
    def running(self) -> bool:
        """Whether an engine that this window started still runs."""
        return self.child is not None and self.child.poll() is None

    @property
    def code(self) -> int | None:
        """The exit code of the engine that this window started; None: it runs, or there was none."""
        return self.child.poll() if self.child is not None else None

    def start(self) -> str:
        """Start an engine, unless it runs.

        Returns:
            Why it could not be started, as a sentence; empty: it runs.
        """
        if self.running:
            return ""
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            if shutil.disk_usage(self.home).free < ROOM_BYTES:
                return text.disk_full(str(self.home))
            log = self._open_log()
        except OSError as error:
            return text.not_written(str(error.filename or self.home), error.strerror or str(error))
        try:
            self.child = self._spawn(log)
        except OSError as error:
            return text.engine_not_started(error.strerror or str(error))
        self._looking.start()
        return ""

    @property
    def alone(self) -> bool:
        """Whether an engine trains alone where no collaboration was joined."""
        return OR_ALONE in self._command

    def go_alone(self) -> None:
        """Start engines from now on that train alone where no collaboration was joined."""
        at = len(engine_command(self.home))
        if self._command and not self.alone:  # before the words of the person
            self._command.insert(min(at, len(self._command)), OR_ALONE)

    def forget_dead(self) -> None:
        """Another engine is connected: how an earlier one ended no longer matters."""
        if not self.running:
            self.let_go()

    def stop(self) -> None:
        """End an engine that could not be asked to quit: it is still starting, or does not answer."""
        if self.child is not None and self.running:
            self._looking.stop()
            self.child.terminate()

    def let_go(self) -> None:
        """The window closes, the engine goes on."""
        self._looking.stop()
        if self.child is not None and self.child.poll() is None:
            self.child.returncode = 0  # it is nobody's child from now on: no warning, no waiting
        self.child = None

    def _open_log(self) -> BinaryIO:
        if self._log.exists() and self._log.stat().st_size > LOG_BYTES_MAX:
            self._log.replace(self._log.with_suffix(".log.old"))
        descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(descriptor, "ab")

    def _spawn(self, log: BinaryIO) -> subprocess.Popen[bytes]:
        with log:
            self._log_start = log.tell()
            return subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                creationflags=_detached(),
                start_new_session=True,
            )

    def _look(self) -> None:
        if self.code is not None:
            self._looking.stop()
            self.died.emit()

    def last_words(self) -> Sentence:
        """The last thing that the engine said in this run, shortened where it is not the problem that ended it."""
        try:
            with self._log.open("rb") as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(self._log_start, size - TAIL_BYTES))
                lines = log.read(TAIL_BYTES).decode("utf-8", "replace").split("\n")
        except OSError:
            return Sentence("")
        for line in reversed(lines):
            with contextlib.suppress(msgspec.DecodeError):
                told = msgspec.json.decode(line, type=ProblemView)
                return Spoken(told.message, hint=told.hint, said=told.said).whole
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return Sentence(last[:300])


def _detached() -> int:
    """Flags of Windows that keep the engine out of this console and its Ctrl-C."""
    if sys.platform == "win32":
        return subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    return 0
