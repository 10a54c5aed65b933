"""Runs operations: their queries, and what these reveal about other peers."""

from collections.abc import Callable

from msgspec.structs import replace

from core.base.ids import Contact, Key, PeerId
from core.base.machine import Send, earliest
from core.dht.bucket import TableChange
from core.dht.events import Learned, Output
from core.dht.messages import Answer, Find, Get, Nodes, Ping, Request, Values
from core.dht.neighbours import Neighbours
from core.dht.operations import Operation
from core.dht.queries import Queries, Query
from core.dht.settings import DhtSettings

PROBES_MAX = 64


class QueryRunner:
    """Runs operations: sends their requests, hands them the answers, and concludes them.

    Args:
        neighbours: Told of answers and silences.
        conclude: Called with each operation that is over; returns outputs.
        settings: The collaboration's numbers.
        queries: The requests that wait for their answers.
    """

    def __init__(
        self,
        neighbours: Neighbours,
        conclude: Callable[[Operation, float], list[Output]],
        *,
        settings: DhtSettings,
        queries: Queries,
    ) -> None:
        self._neighbours = neighbours
        self._conclude = conclude
        self._settings = settings
        self._queries = queries
        self._operations: dict[Operation, float] = {}
        """By operation: the time at which it ends with what it has, Unix seconds."""
        self._probing: set[PeerId] = set()

    @property
    def deadline(self) -> float | None:
        """Time at which `tick` is due, Unix seconds.  All operations last equally long, so the oldest ends first."""
        return earliest(self._queries.deadline, next(iter(self._operations.values()), None))

    def count(self, kind: type[Operation]) -> int:
        """Number of operations of a kind in progress."""
        return sum(isinstance(operation, kind) for operation in self._operations)

    def begin(self, operation: Operation, now: float) -> list[Output]:
        """Start an operation.

        Args:
            operation: The operation.
            now: Unix seconds.
        """
        self._operations[operation] = now + self._settings.lookup_timeout_s
        return self._advance(operation, now)

    def answered(self, sender: PeerId, answer: Answer, now: float) -> tuple[list[Output], Contact, TableChange] | None:
        """Handle an answer.

        Args:
            sender: The peer that answers.
            answer: Its answer.
            now: Unix seconds.

        Returns:
            Outputs, the sender's contact and the change of the routing table; None: nobody had asked.
        """
        query = self._queries.close(sender, answer, now)
        if query is None:
            return None
        self._probing.discard(sender)
        rtt_s = None if query.repeated else now - query.sent
        contact, heard = self._neighbours.alive(query.contact, now, rtt_s=rtt_s)
        outputs = [] if heard.to_ping is None else self._ping(heard.to_ping, now)
        if query.operation in self._operations:
            if isinstance(answer, Nodes | Values) and isinstance(query.request, Find | Get):
                key = Key(query.request.key)
                nodes = self._neighbours.acceptable(answer.nodes, key=key, by=contact, now=now)
                answer = replace(answer, nodes=nodes)
            query.operation.answered(query.contact, query.request, answer, now)
            outputs += self._advance(query.operation, now)
        return outputs, contact, heard

    def tick(self, now: float) -> list[Output]:
        """Retransmit and give up overdue queries."""
        outputs: list[Output] = []
        again, over = self._queries.overdue(now)
        for query in again:
            outputs += self._sends(query.contact, query.request)
            if query.operation in self._operations:
                query.operation.slow(query.contact, query.request)
        for query in over:
            self._give_up(query, now)
        concerned: dict[Operation | None, None] = dict.fromkeys(query.operation for query in (*again, *over))
        concerned.update(dict.fromkeys(operation for operation, end in self._operations.items() if end <= now))
        for concern in concerned:
            if concern is not None and concern in self._operations:
                outputs += self._advance(concern, now)
        return outputs

    def probe(self, contact: Contact, now: float) -> list[Output]:
        """Ping a contact, unless too many pings are pending.

        Args:
            contact: The contact.
            now: Unix seconds.
        """
        return self._ping(contact, now) if len(self._probing) < PROBES_MAX else []

    def _give_up(self, query: Query, now: float) -> None:
        self._probing.discard(query.contact.peer_id)
        self._neighbours.silent(query.contact, now)
        if query.operation in self._operations:
            query.operation.failed(query.contact, query.request)

    def _advance(self, operation: Operation, now: float) -> list[Output]:
        """Send the requests of the operation; when it is over, conclude it."""
        outputs: list[Output] = []
        if self._operations[operation] > now:
            for ask in operation.asks():
                outputs += self._ask(ask.contact, ask.request, operation, now)
            if not operation.done:
                return outputs
        del self._operations[operation]
        return outputs + self._conclude(operation, now)

    def _ping(self, contact: Contact, now: float) -> list[Output]:
        if contact.peer_id in self._probing:
            return []
        self._probing.add(contact.peer_id)
        return self._ask(contact, Ping(0, False), None, now)

    def _ask(self, contact: Contact, request: Request, operation: Operation | None, now: float) -> list[Output]:
        return self._sends(contact, self._queries.open(contact, request, operation, now))

    def _sends(self, contact: Contact, request: Request) -> list[Output]:
        learned = self._neighbours.book.before_send(contact)
        send = Send(contact.peer_id, request)
        return [send] if learned is None else [Learned(learned), send]
