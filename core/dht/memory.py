"""What a peer remembers of its own reads and writes, so that it need not ask again for what it knows."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from core.base.ids import Key
from core.dht.messages import Contact, Record
from core.dht.records import Tag, supersedes, tag_of

READ_KEYS_MAX = 8
ROUTES_MAX = 64


class Memory:
    """Records of the keys read last, the way to them, and when our own records expire.

    Args:
        route_s: How long a way is believed.
    """

    def __init__(self, *, route_s: float) -> None:
        self._route_s = route_s
        self._read: OrderedDict[Key, dict[Tag, Record]] = OrderedDict()
        self._routes: OrderedDict[Key, tuple[float, tuple[Contact, ...]]] = OrderedDict()
        self._mine: dict[tuple[Key, bytes], int] = {}

    def known(self, key: Key, held: Mapping[Tag, Record], now: float) -> dict[Tag, Record]:
        """The live records of a key: those just `held`, those read before, and our own."""
        known = dict(held)
        for tag, record in self._read.get(key, {}).items():
            if record.expires_ms > now * 1000 and supersedes(record, known.get(tag)):
                known[tag] = record
        return known

    def read(self, key: Key, records: Mapping[Tag, Record]) -> None:
        """A read of the key has ended with these records."""
        under_key = self._under(key)
        for tag, record in records.items():
            if supersedes(record, under_key.get(tag)):
                under_key[tag] = record

    def wrote(self, key: Key, record: Record) -> None:
        """A record of ours is about to be stored."""
        self._mine[key, record.subkey] = record.expires_ms
        self._under(key)[tag_of(record.subkey)] = record

    def expiration(self, key: Key, subkey: bytes, wanted_ms: int) -> int:
        """When a new record of ours is to expire, so that it wins over the one before it; unix milliseconds."""
        return max(wanted_ms, self._mine.get((key, subkey), 0) + 1)

    def route(self, key: Key, now: float) -> Sequence[Contact]:
        """The peers nearest to the key, if a lookup has found them lately."""
        until, contacts = self._routes.get(key, (0.0, ()))
        return contacts if now < until else ()

    def went(self, key: Key, contacts: Sequence[Contact], now: float) -> None:
        """A lookup has found these peers nearest to the key."""
        self._routes[key] = (now + self._route_s, tuple(contacts))
        self._routes.move_to_end(key)
        if len(self._routes) > ROUTES_MAX:
            self._routes.popitem(last=False)

    def forget_route(self, key: Key) -> None:
        """Somebody on the way no longer answers."""
        self._routes.pop(key, None)

    def expire(self, now: float) -> None:
        """Forget what has expired."""
        now_ms = now * 1000
        self._mine = {place: expires_ms for place, expires_ms in self._mine.items() if expires_ms > now_ms}
        for key, under_key in list(self._read.items()):
            live = {tag: record for tag, record in under_key.items() if record.expires_ms > now_ms}
            self._read[key] = live
            if not live:
                del self._read[key]
        for key, (until, _) in list(self._routes.items()):
            if until <= now:
                del self._routes[key]

    def _under(self, key: Key) -> dict[Tag, Record]:
        under_key = self._read.setdefault(key, {})
        self._read.move_to_end(key)
        if len(self._read) > READ_KEYS_MAX:
            self._read.popitem(last=False)
        return under_key
