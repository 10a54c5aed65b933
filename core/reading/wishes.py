"""What the worker wants of one source.  It may be used from several threads."""

import threading
from collections.abc import Sequence
from typing import NamedTuple


class GivenUp(Exception):  # noqa: N818 - no error
    """What is being read is not wanted any more."""


class Wish(NamedTuple):
    """One block is to be made, or said again."""

    shard: int
    row: int
    """A row that stands in the block."""


class Wishes:
    """Holds the worker's wishes that are not fulfilled yet."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._wanted: tuple[Wish, ...] = ()
        self._again: tuple[Wish, ...] = ()

    def want(self, shards: Sequence[tuple[int, int]]) -> None:
        """One block of one of these shards, in order of preference; the wish before is forgotten."""
        with self._changed:
            self._wanted = tuple(Wish(*shard) for shard in shards)
            self._changed.notify()

    def again(self, wish: Wish) -> None:
        """A block that was there before; all of these are to be said."""
        with self._changed:
            self._again = (*self._again, wish)
            self._changed.notify()

    def jobs(self) -> tuple[Sequence[Wish], Sequence[Wish]]:
        """Wait until there are wishes, and return them: those of the first list go before those of the second."""
        with self._changed:
            self._changed.wait_for(lambda: self._wanted or self._again)
            return self._again, self._wanted

    def holds(self, wish: Wish) -> bool:
        """Whether a block of the wish's shard is still wanted."""
        return wish in self._again or any(wish.shard == wanted.shard for wanted in self._wanted)

    def fulfil(self, wish: Wish) -> None:
        """Forget a wish before its answer is said, since the next wish follows the answer."""
        with self._changed:
            if wish in self._again:
                self._again = tuple(other for other in self._again if other != wish)
            else:
                self._wanted = ()

    def lose(self, shard: int) -> None:
        """Forget all wishes for a shard that cannot be read."""
        with self._changed:
            self._again = tuple(wish for wish in self._again if wish.shard != shard)
            self._wanted = tuple(wish for wish in self._wanted if wish.shard != shard)

    def wait(self, seconds: float) -> None:
        """Wait for a while, or until there is another wish."""
        with self._changed:
            before = self._wanted, self._again
            self._changed.wait_for(lambda: (self._wanted, self._again) != before, timeout=seconds)
