"""Which files a peer gives to latecomers: its newest states, and the means of the last rounds."""

from typing import Final

from core.base.machine import Trace
from core.swarm.catching_up.donor import FileDonor, PastMembers
from core.swarm.words.messages import STATE_FILES
from core.swarm.words.states import StateFile

OFFERED: Final = 2
"""Number of states that are offered; more while somebody downloads an older one."""


class StateDonor(FileDonor):
    """Gives states and means to peers that ask (`FileDonor`).

    The files offered are the newest two, and whatever somebody is downloading.

    Args:
        trace: Counts what others do wrong.
        members: Who was in rounds with this peer.
    """

    MESSAGES: Final = STATE_FILES.asks

    def __init__(self, *, trace: Trace, members: PastMembers) -> None:
        super().__init__(STATE_FILES, trace=trace, members=members)
        self._files: dict[bytes, StateFile] = {}
        self._means: dict[bytes, StateFile] = {}
        """Means of the last rounds, as many as together are no larger than a state; the oldest first."""

    def offer(self, file: StateFile, *, mean: bool = False) -> None:
        """Offer a newer state; the one before the last is withdrawn when nobody downloads it any more.

        Args:
            file: What others may have.
            mean: Whether it is the mean of a newer round and no state.
        """
        files = self._means if mean else self._files
        files.pop(file.digest, None)
        files[file.digest] = file
        self._freed()

    def _freed(self) -> None:
        wanted = {guest.digest for guest in self._guests.values()}
        for old in [digest for digest in list(self._files)[:-OFFERED] if digest not in wanted]:
            del self._files[old]
        room = self.size_bytes or 0
        for digest, file in reversed(self._means.copy().items()):
            room -= file.size_bytes
            if room < 0 and digest not in wanted:
                del self._means[digest]

    def _file(self, digest: bytes) -> StateFile | None:
        return self._files.get(digest) or self._means.get(digest)

    def gives(self, digest: bytes) -> bool:
        """Whether this file is offered, and can be read as far as is known."""
        return digest in self._files

    @property
    def size_bytes(self) -> int | None:
        """Length of the newest file; None before the first."""
        return next((file.size_bytes for file in reversed(self._files.values())), None)

    @property
    def deadline(self) -> float | None:
        """Never: guests are forgotten when the next one asks."""
        return None

    def _unreadable(self, digest: bytes) -> None:
        self._files.pop(digest, None)
        self._means.pop(digest, None)
