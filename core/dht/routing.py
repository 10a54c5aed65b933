"""The routing table: contacts by distance from this peer (Maymounkov and Mazieres 2002, sections 2.2 to 2.4).

Bucket i holds peers whose XOR distance from this one has its highest one-bit at i.
"""

from collections.abc import Iterator
from heapq import nsmallest
from random import Random

from core.base.ids import KEY_BYTES, Contact, Key, PeerId
from core.dht.bucket import FAR_BUCKETS, Entry, KBucket, TableChange
from core.dht.prefixes import PrefixCounts
from core.dht.settings import DhtSettings
from core.dht.space import point, position

TYPICAL_SHARE = 1 / 16
"""Weight of each answer in the typical round trip."""


class RoutingTable:
    """Contacts that have proven to be there.

    Args:
        me: This peer, which never enters its own table.
        settings: The collaboration's numbers.
    """

    def __init__(self, me: PeerId, settings: DhtSettings) -> None:
        self._me = position(me)
        self._settings = settings
        self._buckets: dict[int, KBucket] = {}
        """In the order of their indices, nearest to this peer first."""
        self.networks = PrefixCounts(local_is_free=settings.local_is_free)
        """Networks of all contacts."""
        self.typical_rtt_s = 0.0
        """Mean of the contacts' quickest round trips, seconds: a busy contact does not count as a distant one."""

    def __len__(self) -> int:
        return sum(len(bucket.entries) for bucket in self._buckets.values())

    def bucket(self, place: int) -> KBucket:
        """The bucket to which a point of the key space belongs; a new, empty one where no peer is known."""
        index = (place ^ self._me).bit_length() - 1
        return self._buckets.get(index) or KBucket(index, self._settings, self.networks)

    def get(self, peer: PeerId) -> Contact | None:
        """The contact of a peer in the table."""
        bucket = self._buckets.get((position(peer) ^ self._me).bit_length() - 1)
        entry = None if bucket is None else bucket.entries.get(peer)
        return None if entry is None else entry.contact

    def contacts(self) -> list[Contact]:
        """All contacts, the most useful to begin with first: answering, recently heard of."""
        everybody = [entry for bucket in self._buckets.values() for entry in bucket.entries.values()]
        everybody.sort(key=lambda entry: (entry.failures, -entry.seen))
        return [entry.contact for entry in everybody]

    def heard(self, contact: Contact, now: float, *, rtt_s: float | None = None) -> TableChange:
        """Enter or refresh a contact that has just answered, as its bucket decides.

        Args:
            contact: The contact.
            now: Unix seconds.
            rtt_s: Measured round trip, seconds; None: not measured.
        """
        bucket = self.bucket(position(contact.peer_id))
        if bucket.index < 0:
            return TableChange()
        if bucket.index not in self._buckets:
            self._buckets = dict(sorted({**self._buckets, bucket.index: bucket}.items()))
        change = bucket.heard(contact, now, rtt_s=rtt_s)
        entry = bucket.entries.get(contact.peer_id)
        if rtt_s is not None and not change.added and entry is not None and entry.rtt_s is not None:
            self.typical_rtt_s += (entry.rtt_s - self.typical_rtt_s) * TYPICAL_SHARE
        return change

    def closest(self, key: Key, count: int) -> list[Contact]:
        """The `count` contacts nearest to `key`, nearest first, without those that did not answer recently.

        Buckets are visited in the order of their distance from the key, so only those that are needed get sorted.
        """
        target = point(key)
        found: list[Contact] = []
        missing = count
        for bucket in self._nearest_buckets(target ^ self._me):
            entries = bucket.entries.values()
            healthy = {entry.position ^ target: entry.contact for entry in entries if not entry.failures}
            order = sorted(healthy) if len(healthy) <= missing else nsmallest(missing, healthy)
            found += [healthy[distance] for distance in order]
            missing = count - len(found)
            if missing <= 0:
                break
        return found

    def near_me(self, count: int) -> list[tuple[Contact, float]]:
        """The `count` contacts nearest to this peer, and when each was last heard of."""
        near: list[Entry] = []
        for bucket in self._buckets.values():
            near += bucket.entries.values()
            if len(near) >= count:
                break
        near.sort(key=lambda entry: entry.position ^ self._me)
        return [(entry.contact, entry.seen) for entry in near[:count]]

    def span_of(self, count: float) -> int:
        """The distance from any key within which about `count` peers are to be expected.

        Ids are spread evenly, and all of the peers nearest to this one are known: their number within their distance
        gives the density everywhere.
        """
        known, bits = 0, KEY_BYTES * 8
        for bucket in self._buckets.values():
            known += len(bucket.entries)
            if known >= self._settings.bucket_size:
                bits = bucket.index + 1
                break
        return int(count * (1 << bits)) // (known + 1)

    def stalest(self) -> KBucket | None:
        """The bucket whose last lookup is longest ago; None: all buckets are empty."""
        used = [bucket for bucket in self._buckets.values() if bucket.entries]
        return min(used, key=lambda bucket: bucket.refreshed, default=None)

    def far_and_empty(self) -> list[KBucket]:
        """The farthest buckets in which nobody is known."""
        farthest = [self.bucket(self._me ^ 1 << index) for index in range(KEY_BYTES * 8 - FAR_BUCKETS, KEY_BYTES * 8)]
        return [bucket for bucket in farthest if not bucket.entries]

    def random_key(self, bucket: KBucket, random: Random) -> Key:
        """A random key that belongs to the bucket.

        Args:
            bucket: The bucket.
            random: Draws the key.
        """
        distance = 1 << bucket.index | random.getrandbits(bucket.index)
        return Key((self._me ^ distance).to_bytes(KEY_BYTES, "big"))

    def _nearest_buckets(self, target: int) -> Iterator[KBucket]:
        """The buckets, nearest to the point at distance `target` from this peer first.

        All of bucket i agrees with this peer above bit i and differs at bit i.  Seen from the target, a bucket whose
        bit of `target` is one is therefore nearer than every lower bucket, and any other is farther than every lower.
        """
        for index in reversed(self._buckets):
            if target >> index & 1:
                yield self._buckets[index]
        for index, bucket in self._buckets.items():
            if not target >> index & 1:
                yield bucket
