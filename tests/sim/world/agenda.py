"""Future events in order of time: the simulator's only clock."""

import heapq
from collections.abc import Callable
from typing import Any, Final

BUCKETS_PER_S: Final = 250
"""A heap of all that is planned would be searched far and wide for every event; one of a few milliseconds is small."""

_Event = tuple[float, int, Callable[..., None], tuple[Any, ...]]


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
        self._bucket = int(now * BUCKETS_PER_S)
        self._next: list[_Event] = []
        """A heap of what happens in `_bucket` or before."""
        self._later: dict[int, list[_Event]] = {}
        """Events of each later bucket, in no order."""
        self._buckets: list[int] = []
        """A heap of the keys of `_later`."""

    def at(self, when: float, function: Callable[..., None], *args: Any) -> None:
        """Call `function(*args)` at `when`, or at once if that is past."""
        self._serial += 1
        when = max(when, self.now)
        event = (when, self._serial, function, args)
        bucket = int(when * BUCKETS_PER_S)
        if bucket <= self._bucket:
            heapq.heappush(self._next, event)
            return
        later = self._later.get(bucket)
        if later is None:
            self._later[bucket] = [event]
            heapq.heappush(self._buckets, bucket)
        else:
            later.append(event)

    def after(self, delay_s: float, function: Callable[..., None], *args: Any) -> None:
        """Plan a call of `function(*args)` after `delay_s` seconds."""
        self.at(self.now + delay_s, function, *args)

    def run(self, until: float) -> None:
        """Let everything happen up to and including `until`."""
        last = int(until * BUCKETS_PER_S)
        while True:
            events = self._next
            while events and events[0][0] <= until:
                self.now, _, function, args = heapq.heappop(events)
                self.happened += 1
                function(*args)
            if events or not self._buckets or self._buckets[0] > last:
                break
            self._bucket = heapq.heappop(self._buckets)
            self._next = self._later.pop(self._bucket)
            heapq.heapify(self._next)
        self.now = max(self.now, until)

    def __len__(self) -> int:
        return len(self._next) + sum(len(events) for events in self._later.values())
