"""The walk towards a key: ask the nearest known peers for nearer ones, several at a time, until none is left to ask.

Maymounkov and Mazieres 2002, section 2.3, with two changes.  It ends when the nearest `width` peers have answered.  A
peer that let the first sending of its query pass without an answer counts neither towards what is in flight nor
towards the nearest: the walk goes on without it and takes it back if it answers after all.
"""

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum, auto

from core.base.ids import Key, PeerId
from core.dht.messages import Contact
from core.dht.prefixes import counted_prefix
from core.dht.space import point, position

CANDIDATES_MAX = 64
"""Nearer ones push out farther ones."""
ASKED_MAX = 128
"""A walk that was led astray ends after so many queries."""


class _State(Enum):
    NEW = auto()
    ASKED = auto()
    SLOW = auto()
    ANSWERED = auto()
    FAILED = auto()


class _Candidate:
    __slots__ = ("contact", "state")

    def __init__(self, contact: Contact) -> None:
        self.contact = contact
        self.state = _State.NEW


class Walk:
    """One lookup's candidates, nearest first.

    Args:
        key: Where to go.
        width: How many of the nearest must have answered.
        parallel: Queries in flight.
        prefix_limit: Candidates of one network prefix; 0: any number.
        local_is_free: Loopback and private addresses do not count.
        taken: Peers that belong to another walk are left to it; ours are added.
    """

    def __init__(
        self,
        key: Key,
        start: Iterable[Contact],
        *,
        width: int,
        parallel: int,
        prefix_limit: int = 0,
        local_is_free: bool = True,
        taken: set[PeerId] | None = None,
    ) -> None:
        self.key = key
        self.width = width
        self._target = point(key)
        self._parallel = parallel
        self._prefix_limit = prefix_limit
        self._local_is_free = local_is_free
        self._prefixes: Counter[str] = Counter()
        self._taken = taken
        self._is_choosy = bool(prefix_limit) or taken is not None
        self._order: list[tuple[int, PeerId]] = []
        self._candidates: dict[PeerId, _Candidate] = {}
        self._asked = 0
        self._waiting: set[PeerId] = set()
        self.add(start)

    @property
    def done(self) -> bool:
        """Whether the nearest peers have all answered, or nobody is left to ask or to wait for."""
        answered = 0
        for candidate in self._nearest():
            if candidate.state is _State.ANSWERED:
                answered += 1
            elif candidate.state is _State.ASKED or self._asked < ASKED_MAX:
                return False
        return answered >= self.width or not self._waiting

    def add(self, contacts: Iterable[Contact], by: PeerId | None = None) -> None:  # noqa: ARG002 - as in Paths
        """Contacts that might be near the key; known ones are ignored.  `by`: who named them."""
        candidates, order, target = self._candidates, self._order, self._target
        for contact in contacts:
            peer = contact.peer_id
            if peer in candidates:
                continue
            away = position(peer) ^ target
            if len(order) >= CANDIDATES_MAX and away > order[-1][0]:
                continue
            if self._is_choosy and self._is_refused(contact):
                continue
            candidates[peer] = _Candidate(contact)
            insort(order, (away, peer))
        for _, peer in order[CANDIDATES_MAX:]:
            del candidates[peer]
            self._waiting.discard(peer)
        del order[CANDIDATES_MAX:]

    def take(self) -> list[Contact]:
        """Whom to ask now; they count as asked.

        Queries in flight to peers that are farther than the nearest unasked one do not keep it waiting.
        """
        free = self._parallel
        chosen: list[Contact] = []
        for candidate in self._nearest():
            if not free or self._asked >= ASKED_MAX:
                break
            if candidate.state is _State.NEW:
                candidate.state = _State.ASKED
                self._asked += 1
                self._waiting.add(candidate.contact.peer_id)
                chosen.append(candidate.contact)
            free -= candidate.state is _State.ASKED
        return chosen

    def answered(self, peer: PeerId) -> None:
        """A peer that was asked has answered."""
        self._settle(peer, _State.ANSWERED)

    def slow(self, peer: PeerId) -> None:
        """A peer that was asked lets us wait."""
        candidate = self._candidates.get(peer)
        if candidate is not None and candidate.state is _State.ASKED:
            candidate.state = _State.SLOW

    def failed(self, peer: PeerId) -> None:
        """A peer that was asked will not answer."""
        self._settle(peer, _State.FAILED)

    def found(self, count: int) -> list[Contact]:
        """The nearest peers that have answered, nearest first."""
        ordered = (self._candidates[peer] for _, peer in self._order)
        return [candidate.contact for candidate in ordered if candidate.state is _State.ANSWERED][:count]

    def _settle(self, peer: PeerId, state: _State) -> None:
        candidate = self._candidates.get(peer)
        if candidate is not None and peer in self._waiting:
            self._waiting.discard(peer)
            candidate.state = state

    def _is_refused(self, contact: Contact) -> bool:
        """Whether another walk has this peer, or its network has enough candidates already."""
        if self._taken is not None and contact.peer_id in self._taken:
            return True
        if self._prefix_limit:
            prefix = counted_prefix(contact.host, local_is_free=self._local_is_free)
            if prefix is not None:
                if self._prefixes[prefix] >= self._prefix_limit:
                    return True
                self._prefixes[prefix] += 1
        if self._taken is not None:
            self._taken.add(contact.peer_id)
        return False

    def _nearest(self) -> Iterator[_Candidate]:
        """The nearest `width` candidates that have not let us down."""
        left = self.width
        for _, peer in self._order:
            candidate = self._candidates[peer]
            if candidate.state is not _State.FAILED and candidate.state is not _State.SLOW:
                yield candidate
                left -= 1
                if not left:
                    return
