"""In which order parts leave, and when: all shares progress in proportion, so that all reducers are busy to the end.

Where the plan says how long the round takes, parts leave evenly over that time.  Lines that are shared by many flows
give each of them the same, while the plan gives each its own; as long as nobody sends more than the plan has him send
at that time, there is room for all of them, and the difference does not matter.  A part's time is one part's length
before its middle's, since it has yet to arrive and to be answered; but none overtakes those whose middle is earlier.
Members take turns within each part's length: sent at one moment, everybody's parts of the largest share fill its
reducer's line for some time, and whoever has something else for that reducer cannot use his own line meanwhile.
"""

import math
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Final

from core.averaging.allreduce.lane import Lane

TURNS_PART: Final = 1 / 10
"""Turns take no longer than this part of the round, however long a part's length is."""


class Outflow:
    """Of the parts that may leave, the one whose share is least advanced goes first.

    Args:
        lanes: One for each share.
        me: My index; members begin at different shares, so that no reducer gets everybody's first part at once.
        parts: How many may be unanswered.
        seconds: Over which parts leave evenly, from the first one on; 0: as soon as they can.
    """

    def __init__(self, lanes: Sequence[Lane], *, me: int, parts: int, seconds: float = 0.0) -> None:
        self._lanes = lanes
        self._me = me
        self._parts = parts
        self._seconds = seconds
        self._began_at = math.inf
        self.again_at: float | None = None
        """When to ask again what leaves, because a part's time has not come yet; unix seconds."""
        self._queue: list[tuple[float, int, int]] = []
        """Heap of progress, turn and share; each share that may have something due is in it once."""
        self._queued: set[int] = set()
        self._unanswered = 0

    def changed(self, share: int) -> None:
        """Parts of this share may be due now."""
        lane = self._lanes[share]
        if share not in self._queued and lane.due is not None:
            self._queued.add(share)
            turn = (share - self._me) % len(self._lanes)
            early = turn / len(self._lanes) * min(TURNS_PART, 1 / lane.count) if self._seconds else 0.0
            heappush(self._queue, (lane.progress - early, turn, share))

    def answered(self, parts: int) -> None:
        """So many parts are unanswered no longer."""
        self._unanswered -= parts

    def leaving(self, now: float) -> Iterator[tuple[int, int]]:
        """Share and chunk of the parts that leave now, one after the other."""
        self.again_at = None
        if self._queue:
            self._began_at = min(self._began_at, now)
        while self._queue and self._unanswered < self._parts:
            progress, _, share = self._queue[0]
            lane = self._lanes[share]
            if self._seconds and (at := self._began_at + self._seconds * (progress - 1 / lane.count)) > now:
                self.again_at = at
                return
            heappop(self._queue)
            self._queued.discard(share)
            chunk = lane.due
            if chunk is None:
                continue
            lane.sent()
            self._unanswered += 1
            self.changed(share)
            yield share, chunk
