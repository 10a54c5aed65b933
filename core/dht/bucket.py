"""One bucket of the routing table (Kademlia's k-bucket): who has a place in it, and who waits for one."""

from dataclasses import dataclass

from core.base.ids import KEY_BYTES, Contact, PeerId
from core.dht.prefixes import PrefixCounts
from core.dht.settings import DhtSettings
from core.dht.space import position

FAILURES_MAX = 3
"""Unanswered queries in a row after which a contact goes even if no replacement waits."""
MUCH_QUICKER = 0.7
"""Ratio of round trips below which a contact replaces another in a full bucket."""
FAR_BUCKETS = 2
"""Number of farthest buckets, in which three of four lookups begin."""


@dataclass(slots=True)
class Entry:
    """A contact that has proven to be there."""

    contact: Contact
    position: int
    seen: float
    """Time at which it was last heard of."""
    since: float
    """Time at which it entered the bucket."""
    rtt_s: float | None
    """The quickest measured round trip, seconds."""
    failures: int = 0


@dataclass(frozen=True, slots=True)
class TableChange:
    """Change of the routing table after a contact has answered."""

    added: bool = False
    to_ping: Contact | None = None
    """Ping this contact: if it does not answer, the new one replaces it."""


class KBucket:
    """Contacts whose distance from this peer has its highest one-bit at `index`.

    Args:
        index: Position of that bit.
        settings: The collaboration's numbers.
        networks: Counts the contacts of all buckets by network.
    """

    def __init__(self, index: int, settings: DhtSettings, networks: PrefixCounts) -> None:
        self.index = index
        self.entries: dict[PeerId, Entry] = {}
        """In the order in which peers were last heard of, the longest silent first."""
        self.refreshed = float("-inf")
        """Time of the last lookup in this bucket."""
        self._settings = settings
        self._networks = networks
        self._waiting: dict[PeerId, Entry] = {}
        """Replacements, in the order in which they were heard of."""

    @property
    def is_full(self) -> bool:
        """Whether all places are taken."""
        return len(self.entries) >= self._settings.bucket_size

    @property
    def is_far_and_sparse(self) -> bool:
        """Whether this is one of the farthest buckets, and less than half full."""
        return self.index >= KEY_BYTES * 8 - FAR_BUCKETS and 2 * len(self.entries) < self._settings.bucket_size

    def heard(self, contact: Contact, now: float, *, rtt_s: float | None = None) -> TableChange:
        """Enter or refresh a contact that has just answered, after a round trip of `rtt_s` if that was measured.

        In a full bucket a much quicker contact replaces a slow one, since any contact of a bucket leads about as near
        to a key (Gummadi et al. 2003, proximity neighbour selection).  Half of each bucket, the oldest contacts, is
        left alone, so that being near in the network does not help to surround a peer.
        """
        peer = contact.peer_id
        self.moved(contact)
        known = self.entries.get(peer)
        if known is not None:
            known.failures = 0
            self.touched(peer, now)
            if rtt_s is not None:
                known.rtt_s = rtt_s if known.rtt_s is None else min(rtt_s, known.rtt_s)
            return TableChange()
        self._waiting.pop(peer, None)
        if self._is_crowded(contact.host):
            return TableChange()
        entry = Entry(contact, position(peer), now, now, rtt_s)
        slow = self._much_slower(rtt_s) if self.is_full else None
        if self.is_full and slow is None:
            self._wait(entry)
            oldest = next(iter(self.entries.values()))
            is_silent = oldest.seen <= now - self._settings.ping_after_s
            return TableChange(to_ping=oldest.contact if is_silent else None)
        if slow is not None:
            self._remove(slow)
            self._wait(slow)
        self._enter(entry)
        if slow is None and self.is_full:  # as good as a lookup in it would make it
            self.refreshed = max(self.refreshed, now)
        return TableChange(added=True)

    def touched(self, peer: PeerId, now: float) -> bool:
        """Note a message of a contact; False if it is not in the bucket or did not answer recently."""
        entry = self.entries.get(peer)
        if entry is None or entry.failures:
            return False
        entry.seen = now
        self.entries[peer] = self.entries.pop(peer)
        return True

    def moved(self, contact: Contact) -> None:
        """Note the address of a contact; where the network there has enough contacts, this one goes."""
        entry = self.entries.get(contact.peer_id)
        if entry is None or entry.contact == contact:
            return
        self._remove(entry)
        entry.contact = contact
        if not self._is_crowded(contact.host):
            self._enter(entry)

    def failed(self, peer: PeerId) -> None:
        """Count an unanswered query.  The contact goes if a replacement waits, or after the third failure in a row."""
        entry = self.entries.get(peer)
        if entry is None:
            return
        entry.failures += 1
        if self._waiting or entry.failures >= FAILURES_MAX:
            self.withdrew(peer)

    def withdrew(self, peer: PeerId) -> None:
        """Remove a contact that cannot be reached any more; a waiting replacement takes its place."""
        entry = self.entries.get(peer)
        if entry is None:
            return
        self._remove(entry)
        while self._waiting and not self.is_full:
            _, replacement = self._waiting.popitem()
            if not self._is_crowded(replacement.contact.host):
                self._enter(replacement)

    def wants(self, contact: Contact) -> bool:
        """Whether to ping a peer: there is a place for it, or it is in the bucket but was silent."""
        peer = contact.peer_id
        if peer in self.entries:
            return self.entries[peer].failures > 0
        if self.is_full and (peer in self._waiting or len(self._waiting) >= self._settings.replacements_per_bucket):
            return False
        return not self._is_crowded(contact.host)

    def _enter(self, entry: Entry) -> None:
        self.entries[entry.contact.peer_id] = entry
        self._networks.add(entry.contact.host)

    def _remove(self, entry: Entry) -> None:
        del self.entries[entry.contact.peer_id]
        self._networks.remove(entry.contact.host)

    def _wait(self, entry: Entry) -> None:
        self._waiting[entry.contact.peer_id] = entry
        if len(self._waiting) > self._settings.replacements_per_bucket:
            del self._waiting[next(iter(self._waiting))]

    def _much_slower(self, rtt_s: float | None) -> Entry | None:
        """The slowest of the younger half of a full bucket, if its round trip is far longer than `rtt_s`."""
        if rtt_s is None:
            return None
        younger = sorted(self.entries.values(), key=lambda entry: entry.since)[self._settings.bucket_size // 2 :]
        slow = max(younger, key=lambda entry: entry.rtt_s or 0.0)
        return slow if slow.rtt_s is not None and rtt_s < MUCH_QUICKER * slow.rtt_s else None

    def _is_crowded(self, host: str) -> bool:
        """Whether the network of `host` has as many contacts here, or in all buckets, as it may have."""
        networks, limits = self._networks, self._settings
        known = networks.count(host)
        if not known or networks.are_few:
            return False
        if 0 < limits.prefix_per_table <= known:
            return True
        here = networks.prefix_of(host)
        beside = sum(networks.prefix_of(entry.contact.host) == here for entry in self.entries.values())
        return 0 < limits.prefix_per_bucket <= beside
