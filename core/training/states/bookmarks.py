"""Bookmarks beside the states that they belong to, so that both always fit: a file each, whole or absent."""

import contextlib
import re
from pathlib import Path
from typing import Final

from core.base.problems import UserProblem, WireProblem
from core.base.state_header import epoch_of
from core.system.atomic_files import read_bounded, set_aside, write_atomic
from core.text.order.bookmark import BOOKMARK, BOOKMARK_BYTES_MAX, Bookmark

BOOKMARK_NAME: Final = "bookmark-"
"""What the names of bookmarks begin with; epoch and beginning of the lineage follow, as in the name of the state."""
_NAME: Final = re.compile(rf"^{BOOKMARK_NAME}(\d{{8,}}-[0-9a-f]{{8}})$")


class Bookmarks:
    """The bookmarks of one collaboration in the folder of its states.

    Args:
        folder: Folder of the states.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.damaged: list[Path] = []
        """Files that `read` could not read, where they are now."""

    def write(self, epoch: int, lineage: bytes, bookmark: Bookmark) -> None:
        """Keep the bookmark of a state that is about to be saved; those of states that are gone are deleted.

        It comes first: a state without its bookmark would have rows drawn again that it has absorbed.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        names = [path.name for path in self._folder.iterdir()]
        states = {name.removeprefix("state-").rpartition("-")[0] for name in names if epoch_of(name) is not None}
        for path in self._all():
            if path.name.removeprefix(BOOKMARK_NAME) not in states:
                with contextlib.suppress(OSError):  # the next one tries again
                    path.unlink()
        write_atomic(self._path(epoch, lineage), BOOKMARK.encode(bookmark))

    def read(self, epoch: int, lineage: bytes) -> Bookmark | None:
        """The bookmark of a state, or, where that is damaged, the newest before it.

        Returns:
            The bookmark; None: there is none that can be read.  Damaged ones are set aside.
        """
        own = self._path(epoch, lineage)
        earlier = [path for path in self._all() if path.name < own.name]
        for path in [own, *sorted(earlier, reverse=True)]:
            try:
                data = read_bounded(path, BOOKMARK_BYTES_MAX)
                if data is not None:
                    return BOOKMARK.decode(data)
            except (WireProblem, ValueError, UserProblem):
                with contextlib.suppress(UserProblem):
                    self.damaged.append(set_aside(path))
        return None

    def _all(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return [path for path in self._folder.iterdir() if _NAME.match(path.name)]

    def _path(self, epoch: int, lineage: bytes) -> Path:
        return self._folder / f"{BOOKMARK_NAME}{epoch:08d}-{lineage.hex()[:8]}"
