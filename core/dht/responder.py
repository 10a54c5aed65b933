"""The side that answers: contacts and records for whoever asks, within the room that the request paid for."""

from itertools import islice

from core.base.ids import Key, PeerId, distance, node_key
from core.base.trace import Trace
from core.dht.messages import NODES_MAX, Answer, Contact, Fetch, Find, Get, Ping, Pong, Record, Request, Store, Stored
from core.dht.pages import nodes_answer, records_answer, values_answer
from core.dht.records import RecordStore
from core.dht.routing import RoutingTable
from core.dht.settings import DhtSettings

KEYS_PER_NEWCOMER = 500
"""Keys considered for each newcomer."""


class Responder:
    """Answers requests from the routing table and the record store."""

    def __init__(self, table: RoutingTable, store: RecordStore, *, trace: Trace) -> None:
        self._table = table
        self._store = store
        self._trace = trace

    def answer(self, sender: PeerId, request: Request, now: float) -> Answer | None:
        """The answer to a request; None: it is of no known class."""
        match request:
            case Ping():
                return Pong(request.query)
            case Find():
                return nodes_answer(request, self._near(request.key, sender))
            case Get():
                key = Key(request.key)
                contacts = [] if request.after else self._near(key, sender)
                return values_answer(request, self._store.get(key, now), contacts)
            case Fetch():
                return records_answer(request, self._store.get(Key(request.key), now))
            case Store():
                verdict = self._store.put(Key(request.key), request.record, now)
                if not verdict.held:
                    self._trace.mark(f"dht.drop.record.{verdict}")
                return Stored(request.query, verdict.held)
        return None

    def _near(self, key: bytes, sender: PeerId) -> list[Contact]:
        """The nearest that are known, without the asker."""
        return [contact for contact in self._table.closest(Key(key), NODES_MAX + 1) if contact.peer != sender]


def due_to_newcomer(
    newcomer: PeerId, *, me: PeerId, table: RoutingTable, store: RecordStore, settings: DhtSettings, now: float
) -> list[tuple[Key, Record]]:
    """The records that a newcomer should hold, if it is ours to hand them on.

    It is ours where the newcomer is among the `replicas` peers nearest to the key and, without it, we would be the
    nearest of all (Maymounkov and Mazieres 2002, section 2.5).  Records that end soon stay behind.
    """
    due: list[tuple[Key, Record]] = []
    here, there = node_key(me), node_key(newcomer)
    for key in islice(store, KEYS_PER_NEWCOMER):
        mine, theirs = distance(here, key), distance(there, key)
        others = [c.peer_id for c in table.closest(key, settings.replicas + 1) if c.peer != newcomer]
        distances = [distance(node_key(peer), key) for peer in others]
        if distances and distances[0] < mine:
            continue
        if sum(other < theirs for other in (mine, *distances)) >= settings.replicas:
            continue
        for record in store.get(key, now).values():
            if record.expiration - now > settings.forward_life_s:
                due.append((key, record))
            if len(due) >= settings.forwards_max:
                return due
    return due
