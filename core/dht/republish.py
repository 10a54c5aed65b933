"""When a holder stores again what it holds, so that records outlive their holders (Kademlia, section 2.5).

A record that somebody has just stored here was stored at its other holders too, so whoever fires first spares the
others the work.
"""

import heapq
from random import Random

from core.base.ids import Key
from core.dht.messages import Record
from core.dht.records import Tag, tag_of

TOGETHER = 0.1
"""Records of a key that are due within this part of the interval go with the one that is."""


class Republish:
    """The times at which held records are due; one entry for each.

    Args:
        every_s: How often a record is stored again; 0: never.  Records that end sooner are left to end.
        random: Draws the jitter.
    """

    def __init__(self, *, every_s: float, random: Random) -> None:
        self._every_s = every_s
        self._random = random
        self._due: dict[Key, dict[Tag, float]] = {}
        self._heap: list[tuple[float, Key]] = []

    @property
    def deadline(self) -> float | None:
        """When to look for what is due."""
        return self._heap[0][0] if self._heap else None

    def stored(self, key: Key, record: Record, now: float) -> None:
        """The record was stored here by somebody just now, or is about to be stored again by ourselves."""
        if not self._every_s or record.expiration - now <= self._every_s:
            return
        at = now + self._every_s * self._random.uniform(0.75, 1.25)
        tags = self._due.get(key)
        if tags is None:
            self._due[key] = {tag_of(record.subkey): at}
            heapq.heappush(self._heap, (at, key))
        else:
            tags[tag_of(record.subkey)] = at

    def due(self, now: float, limit: int) -> tuple[Key, list[Tag]] | None:
        """A key and up to `limit` of its records that are to be stored again; they are forgotten until `stored`."""
        while self._heap and self._heap[0][0] <= now:
            _, key = heapq.heappop(self._heap)
            tags = self._due.pop(key)
            until = now + TOGETHER * self._every_s if min(tags.values()) <= now else now
            chosen = sorted((tag for tag, at in tags.items() if at <= until), key=tags.__getitem__)[:limit]
            rest = {tag: at for tag, at in tags.items() if tag not in set(chosen)}
            if rest:
                self._due[key] = rest
                heapq.heappush(self._heap, (min(rest.values()), key))
            if chosen:
                return key, chosen
        return None
