"""Answers requests with contacts and records, within the room that the request paid for."""

from collections.abc import Mapping
from itertools import islice

from core.base.ids import Contact, Key, PeerId
from core.base.machine import Trace
from core.dht.cache import RecordCache
from core.dht.messages import NODES_MAX, Answer, Cache, Fetch, Find, Get, Ping, Pong, Record, Request, Store, Stored
from core.dht.pages import nodes_answer, records_answer, values_answer
from core.dht.records import RecordStore, Tag
from core.dht.routing import RoutingTable
from core.dht.settings import DhtSettings
from core.dht.space import point, position

HANDED_OVER_BY = 2
"""Number of holders nearest to a key that hand its records to a newcomer."""
KEYS_PER_NEWCOMER = 500
"""Number of keys considered for each newcomer."""


class Responder:
    """Answers requests from the routing table and the record store."""

    def __init__(self, table: RoutingTable, store: RecordStore, cache: RecordCache, *, trace: Trace) -> None:
        self._table = table
        self._store = store
        self._cache = cache
        self._trace = trace
        self._taken: list[tuple[Key, Record]] = []

    def answer(self, sender: PeerId, request: Request, now: float) -> Answer | None:
        """Answer a request.

        Args:
            sender: The requester.
            request: Its request.
            now: Unix seconds.

        Returns:
            The answer; None: the request is of no known class.
        """
        match request:
            case Find():
                return nodes_answer(request, self._near(request.key, sender))
            case Get():
                key = Key(request.key)
                contacts = [] if request.after else self._near(key, sender)
                return values_answer(request, self._records(key, now), contacts)
            case Store():
                return Stored(request.query, self._put(Key(request.key), request.record, sender, now))
            case Fetch():
                return records_answer(request, self._records(Key(request.key), now))
            case Ping():
                return Pong(request.query)
            case Cache():
                return Stored(request.query, self._cache.put(Key(request.key), request.record, now))
        return None

    def taken(self) -> list[tuple[Key, Record]]:
        """The records that the last answers promised to hold; each is named once."""
        taken, self._taken = self._taken, []
        return taken

    def _records(self, key: Key, now: float) -> Mapping[Tag, Record]:
        return self._cache.beside(key, self._store.get(key, now), now)

    def _put(self, key: Key, record: Record, sender: PeerId, now: float) -> bool:
        verdict = self._store.put(key, record, now, giver=sender)
        if self._store.has(key, record):
            self._taken.append((key, record))
        if not verdict.held:
            self._trace.mark(f"dht.drop.record.{verdict}")
        return verdict.held

    def _near(self, key: bytes, sender: PeerId) -> list[Contact]:
        """The nearest known contacts, without the requester."""
        return [contact for contact in self._table.closest(Key(key), NODES_MAX + 1) if contact.peer != sender]


def due_to_newcomer(
    newcomer: PeerId, *, me: PeerId, table: RoutingTable, store: RecordStore, settings: DhtSettings, now: float
) -> list[tuple[Key, Record]]:
    """The records that a newcomer should hold, if this peer is to hand them over.

    That is so where the newcomer is among the `replicas` peers nearest to the key and, without it, this peer would be
    among the `HANDED_OVER_BY` nearest (Maymounkov and Mazieres 2002, section 2.5, has the very nearest; yet that one
    may be new as well, or gone).  Records that expire soon stay behind.

    Args:
        newcomer: The new peer.
        me: This peer.
        table: The routing table.
        store: Records held for the swarm.
        settings: The collaboration's numbers.
        now: Unix seconds.
    """
    due: list[tuple[Key, Record]] = []
    here, there = position(me), position(newcomer)
    for key in islice(store, KEYS_PER_NEWCOMER):
        target = point(key)
        mine, theirs = here ^ target, there ^ target
        others = [c.peer_id for c in table.closest(key, settings.replicas + 1) if c.peer != newcomer]
        distances = [position(peer) ^ target for peer in others]
        if sum(other < mine for other in distances) >= HANDED_OVER_BY:
            continue
        if sum(other < theirs for other in (mine, *distances)) >= settings.replicas:
            continue
        for record in store.get(key, now).values():
            if record.expiration - now > settings.forward_life_s:
                due.append((key, record))
            if len(due) >= settings.forwards_max:
                return due
    return due
