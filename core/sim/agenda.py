"""What is going to happen, in order of time: the simulator's only clock."""

import heapq
from collections.abc import Callable
from typing import Any


class Agenda:
    """Calls functions when their time has come; among equals, in the order in which they were planned.

    Args:
        now: Where time begins, unix seconds.
    """

    def __init__(self, now: float) -> None:
        self.now = now
        self.happened = 0
        """Calls made so far."""
        self._serial = 0
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []

    def at(self, when: float, function: Callable[..., None], *args: Any) -> None:
        """Call `function(*args)` at `when`, or at once if that is past."""
        self._serial += 1
        heapq.heappush(self._heap, (max(when, self.now), self._serial, function, args))

    def after(self, delay_s: float, function: Callable[..., None], *args: Any) -> None:
        """Call `function(*args)` in `delay_s` seconds."""
        self.at(self.now + delay_s, function, *args)

    def run(self, until: float) -> None:
        """Let everything happen up to and including `until`."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.now, _, function, args = heapq.heappop(heap)
            self.happened += 1
            function(*args)
        self.now = max(self.now, until)

    def __len__(self) -> int:
        return len(self._heap)
