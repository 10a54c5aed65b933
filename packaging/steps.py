"""What a set-up shows while it goes on, and how it ends when it cannot.

Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOG_LINES_SHOWN = 15
LOOK_EVERY_S = 1.0
"""How often what goes on is looked at, and shown on a terminal."""
SAY_EVERY_S = 30.0
"""How often it is said where no line can be rewritten: in a file, or in the log of a build."""


class SetupProblem(Exception):  # noqa: N818 - a problem of the person's machine, in the project's words
    """Something that the person must mend; the message says what, and how."""


class Steps:
    """Prints what happens, with the time since the start; on a terminal the last line is rewritten.

    Args:
        clock: Seconds, of any beginning.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begin = self._said_at = clock()
        self._live = sys.stderr.isatty()
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        """A step that stays on the screen."""
        self._write(text, end="\n")

    def passing(self, text: str) -> None:
        """What goes on in a step: the next line overwrites it, and where that cannot be few such lines are shown."""
        if self._live:
            self._write(f"  {text}", end="")
        elif self._clock() - self._said_at >= SAY_EVERY_S:
            self._write(f"  {text}", end="\n")

    @contextlib.contextmanager
    def showing(self, look: Callable[[], str]) -> Iterator[None]:
        """While this is open, look again and again at what goes on and show it, so that the time is seen to pass."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(LOOK_EVERY_S):
                self.passing(look())

        watching = threading.Thread(target=watch, name="progress", daemon=True)
        watching.start()
        try:
            yield
        finally:
            over.set()
            watching.join()

    def _write(self, text: str, end: str) -> None:
        with self._lock:
            self._said_at = self._clock()
            line = f"[{self._said_at - self._begin:5.0f} s] {text}"
            if self._live and not end:  # a line that is broken in two cannot be overwritten
                line = line[: max(20, _columns() - 1)]
            head = "\r\x1b[K" if self._live else ""
            sys.stderr.write(f"{head}{line}{end}")
            sys.stderr.flush()


def _columns() -> int:
    """How wide the terminal is that the steps are shown on; stdout may be another one, or none."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns


class Progress:
    """What a command that runs is doing.

    Args:
        words: What to show as long as nothing more is known.
    """

    def __init__(self, words: str) -> None:
        self._words = words

    def hear(self, line: str) -> None:
        """A line that the command printed."""

    def text(self) -> str:
        """What is going on now, in a few words."""
        return self._words


def run_quietly(command: list[str], log: Path, steps: Steps, progress: Progress) -> int:
    """Run a command with its output in `log`, showing its progress; returns its exit code."""
    with log.open("a", encoding="utf-8", errors="replace") as file, steps.showing(progress.text):
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                file.write(line)
                progress.hear(line)
            return process.wait()
        finally:
            process.kill()
            process.stdout.close()
            process.wait()


def last_lines(log: Path) -> str:
    """The end of a log, for a person."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-LOG_LINES_SHOWN:])
