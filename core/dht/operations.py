"""What a peer wants of the DHT: look around, read a key, store a record, hand records on.

An operation says whom to ask what, and is told how it went.  It neither sends nor waits: the node does that for all of
them.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from core.base.ids import Key, PeerId, distance, node_key
from core.dht.gather import Gather
from core.dht.lookup import Walk
from core.dht.messages import (
    PAD,
    Answer,
    Contact,
    Fetch,
    Find,
    Get,
    Nodes,
    Record,
    Records,
    Request,
    Store,
    Stored,
    Values,
)
from core.dht.pages import split_index, split_tags

INDEX_PAGES_MAX = 64
FORWARDS_IN_FLIGHT = 4


@dataclass(frozen=True, slots=True)
class Ask:
    """Please send this request; its query id is still to be chosen."""

    contact: Contact
    request: Request


class Operation(ABC):
    """Several queries with one purpose.

    Attributes:
        deadline: When it is to end with what it has.
    """

    def __init__(self, *, client: bool, deadline: float) -> None:
        self.client = client
        self.deadline = deadline

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether nothing is left to ask or to wait for."""

    @abstractmethod
    def asks(self) -> list[Ask]:
        """What to ask now; it counts as asked."""

    @abstractmethod
    def answered(self, contact: Contact, request: Request, answer: Answer, now: float) -> None:
        """The answer to one of the requests; `answer` is of the class that belongs to it."""

    def slow(self, contact: Contact, request: Request) -> None:  # noqa: B027 - an operation need not mind
        """A request is being repeated."""

    @abstractmethod
    def failed(self, contact: Contact, request: Request) -> None:
        """A request was not answered."""


class Finding(Operation):
    """Finds the nearest peers of a key."""

    def __init__(self, walk: Walk, *, client: bool, deadline: float) -> None:
        super().__init__(client=client, deadline=deadline)
        self.walk = walk

    @property
    def done(self) -> bool:
        """Whether the nearest have answered."""
        return self.walk.done

    def asks(self) -> list[Ask]:
        """Whom to ask for nearer peers."""
        return [Ask(contact, Find(0, self.client, self.walk.key, PAD)) for contact in self.walk.take()]

    def answered(self, contact: Contact, request: Request, answer: Answer, now: float) -> None:  # noqa: ARG002 - the base's
        """Contacts nearer to the key."""
        self.walk.answered(contact.peer_id)
        if isinstance(answer, Nodes):
            self.walk.add(answer.nodes)

    def slow(self, contact: Contact, request: Request) -> None:  # noqa: ARG002 - the base's
        """Go on without."""
        self.walk.slow(contact.peer_id)

    def failed(self, contact: Contact, request: Request) -> None:  # noqa: ARG002 - the base's
        """Go on without."""
        self.walk.failed(contact.peer_id)


class Getting(Operation):
    """Reads a key from its nearest peers; if none of them holds anything, from twice as many."""

    def __init__(self, walk: Walk, gather: Gather, *, client: bool, deadline: float) -> None:
        super().__init__(client=client, deadline=deadline)
        self.walk = walk
        self.gather = gather
        self._widened = False
        self._pages: deque[Ask] = deque()
        self._paging: dict[PeerId, int] = {}
        self._holders: dict[PeerId, Contact] = {}

    @property
    def done(self) -> bool:
        """Whether the nearest have answered and all that they hold is here."""
        return self.walk.done and not self._pages and not self._paging and self.gather.done and not self._widens()

    def asks(self) -> list[Ask]:
        """Whom to ask for peers and values, for more of an index, and, once the walk is over, for records."""
        if self._widens():
            self._widened = True
            self.walk.width *= 2
        key = self.walk.key
        asks = [Ask(contact, Get(0, self.client, key, b"", PAD)) for contact in self.walk.take()]
        asks += self._pages
        self._pages.clear()
        if self.walk.done and not self._paging:
            for peer, tags in self.gather.fetches():
                asks.append(Ask(self._holders[peer], Fetch(0, self.client, key, b"".join(tags), PAD)))
        return asks

    def answered(self, contact: Contact, request: Request, answer: Answer, now: float) -> None:
        """Peers, records or an index."""
        peer = contact.peer_id
        match request, answer:
            case Get(), Values():
                self.walk.answered(peer)
                self.walk.add(answer.nodes)
                self._holders[peer] = contact
                self.gather.offered(answer.records, now)
                claims = split_index(answer.index)
                self.gather.claimed(peer, claims, now)
                pages = self._paging.pop(peer, 0) + 1
                if answer.more and claims and pages < INDEX_PAGES_MAX:
                    self._paging[peer] = pages
                    self._pages.append(Ask(contact, Get(0, self.client, self.walk.key, claims[-1].tag, PAD)))
            case Fetch(), Records():
                self.gather.delivered((peer, tuple(split_tags(request.tags))), answer.records, now)

    def slow(self, contact: Contact, request: Request) -> None:
        """The walk goes on without."""
        if isinstance(request, Get):
            self.walk.slow(contact.peer_id)

    def failed(self, contact: Contact, request: Request) -> None:
        """Go on without."""
        self._paging.pop(contact.peer_id, None)
        self.gather.failed(contact.peer_id)
        if isinstance(request, Get):
            self.walk.failed(contact.peer_id)

    def _widens(self) -> bool:
        return self.walk.done and not self._widened and self.gather.done and not self.gather.records


class Storing(Operation):
    """Stores one record at the nearest peers of its key, which it finds first if they are not known.

    Args:
        walk: Finds them; one that is done already (nothing to start from) is fine.
        route: The nearest peers, if they are known.
        keep: Stores the record here; None: we store nothing for others.
        replicas: How many are to hold it.
    """

    def __init__(
        self,
        finding: Finding,
        record: Record,
        *,
        me: PeerId,
        route: Sequence[Contact],
        keep: Callable[[], bool] | None,
        replicas: int,
    ) -> None:
        super().__init__(client=finding.client, deadline=finding.deadline)
        self.finding = finding
        self.record = record
        self.accepted = 0
        self.broken_route = False
        self._key = finding.walk.key
        self._me = me
        self._keep = keep
        self._replicas = replicas
        self._targets: deque[Contact] | None = None
        self._waiting: set[PeerId] = set()
        self._slow: set[PeerId] = set()
        if route:
            self._aim(route)

    @property
    def done(self) -> bool:
        """Whether enough hold it, or nobody is left to ask."""
        if self._targets is None:
            return False
        return self.accepted >= self._replicas or not (self._targets or self._waiting or self._slow)

    def asks(self) -> list[Ask]:
        """Whom to ask for nearer peers, or to keep the record."""
        if self._targets is None:
            if not self.finding.done:
                return self.finding.asks()
            self._aim(self.finding.walk.found(2 * self._replicas))
        assert self._targets is not None
        asks: list[Ask] = []
        while self._targets and self.accepted + len(self._waiting) < self._replicas:
            contact = self._targets.popleft()
            self._waiting.add(contact.peer_id)
            asks.append(Ask(contact, Store(0, self.client, self._key, self.record)))
        return asks

    def answered(self, contact: Contact, request: Request, answer: Answer, now: float) -> None:
        """A peer keeps it, or does not; or nearer peers."""
        if isinstance(answer, Stored):
            self._settle(contact)
            self.accepted += answer.accepted
        else:
            self.finding.answered(contact, request, answer, now)

    def slow(self, contact: Contact, request: Request) -> None:
        """Try another one meanwhile."""
        if isinstance(request, Store):
            self._settle(contact)
            self._slow.add(contact.peer_id)
            self.broken_route = True
        else:
            self.finding.slow(contact, request)

    def failed(self, contact: Contact, request: Request) -> None:
        """Go on without."""
        if isinstance(request, Store):
            self._settle(contact)
        else:
            self.finding.failed(contact, request)

    def _aim(self, contacts: Sequence[Contact]) -> None:
        """Choose the targets: the nearest first; ourselves if we are among the nearest."""
        mine = distance(node_key(self._me), self._key)
        nearer = sum(distance(node_key(contact.peer_id), self._key) < mine for contact in contacts)
        if self._keep is not None and nearer < self._replicas:
            self.accepted += self._keep()
        self._targets = deque(contacts)

    def _settle(self, contact: Contact) -> None:
        self._waiting.discard(contact.peer_id)
        self._slow.discard(contact.peer_id)


class Forwarding(Operation):
    """Hands records on to a newcomer who is nearer to their keys."""

    def __init__(
        self, newcomer: Contact, records: Iterable[tuple[Key, Record]], *, client: bool, deadline: float
    ) -> None:
        super().__init__(client=client, deadline=deadline)
        self._newcomer = newcomer
        self._records = deque(records)
        self._in_flight = 0

    @property
    def done(self) -> bool:
        """Whether all were handed on."""
        return not self._records and not self._in_flight

    def asks(self) -> list[Ask]:
        """The next few records."""
        asks: list[Ask] = []
        while self._records and self._in_flight < FORWARDS_IN_FLIGHT:
            key, record = self._records.popleft()
            self._in_flight += 1
            asks.append(Ask(self._newcomer, Store(0, self.client, key, record)))
        return asks

    def answered(self, contact: Contact, request: Request, answer: Answer, now: float) -> None:  # noqa: ARG002 - the base's
        """One is there."""
        self._in_flight -= 1

    def failed(self, contact: Contact, request: Request) -> None:  # noqa: ARG002 - the base's
        """The newcomer has gone again."""
        self._in_flight -= 1
        self._records.clear()
