"""The DHT of one peer as one machine: neighbours, records, and the operations in progress."""

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

from core.base.ids import Contact, Key, Observed, PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace, earliest
from core.base.rate_limit import RateLimit
from core.base.signing import Signer, Verifier
from core.dht.bundles import append_ping, bundle_answers, bundle_requests
from core.dht.cache import RecordCache
from core.dht.context import DhtContext
from core.dht.events import Output
from core.dht.key_classes import KeyClasses, Validator
from core.dht.memory import Memory
from core.dht.messages import Answer, Bundled, Ping, Request, RequestBundle
from core.dht.neighbours import Neighbours
from core.dht.queries import Queries
from core.dht.query_runner import QueryRunner
from core.dht.readwrite import Put, ReadWrite
from core.dht.records import Proofs, RecordStore
from core.dht.republish import Republish
from core.dht.responder import Responder
from core.dht.settings import ClientMode, DhtSettings
from core.dht.space import position
from core.dht.upkeep import Upkeep

__all__ = ["DhtNode", "Put"]


class DhtNode:
    """A peer of the DHT.

    Its owner passes on `Received`, `Observed` and `Tick`, sends what comes back, and listens to the events of
    `core.dht.events`.  A `Send` names a peer; a `Learned` before it tells that peer's address.

    Args:
        signer: Signs this peer's records; its peer id is this peer's.
        verifier: Verifies the signatures of others' records.
        random: Draws query ids, jitter and refreshed keys; on a real network it must not be predictable.
        settings: The collaboration's numbers.
        trace: Counts what is dropped.
        validators: Form of records, by the name of their key's class (`core.dht.key_classes.classed_key`).
    """

    def __init__(
        self,
        *,
        signer: Signer,
        verifier: Verifier,
        random: Random,
        settings: DhtSettings,
        trace: Trace,
        validators: Mapping[str, Validator] | None = None,
    ) -> None:
        self.me = signer.peer_id
        self._settings = settings
        self._client_mode = ClientMode(settings.client)
        self._trace = trace
        proofs = Proofs(verifier, classes=KeyClasses(validators or {}, unknown=settings.unknown_classes))
        self.records = RecordStore(proofs, settings)
        """Records held for the swarm."""
        cache = RecordCache(proofs, settings)
        self._neighbours = Neighbours(self.me, settings, trace=trace)
        self._memory = Memory(route_s=settings.route_s, absent_s=settings.absent_s)
        self._republish = Republish(every_s=settings.republish_s, random=random)
        self._responder = Responder(self._neighbours.table, self.records, cache, trace=trace)
        self._rate_limit = RateLimit[PeerId](rate_per_s=settings.requests_per_s, burst=settings.requests_burst)
        self._query_runner = QueryRunner(
            self._neighbours,
            lambda operation, now: self._readwrite.concluded(operation, now) + self._upkeep.concluded(operation, now),
            settings=settings,
            queries=Queries(random, client_mode=self._client_mode, timeout_s=settings.query_timeout_s, trace=trace),
        )
        parts = DhtContext(
            signer=signer,
            proofs=proofs,
            records=self.records,
            cache=cache,
            memory=self._memory,
            neighbours=self._neighbours,
            query_runner=self._query_runner,
            republish=self._republish,
            settings=settings,
            client_mode=self._client_mode,
            random=random,
            trace=trace,
        )
        self._upkeep = Upkeep(parts)
        self._readwrite = ReadWrite(parts)

    @property
    def deadline(self) -> float | None:
        """Time at which a `Tick` is due, Unix seconds; None: nothing is pending."""
        return earliest(self._query_runner.deadline, self._upkeep.deadline, self._republish.deadline)

    @property
    def contacts(self) -> list[Contact]:
        """All contacts of the routing table, the most useful first: store them as seeds of the next start."""
        return self._neighbours.table.contacts()

    @property
    def client(self) -> bool:
        """Whether this peer is in client mode: it reads and writes, answers nobody, and stores nothing for others."""
        return self._client_mode.client

    @client.setter
    def client(self, client: bool) -> None:
        self._client_mode.client = client

    @property
    def ipv6(self) -> bool:
        """Whether this computer has IPv6: without it, contacts with IPv6 only are skipped."""
        return self._neighbours.ipv6

    @ipv6.setter
    def ipv6(self, ipv6: bool) -> None:
        self._neighbours.ipv6 = ipv6

    def bootstrap(self, seeds: Iterable[Contact], now: float) -> list[Output]:
        """Join through these peers, which are tried again whenever they fall silent.  `Joined` follows."""
        self._neighbours.add_seeds(seeds)
        self._upkeep.has_seeds(now)
        return self._bundled(self._upkeep.join(now))

    def learn(self, contact: Contact, now: float) -> list[Output]:
        """Ping a peer that was met in some other way, if the routing table has a place for it."""
        self._upkeep.begin(now)
        wanted = contact.peer != self.me and self._neighbours.table.bucket(position(contact.peer)).wants(contact)
        return self._query_runner.probe(contact, now) if wanted else []

    def get(
        self,
        keys: Key | Sequence[Key],
        now: float,
        *,
        quorum: int | None = None,
        max_age_s: float = 0.0,
        owner: PeerId | None = None,
    ) -> list[Output]:
        """Read keys.  One `Found` follows for each, possibly empty; several gets of a key at the same time share it.

        Args:
            keys: The key to read, or several: requests to one peer travel together.
            now: Unix seconds.
            quorum: Number of peers with records that are enough, which is quicker; of several, only those count that
                are among the nearest.  None: all of the nearest are asked, as frequent changes need.
            max_age_s: Age up to which an earlier read of this peer is good enough, seconds.
            owner: Owner of the wanted record: a quorum without a record of this owner does not count, so that no other
                peer ends the read with a record of its own.
        """
        self._upkeep.begin(now)
        outputs: list[Output] = []
        for key in (keys,) if isinstance(keys, bytes) else keys:
            outputs += self._readwrite.get(key, now, quorum=quorum, max_age_s=max_age_s, owner=owner)
        return self._bundled(outputs)

    def store(
        self, key: Key, value: bytes, *, lifetime_s: float, now: float, subkey: bytes | None = None
    ) -> list[Output]:
        """Store a value of this peer at the peers nearest to its key.  `RecordStored` follows.

        A later store of the same subkey always replaces an earlier one: since the later expiration wins, the record
        then lives at least as long as the earlier one was to live.

        Args:
            key: The key.
            value: At most 512 bytes.
            lifetime_s: Seconds from now until the record expires.
            now: Unix seconds.
            subkey: This peer's id and up to 16 bytes more; None: just the id.

        Raises:
            ValueError: the value, the subkey or the lifetime is outside its limits, or not of its key's class.
        """
        return self.store_many([Put(key, value, lifetime_s, subkey)], now)

    def store_many(self, puts: Iterable[Put], now: float) -> list[Output]:
        """Store several values of this peer; requests to one peer travel together.  `RecordStored` follows for each.

        Raises:
            ValueError: as `store`; then nothing was stored.
        """
        puts = list(puts)
        outputs = self._readwrite.store(puts, now)
        self._upkeep.begin(now)
        for put in puts:
            self._upkeep.kept(now + put.lifetime_s, now)
        return self._bundled(outputs)

    def handle(self, event: Received[Any] | Tick | Lost | Observed, now: float) -> Sequence[Output]:
        """Advance by one event; messages of strangers never raise.

        Args:
            event: A message, an observed address, or the deadline.
            now: Unix seconds.
        """
        match event:
            case Received(sender=self.me):
                self._trace.mark("dht.drop.from_me")
            case Received(sender=sender, message=Request() as request):
                return self._on_request(sender, request, now)
            case Received(sender=sender, message=Answer() as answer):
                return self._bundled(self._on_answer(sender, answer, now))
            case Observed(peer=peer, host=host, port=port):
                self._neighbours.observed(peer, host, port)
            case Tick():
                outputs = self._query_runner.tick(now) + self._upkeep.tick(now)
                return self._bundled(outputs + self._readwrite.republish(now))
            case _:
                pass
        return []

    def _on_request(self, sender: PeerId, request: Request, now: float) -> list[Output]:
        if self._client_mode.client:
            self._trace.mark("dht.drop.asked_client")
            return []
        requests = request.requests if isinstance(request, RequestBundle) else (request,)
        if not self._rate_limit.admits(sender, now, max(1, len(requests))):
            self._trace.mark("dht.drop.flood")
            return []
        self._upkeep.begin(now)
        answers: list[Answer] = []
        for one in requests:
            answer = self._responder.answer(sender, one, now)
            if answer is not None:
                answers.append(answer)
        for key, record in self._responder.taken():
            self._memory.appeared(key)
            self._republish.stored(key, record, now)
            self._upkeep.kept(record.expiration, now)
        if len(answers) > 1:
            answers = bundle_answers(answers)
        outputs: list[Output] = [Send(sender, answer) for answer in answers]
        if request.client:
            self._neighbours.table.bucket(position(sender)).withdrew(sender)
            return outputs
        contact = self._neighbours.to_probe(sender, now)
        return outputs if contact is None else append_ping(outputs, self._query_runner.probe(contact, now))

    def _on_answer(self, sender: PeerId, answer: Answer, now: float) -> list[Output]:
        if isinstance(answer, Bundled):
            outputs = [output for one in answer.answers for output in self._on_answer(sender, one, now)]
            asked = self._on_request(sender, Ping(answer.ping, client=False), now) if answer.ping else []
            return outputs + asked
        heard = self._query_runner.answered(sender, answer, now)
        if heard is None:
            return []
        outputs, contact, change = heard
        if change.added:
            if self._neighbours.is_seed(contact.peer_id):
                self._upkeep.join_soon(now)
            outputs = self._readwrite.welcome(contact, now) + outputs
        return outputs

    def _bundled(self, outputs: list[Output]) -> list[Output]:
        if len(outputs) > 1 and self._settings.bundle:
            return bundle_requests(outputs, client=self._client_mode.client)
        return outputs
