"""Reports of crashes: a mistake in this program that nobody caught, as a text in the home that its person can read.

Nothing is sent.  A report says version, system and the lines of the program that led there; the person's folders and
the links of collaborations are left out of it.
"""

import atexit
import contextlib
import faulthandler
import os
import platform
import re
import sys
import threading
import traceback
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, TextIO

from core.api.version import VERSION

KEPT_MAX: Final = 10
REPORTS_MAX: Final = 3
"""Reports that one process writes: a mistake that comes again and again is told once."""
TEXT_MAX: Final = 40_000
"""Upper bound on a report's letters."""
NATIVE: Final = "running"
"""Beginning of the names of files into which Python writes what a library's crash leaves; empty as long as none is."""
_LINK: Final = re.compile(r"potluck:[^\s'\"]*")
_PART: Final = re.compile("[a-z][a-z-]{0,19}")


def folder_of(home: Path) -> Path:
    """Where the reports of a home lie."""
    return home / "crashes"


def reports(home: Path) -> list[Path]:
    """The reports of a home, the newest last; their names are in the order of their times."""
    return sorted(folder_of(home).glob("crash-*.txt"))


def read_report(path: Path) -> str:
    """A report's text; empty where it cannot be read."""
    try:
        with path.open("rb") as source:
            return source.read(4 * TEXT_MAX).decode("utf-8", "replace")[:TEXT_MAX]
    except OSError:
        return ""


def write_report(home: Path, part: str, error: BaseException) -> Path | None:
    """Write a report, and delete the oldest beyond `KEPT_MAX`.

    Args:
        home: The home; where there is none yet, nothing is written.
        part: Of the program: "window", or a command.
        error: What nobody caught.

    Returns:
        Its path; None: the system did not allow it.
    """
    return _write(home, part, "".join(traceback.format_exception(error)))


def watch(home: Path, part: str, *, main: bool = False) -> None:
    """From now on, what nobody catches in this process's threads is reported, and what crashes in a library.

    Args:
        home: The home.
        part: As for `write_report`.
        main: Also what nobody catches in the main thread, where nobody calls `write_report` (Qt calls a hook).
    """
    _take_native(home, part)
    seen: set[str] = set()
    before, before_in_threads = sys.excepthook, threading.excepthook

    def report(error: BaseException | None) -> None:
        if not isinstance(error, Exception):
            return
        told = "".join(traceback.format_exception(error))
        if len(seen) < REPORTS_MAX and told not in seen:
            seen.add(told)
            _write(home, part, told)

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        report(error)
        before(kind, error, trace)

    def thread_hook(failed: threading.ExceptHookArgs) -> None:
        report(failed.exc_value)
        before_in_threads(failed)

    threading.excepthook = thread_hook
    if main:
        sys.excepthook = hook


def _take_native(home: Path, part: str) -> None:
    """Make a report of what a library's crash has left the last time, and have Python write of the next one."""
    path = folder_of(home) / f"{NATIVE}-{part}.txt"
    if left := read_report(path).strip():
        _write(home, part, left)
    if faulthandler.is_enabled() or not home.is_dir():
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        file = path.open("w", encoding="utf-8")
        faulthandler.enable(file)
        atexit.register(_forget, path, file)


def _forget(path: Path, file: TextIO) -> None:
    """The process has ended by itself; until then the file stays open."""
    faulthandler.disable()
    file.close()
    with contextlib.suppress(OSError):
        path.unlink()


def _write(home: Path, part: str, told: str) -> Path | None:
    if not home.is_dir():
        return None
    now = datetime.now(UTC)
    name = part if _PART.fullmatch(part) else "command"
    head = (
        f"Potluck {VERSION} ({name}) met a mistake in itself.\n"
        f"{now:%Y-%m-%d %H:%M} UTC, Python {platform.python_version()}, {platform.platform()}\n"
        "This text lies on your computer only; nothing was sent.\n\n"
    )
    path = folder_of(home) / f"crash-{now:%Y%m%d-%H%M%S-%f}-{name}.txt"
    torn = path.with_suffix(".torn")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with torn.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{head}{_plain(told, home)[-TEXT_MAX:]}")
            file.flush()
            os.fsync(file.fileno())
        torn.replace(path)
        for old in reports(home)[:-KEPT_MAX]:
            old.unlink()
    except OSError:
        return None
    return path


def _plain(told: str, home: Path) -> str:
    """The same without the person's folders, and without links, which let people in."""
    for folder, shown in ((str(home), "HOME"), (str(Path.home()), "~")):
        told = told.replace(folder, shown) if len(folder) > 1 else told
    return _LINK.sub("potluck:…", told)
