"""The routing table: who is known, by distance from ourselves (Maymounkov and Mazieres 2002, sections 2.2 to 2.4).

Bucket i holds peers whose XOR distance from us has its highest one-bit at i.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from core.base.ids import KEY_BYTES, Key, PeerId, node_key
from core.dht.messages import Contact

FAILURES_MAX = 3
"""Unanswered queries in a row after which a contact goes even if nobody waits for its place."""


@dataclass(slots=True)
class _Entry:
    contact: Contact
    key: int
    seen: float
    failures: int = 0


@dataclass(slots=True)
class _Bucket:
    """Both dictionaries are in the order in which peers were last heard of, the longest silent first."""

    refreshed: float
    entries: dict[PeerId, _Entry] = field(default_factory=dict)
    spares: dict[PeerId, _Entry] = field(default_factory=dict)
    doubted: PeerId | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """What hearing of a peer did to the table."""

    added: bool
    doubtful: Contact | None
    """Ask this contact whether it is still there: if it is not, the new one takes its place."""


class RoutingTable:
    """Contacts that have proven to be there.

    Args:
        me: Never enters its own table.
        bucket_size: Contacts per bucket.
        spares: Contacts that wait for a place, per bucket.
        doubt_after_s: How long a contact must be silent before it is doubted when its bucket is full.
    """

    def __init__(self, me: PeerId, *, bucket_size: int = 20, spares: int = 8, doubt_after_s: float = 30.0) -> None:
        self._me = int.from_bytes(node_key(me), "big")
        self._bucket_size = bucket_size
        self._spares = spares
        self._doubt_after_s = doubt_after_s
        self._buckets: dict[int, _Bucket] = {}
        self._indices: list[int] = []
        self._entries: dict[PeerId, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, peer: PeerId) -> Contact | None:
        """The contact of a peer in the table."""
        entry = self._entries.get(peer)
        return None if entry is None else entry.contact

    def contacts(self) -> list[Contact]:
        """Everybody in the table."""
        return [entry.contact for entry in self._entries.values()]

    def heard(self, contact: Contact, now: float) -> Heard:
        """The contact has just proven that it is there."""
        peer = contact.peer_id
        key = int.from_bytes(node_key(peer), "big") if peer not in self._entries else self._entries[peer].key
        if key == self._me:
            return Heard(added=False, doubtful=None)
        bucket = self._bucket((key ^ self._me).bit_length() - 1)
        if bucket.doubted == peer:
            bucket.doubted = None
        entry = bucket.entries.pop(peer, None)
        if entry is not None or len(bucket.entries) < self._bucket_size:
            bucket.spares.pop(peer, None)
            bucket.entries[peer] = self._entries[peer] = _Entry(contact, key, now)
            return Heard(added=entry is None, doubtful=None)
        bucket.spares.pop(peer, None)
        bucket.spares[peer] = _Entry(contact, key, now)
        if len(bucket.spares) > self._spares:
            del bucket.spares[next(iter(bucket.spares))]
        return Heard(added=False, doubtful=self._doubt(bucket, now))

    def touched(self, peer: PeerId, now: float) -> bool:
        """A contact has sent something; False if it is not in the table or did not answer lately."""
        entry = self._entries.get(peer)
        if entry is None or entry.failures:
            return False
        bucket = self._bucket((entry.key ^ self._me).bit_length() - 1)
        entry.seen = now
        bucket.entries[peer] = bucket.entries.pop(peer)
        return True

    def moved(self, contact: Contact) -> None:
        """A contact was seen at another address; nothing happens if it is not in the table."""
        entry = self._entries.get(contact.peer_id)
        if entry is not None:
            entry.contact = contact

    def failed(self, peer: PeerId) -> None:
        """A contact did not answer.  It goes if somebody waits for its place, or if it was the third time in a row."""
        entry = self._entries.get(peer)
        if entry is None:
            return
        bucket = self._bucket((entry.key ^ self._me).bit_length() - 1)
        if bucket.doubted == peer:
            bucket.doubted = None
        entry.failures += 1
        if not bucket.spares and entry.failures < FAILURES_MAX:
            return
        del bucket.entries[peer], self._entries[peer]
        if bucket.spares:
            heir, spare = bucket.spares.popitem()
            bucket.entries[heir] = self._entries[heir] = spare

    def wants(self, peer: PeerId) -> bool:
        """Whether to ask a peer for proof: there is a place for it, or it is in the table but was silent."""
        key = int.from_bytes(node_key(peer), "big")
        if key == self._me:
            return False
        if peer in self._entries:
            return bool(self._entries[peer].failures)
        bucket = self._buckets.get((key ^ self._me).bit_length() - 1)
        if bucket is None or len(bucket.entries) < self._bucket_size:
            return True
        return peer not in bucket.spares and len(bucket.spares) < self._spares

    def closest(self, key: Key, count: int) -> list[Contact]:
        """The `count` contacts nearest to `key`, nearest first, without those that did not answer lately.

        Buckets are visited in the order of their distance from the key, so only those that are needed get sorted.
        """
        target = int.from_bytes(key, "big")
        found: list[Contact] = []
        for index in self._nearest_buckets(target ^ self._me):
            healthy = [entry for entry in self._buckets[index].entries.values() if not entry.failures]
            healthy.sort(key=lambda entry: entry.key ^ target)
            found += [entry.contact for entry in healthy]
            if len(found) >= count:
                break
        return found[:count]

    def stale(self, before: float, count: int) -> list[Contact]:
        """Up to `count` contacts that were last heard of before that time, the longest silent first."""
        silent = [entry for entry in self._entries.values() if entry.seen < before]
        silent.sort(key=lambda entry: entry.seen)
        return [entry.contact for entry in silent[:count]]

    def refresh_key(self, before: float, now: float, random: Random) -> Key | None:
        """A random key of a bucket in which nothing was looked up since `before`; counts as looked up from now on."""
        used = [index for index in self._indices if self._buckets[index].entries]
        index = min(used, key=lambda i: self._buckets[i].refreshed, default=None)
        if index is None or self._buckets[index].refreshed >= before:
            return None
        self._buckets[index].refreshed = now
        distance = 1 << index | random.getrandbits(index)
        return Key((self._me ^ distance).to_bytes(KEY_BYTES, "big"))

    def looked_up(self, key: Key, now: float) -> None:
        """A lookup of `key` has refreshed the bucket that it belongs to."""
        bucket = self._buckets.get((int.from_bytes(key, "big") ^ self._me).bit_length() - 1)
        if bucket is not None:
            bucket.refreshed = now

    def _bucket(self, index: int) -> _Bucket:
        bucket = self._buckets.get(index)
        if bucket is None:
            bucket = self._buckets[index] = _Bucket(refreshed=float("-inf"))
            self._indices = sorted(self._buckets)
        return bucket

    def _doubt(self, bucket: _Bucket, now: float) -> Contact | None:
        oldest = next(iter(bucket.entries.values()))
        if bucket.doubted is not None or oldest.seen > now - self._doubt_after_s:
            return None
        bucket.doubted = oldest.contact.peer_id
        return oldest.contact

    def _nearest_buckets(self, target: int) -> Iterator[int]:
        """Indices of buckets, nearest to the point at distance `target` from us first.

        All of bucket i agrees with us above bit i and differs from us at bit i.  Seen from the target, a bucket whose
        bit of `target` is one is therefore nearer than every lower bucket, and any other is farther than every lower.
        """
        for index in reversed(self._indices):
            if target >> index & 1:
                yield index
        for index in self._indices:
            if not target >> index & 1:
                yield index
