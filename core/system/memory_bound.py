"""An upper bound on the memory of this process, for what parses the bytes of strangers.

Two thousand bytes of Parquet can stand for more than a computer has.  Linux refuses what goes beyond the bound
(RLIMIT_DATA), so that one file is lost.  No other system refuses it to a process, so there, and for what Linux does not
count, a thread looks ten times a second, and ends the process with a sentence.
"""

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import psutil

GROWTH_BYTES_MAX: Final = 2 * 1024**3
"""Growth of a process while it makes a piece of text of a file: ten times what most files need."""
WATCH_S: Final = 0.1
REFUSES = sys.platform == "linux"
"""Whether the system refuses memory beyond a bound."""

Piece = TypeVar("Piece")


class MemoryBound:
    """The bound of this process; where `watch` was not called, only what the system refuses."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._most: float = math.inf
        """Memory beyond which the watch ends this process, bytes."""

    def watch(self, over: Callable[[], object]) -> None:
        """From now on look at this process, until it ends.

        Args:
            over: Called in another thread when it is over its bound; does not return.
        """

        def look() -> None:
            while self._used() <= self._most:
                time.sleep(WATCH_S)
            over()

        threading.Thread(target=look, name="memory watch", daemon=True).start()

    def keep_within(self, most: int) -> None:
        """Have this process take no more than `most` bytes, for good."""
        self._most = most
        if REFUSES:
            self._refuse_beyond(most)

    @contextmanager
    def growing(self, most: int) -> Iterator[None]:
        """Let this process grow by `most` bytes at most meanwhile; what it takes afterwards is its own matter."""
        self._most = self._used() + most
        before = self._refuse_beyond(self._process.memory_info().data + most) if REFUSES else None
        try:
            yield
        finally:
            self._most = math.inf
            if before is not None:
                self._process.rlimit(psutil.RLIMIT_DATA, before)

    def _refuse_beyond(self, most: int) -> tuple[int, int]:
        """Have the system refuse data beyond `most` bytes, or what it refuses already; returns the limits before."""
        soft, hard = self._process.rlimit(psutil.RLIMIT_DATA)
        limits = [limit for limit in (soft, hard, most) if limit != psutil.RLIM_INFINITY]
        self._process.rlimit(psutil.RLIMIT_DATA, (min(limits), hard))
        return soft, hard

    def _used(self) -> int:
        found = self._process.memory_info()
        return int(found.private if sys.platform == "win32" else found.rss)


OWN: Final = MemoryBound()
"""The one memory bound of this process."""


def bounded(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The same pieces, of which none may take more than `GROWTH_BYTES_MAX` to make.

    Raises:
        MemoryError: one did, and the system refused it.
    """
    while True:
        with OWN.growing(GROWTH_BYTES_MAX):
            piece = next(pieces, None)
        if piece is None:
            return
        yield piece
