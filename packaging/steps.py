"""What a set-up shows while it goes on, and how it ends when it cannot.

Standard library only.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOG_LINES_SHOWN = 15

_COLLECTING = re.compile(r"^\s*(?:Collecting|Obtaining|Processing)\s+([^\s(]+)")


class SetupProblem(Exception):  # noqa: N818 - a problem of the person's machine, in the project's words
    """Something that the person must mend; the message says what, and how."""


class Steps:
    """Prints what happens, with the time since the start; on a terminal the last line is rewritten."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._live = sys.stderr.isatty()

    def say(self, text: str) -> None:
        """A step that stays on the screen."""
        self._write(f"[{time.monotonic() - self._begin:5.0f} s] {text}", end="\n")

    def passing(self, text: str) -> None:
        """A step that the next one overwrites; not shown where nothing can be overwritten."""
        if self._live:
            self._write(f"[{time.monotonic() - self._begin:5.0f} s]   {text}", end="")

    def _write(self, text: str, end: str) -> None:
        head = "\r\x1b[K" if self._live else ""
        sys.stderr.write(f"{head}{text}{end}")
        sys.stderr.flush()


def pip_step(line: str) -> str | None:
    """What a line of pip's output says about its progress, in a few words."""
    collecting = _COLLECTING.match(line)
    if collecting:
        return f"fetching {re.split(r'[=<>!~;]', collecting.group(1))[0]}"
    if line.startswith("Installing collected packages:"):
        return f"unpacking {line.count(',') + 1} packages"
    return None


def run_quietly(command: list[str], log: Path, steps: Steps) -> int:
    """Run a command with its output in `log`, showing pip's progress; returns its exit code."""
    steps_seen = 0
    with log.open("a", encoding="utf-8", errors="replace") as file:
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
                step = pip_step(line)
                if step:
                    steps_seen += 1
                    steps.passing(f"{step} ({steps_seen})")
            return process.wait()
        finally:
            process.kill()
            process.stdout.close()
            process.wait()


def last_lines(log: Path) -> str:
    """The end of a log, for a person."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-LOG_LINES_SHOWN:])
