"""Notices on disk, one JSON line each: what happened can be told after the engine has ended, however it ended."""

import contextlib
from pathlib import Path
from typing import Final

import msgspec

from core.api.snapshot import Notice
from core.base.problems import Problem, Sentence, later
from core.control.notices import NoticeRing
from core.system.atomic_files import make_directory
from core.system.child_process import open_log

STARTS: Final = later("Potluck starts.")
ENDS: Final = later("Potluck ends.")


class NoticeFile:
    """Keeps what an engine's notices say.  A disk that takes no more loses notices, and stops nothing.

    Args:
        path: The log, which is begun anew when it has grown large; the one before it is kept.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[Notice]:
        """All notices, oldest first; lines that cannot be read are left out."""
        found = []
        for path in (self._path.with_suffix(".old.log"), self._path):
            with contextlib.suppress(OSError):
                for line in path.read_bytes().splitlines():
                    with contextlib.suppress(ValueError):
                        found.append(msgspec.json.decode(line, type=Notice))
        return found

    def last_run(self) -> list[Notice]:
        """What the last engine told, from its first notice on; empty: there was none."""
        notices = self.read()
        first = max((at for at, notice in enumerate(notices) if notice.number == 1), default=0)
        return notices[first:]

    def follow(self, notices: NoticeRing) -> None:
        """Keep the notices of an engine that starts, those that it has already among them."""
        if (earlier := self.read()) and earlier[-1].text != ENDS:
            killed = Sentence("Potluck was killed the last time, or the computer lost power.")
            notices.add("warning", killed, "engine.killed")
        notices.add("info", Sentence(STARTS), "engine.starts")
        for notice in notices.since(0):
            self._write(notice)
        notices.listen(self._write)

    def _write(self, notice: Notice) -> None:
        with contextlib.suppress(Problem, OSError):
            make_directory(self._path.parent)
            with open_log(self._path) as log:
                log.write(b"\n" + msgspec.json.encode(notice))  # the line before may be torn
