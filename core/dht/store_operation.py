"""Operations that store records: own ones, those of a newcomer, and those whose holders become few."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence

from core.base.ids import Contact, PeerId
from core.dht.messages import Answer, Cache, Record, Request, Store, Stored
from core.dht.operations import Ask, FindNode, Operation
from core.dht.space import point, position

HAND_OVER_IN_FLIGHT_MAX = 8
"""Requests in flight after as many answers: the first one goes alone, since a peer may name an address that is not its
own by the datagram with which it has proven another one."""
STORED_ON_THE_WAY_MAX = 8
"""More records than this are stored only when the nearest peers are certain."""


class StoreOperation(Operation):
    """Stores records of one key at its nearest peers, which it looks up meanwhile if they are not known.

    A peer on the way that is expected to be among the nearest gets the records along with the request for nearer ones,
    which saves a datagram each way; one that turns out to be farther holds them needlessly.

    Args:
        finding: Finds the nearest peers; one that is done already (nothing to start from) is fine.
        records: At least one.
        me: This peer, which is a holder if it is among the nearest.
        route: The nearest peers, if they are known.
        keep: Stores a record here; None: in client mode.
        replicas: Number of holders of each record.
    """

    def __init__(
        self,
        finding: FindNode,
        records: Sequence[Record],
        *,
        me: PeerId,
        route: Sequence[Contact],
        keep: Callable[[Record], bool] | None,
        replicas: int,
    ) -> None:
        self.finding = finding
        self.records = tuple(records)
        self.key = finding.lookup.key
        self.accepted: Counter[bytes] = Counter()
        self.broken_route = False
        self.nearer = 0
        """Number of peers that are nearer to the key than this one."""
        self._me = me
        self._keep = keep
        self._replicas = replicas
        self._targets: deque[Contact] | None = None
        self._must = 0
        """Number of targets among the nearest: they are to hold the records in any case."""
        self._tried: set[PeerId] = set()
        self._waiting: Counter[PeerId] = Counter()
        self._slow: set[PeerId] = set()
        if route:
            self._aim(route)

    @property
    def done(self) -> bool:
        """Whether enough peers hold the records, or nobody is left to ask."""
        if self._targets is None:
            return False
        if self._held() >= self._replicas and not self._must:
            return True
        return not (self._targets or self._waiting)

    def asks(self) -> list[Ask]:
        """Requests for nearer peers, or to hold the records."""
        if self._targets is None:
            if not self.finding.done:
                return self._on_the_way()
            self._aim(self.finding.lookup.found(2 * self._replicas))
        assert self._targets is not None
        asks: list[Ask] = []
        while self._targets and (self._must or self._lacks()):
            contact = self._targets.popleft()
            self._must = max(0, self._must - 1)
            asks += self._stores(contact)
        return asks

    def answered(self, contact: Contact, request: Request, answer: Answer, now: float) -> None:
        """Take a peer's promise or refusal to hold a record, or nearer peers."""
        if isinstance(request, Store) and isinstance(answer, Stored):
            self._settle(contact)
            self.accepted[request.record.subkey] += answer.accepted
        else:
            self.finding.answered(contact, request, answer, now)

    def slow(self, contact: Contact, request: Request) -> None:
        """Try another peer besides one whose request is being repeated."""
        if isinstance(request, Store):
            if contact.peer_id in self._waiting:
                self._slow.add(contact.peer_id)
            self.broken_route = True
        else:
            self.finding.slow(contact, request)

    def failed(self, contact: Contact, request: Request) -> None:
        """Go on without a peer that does not answer."""
        if isinstance(request, Store):
            self._settle(contact)
        else:
            self.finding.failed(contact, request)

    def _on_the_way(self) -> list[Ask]:
        """Requests for nearer peers; those that seem to be among the nearest get the records too."""
        asks: list[Ask] = []
        target, span = point(self.key), self.finding.lookup.span
        for ask in self.finding.asks():
            asks.append(ask)
            if len(self.records) <= STORED_ON_THE_WAY_MAX and position(ask.contact.peer_id) ^ target < span:
                asks += self._stores(ask.contact)
        return asks

    def _stores(self, contact: Contact) -> list[Ask]:
        self._tried.add(contact.peer_id)
        self._waiting[contact.peer_id] = len(self.records)
        return [Ask(contact, Store(0, False, self.key, record)) for record in self.records]

    def _lacks(self) -> bool:
        """Whether too few peers hold the records, counting the pending ones."""
        return self._held() + len(self._waiting) - len(self._slow) < self._replicas

    def _held(self) -> int:
        """Number of holders of the record with the fewest."""
        return min(self.accepted[record.subkey] for record in self.records)

    def _aim(self, contacts: Sequence[Contact]) -> None:
        """Choose the targets: the nearest first; this peer if it is among the nearest."""
        target = point(self.key)
        mine = position(self._me) ^ target
        self.nearer = sum(position(contact.peer_id) ^ target < mine for contact in contacts)
        if self._keep is not None and self.nearer < self._replicas:
            for record in self.records:
                self.accepted[record.subkey] += self._keep(record)
        near = self._replicas - (self._keep is not None and self.nearer < self._replicas)
        self._must = sum(contact.peer_id not in self._tried for contact in contacts[:near])
        self._targets = deque(contact for contact in contacts if contact.peer_id not in self._tried)

    def _settle(self, contact: Contact) -> None:
        peer = contact.peer_id
        self._waiting[peer] -= 1
        if self._waiting[peer] <= 0:
            del self._waiting[peer]
            self._slow.discard(peer)


class HandOver(Operation):
    """Hands records to one peer: those that it should hold, or copies for later readers."""

    def __init__(self, to: Contact, requests: Iterable[Store | Cache]) -> None:
        self._to = to
        self._requests = deque(requests)
        self._in_flight = 0
        self._window = 1

    @property
    def done(self) -> bool:
        """Whether all records were handed over."""
        return not self._requests and not self._in_flight

    def asks(self) -> list[Ask]:
        """Requests for the next few records."""
        asks: list[Ask] = []
        if self._in_flight > self._window // 2:
            return asks
        while self._requests and self._in_flight < self._window:
            self._in_flight += 1
            asks.append(Ask(self._to, self._requests.popleft()))
        return asks

    def answered(self, contact: Contact, request: Request, answer: Answer, now: float) -> None:  # noqa: ARG002 - the base's
        """Count a record that has arrived."""
        self._in_flight -= 1
        self._window = min(self._window + 1, HAND_OVER_IN_FLIGHT_MAX)

    def failed(self, contact: Contact, request: Request) -> None:  # noqa: ARG002 - the base's
        """Stop, since the peer has gone again."""
        self._in_flight -= 1
        self._requests.clear()
