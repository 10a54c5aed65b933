"""One order of batches that several devices draw from, so that none of them computes a sample of another one."""

import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedBatches(Generic[T]):
    """A stream of batches; each batch goes to the device that asks next, in the size that it asks for.

    Args:
        opened: Gives the stream; it is told what to ask before each batch for the number of its samples.
    """

    def __init__(self, opened: Callable[[Callable[[], int]], Iterator[T]]) -> None:
        self._turn = threading.Lock()
        self._size: Callable[[], int] = lambda: 1
        """Of the device whose turn it is."""
        self._stream = opened(self._asked)
        self._ended: BaseException | None = None

    def of(self, size: Callable[[], int]) -> Iterator[T]:
        """The batches of one device, for one thread.

        Args:
            size: Asked for the samples of each.

        Raises:
            BaseException: whatever the stream has raised, to all devices.
        """
        while True:
            try:
                batch = self._next(size)
            except StopIteration:
                return
            yield batch

    def _asked(self) -> int:
        return self._size()

    def _next(self, size: Callable[[], int]) -> T:
        with self._turn:
            if self._ended is not None:
                raise self._ended
            self._size = size
            try:
                return next(self._stream)
            except BaseException as error:
                self._ended = error
                raise
