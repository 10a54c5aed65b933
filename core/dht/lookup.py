"""The walk towards a key: ask the nearest known peers for nearer ones, several at a time, until none is left to ask.

Maymounkov and Mazieres 2002, section 2.3, with two changes.  It ends when the nearest `width` peers have answered.  A
peer that let the first sending of its query pass without an answer counts neither towards what is in flight nor
towards the nearest: the walk goes on without it and takes it back if it answers after all.
"""

from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from core.base.ids import Key, PeerId, distance, node_key
from core.dht.messages import Contact

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


@dataclass(slots=True)
class _Candidate:
    contact: Contact
    state: _State = _State.NEW


class Walk:
    """One lookup's candidates, nearest first.

    Args:
        key: Where to go.
        width: How many of the nearest must have answered.
        parallel: Queries in flight.
    """

    def __init__(self, key: Key, start: Iterable[Contact], *, width: int, parallel: int) -> None:
        self.key = key
        self.width = width
        self._parallel = parallel
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

    def add(self, contacts: Iterable[Contact]) -> None:
        """Contacts that might be near the key; known ones are ignored."""
        for contact in contacts:
            peer = contact.peer_id
            if peer in self._candidates:
                continue
            self._candidates[peer] = _Candidate(contact)
            insort(self._order, (distance(node_key(peer), self.key), peer))
        for _, peer in self._order[CANDIDATES_MAX:]:
            del self._candidates[peer]
            self._waiting.discard(peer)
        del self._order[CANDIDATES_MAX:]

    def take(self) -> list[Contact]:
        """Whom to ask now; they count as asked."""
        free = self._parallel - sum(self._candidates[peer].state is _State.ASKED for peer in self._waiting)
        chosen: list[Contact] = []
        for candidate in self._nearest():
            if len(chosen) >= free or self._asked >= ASKED_MAX:
                break
            if candidate.state is _State.NEW:
                candidate.state = _State.ASKED
                self._asked += 1
                self._waiting.add(candidate.contact.peer_id)
                chosen.append(candidate.contact)
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
