"""Memory of this peer's own reads and writes, so that it need not ask again for what it knows."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from core.base.bounds import remember
from core.base.ids import Contact, Key
from core.dht.messages import Record
from core.dht.records import Tag, supersedes, tag_of

READ_KEYS_MAX = 64
READ_RECORDS_MAX = 4_000
ROUTES_MAX = 64
ABSENT_MAX = 256


class Memory:
    """Records of recently read keys, routes to them, keys without records, and expirations of this peer's records.

    Args:
        route_s: How long a route is trusted, seconds.
        absent_s: How long a key is assumed to be empty, seconds.
    """

    def __init__(self, *, route_s: float, absent_s: float = 0.0) -> None:
        self._route_s = route_s
        self._absent_s = absent_s
        self._absent: OrderedDict[Key, float] = OrderedDict()
        self._read_at: dict[Key, float] = {}
        self._read: OrderedDict[Key, dict[Tag, Record]] = OrderedDict()
        self._routes: OrderedDict[Key, tuple[float, tuple[Contact, ...]]] = OrderedDict()
        self._mine: dict[tuple[Key, bytes], int] = {}

    def known(self, key: Key, held: Mapping[Tag, Record], now: float) -> dict[Tag, Record]:
        """Live records of a key: those just `held`, those read before, and this peer's own.

        Args:
            key: The key.
            held: Records held for the swarm.
            now: Unix seconds.
        """
        known = dict(held)
        for tag, record in self._read.get(key, {}).items():
            if record.expires_ms > now * 1000 and supersedes(record, known.get(tag)):
                known[tag] = record
        return known

    def read(self, key: Key, records: Mapping[Tag, Record], now: float = 0.0) -> None:
        """Remember the result of a read.

        Args:
            key: The key.
            records: Its records, by tag.
            now: Unix seconds.
        """
        under_key = self._under(key)
        self._read_at[key] = now
        for tag, record in records.items():
            if supersedes(record, under_key.get(tag)):
                under_key[tag] = record

    def age_s(self, key: Key, now: float) -> float:
        """Seconds since the key was read; infinite if that is forgotten.

        Args:
            key: The key.
            now: Unix seconds.
        """
        return now - self._read_at.get(key, float("-inf"))

    def found_nothing(self, key: Key, now: float) -> None:
        """Remember that a read has found nothing, though there were peers to ask.

        Args:
            key: The key.
            now: Unix seconds.
        """
        if self._absent_s:
            remember(self._absent, key, now + self._absent_s, ABSENT_MAX)

    def is_absent(self, key: Key, now: float) -> bool:
        """Whether the key was found empty a moment ago.

        Args:
            key: The key.
            now: Unix seconds.
        """
        return now < self._absent.get(key, 0.0)

    def appeared(self, key: Key) -> None:
        """Note that a record was stored under the key."""
        self._absent.pop(key, None)

    def wrote(self, key: Key, record: Record) -> None:
        """Remember a record of this peer that is about to be stored.

        Args:
            key: The key.
            record: The record.
        """
        self.appeared(key)
        self._mine[key, record.subkey] = record.expires_ms
        self._under(key)[tag_of(record.subkey)] = record

    def expiration(self, key: Key, subkey: bytes, wanted_ms: int) -> int:
        """Choose the expiration of a new record so that it supersedes the one before it, Unix milliseconds.

        Args:
            key: The key.
            subkey: The subkey.
            wanted_ms: The wanted expiration, Unix milliseconds.
        """
        return max(wanted_ms, self._mine.get((key, subkey), 0) + 1)

    def route(self, key: Key, now: float) -> Sequence[Contact]:
        """The peers nearest to the key, if a lookup has found them recently.

        Args:
            key: The key.
            now: Unix seconds.
        """
        until, contacts = self._routes.get(key, (0.0, ()))
        return contacts if now < until else ()

    def found_route(self, key: Key, contacts: Sequence[Contact], now: float) -> None:
        """Remember the peers that a lookup found nearest to the key.

        Args:
            key: The key.
            contacts: The peers, nearest first.
            now: Unix seconds.
        """
        remember(self._routes, key, (now + self._route_s, tuple(contacts)), ROUTES_MAX)

    def forget_route(self, key: Key) -> None:
        """Forget the route to a key, since a peer of it no longer answers."""
        self._routes.pop(key, None)

    def expire(self, now: float) -> float | None:
        """Forget what has expired; returns the next expiration of a record read or written, Unix seconds."""
        now_ms = now * 1000
        self._mine = {place: expires_ms for place, expires_ms in self._mine.items() if expires_ms > now_ms}
        for key, under_key in list(self._read.items()):
            live = {tag: record for tag, record in under_key.items() if record.expires_ms > now_ms}
            self._read[key] = live
            if not live:
                del self._read[key]
                self._read_at.pop(key, None)
        for key, (until, _) in list(self._routes.items()):
            if until <= now:
                del self._routes[key]
        for key, until in list(self._absent.items()):
            if until <= now:
                del self._absent[key]
        expirations = [*self._mine.values()]
        expirations += [record.expires_ms for under_key in self._read.values() for record in under_key.values()]
        return min(expirations) / 1000 if expirations else None

    def _under(self, key: Key) -> dict[Tag, Record]:
        under_key = self._read.setdefault(key, {})
        self._read.move_to_end(key)
        while len(self._read) > READ_KEYS_MAX or (
            len(self._read) > 1 and sum(map(len, self._read.values())) > READ_RECORDS_MAX
        ):
            forgotten, _ = self._read.popitem(last=False)
            self._read_at.pop(forgotten, None)
        return under_key
