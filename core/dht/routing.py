"""The routing table: contacts by distance from this peer (Maymounkov and Mazieres 2002, sections 2.2 to 2.4).

Bucket i holds peers whose XOR distance from this one has its highest one-bit at i.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from random import Random

from core.base.ids import KEY_BYTES, Key, PeerId
from core.dht.messages import Contact
from core.dht.prefixes import counted_prefix
from core.dht.space import point, position

FAILURES_MAX = 3
"""Unanswered queries in a row after which a contact goes even if no replacement waits."""
MUCH_QUICKER = 0.7
"""Ratio of round trips below which a contact replaces another in a full bucket."""
TYPICAL_SHARE = 1 / 16
"""Weight of each answer in the typical round trip."""
FEW_NETWORKS = 4
"""With fewer network prefixes than this, prefixes are not limited: a small collaboration may sit in one building."""

FAR_BUCKETS = 2
"""Number of farthest buckets, in which three of four lookups begin."""


@dataclass(frozen=True, slots=True)
class PrefixLimits:
    """Limits on contacts of one network prefix; 0: any number."""

    per_bucket: int = 0
    per_table: int = 0
    local_is_free: bool = True


@dataclass(slots=True)
class _Entry:
    contact: Contact
    key: int
    seen: float
    prefix: str | None
    since: float
    """Time at which it entered the table."""
    rtt_s: float | None
    """The quickest measured round trip, seconds."""
    failures: int = 0


@dataclass(slots=True)
class _Bucket:
    """Both dictionaries are in the order in which peers were last heard of, the longest silent first."""

    refreshed: float
    entries: dict[PeerId, _Entry] = field(default_factory=dict)
    replacements: dict[PeerId, _Entry] = field(default_factory=dict)
    pinged: PeerId | None = None


@dataclass(frozen=True, slots=True)
class TableChange:
    """Change of the routing table after a contact has answered."""

    added: bool
    to_ping: Contact | None
    """Ping this contact: if it does not answer, the new one replaces it."""


class RoutingTable:
    """Contacts that have proven to be there.

    Args:
        me: This peer, which never enters its own table.
        bucket_size: Contacts per bucket.
        replacements: Contacts that wait for a place, per bucket.
        ping_after_s: Seconds of silence after which a contact of a full bucket is pinged.
        prefixes: Limits on contacts of one network.
    """

    def __init__(
        self,
        me: PeerId,
        *,
        bucket_size: int = 20,
        replacements: int = 8,
        ping_after_s: float = 30.0,
        prefixes: PrefixLimits | None = None,
    ) -> None:
        self._me = position(me)
        self._bucket_size = bucket_size
        self._replacements = replacements
        self._ping_after_s = ping_after_s
        self._buckets: dict[int, _Bucket] = {}
        self._indices: list[int] = []
        self._entries: dict[PeerId, _Entry] = {}
        self._limits = prefixes or PrefixLimits()
        self._prefixes: Counter[str] = Counter()
        self._typical_rtt_s = 0.0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, peer: PeerId) -> Contact | None:
        """The contact of a peer in the table."""
        entry = self._entries.get(peer)
        return None if entry is None else entry.contact

    @property
    def typical_rtt_s(self) -> float:
        """Mean of the contacts' quickest round trips, seconds: a busy contact does not count as a distant one."""
        return self._typical_rtt_s

    def contacts(self) -> list[Contact]:
        """All contacts of the table, in no order."""
        return [entry.contact for entry in self._entries.values()]

    @property
    def knows_few_networks(self) -> bool:
        """Whether prefix limits are suspended, since few networks are known."""
        return len(self._prefixes) < FEW_NETWORKS

    def heard(self, contact: Contact, now: float, *, rtt_s: float | None = None) -> TableChange:
        """Enter or refresh a contact that has just answered, after a round trip of `rtt_s` if that was measured.

        In a full bucket a much quicker contact replaces a slow one, since any contact of a bucket leads about as near
        to a key (Gummadi et al. 2003, proximity neighbour selection).  Half of each bucket, the oldest contacts, is
        left alone, so that being near in the network does not help to surround a peer.
        """
        peer = contact.peer_id
        entry = self._entries.get(peer)
        if entry is not None:
            bucket = self._bucket_of(entry.key)
            if not self._relocate(bucket, entry, contact):
                return TableChange(added=False, to_ping=None)
            entry.seen, entry.failures = now, 0
            if rtt_s is not None:
                entry.rtt_s = rtt_s if entry.rtt_s is None else min(rtt_s, entry.rtt_s)
                self._typical_rtt_s += (entry.rtt_s - self._typical_rtt_s) * TYPICAL_SHARE
            bucket.entries[peer] = bucket.entries.pop(peer)
            if bucket.pinged == peer:
                bucket.pinged = None
            return TableChange(added=False, to_ping=None)
        key = position(peer)
        if key == self._me:
            return TableChange(added=False, to_ping=None)
        prefix = counted_prefix(contact.host, local_is_free=self._limits.local_is_free)
        entry = _Entry(contact, key, now, prefix, now, rtt_s)
        bucket = self._bucket_of(key)
        bucket.replacements.pop(peer, None)
        if self._is_crowded(bucket, entry.prefix):
            return TableChange(added=False, to_ping=None)
        if len(bucket.entries) < self._bucket_size:
            self._enter(bucket, entry)
            if len(bucket.entries) == self._bucket_size:  # as good as a lookup in it would make it
                bucket.refreshed = max(bucket.refreshed, now)
            return TableChange(added=True, to_ping=None)
        slow = self._much_slower(bucket, rtt_s)
        if slow is not None:
            self._remove(bucket, slow)
            self._enter(bucket, entry)
            self._replacement(bucket, slow)
            return TableChange(added=True, to_ping=None)
        self._replacement(bucket, entry)
        return TableChange(added=False, to_ping=self._choose_to_ping(bucket, now))

    def touched(self, peer: PeerId, now: float) -> bool:
        """Note a message of a contact; False if it is not in the table or did not answer recently."""
        entry = self._entries.get(peer)
        if entry is None or entry.failures:
            return False
        bucket = self._bucket_of(entry.key)
        entry.seen = now
        bucket.entries[peer] = bucket.entries.pop(peer)
        return True

    def moved(self, contact: Contact) -> None:
        """Note another address of a contact of the table."""
        entry = self._entries.get(contact.peer_id)
        if entry is not None:
            self._relocate(self._bucket_of(entry.key), entry, contact)

    def failed(self, peer: PeerId) -> None:
        """Count an unanswered query.  The contact goes if a replacement waits, or after the third failure in a row."""
        entry = self._entries.get(peer)
        if entry is None:
            return
        bucket = self._bucket_of(entry.key)
        if bucket.pinged == peer:
            bucket.pinged = None
        entry.failures += 1
        if not bucket.replacements and entry.failures < FAILURES_MAX:
            return
        self._drop(bucket, entry)

    def withdrew(self, peer: PeerId) -> None:
        """Remove a contact that says that it cannot be reached any more."""
        entry = self._entries.get(peer)
        if entry is not None:
            self._drop(self._bucket_of(entry.key), entry)

    def wants(self, contact: Contact) -> bool:
        """Whether to ping a peer: there is a place for it, or it is in the table but was silent."""
        peer = contact.peer_id
        entry = self._entries.get(peer)
        if entry is not None:
            return bool(entry.failures)
        key = position(peer)
        if key == self._me:
            return False
        bucket = self._buckets.get((key ^ self._me).bit_length() - 1)
        if bucket is None:
            return True
        if len(bucket.entries) >= self._bucket_size and len(bucket.replacements) >= self._replacements:
            return False
        network = counted_prefix(contact.host, local_is_free=self._limits.local_is_free)
        if self._is_crowded(bucket, network):
            return False
        if len(bucket.entries) < self._bucket_size:
            return True
        return peer not in bucket.replacements

    def closest(self, key: Key, count: int) -> list[Contact]:
        """The `count` contacts nearest to `key`, nearest first, without those that did not answer recently.

        Buckets are visited in the order of their distance from the key, so only those that are needed get sorted.
        """
        target = point(key)
        found: list[Contact] = []
        missing = count
        for index in self._nearest_buckets(target ^ self._me):
            entries = self._buckets[index].entries.values()
            healthy = {entry.key ^ target: entry.contact for entry in entries if not entry.failures}
            order = sorted(healthy) if len(healthy) <= missing else nsmallest(missing, healthy)
            found += [healthy[distance] for distance in order]
            missing = count - len(found)
            if missing <= 0:
                break
        return found

    def near_me(self, count: int) -> list[tuple[Contact, float]]:
        """The `count` contacts nearest to this peer, and when each was last heard of."""
        near: list[_Entry] = []
        for index in self._indices:
            near += self._buckets[index].entries.values()
            if len(near) >= count:
                break
        near.sort(key=lambda entry: entry.key ^ self._me)
        return [(entry.contact, entry.seen) for entry in near[:count]]

    def span_of(self, count: float) -> int:
        """The distance from any key within which about `count` peers are to be expected.

        Ids are spread evenly, and all of the peers nearest to this one are known: their number within their distance
        gives the density everywhere.
        """
        known = 0
        for index in self._indices:
            known += len(self._buckets[index].entries)
            if known >= self._bucket_size:
                break
        else:
            index = KEY_BYTES * 8 - 1
        return int(count * (1 << index + 1)) // (known + 1)

    def useful(self) -> list[Contact]:
        """All contacts, the most useful to begin with first: answering, recently heard of."""
        entries = sorted(self._entries.values(), key=lambda entry: (entry.failures, -entry.seen))
        return [entry.contact for entry in entries]

    def refresh_due(self, every_s: float) -> float | None:
        """When the next bucket is to be refreshed, if each is after `every_s`; None: all buckets are empty."""
        used = [bucket.refreshed for bucket in self._buckets.values() if bucket.entries]
        return min(used) + every_s if used else None

    def refresh_key(self, before: float, now: float, random: Random) -> Key | None:
        """A random key of a bucket without a lookup since `before`; it counts as looked up from now on."""
        used = [index for index in self._indices if self._buckets[index].entries]
        index = min(used, key=lambda i: self._buckets[i].refreshed, default=None)
        if index is None or self._buckets[index].refreshed >= before:
            return None
        self._buckets[index].refreshed = now
        distance = 1 << index | random.getrandbits(index)
        return Key((self._me ^ distance).to_bytes(KEY_BYTES, "big"))

    def is_far_and_sparse(self, key: Key) -> bool:
        """Whether the key belongs to one of the farthest buckets, and that is less than half full."""
        index = (point(key) ^ self._me).bit_length() - 1
        bucket = self._buckets.get(index)
        known = 0 if bucket is None else len(bucket.entries)
        return index >= KEY_BYTES * 8 - FAR_BUCKETS and 2 * known < self._bucket_size

    def looked_up(self, key: Key, now: float) -> None:
        """Note that a lookup of `key` has refreshed the bucket that it belongs to."""
        bucket = self._buckets.get((point(key) ^ self._me).bit_length() - 1)
        if bucket is not None:
            bucket.refreshed = now

    def _bucket_of(self, key: int) -> _Bucket:
        index = (key ^ self._me).bit_length() - 1
        bucket = self._buckets.get(index)
        if bucket is None:
            bucket = self._buckets[index] = _Bucket(refreshed=float("-inf"))
            self._indices = sorted(self._buckets)
        return bucket

    def _enter(self, bucket: _Bucket, entry: _Entry) -> None:
        peer = entry.contact.peer_id
        bucket.entries[peer] = self._entries[peer] = entry
        if entry.prefix is not None:
            self._prefixes[entry.prefix] += 1

    def _remove(self, bucket: _Bucket, entry: _Entry) -> None:
        peer = entry.contact.peer_id
        del bucket.entries[peer], self._entries[peer]
        if entry.prefix is not None:
            self._prefixes[entry.prefix] -= 1
            if not self._prefixes[entry.prefix]:
                del self._prefixes[entry.prefix]

    def _drop(self, bucket: _Bucket, entry: _Entry) -> None:
        """Remove a contact; a waiting replacement takes its place."""
        self._remove(bucket, entry)
        while bucket.replacements and len(bucket.entries) < self._bucket_size:
            _, replacement = bucket.replacements.popitem()
            if not self._is_crowded(bucket, replacement.prefix):
                self._enter(bucket, replacement)

    def _relocate(self, bucket: _Bucket, entry: _Entry, contact: Contact) -> bool:
        """Change the address of a contact; False: its new network has enough contacts, so it goes."""
        if contact == entry.contact:
            return True
        self._remove(bucket, entry)
        entry.contact = contact
        entry.prefix = counted_prefix(contact.host, local_is_free=self._limits.local_is_free)
        if self._is_crowded(bucket, entry.prefix):
            return False
        self._enter(bucket, entry)
        return True

    def _replacement(self, bucket: _Bucket, entry: _Entry) -> None:
        bucket.replacements[entry.contact.peer_id] = entry
        if len(bucket.replacements) > self._replacements:
            del bucket.replacements[next(iter(bucket.replacements))]

    def _much_slower(self, bucket: _Bucket, rtt_s: float | None) -> _Entry | None:
        """The slowest of the younger half of a full bucket, if its round trip is far longer than `rtt_s`."""
        if rtt_s is None:
            return None
        younger = sorted(bucket.entries.values(), key=lambda entry: entry.since)[self._bucket_size // 2 :]
        slow = max(younger, key=lambda entry: entry.rtt_s or 0.0)
        return slow if slow.rtt_s is not None and rtt_s < MUCH_QUICKER * slow.rtt_s else None

    def _is_crowded(self, bucket: _Bucket, prefix: str | None) -> bool:
        """Whether a network has as many contacts here as it may have."""
        if prefix is None or self.knows_few_networks or not self._prefixes[prefix]:
            return False
        if 0 < self._limits.per_table <= self._prefixes[prefix]:
            return True
        beside = sum(entry.prefix == prefix for entry in bucket.entries.values())
        return 0 < self._limits.per_bucket <= beside

    def _choose_to_ping(self, bucket: _Bucket, now: float) -> Contact | None:
        oldest = next(iter(bucket.entries.values()))
        if bucket.pinged is not None or oldest.seen > now - self._ping_after_s:
            return None
        bucket.pinged = oldest.contact.peer_id
        return oldest.contact

    def _nearest_buckets(self, target: int) -> Iterator[int]:
        """Indices of buckets, nearest to the point at distance `target` from this peer first.

        All of bucket i agrees with this peer above bit i and differs at bit i.  Seen from the target, a bucket whose
        bit of `target` is one is therefore nearer than every lower bucket, and any other is farther than every lower.
        """
        for index in reversed(self._indices):
            if target >> index & 1:
                yield index
        for index in self._indices:
            if not target >> index & 1:
                yield index
