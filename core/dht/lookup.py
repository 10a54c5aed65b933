"""Iterative lookup of a key: ask the nearest known peers for nearer ones, several at a time, until none is left to ask.

Maymounkov and Mazieres 2002, section 2.3, with two changes.  It ends when the nearest `width` peers have answered.  A
peer that let the first sending of its query pass without an answer counts neither towards what is in flight nor towards
the nearest: the lookup goes on without it and takes it back if it answers after all.
"""

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from core.base.ids import Contact, Key, PeerId
from core.dht.prefixes import PrefixCounts
from core.dht.space import point, position

CANDIDATES_MAX = 64
"""Upper bound on candidates; nearer ones replace farther ones."""
OTHER_ADDRESSES_MAX = 2
"""Further addresses at which a candidate is tried: a liar that is quicker than the honest must not hide it."""
ASKED_MAX = 128
"""Upper bound on queries of one lookup, which hostile answers could prolong without end."""


class _State(Enum):
    NEW = auto()
    ASKED = auto()
    SLOW = auto()
    ANSWERED = auto()
    FAILED = auto()


class _Candidate:
    __slots__ = ("by", "contact", "counted", "others", "state")

    def __init__(self, contact: Contact, by: PeerId | None = None) -> None:
        self.contact = contact
        self.by = by
        """The peer that named it first; None: it was known before."""
        self.others: list[tuple[Contact, PeerId | None]] = []
        """Other addresses named for it, and by which peers."""
        self.counted = False
        """Whether it counts for its network."""
        self.state = _State.NEW

    def admit(self, networks: PrefixCounts, limit: int) -> bool:
        """Count it for its network; False if that has `limit` candidates already (0: any number)."""
        if 0 < limit <= networks.count(self.contact.host):
            return False
        self.counted = limit > 0
        if self.counted:
            networks.add(self.contact.host)
        return True

    def release(self, networks: PrefixCounts) -> None:
        """Stop counting it for its network."""
        if self.counted:
            networks.remove(self.contact.host)
            self.counted = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupOptions:
    """Breadth of a lookup, and limits on the influence of other peers' answers on it."""

    parallel: int
    """Queries in flight."""
    parallel_near: int | None = None
    """The same once the next candidates are all within the span; None: as many."""
    span: int = 0
    """XOR distance from the key within which peers are expected to be among the nearest."""
    prefix_limit: int = 0
    """Candidates of one network prefix; 0: any number."""
    local_is_free: bool = True
    """Loopback and private addresses do not count."""
    ghosts_max: int = 0
    """Surplus of silent over answering peers among those that one peer named, from which the remaining peers that it
    named are not asked unless others name them too; 0: no limit."""


class Lookup:
    """Candidates of one lookup, nearest first.

    Args:
        key: The key to approach.
        start: Contacts to begin with.
        width: Number of nearest peers that must have answered.
        options: Its breadth, and limits on the influence of others.
        taken: Contacts asked by other lookups of the same key, which this one does not ask; its own are added.
    """

    def __init__(
        self,
        key: Key,
        start: Iterable[Contact],
        *,
        width: int,
        options: LookupOptions,
        taken: set[Contact] | None = None,
    ) -> None:
        self.key = key
        self.span = options.span
        self.width = width
        self._target = point(key)
        self._options = options
        self._networks = PrefixCounts(local_is_free=options.local_is_free)
        self._taken = taken
        self._ghosts: Counter[PeerId] = Counter()
        self._order: list[tuple[int, PeerId]] = []
        self._candidates: dict[PeerId, _Candidate] = {}
        self._asked = 0
        self._waiting: set[PeerId] = set()
        self.add(start)

    @property
    def done(self) -> bool:
        """Whether the nearest peers have all answered, or nobody is left to ask or to wait for."""
        answered = 0
        for candidate in self._nearest(self.width):
            if candidate.state is _State.ANSWERED:
                answered += 1
            elif candidate.state is _State.ASKED or self._asked < ASKED_MAX:
                return False
        return answered >= self.width or not self._waiting

    def add(self, contacts: Iterable[Contact], by: PeerId | None = None) -> None:
        """Add contacts that might be near the key; known ones are ignored.

        Args:
            contacts: The contacts.
            by: The peer that named them; None: they were known.
        """
        if by is not None and 0 < self._options.ghosts_max <= self._ghosts[by]:
            return
        candidates, order, target = self._candidates, self._order, self._target
        for contact in contacts:
            peer = contact.peer_id
            if peer in candidates:
                self._heard_again(candidates[peer], contact, by)
                continue
            away = position(peer) ^ target
            if len(order) >= CANDIDATES_MAX and away > order[-1][0]:
                continue
            candidate = _Candidate(contact, by)
            if not candidate.admit(self._networks, self._options.prefix_limit):
                continue
            candidates[peer] = candidate
            insort(order, (away, peer))
        for _, peer in order[CANDIDATES_MAX:]:
            candidates.pop(peer).release(self._networks)
            self._waiting.discard(peer)
        del order[CANDIDATES_MAX:]

    def take(self) -> list[Contact]:
        """Choose contacts to ask now; they count as asked.

        Queries in flight to peers that are farther than the nearest unasked one do not keep it waiting.
        """
        free = self._parallel()
        chosen: list[Contact] = []
        for candidate in self._nearest(max(self.width, free)):
            if not free or self._asked >= ASKED_MAX:
                break
            if candidate.state is _State.NEW:
                if self._taken is not None:
                    self._taken.add(candidate.contact)
                candidate.state = _State.ASKED
                self._asked += 1
                self._waiting.add(candidate.contact.peer_id)
                chosen.append(candidate.contact)
            free -= candidate.state is _State.ASKED
        return chosen

    def answered(self, peer: PeerId) -> None:
        """Note that a peer has answered."""
        if peer not in self._waiting:
            return
        candidate = self._candidates[peer]
        if candidate.by is not None:
            self._ghosts[candidate.by] -= 1 + (candidate.state is _State.SLOW)
        self._waiting.discard(peer)
        candidate.state = _State.ANSWERED

    def slow(self, peer: PeerId, asked: Contact | None = None) -> None:
        """Go on without a peer that has not answered the first sending.

        It counts against the peer that named it; at the limit, what else that one named is forgotten.

        Args:
            peer: The peer.
            asked: The address that was asked; None: the present one.
        """
        candidate = self._candidates.get(peer)
        if candidate is None or candidate.state is not _State.ASKED or asked not in {None, candidate.contact}:
            return
        candidate.state = _State.SLOW
        by = candidate.by
        self._reopen(candidate)
        if by is None or not self._options.ghosts_max:
            return
        self._ghosts[by] += 1
        if self._ghosts[by] >= self._options.ghosts_max:
            gone = {peer for peer, one in self._candidates.items() if one.by == by and one.state is _State.NEW}
            for named in gone:
                self._candidates.pop(named).release(self._networks)
            self._order = [place for place in self._order if place[1] not in gone]

    def failed(self, peer: PeerId, asked: Contact | None = None) -> None:
        """Give up a peer that will not answer.

        Args:
            peer: The peer.
            asked: The address that was asked; None: the present one.
        """
        candidate = self._candidates.get(peer)
        if candidate is None or peer not in self._waiting or asked not in {None, candidate.contact}:
            return
        self._waiting.discard(peer)
        candidate.state = _State.FAILED
        candidate.release(self._networks)
        self._reopen(candidate)

    def found(self, count: int) -> list[Contact]:
        """The nearest peers that have answered, nearest first, at most `count`."""
        ordered = (self._candidates[peer] for _, peer in self._order)
        return [candidate.contact for candidate in ordered if candidate.state is _State.ANSWERED][:count]

    def nearest(self) -> set[PeerId]:
        """The `width` nearest peers, asked or not, without silent ones."""
        return {candidate.contact.peer_id for candidate in self._nearest(self.width)}

    @property
    def silent(self) -> int:
        """Number of possibly nearest peers that have not answered."""
        silent = {_State.SLOW, _State.FAILED}
        return sum(self._candidates[peer].state in silent for _, peer in self._order[: 2 * self.width])

    def _parallel(self) -> int:
        """Queries in flight: other ones where the next candidates are expected to be among the nearest."""
        options = self._options
        count = min(options.parallel_near or 0, len(self._order))
        if options.parallel_near is not None and count > 0 and self._order[count - 1][0] < options.span:
            return options.parallel_near
        return options.parallel

    def _heard_again(self, candidate: _Candidate, contact: Contact, by: PeerId | None) -> None:
        """Note another address of a candidate; it may be there that it answers."""
        if candidate.state is _State.ANSWERED or contact == candidate.contact:
            return
        if len(candidate.others) < OTHER_ADDRESSES_MAX and all(contact != other for other, _ in candidate.others):
            candidate.others.append((contact, by))
            if candidate.state in {_State.SLOW, _State.FAILED}:
                self._reopen(candidate)

    def _reopen(self, candidate: _Candidate) -> None:
        """Let a candidate be asked at the next address named for it."""
        while candidate.others:
            contact, by = candidate.others.pop(0)
            candidate.release(self._networks)
            candidate.contact, candidate.by = contact, by
            if candidate.admit(self._networks, self._options.prefix_limit):
                candidate.state = _State.NEW
                self._waiting.discard(contact.peer_id)
                return

    def _nearest(self, count: int) -> Iterator[_Candidate]:
        """The nearest candidates, without slow and failed ones, and new ones that another lookup has asked there."""
        left, taken = count, self._taken or ()
        for _, peer in self._order:
            candidate = self._candidates[peer]
            if candidate.state is _State.FAILED or candidate.state is _State.SLOW:
                continue
            if candidate.state is not _State.NEW or candidate.contact not in taken:
                yield candidate
                left -= 1
                if not left:
                    return
