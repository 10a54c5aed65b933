"""Cached records, left by readers on their way for later readers (Kademlia, section 2.3: caching)."""

from collections import OrderedDict
from collections.abc import Mapping

from core.base.bounds import remember
from core.base.ids import Key
from core.dht.messages import Record
from core.dht.records import Proofs, Tag, supersedes, tag_of
from core.dht.settings import DhtSettings

CACHED_PER_KEY = 4


class RecordCache:
    """Records that this peer need not hold, each for a short time; the key with the oldest addition is evicted first.

    Args:
        proofs: Verifies owners and form of records.
        settings: The collaboration's numbers.
    """

    def __init__(self, proofs: Proofs, settings: DhtSettings) -> None:
        self._proofs = proofs
        self._keep_s = settings.cache_s
        self._keys_max = settings.caches_max
        self._settings = settings
        self._copies: OrderedDict[Key, dict[Tag, tuple[float, Record]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._copies)

    def put(self, key: Key, record: Record, now: float) -> bool:
        """Keep a copy for a while.

        Args:
            key: The key of the record.
            record: The record.
            now: Unix seconds.

        Returns:
            Whether the copy is kept.
        """
        if not self._keep_s or not 0 < record.expiration - now <= self._settings.accepted_lifetime_s(key):
            return False
        under_key = self._copies.get(key, {})
        tag = tag_of(record.subkey)
        _, known = under_key.get(tag, (0.0, None))
        if known is None and len(under_key) >= CACHED_PER_KEY:
            return False
        if not supersedes(record, known) and record != known:
            return False
        if not (self._proofs.allows(key, record) and self._proofs.holds(key, record)):
            return False
        under_key[tag] = (now + self._keep_s, record)
        remember(self._copies, key, under_key, self._keys_max)
        return True

    def beside(self, key: Key, held: Mapping[Tag, Record], now: float) -> Mapping[Tag, Record]:
        """Merge the copies that are newer into the records held under a key.

        Args:
            key: The key.
            held: Records held under it.
            now: Unix seconds.
        """
        under_key = self._copies.get(key)
        if not under_key:
            return held
        merged = dict(held)
        for tag, (until, record) in under_key.items():
            if now < min(until, record.expiration) and supersedes(record, merged.get(tag)):
                merged[tag] = record
        return merged

    def expire(self, now: float) -> float | None:
        """Forget copies that have expired; returns when to look again, Unix seconds."""
        for key, under_key in list(self._copies.items()):
            live = {tag: copy for tag, copy in under_key.items() if now < min(copy[0], copy[1].expiration)}
            self._copies[key] = live
            if not live:
                del self._copies[key]
        return now + self._keep_s if self._copies else None
