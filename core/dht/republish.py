"""Republishing: a holder stores its records again, so that they outlive their holders (Kademlia, section 2.5).

A record that was just stored here was stored at its other holders too, so the first holder to republish saves the
others the work.
"""

import heapq
from random import Random

from core.base.ids import Key
from core.dht.messages import Record
from core.dht.records import Tag, tag_of

TOGETHER = 0.1
"""Share of the interval within which other records of a key are republished together with one that is due."""


class Republish:
    """Times at which held records are due; one entry for each.

    Args:
        every_s: Interval between two stores of a record, seconds; 0: never.  Records that expire sooner are not
            republished.
        random: Draws the jitter.
    """

    def __init__(self, *, every_s: float, random: Random) -> None:
        self._every_s = every_s
        self._random = random
        self._due: dict[Key, dict[Tag, float]] = {}
        self._heap: list[tuple[float, Key]] = []

    @property
    def deadline(self) -> float | None:
        """Time at which `due` has something to return, Unix seconds; None: nothing is held."""
        return self._heap[0][0] if self._heap else None

    def stored(self, key: Key, record: Record, now: float) -> None:
        """Note that a record was stored here just now, or is about to be republished by this peer.

        Args:
            key: Its key.
            record: The record.
            now: Unix seconds.
        """
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
        """A key and up to `limit` of its records that are to be republished; they are forgotten until `stored`.

        Args:
            now: Unix seconds.
            limit: Number of records at most.
        """
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
