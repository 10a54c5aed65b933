"""Reading a key."""

from collections import Counter, deque

from core.base.ids import PeerId
from core.dht.disjoint_lookup import DisjointLookup
from core.dht.lookup import Lookup
from core.dht.messages import PAD, Answer, Contact, Fetch, Get, Records, Request, Values
from core.dht.operations import Ask, Operation
from core.dht.pages import split_index, split_tags
from core.dht.record_merge import RecordMerge

INDEX_PAGES_MAX = 64
EMPTY_FETCHES_MAX = 24
"""Who answered so many fetches with nothing is not believed.  Where several travel in one datagram there may be no room
for a long record in the answer, so fewer prove nothing."""
PAGES_BEFORE_FETCH = 2
"""After so many pages of somebody's index, records of it are fetched while the next are coming."""


class ReadOperation(Operation):
    """Reads a key from its nearest peers; if none of them holds anything, from twice as many.

    Args:
        walk: The way to them.
        gather: Merges what they hold.
        quorum: So many peers that hold something are enough; None: all of the nearest are asked.
        owner: Of whom a record must be here before they are; None: anybody's will do.
    """

    def __init__(
        self,
        lookup: Lookup | DisjointLookup,
        merge: RecordMerge,
        *,
        quorum: int | None,
        owner: PeerId | None = None,
        client: bool,
        deadline: float,
    ) -> None:
        super().__init__(client=client, deadline=deadline)
        self.lookup = lookup
        self.merge = merge
        self.quorum = quorum
        self.owner = owner
        self.again = False
        """Whether this is the second attempt."""
        self._widened = False
        self._pages: deque[Ask] = deque()
        self._paging: dict[PeerId, int] = {}
        self._holders: dict[PeerId, Contact] = {}
        self._gave: set[PeerId] = set()
        self._empty_fetches: Counter[PeerId] = Counter()
        """Fetches from those who have delivered nothing yet."""
        self._proven: set[PeerId] = set()

    @property
    def done(self) -> bool:
        """Whether the nearest, or enough of those that hold something, have answered and all that they hold is here."""
        if self._pages or self._paging or not self.merge.done:
            return False
        return self._enough() or (self.lookup.done and not self._widens())

    def nearest_without_record(self) -> Contact | None:
        """The peer nearest to the key that was asked and holds nothing."""
        return next((c for c in self.lookup.found(2 * self.lookup.width) if c.peer_id not in self._gave), None)

    def asks(self) -> list[Ask]:
        """Whom to ask for peers and values, for more of an index, and, once the walk is over, for records."""
        enough = self._enough()
        if not enough and self._widens():
            self._widened = True
            self.lookup.width *= 2
        key = self.lookup.key
        asks = [] if enough else [Ask(c, Get(0, self.client, key, b"", PAD)) for c in self.lookup.take()]
        asks += self._pages
        self._pages.clear()
        if self._believed() and (enough or self.lookup.done):
            for peer, tags in self.merge.fetches():
                asks.append(Ask(self._holders[peer], Fetch(0, self.client, key, b"".join(tags), PAD)))
        return asks

    def answered(self, contact: Contact, request: Request, answer: Answer, now: float) -> None:
        """Peers, records or an index."""
        peer = contact.peer_id
        match request, answer:
            case Get(), Values():
                self.lookup.answered(peer)
                self.lookup.add(answer.nodes, peer)
                self._holders[peer] = contact
                claims = split_index(answer.index) if self._empty_fetches[peer] < EMPTY_FETCHES_MAX else []
                if self.merge.offered(answer.records, now) or (claims and not answer.more):
                    self._gave.add(peer)
                self.merge.claimed(peer, claims, now)
                pages = self._paging.pop(peer, 0) + 1
                if answer.more and claims and pages < INDEX_PAGES_MAX:
                    self._paging[peer] = pages
                    self._pages.append(Ask(contact, Get(0, self.client, self.lookup.key, claims[-1].tag, PAD)))
            case Fetch(), Records():
                delivered = self.merge.delivered((peer, tuple(split_tags(request.tags))), answer.records, now)
                self._judge(peer, delivered=delivered)

    def slow(self, contact: Contact, request: Request) -> None:
        """The walk goes on without."""
        if isinstance(request, Get):
            self.lookup.slow(contact.peer_id, contact)

    def failed(self, contact: Contact, request: Request) -> None:
        """Go on without."""
        self._forget(contact.peer_id)
        if isinstance(request, Get):
            self.lookup.failed(contact.peer_id, contact)

    def _judge(self, peer: PeerId, *, delivered: bool) -> None:
        """A fetch was answered: a claim alone ends no read, and an index with nothing behind it is not read on."""
        if delivered:
            self._proven.add(peer)
            self._empty_fetches.pop(peer, None)
        elif peer not in self._proven:
            self._gave.discard(peer)
            self._empty_fetches[peer] += 1
            if self._empty_fetches[peer] >= EMPTY_FETCHES_MAX:
                self._forget(peer)

    def _forget(self, peer: PeerId) -> None:
        """What this peer says it holds counts no longer."""
        self._paging.pop(peer, None)
        self._pages = deque(ask for ask in self._pages if ask.contact.peer_id != peer)
        self._gave.discard(peer)
        self.merge.failed(peer)

    def _believed(self) -> bool:
        """Whether no index is coming, or one is so long that it must be seen whether there is anything behind it."""
        return all(pages > PAGES_BEFORE_FETCH for pages in self._paging.values())

    def _enough(self) -> bool:
        if self.quorum is None or len(self._gave) < self.quorum:
            return False
        return self.owner is None or self.merge.has_of(self.owner)

    def _widens(self) -> bool:
        return self.lookup.done and not self._widened and self.merge.done and not self.merge.records
