"""The DHT as one machine: neighbours, records, and the operations under way."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from core.base.ids import Key, PeerId, node_key
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.signing import Signer, Verifier
from core.base.trace import Trace
from core.dht.events import Found, Joined, Learned, Output, Stored
from core.dht.gather import Gather
from core.dht.lookup import Walk
from core.dht.memory import Memory
from core.dht.messages import Answer, Contact, Nodes, Observed, Ping, Request, Values
from core.dht.neighbours import Neighbours
from core.dht.operations import Finding, Forwarding, Getting, Operation, Storing
from core.dht.queries import Queries, Query
from core.dht.records import Proofs, RecordStore, sign_record
from core.dht.responder import Responder, due_to_newcomer
from core.dht.settings import DhtSettings

PROBES_MAX = 64
FORWARDINGS_MAX = 8
STALE_PINGS = 3


class DhtNode:
    """A peer of the DHT.

    Its owner passes on `Received`, `Observed` and `Tick`, sends what comes back, and listens to the events of
    `core.dht.events`.  A `Send` names a peer; a `Learned` before it says where that peer is.

    Args:
        signer: Signs our records; its peer id is who we are.
        verifier: Tells the signatures of others' records.
        random: Query ids, jitter and refreshed keys come from here; on a real network it must not be predictable.
        settings: The collaboration's numbers.
        trace: Where drops are counted.
    """

    def __init__(
        self, *, signer: Signer, verifier: Verifier, random: Random, settings: DhtSettings, trace: Trace
    ) -> None:
        self.me = signer.peer_id
        self._signer = signer
        self._random = random
        self._settings = settings
        self._trace = trace
        self._proofs = Proofs(verifier)
        self._records = RecordStore(
            self._proofs,
            max_lifetime_s=settings.max_lifetime_s + settings.clock_slack_s,
            total=settings.records_max,
            per_key=settings.records_per_key,
            per_owner=settings.records_per_owner,
            per_owner_and_key=settings.records_per_owner_and_key,
        )
        self._neighbours = Neighbours(self.me, settings, trace=trace)
        self._responder = Responder(self._neighbours.table, self._records, trace=trace)
        self._queries = Queries(random, timeout_s=settings.query_timeout_s)
        self._memory = Memory(route_s=settings.route_s)
        self._operations: dict[Operation, None] = {}
        self._gets: dict[Key, Getting] = {}
        self._joining: Finding | None = None
        self._join_due = False
        self._probing: set[PeerId] = set()
        self._housekeeping_at: float | None = None
        self._seeds_at = 0.0

    @property
    def deadline(self) -> float | None:
        """When to be woken, unix seconds."""
        operations = min((operation.deadline for operation in self._operations), default=None)
        return earliest(self._queries.deadline, operations, self._housekeeping_at)

    @property
    def contacts(self) -> list[Contact]:
        """Everybody in the routing table: worth remembering on disk as seeds of the next start."""
        return self._neighbours.table.contacts()

    @property
    def record_count(self) -> int:
        """Records held for the swarm."""
        return len(self._records)

    def bootstrap(self, seeds: Iterable[Contact], now: float) -> list[Output]:
        """Join through these peers; they are kept and tried again whenever they are out of reach.  `Joined` follows."""
        self._wake(now)
        self._neighbours.add_seeds(seeds)
        self._seeds_at = now + self._settings.seeds_s
        return self._join(now)

    def learn(self, contact: Contact, now: float) -> list[Output]:
        """A peer was met in some other way: if there is a place for it, ask it whether it is there."""
        self._wake(now)
        wanted = contact.peer != self.me and self._neighbours.table.wants(contact.peer_id)
        return self._probe(contact, now) if wanted else []

    def get(self, key: Key, now: float) -> list[Output]:
        """Read a key.  One `Found` follows, possibly empty; several gets of a key at the same time share it."""
        self._wake(now)
        if key in self._gets:
            return []
        settings = self._settings
        gather = Gather(
            key,
            self._memory.known(key, self._records.get(key, now), now),
            lifetime_s=settings.max_lifetime_s + settings.clock_slack_s,
            limit=settings.records_per_key,
            per_owner=settings.records_per_owner_and_key,
            proofs=self._proofs,
            trace=self._trace,
        )
        getting = Getting(self._walk(key, now), gather, client=settings.client, deadline=self._patience(now))
        self._gets[key] = getting
        return self._begin(getting, now)

    def store(
        self, key: Key, value: bytes, *, lifetime_s: float, now: float, subkey: bytes | None = None
    ) -> list[Output]:
        """Store a value of ours at the peers nearest to its key.  `Stored` follows.

        A later store of the same subkey always replaces an earlier one: since the later expiration wins, the record
        then lives at least as long as the earlier one was to live.

        Args:
            key: Where.
            value: At most 512 bytes.
            lifetime_s: How long from now it is to be found.
            now: Unix seconds.
            subkey: Our peer id and up to 16 bytes more; None: just our peer id.

        Raises:
            ValueError: the value, the subkey or the lifetime is outside its limits.
        """
        if not 0 < lifetime_s <= self._settings.max_lifetime_s:
            raise ValueError(f"a lifetime of {lifetime_s} s, the limit is {self._settings.max_lifetime_s} s")
        self._wake(now)
        subkey = bytes(self.me) if subkey is None else subkey
        expires_ms = self._memory.expiration(key, subkey, int((now + lifetime_s) * 1000))
        record = sign_record(self._signer, key, value, subkey=subkey, expires_ms=expires_ms)
        self._proofs.signed(key, record)
        self._memory.wrote(key, record)
        storing = Storing(
            Finding(self._walk(key, now), client=self._settings.client, deadline=self._patience(now)),
            record,
            me=self.me,
            route=self._memory.route(key, now),
            keep=None if self._settings.client else lambda: self._records.put(key, record, now).held,
            replicas=self._settings.replicas,
        )
        return self._begin(storing, now)

    def handle(self, event: Received[Any] | Tick | Lost | Observed, now: float) -> Sequence[Output]:
        """Advance by one event; whatever a stranger sends, nothing is raised."""
        self._wake(now)
        match event:
            case Received(sender=self.me):
                self._trace.mark("dht.drop.from_me")
            case Received(sender=sender, message=Request() as request):
                return self._on_request(sender, request, now)
            case Received(sender=sender, message=Answer() as answer):
                return self._on_answer(sender, answer, now)
            case Observed(peer=peer, host=host, port=port):
                self._neighbours.observed(peer, host, port)
            case Tick():
                return self._on_tick(now)
            case _:
                pass
        return []

    def _on_request(self, sender: PeerId, request: Request, now: float) -> list[Output]:
        if self._settings.client:
            self._trace.mark("dht.drop.asked_client")
            return []
        answer = self._responder.answer(sender, request, now)
        if answer is None:
            return []
        contact = None if request.client else self._neighbours.to_probe(sender, now)
        outputs: list[Output] = [Send(sender, answer)]
        return outputs if contact is None else outputs + self._probe(contact, now)

    def _on_answer(self, sender: PeerId, answer: Answer, now: float) -> list[Output]:
        query = self._queries.close(sender, answer, now)
        if query is None:
            self._trace.mark("dht.drop.unasked")
            return []
        self._probing.discard(sender)
        contact, heard = self._neighbours.alive(query.contact, now)
        outputs = self._welcome(contact, now) if heard.added else []
        if heard.doubtful is not None:
            outputs += self._ping(heard.doubtful, now)
        if query.operation in self._operations:
            if isinstance(answer, Nodes | Values):
                answer = replace(answer, nodes=self._neighbours.acceptable(answer.nodes, now))
            query.operation.answered(query.contact, query.request, answer, now)
            outputs += self._advance(query.operation, now)
        return outputs

    def _on_tick(self, now: float) -> list[Output]:
        outputs: list[Output] = []
        again, over = self._queries.overdue(now)
        for query in again:
            outputs += self._sends(query.contact, query.request)
            if query.operation in self._operations:
                query.operation.slow(query.contact, query.request)
        for query in over:
            self._give_up(query, now)
        concerned = dict.fromkeys(query.operation for query in (*again, *over))
        concerned.update((operation, None) for operation in self._operations if operation.deadline <= now)
        for operation in concerned:
            if operation in self._operations:
                outputs += self._advance(operation, now)
        if self._housekeeping_at is not None and self._housekeeping_at <= now:
            outputs += self._keep_house(now)
        return outputs

    def _give_up(self, query: Query, now: float) -> None:
        peer = query.contact.peer_id
        self._probing.discard(peer)
        self._neighbours.silent(peer, now)
        if query.operation in self._operations:
            query.operation.failed(query.contact, query.request)

    def _keep_house(self, now: float) -> list[Output]:
        self._housekeeping_at = now + self._settings.housekeeping_s * self._random.uniform(0.75, 1.25)
        self._records.expire(now)
        self._memory.expire(now)
        outputs: list[Output] = []
        for contact in self._neighbours.table.stale(now - self._settings.stale_after_s, STALE_PINGS):
            outputs += self._probe(contact, now)
        if self._seeds_at <= now:
            self._seeds_at = now + self._settings.seeds_s * self._random.uniform(0.75, 1.25)
            for contact in self._neighbours.absent_seeds(now):
                outputs += self._probe(contact, now)
        if self._join_due or not len(self._neighbours.table):
            outputs += self._join(now)
        key = self._neighbours.table.refresh_key(now - self._settings.refresh_s, now, self._random)
        return outputs if key is None else outputs + self._begin(self._find(key, now), now)

    def _join(self, now: float) -> list[Output]:
        if self._joining is not None:
            return []
        self._join_due = False
        self._joining = self._find(node_key(self.me), now)
        return self._begin(self._joining, now)

    def _welcome(self, newcomer: Contact, now: float) -> list[Output]:
        """A contact is new in the table: hand it the records that it should hold."""
        if self._neighbours.is_seed(newcomer.peer_id):
            self._join_due = True
        handing = sum(isinstance(operation, Forwarding) for operation in self._operations)
        if self._settings.client or handing >= FORWARDINGS_MAX:
            return []
        due = due_to_newcomer(
            newcomer.peer_id,
            me=self.me,
            table=self._neighbours.table,
            store=self._records,
            settings=self._settings,
            now=now,
        )
        return self._begin(Forwarding(newcomer, due, client=False, deadline=self._patience(now)), now) if due else []

    def _begin(self, operation: Operation, now: float) -> list[Output]:
        self._operations[operation] = None
        return self._advance(operation, now)

    def _advance(self, operation: Operation, now: float) -> list[Output]:
        """Send what the operation asks; when it is over, report what came of it."""
        outputs: list[Output] = []
        if operation.deadline > now:
            for ask in operation.asks():
                outputs += self._ask(ask.contact, ask.request, operation, now)
            if not operation.done:
                return outputs
        del self._operations[operation]
        return outputs + self._conclude(operation, now)

    def _conclude(self, operation: Operation, now: float) -> list[Output]:
        match operation:
            case Finding(walk=walk):
                self._remember_route(walk, now)
                if operation is self._joining:
                    self._joining = None
                    return [Joined(len(self._neighbours.table))]
            case Getting(walk=walk, gather=gather):
                self._remember_route(walk, now)
                self._memory.read(walk.key, gather.records)
                del self._gets[walk.key]
                return [Found(walk.key, tuple(self._memory.known(walk.key, {}, now).values()))]
            case Storing(finding=finding, record=record):
                if operation.broken_route:
                    self._memory.forget_route(finding.walk.key)
                return [Stored(finding.walk.key, record.subkey, operation.accepted)]
        return []

    def _remember_route(self, walk: Walk, now: float) -> None:
        self._neighbours.table.looked_up(walk.key, now)
        self._memory.went(walk.key, walk.found(2 * self._settings.replicas), now)

    def _probe(self, contact: Contact, now: float) -> list[Output]:
        return self._ping(contact, now) if len(self._probing) < PROBES_MAX else []

    def _ping(self, contact: Contact, now: float) -> list[Output]:
        if contact.peer_id in self._probing:
            return []
        self._probing.add(contact.peer_id)
        return self._ask(contact, Ping(0, self._settings.client), None, now)

    def _ask(self, contact: Contact, request: Request, operation: Operation | None, now: float) -> list[Output]:
        return self._sends(contact, self._queries.open(contact, request, operation, now))

    def _sends(self, contact: Contact, request: Request) -> list[Output]:
        learned = self._neighbours.book.before_send(contact)
        send = Send(contact.peer_id, request)
        return [send] if learned is None else [Learned(learned), send]

    def _find(self, key: Key, now: float) -> Finding:
        return Finding(self._walk(key, now), client=self._settings.client, deadline=self._patience(now))

    def _walk(self, key: Key, now: float) -> Walk:
        start = self._neighbours.start(key, now)
        return Walk(key, start, width=self._settings.replicas, parallel=self._settings.parallel)

    def _patience(self, now: float) -> float:
        return now + self._settings.lookup_timeout_s

    def _wake(self, now: float) -> None:
        if self._housekeeping_at is None:
            self._housekeeping_at = now + self._settings.housekeeping_s * self._random.random()
