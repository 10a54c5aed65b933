"""Batches made in a thread beside training: in the order of their stream, and never more than a few ahead."""

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

T = TypeVar("T")

AHEAD_MAX: Final = 16
"""Items that are ready at most: enough to sleep through a large file that is read, small beside a model."""

END_S: Final = 10.0
"""Longer than an item takes."""


class ReadAhead(Generic[T]):
    """The items of a stream, made by a thread of its own, which ends when this object is dropped.

    An exception in the stream is raised where the item would have come, and so is the stream's end.  None in the stream
    means that there was no item for a moment.

    Args:
        opened: Gives the stream, which that thread alone uses.
        ahead_max: Items that are ready at most.
    """

    def __init__(self, opened: Callable[[], Iterator[T | None]], *, ahead_max: int = AHEAD_MAX) -> None:
        self.waited_s = 0.0
        """How long `__next__` has waited for items so far."""
        self._shelf = shelf = _Shelf[T](ahead_max)
        self._thread = threading.Thread(target=shelf.fill, args=(opened,), name="data", daemon=True)
        weakref.finalize(self, _end, shelf, self._thread)

    def start(self) -> None:
        """Begin to make items, or go on after `stop`; the first `__next__` does so, too."""
        self._shelf.resume()
        if self._thread.ident is None:
            self._thread.start()

    def stop(self) -> None:
        """Make no more items after the one in hand, until the next `start`; those that are ready are kept."""
        self._shelf.stop()

    def close(self) -> list[T]:
        """End the stream; returns the items that nobody took."""
        return self._shelf.close()

    def wait(self, timeout_s: float) -> bool:
        """Wait a limited time for an item; returns whether there is one, or an exception in its place."""
        self.start()
        began = time.monotonic()
        try:
            return self._shelf.wait(timeout_s)
        finally:
            self.waited_s += time.monotonic() - began

    def __iter__(self) -> "ReadAhead[T]":
        """Itself, as iterators do."""
        return self

    def __next__(self) -> T:
        """The next item, as soon as it is there.

        Raises:
            StopIteration: the stream has ended.
            BaseException: whatever the stream has raised in this item's place.
        """
        self.start()
        began = time.monotonic()
        try:
            return self._shelf.take()
        finally:
            self.waited_s += time.monotonic() - began


def _end(shelf: "_Shelf[T]", thread: threading.Thread) -> None:
    """Let the thread end after the item in hand: amid a library's code the end of the program would abort it."""
    shelf.close()
    if thread.ident is not None and thread is not threading.current_thread():
        thread.join(END_S)


class _Shelf(Generic[T]):
    """What both threads hold; the one that fills it knows nothing else of the other."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._ended: BaseException | None = None
        self._closed = self._stopped = False

    def fill(self, opened: Callable[[], Iterator[T | None]]) -> None:
        """Put the stream's items on the shelf, until it ends or nobody takes them any more."""
        ended: BaseException = StopIteration()
        try:
            for item in opened():
                if not self._put(item):
                    return
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that takes
            ended = error
        with self._changed:
            self._ended = ended
            self._changed.notify()

    def wait(self, timeout_s: float) -> bool:
        """Whether there is an item, or will be none any more; waits a limited time for it."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._items) or self._ended is not None, timeout_s)

    def take(self) -> T:
        """The oldest item; waits for it."""
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._ended is not None)
            if not self._items:
                assert self._ended is not None
                raise self._ended
            item = self._items.popleft()
            self._changed.notify()
            return item

    def stop(self) -> None:
        """The thread that fills it waits, until `resume`."""
        with self._changed:
            self._stopped = True

    def resume(self) -> None:
        """The thread that fills it goes on."""
        with self._changed:
            self._stopped = False
            self._changed.notify()

    def close(self) -> list[T]:
        """Nobody takes anything any more; returns what was there."""
        with self._changed:
            self._closed = True
            left = list(self._items)
            self._items.clear()
            self._changed.notify()
            return left

    def _put(self, item: T | None) -> bool:
        """Put one item, if it is one, when there is room; returns whether anybody takes it."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or (not self._stopped and len(self._items) < self._room))
            if not self._closed and item is not None:
                self._items.append(item)
                self._changed.notify()
            return not self._closed
