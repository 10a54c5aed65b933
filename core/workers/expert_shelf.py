"""The files of experts that others may have."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

from core.base.problems import Problem
from core.experts.hosting import Expert
from core.kept.state_files import DiskStateFile
from core.swarm.experts.copy_news import CopyHere
from core.swarm.experts.keeping import CopyDropped, CopyFetched
from core.workers.expert_files import expert_file, expert_files, has_named_digest, keep_newest, version_of, written_at

_LOG = logging.getLogger(__name__)


class ExpertShelf:
    """The files of experts in one folder, which others may have.

    Args:
        folder: Where they lie.
        deliver: Gives the machine that tells of them an event.
        ahead_s: How far the clock by which files are written is ahead of the collaboration's time, seconds.
    """

    def __init__(self, folder: Path, deliver: Callable[[CopyHere], None], *, ahead_s: Callable[[], float]) -> None:
        self.folder = folder
        self._ahead_s = ahead_s
        self._deliver = deliver
        self._waiting: asyncio.Queue[tuple[Expert, int, Path]] = asyncio.Queue()

    def put(self, expert: Expert, version: int, path: Path) -> None:
        """Have others know of a state that lies here."""
        self._waiting.put_nowait((expert, version, path))

    def put_all(self) -> tuple[Expert, ...]:
        """Have others know of all that lie here; returns of which experts these are."""
        kept = expert_files(self.folder)
        for expert, paths in kept.items():
            self.put(expert, version_of(paths[-1]), paths[-1])
        return tuple(kept)

    def take(self, event: object) -> bool:
        """Take in what the machine that keeps copies reports; False: it is not about them."""
        match event:
            case CopyFetched():
                self._take_in(event.expert, event.version, Path(event.path))
            case CopyDropped(expert=expert):
                for old in expert_files(self.folder).get(expert, ()):
                    with contextlib.suppress(OSError):  # Windows keeps what somebody reads
                        old.unlink()
            case _:
                return False
        return True

    def _take_in(self, expert: Expert, version: int, fetched: Path) -> None:
        """Put a file that is named by its digest where it belongs at once: the next download clears its folder."""
        place = expert_file(self.folder, expert, version=version, root=bytes.fromhex(fetched.stem))
        try:
            self.put(expert, version, fetched.replace(place))
            keep_newest(self.folder, expert, place)
        except OSError as problem:
            _LOG.warning("a copy of an expert is not kept: %s", problem)

    def newest(self, expert: Expert) -> str:
        """Path of the newest state of an expert; empty: there is none."""
        files = expert_files(self.folder).get(expert)
        return str(files[-1]) if files else ""

    def saved(self) -> dict[Expert, int]:
        """When the newest state of each expert that lies here was written, Unix seconds of the collaboration."""
        return {expert: self._at(written_at(paths[-1])) for expert, paths in expert_files(self.folder).items()}

    def _at(self, written: float) -> int:
        return max(0, int(written - self._ahead_s()))

    async def keep(self) -> None:
        """Have others know of files, one after the other, until cancelled."""
        while True:
            expert, version, path = await self._waiting.get()
            try:
                file = await asyncio.to_thread(DiskStateFile, path, None)
                saved = self._at(path.stat().st_mtime)
            except (Problem, OSError) as problem:
                _LOG.warning("a copy of an expert is not given: %s", problem)
                continue
            if not has_named_digest(path, file.digest):
                _LOG.warning("a copy of an expert is not given: %s is not what was written", path.name)
                continue
            self._deliver(CopyHere(expert, version, file, saved))
