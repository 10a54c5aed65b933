"""Runs operations: their queries, and what these reveal about other peers."""

from collections.abc import Callable

from msgspec.structs import replace

from core.base.ids import Key, PeerId
from core.base.machine import Send
from core.dht.bucket import TableChange
from core.dht.client_mode import ClientMode
from core.dht.clock_skew import ClockSkew
from core.dht.disjoint_lookup import DisjointLookup
from core.dht.events import Learned, Output
from core.dht.lookup import Lookup, LookupTrust
from core.dht.messages import Answer, Contact, Find, Get, Nodes, Ping, Pong, Request, Values
from core.dht.neighbours import Neighbours
from core.dht.operations import FindNode, Operation
from core.dht.queries import Queries, Query
from core.dht.settings import DhtSettings
from core.dht.space import point

PROBES_MAX = 64
PARALLEL_ON_A_PATH = 3
"""Queries in flight on each disjoint path, so that one silent peer does not hold up its path."""


class QueryRunner:
    """Runs operations: sends their requests, hands them the answers, and concludes them.

    Args:
        neighbours: Told of answers and silences.
        clock_skew: Told of others' clocks.
        conclude: Called with each operation that is over; returns outputs.
        settings: The collaboration's numbers.
        client_mode: Whether this peer is in client mode.
        queries: The requests that wait for their answers.
    """

    def __init__(
        self,
        neighbours: Neighbours,
        clock_skew: ClockSkew,
        conclude: Callable[[Operation, float], list[Output]],
        *,
        settings: DhtSettings,
        client_mode: ClientMode,
        queries: Queries,
    ) -> None:
        self._neighbours = neighbours
        self._clock_skew = clock_skew
        self._conclude = conclude
        self._settings = settings
        self._client_mode = client_mode
        self._queries = queries
        self._operations: dict[Operation, None] = {}
        self._probing: set[PeerId] = set()

    @property
    def deadline(self) -> float | None:
        """Time at which `tick` is due, Unix seconds.  All operations last equally long, so the oldest ends first."""
        at = self._queries.deadline
        for first in self._operations:
            return first.deadline if at is None or first.deadline < at else at
        return at

    def count(self, kind: type[Operation]) -> int:
        """Number of operations of a kind in progress."""
        return sum(isinstance(operation, kind) for operation in self._operations)

    def begin(self, operation: Operation, now: float) -> list[Output]:
        """Start an operation.

        Args:
            operation: The operation.
            now: Unix seconds.
        """
        self._operations[operation] = None
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
        if isinstance(answer, Pong) and answer.time_ms and not query.repeated:
            self._clock_skew.heard(sender, answer.time_ms / 1000, sent=query.sent, now=now)
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
        for operation in self._operations:
            if operation.deadline > now:
                break
            concerned[operation] = None
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

    def find(self, key: Key, now: float, *, width: int | None = None, paths: int | None = None) -> FindNode:
        """Make an operation that finds the peers nearest to a key.

        Args:
            key: The key.
            now: Unix seconds.
            width: Number of nearest peers that must answer; None: as many as replicas.
            paths: Number of disjoint paths; None: as the settings say.
        """
        lookup = self.lookup(key, now, width=self._settings.replicas if width is None else width, paths=paths)
        return FindNode(lookup, client=self._client_mode.client, deadline=self.patience(now))

    def refresh(self, key: Key, now: float) -> FindNode:
        """Make an operation that looks up a key without haste, to refresh its bucket.

        Args:
            key: The key.
            now: Unix seconds.
        """
        settings = self._settings
        sparse = self._neighbours.table.bucket(point(key)).is_far_and_sparse
        width = settings.refresh_width_sparse if sparse else settings.refresh_width
        lookup = Lookup(key, self._neighbours.start(key, now), width=width, parallel=width)
        return FindNode(lookup, client=self._client_mode.client, deadline=self.patience(now))

    def lookup(
        self,
        key: Key,
        now: float,
        *,
        width: int,
        quick: bool = False,
        paths: int | None = None,
        include_silent: bool = False,
    ) -> Lookup | DisjointLookup:
        """Make a lookup that starts from the contacts known now.

        Args:
            key: The key to approach.
            now: Unix seconds.
            width: Number of nearest peers that must answer.
            quick: With more queries in flight.
            paths: Number of disjoint paths; None: as the settings say.
            include_silent: Include peers that did not answer a moment ago.
        """
        settings = self._settings
        start = self._neighbours.start(key, now, include_silent=include_silent)
        table = self._neighbours.table
        parallel, near = self._parallel(quick=quick)
        trust = LookupTrust(
            prefix_limit=0 if table.networks.are_few else settings.prefix_per_lookup,
            local_is_free=settings.local_is_free,
            ghosts_max=settings.ghosts_max,
        )
        paths = settings.paths if paths is None else paths
        lookup: Lookup | DisjointLookup
        if paths <= 1 or table.networks.are_few:
            lookup = Lookup(key, start, width=width, parallel=parallel, trust=trust)
        else:
            parallel = max(parallel, PARALLEL_ON_A_PATH * paths)
            lookup = DisjointLookup(key, start, width=width, parallel=parallel, paths=paths, trust=trust)
        lookup.expect(table.span_of(settings.replicas), parallel=near)
        return lookup

    def _parallel(self, *, quick: bool) -> tuple[int, int | None]:
        """Queries in flight on the way, and among the nearest; None: as many."""
        settings = self._settings
        if not quick:
            return settings.parallel, None
        if self._neighbours.table.typical_rtt_s > settings.far_s:
            return settings.parallel_quick_far, settings.parallel_near_far
        return settings.parallel_quick, settings.parallel_near

    def patience(self, now: float) -> float:
        """Deadline of an operation that begins now, Unix seconds."""
        return now + self._settings.lookup_timeout_s

    def _give_up(self, query: Query, now: float) -> None:
        self._probing.discard(query.contact.peer_id)
        self._neighbours.silent(query.contact, now)
        if query.operation in self._operations:
            query.operation.failed(query.contact, query.request)

    def _advance(self, operation: Operation, now: float) -> list[Output]:
        """Send the requests of the operation; when it is over, conclude it."""
        outputs: list[Output] = []
        if operation.deadline > now:
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
        return self._ask(contact, Ping(0, self._client_mode.client), None, now)

    def _ask(self, contact: Contact, request: Request, operation: Operation | None, now: float) -> list[Output]:
        return self._sends(contact, self._queries.open(contact, request, operation, now))

    def _sends(self, contact: Contact, request: Request) -> list[Output]:
        learned = self._neighbours.book.before_send(contact)
        send = Send(contact.peer_id, request)
        return [send] if learned is None else [Learned(learned), send]
