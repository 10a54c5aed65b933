"""One share as one member sees it: its parts go out within a window, means come back."""

from collections.abc import Sequence
from typing import Final

AHEAD_FIRST: Final = 2
"""Parts that leave before the first mean has come, as long as not all reducers are ready: none is to wait for its
first part behind many of others'."""


class Lane:
    """Bookkeeping of one version of one share at one member.

    Args:
        count: Chunks in the share.
        reducer: Index of the member that reduces it.
        window: Parts that may be ahead of the first mean that is missing, once the lane has warmed up.
        now: When the version began, unix seconds.
    """

    def __init__(self, count: int, *, reducer: int, window: int, now: float) -> None:
        self.count = count
        self.reducer = reducer
        self.maker = reducer
        """Who made this version's means; after its death another may repeat them, and is the reducer then."""
        self.version = 0
        self.progress_at = now
        """When the last mean arrived, or the version began."""
        self._window_max = window
        self._window = min(window, AHEAD_FIRST)
        self._begin()

    def restart(self, *, version: int, reducer: int, now: float) -> int:
        """Forget all means: another version begins.  Returns how many parts nobody will answer."""
        self.version = version
        self.reducer = self.maker = reducer
        self.progress_at = now
        lapsed = self.give_up()
        self._begin()
        return lapsed

    def _begin(self) -> None:
        self.ready = False
        """Whether parts may leave: the reducer waits for them."""
        self._unanswered = 0
        self._next = 0
        self._first_missing = 0
        self._contributors: list[int | None] = [None] * self.count
        self.left = self.count
        """Means that are missing."""
        self._tally: tuple[int, ...] | None = None

    def warm_up(self) -> None:
        """Allow the whole window at once."""
        self._window = self._window_max

    def redirect(self, reducer: int, now: float) -> int:
        """The means that are missing will come from another member; returns how many parts nobody will answer."""
        self.reducer = reducer
        self.progress_at = now
        self._next = self._first_missing
        return self.give_up()

    def give_up(self) -> int:
        """Do not count on answers to the parts that have left; returns how many those are."""
        lapsed, self._unanswered = self._unanswered, 0
        return lapsed

    @property
    def complete(self) -> bool:
        """Whether every mean is here, or is known to be made where none are wanted."""
        return self._first_missing >= self.count

    def has(self, chunk: int) -> bool:
        """Whether the mean of `chunk` is here."""
        return self._contributors[chunk] is not None

    def arrive(self, chunk: int, contributors: int, now: float) -> int:
        """The mean of `chunk`, which was missing, is here; it is made of the parts of `contributors` (bits).

        Returns how many parts are thereby answered: 1 or 0.
        """
        self._contributors[chunk] = contributors
        self.left -= 1
        self.progress_at = now
        while not self.complete and self.has(self._first_missing):
            self._first_missing += 1
        self._window = min(self._window + 1, self._window_max)
        answered = int(chunk < self._next and self._unanswered > 0)
        self._unanswered -= answered
        return answered

    def told(self, tally: Sequence[int], now: float) -> None:
        """All means are made, though not for me; `tally`: how many of them hold a part of each member."""
        self._tally = tuple(tally)
        self.left = 0
        self.progress_at = now
        self._first_missing = self.count

    def contributors(self, chunk: int) -> int:
        """Whose parts are in the mean of `chunk` (bits); 0 while it is missing."""
        return self._contributors[chunk] or 0

    @property
    def due(self) -> int | None:
        """The part that may leave next; None: the reducer or the window does not allow one, or all have left."""
        if not self.ready:
            return None
        end = min(self.count, self._first_missing + self._window)
        while self._next < end and self.has(self._next):
            self._next += 1
        return self._next if self._next < end else None

    @property
    def progress(self) -> float:
        """How far in the share the middle of the next part lies, 0 to 1."""
        return (self._next + 0.5) / self.count

    def sent(self) -> None:
        """The part that was due has left."""
        self._next += 1
        self._unanswered += 1

    def present(self, member: int) -> int:
        """In how many means `member` has a part."""
        if self._tally is not None:
            return self._tally[member]
        return sum(1 for bits in self._contributors if bits is not None and bits >> member & 1)
