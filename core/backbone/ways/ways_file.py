"""The ways in of a charter: `ways.toml`, read when the page starts, and again when it changes."""

import os
import stat
from pathlib import Path

from core.base.problems import BadInput, Problem, Sentence
from core.base.site.ways import LIST_BYTES_MAX, WAYS, WAYS_BYTES_MAX, WaysIn, parse_ways
from core.system.atomic_files import read_bounded


def read_ways(folder: Path) -> WaysIn | None:
    """How people sign in at the page; None: they do not.

    Args:
        folder: The charter's.

    Raises:
        BadInput: the file has a mistake, or others on this computer can read the secrets in it.
    """
    path = folder / WAYS
    text = _text(path, WAYS_BYTES_MAX)
    if text is None:
        return None

    def read_list(name: str) -> str:
        names = _text(folder / name, LIST_BYTES_MAX)
        if names is None:
            raise BadInput(
                "{file}: there is no file {list} beside it.", WAYS, name, hint="Write one name a line there."
            )
        return names

    found = parse_ways(text, read_list)
    others = path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    if others and os.name == "posix" and any(one.client_secret for one in found.clients.values()):
        raise BadInput(
            "Others on this computer can read the secrets in {file}.",
            path,
            hint=Sentence("Type: chmod 600 {file}", path),
        )
    return found


class WaysFile:
    """Says whether the ways in have changed.

    Args:
        folder: The charter's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stamp: tuple[object, ...] | None = None
        self._read: WaysIn | None = None
        self.problem: Problem | None = None
        """Why the newest change does not count; None: it does."""

    def changed(self) -> bool:
        """Whether there are other ways than before; a mistake leaves those of before."""
        before, had = self._read, self._stamp is not None
        names = [WAYS, *(one.list for one in (before.clients.values() if before else ()) if one.list)]
        stamp = tuple(_stamp(self._folder / name) for name in names)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            self._read, self.problem = read_ways(self._folder), None
        except Problem as problem:
            self.problem = problem
        return not had or self._read != before

    @property
    def ways(self) -> WaysIn | None:
        """The newest ways in without a mistake."""
        return self._read


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def _text(path: Path, bytes_max: int) -> str | None:
    try:
        data = read_bounded(path, bytes_max)
        return None if data is None else data.decode()
    except ValueError as error:
        bound = "{file} is not text in UTF-8, or has more than {most} bytes."
        raise BadInput(bound, path, bytes_max, hint="Correct it.") from error
