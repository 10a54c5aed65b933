"""In which order parts leave: all shares progress in proportion, so that all reducers are busy to the end."""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from core.averaging.topologies.lane import Lane


class Outflow:
    """Of the parts that may leave, the one whose share is least advanced goes first.

    Args:
        lanes: One for each share.
        me: My index; members begin at different shares, so that no reducer gets everybody's first part at once.
        parts: How many may be unanswered.
    """

    def __init__(self, lanes: Sequence[Lane], *, me: int, parts: int) -> None:
        self._lanes = lanes
        self._me = me
        self._parts = parts
        self._queue: list[tuple[float, int, int]] = []
        """Heap of progress, turn and share; each share that may have something due is in it once."""
        self._queued: set[int] = set()
        self._unanswered = 0

    def changed(self, share: int) -> None:
        """Parts of this share may be due now."""
        lane = self._lanes[share]
        if share not in self._queued and lane.due is not None:
            self._queued.add(share)
            heappush(self._queue, (lane.progress, (share - self._me) % len(self._lanes), share))

    def answered(self, parts: int) -> None:
        """So many parts are unanswered no longer."""
        self._unanswered -= parts

    def leaving(self) -> Iterator[tuple[int, int]]:
        """Share and chunk of the parts that leave now, one after the other."""
        while self._queue and self._unanswered < self._parts:
            _, _, share = heappop(self._queue)
            self._queued.discard(share)
            lane = self._lanes[share]
            chunk = lane.due
            if chunk is None:
                continue
            lane.sent()
            self._unanswered += 1
            self.changed(share)
            yield share, chunk
