"""The operation that reads a key."""

from collections import Counter, deque

from core.base.ids import Contact, PeerId
from core.dht.disjoint_lookup import DisjointLookup
from core.dht.lookup import Lookup
from core.dht.messages import PAD, Answer, Fetch, Get, Records, Request, Values
from core.dht.operations import Ask, Operation
from core.dht.pages import split_index, split_tags
from core.dht.record_merge import RecordMerge

INDEX_PAGES_MAX = 64
EMPTY_FETCHES_MAX = 24
"""Number of fetches without any record after which a peer's claims are dropped.  Where several fetches travel in one
datagram there may be no room for a long record in the answer, so fewer prove nothing."""
PAGES_BEFORE_FETCH = 2
"""Number of index pages of a peer after which its records are fetched while the next pages are coming."""


class ReadOperation(Operation):
    """Reads a key from its nearest peers; if none of them holds a record, from twice as many.

    Args:
        lookup: Finds the nearest peers.
        merge: Merges their records.
        quorum: Number of peers with records that end the read; of several, only those count that are among the nearest.
            None: all of the nearest are asked.
        owner: Owner of a record that must be found before a quorum counts; None: any owner.
    """

    def __init__(
        self,
        lookup: Lookup | DisjointLookup,
        merge: RecordMerge,
        *,
        quorum: int | None,
        owner: PeerId | None = None,
    ) -> None:
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
        """Number of fetches without a record, by peer that has never delivered one."""
        self._proven: set[PeerId] = set()

    @property
    def done(self) -> bool:
        """Whether the nearest peers, or a quorum, have answered and all their records are here."""
        if self._pages or self._paging or not self.merge.done:
            return False
        return self._enough() or (self.lookup.done and not self._widens())

    def nearest_without_record(self) -> Contact | None:
        """The peer nearest to the key that was asked and holds no record."""
        return next((c for c in self.lookup.found(2 * self.lookup.width) if c.peer_id not in self._gave), None)

    def asks(self) -> list[Ask]:
        """Requests for nearer peers and values, for further index pages, and, after the lookup, for records."""
        enough = self._enough()
        if not enough and self._widens():
            self._widened = True
            self.lookup.width *= 2
        key = self.lookup.key
        asks = [] if enough else [Ask(c, Get(0, False, key, b"", PAD)) for c in self.lookup.take()]
        asks += self._pages
        self._pages.clear()
        if self._believed() and (enough or self.lookup.done):
            for peer, tags in self.merge.fetches():
                asks.append(Ask(self._holders[peer], Fetch(0, False, key, b"".join(tags), PAD)))
        return asks

    def answered(self, contact: Contact, request: Request, answer: Answer, now: float) -> None:
        """Take peers, records or an index page."""
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
                    self._pages.append(Ask(contact, Get(0, False, self.lookup.key, claims[-1].tag, PAD)))
            case Fetch(), Records():
                delivered = self.merge.delivered((peer, tuple(split_tags(request.tags))), answer.records, now)
                self._judge(peer, delivered=delivered)

    def slow(self, contact: Contact, request: Request) -> None:
        """Let the lookup go on without a peer whose request is being repeated."""
        if isinstance(request, Get):
            self.lookup.slow(contact.peer_id, contact)

    def failed(self, contact: Contact, request: Request) -> None:
        """Drop the claims of a peer that does not answer."""
        self._forget(contact.peer_id)
        if isinstance(request, Get):
            self.lookup.failed(contact.peer_id, contact)

    def _judge(self, peer: PeerId, *, delivered: bool) -> None:
        """Count a fetch: a claim alone ends no read, and the index of a peer that never delivers is not read on."""
        if delivered:
            self._proven.add(peer)
            self._empty_fetches.pop(peer, None)
        elif peer not in self._proven:
            self._gave.discard(peer)
            self._empty_fetches[peer] += 1
            if self._empty_fetches[peer] >= EMPTY_FETCHES_MAX:
                self._forget(peer)

    def _forget(self, peer: PeerId) -> None:
        """Drop the claims of a peer."""
        self._paging.pop(peer, None)
        self._pages = deque(ask for ask in self._pages if ask.contact.peer_id != peer)
        self._gave.discard(peer)
        self.merge.failed(peer)

    def _believed(self) -> bool:
        """Whether no index is pending, or each is too long for its first records to wait for its end."""
        return all(pages > PAGES_BEFORE_FETCH for pages in self._paging.values())

    def _enough(self) -> bool:
        if self.quorum is None or len(self._gave) < self.quorum:
            return False
        if self.quorum > 1 and len(self.lookup.nearest() & self._gave) < self.quorum:
            return False  # a peer on the way of one owner's store lacks what other owners stored
        return self.owner is None or self.merge.has_of(self.owner)

    def _widens(self) -> bool:
        return self.lookup.done and not self._widened and self.merge.done and not self.merge.records
