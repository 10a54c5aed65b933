"""Which branch of its history the collaboration follows: the one that those stand on who have earned a voice.

After a partition there are several states that nobody can put in order by looking at them: an epoch's number costs its
sender nothing, and a pass little.  What costs something is a round: whoever was in one with this peer has computed for
the model that this peer holds.  So each peer that reports counts once, for the state on which it stands and for all
that led there, and from every state the history goes on to the child with the greatest `Weight`: GHOST (Sompolinsky
and Zohar 2015, "Secure high-rate transaction processing in Bitcoin", section 3), with the newest word of each peer in
place of work (Buterin et al. 2020, "Combining GHOST and Casper", section 4.3).  Peers that were in no round with this
one, however many they are, lead away neither those who know each other nor those who hear the backbone.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, pairwise, repeat
from typing import Final, NamedTuple, TypeVar

from core.base.ids import PeerId
from core.base.state_header import ANCESTORS_MAX
from core.swarm.orders import RoundRecord
from core.swarm.states import State, StateName

K = TypeVar("K")
V = TypeVar("V")
Name = TypeVar("Name", bytes, StateName)
OWN_MAX: Final = 256
"""Number of own states, and of peers met, that are remembered: peers that are here are a few epochs apart."""
TOLD_MAX: Final = 4 * OWN_MAX
"""Number of others' states whose parents are remembered: a report may name 16."""
PEERS_MAX: Final = 4096
"""Number of peers that are remembered with passes, and number of those that were in rounds."""


class Weight(NamedTuple):
    """What speaks for a branch, where it parts from others; compared in this order."""

    backbone: int = 0
    """1: the backbone that let this peer in stands there; it knows who was in rounds while this peer was away."""
    known: int = 0
    """Peers that train, and were in rounds with this one at any time, or on whose state it is a guest.

    This peer is one of them where another branch has any: else one that is alone would never join strangers."""
    trains: int = 0
    """Peers that train."""
    others: int = 0
    """Backbones and helpers: they go where those go that train, and decide where these are divided."""
    own: int = 0
    """The known ones and, in any case, this peer: one stranger leads it nowhere."""


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a peer stands.

    Attributes:
        peer: Who says so.
        state: Its state.
        ancestors: Marks of the states that led to it, the nearest first, as far as it knows them.
        trains: Whether it trains; a backbone or a helper does not.
    """

    peer: PeerId
    state: StateName
    ancestors: tuple[bytes, ...]
    trains: bool


class _Voices(NamedTuple):
    """Numbers of those who stand on a state, or on what came of it."""

    trains: int = 0
    known: int = 0
    """Of those that train the ones that were in rounds with this peer."""
    others: int = 0
    backbone: int = 0
    own: int = 0
    """1: this peer is one of them."""
    stepped: int = 0
    """1: this peer is one of them, and has a model."""

    def plus(self, other: "_Voices") -> "_Voices":
        """The sum of both."""
        return _Voices(*(one + more for one, more in zip(self, other, strict=True)))

    def weight(self, *, knows: bool) -> Weight:
        """What speaks for them, where this peer `knows` anybody on another branch."""
        known = self.known + self.stepped * knows
        return Weight(self.backbone, known, self.trains, self.others, self.known + self.stepped)


@dataclass(frozen=True, slots=True)
class _Round:
    """Where a round has led those who contributed to it."""

    before: StateName
    after: StateName
    members: frozenset[PeerId]

    def led(self, stand: Stand) -> StateName:
        """Where a peer stands; a member that was not read since this round stands where it has led."""
        return self.after if stand.peer in self.members and stand.state == self.before else stand.state


class Branches:
    """Remembers which state came from which, and adds up who stands where.

    Args:
        met: Peers that were in rounds with this one before.
        backbone: The one that let this peer in; None: it is not known.
    """

    def __init__(self, met: Iterable[PeerId] = (), *, backbone: PeerId | None = None) -> None:
        self._backbone = backbone
        self._own: OrderedDict[bytes, bytes] = OrderedDict()
        """Of the mark of each state to which this peer has gone itself the parent's, the newest at the end.

        Nobody tells it where these came from, and no number of others' states pushes them out."""
        self._told: OrderedDict[bytes, bytes] = OrderedDict()
        """Of other states' marks."""
        self._known: OrderedDict[PeerId, None] = OrderedDict.fromkeys(met)
        self._passes: OrderedDict[PeerId, None] = OrderedDict()
        self._round: _Round | None = None
        """The last one of ours that was committed."""
        self._guest_at = b""
        """Mark of the state that was taken from others."""
        self.returns = True
        """Whether this peer holds what it left behind itself, and since then has shared no step with anybody."""

    def led(self, before: StateName, after: StateName, *, members: Iterable[PeerId] = ()) -> None:
        """Note that a round of ours, with these members, has led from one state to the next."""
        self._remember(self._own, after.mark, before.mark)
        self.earned(members)

    def committed(self, before: StateName, record: RoundRecord) -> None:
        """Note that a round of ours was committed, and who contributed to it."""
        members = [peer for peer, samples in record.credited if samples]
        self.led(before, record.name, members=members)
        self._round = _Round(before, record.name, frozenset(members))
        self.returns = self.returns and len(members) == 1

    def loaded(self, state: State, *, guest: bool = False) -> None:
        """Note where the state that this peer's trainer holds came from: its file knows, and before that who has told.

        Args:
            state: The state.
            guest: Whether it was taken from others, whose guest this peer is there until a round of its own.
        """
        self._guest_at, self.returns = state.name.mark if guest else b"", not guest
        way = pairwise((state.name.mark, *state.ancestors))
        for parents, (mark, parent) in zip(chain((self._own,), repeat(self._told)), way, strict=False):
            if mark not in self._own and (parents is self._own or mark not in self._told):
                self._remember(parents, mark, parent)

    def earned(self, peers: Iterable[PeerId]) -> None:
        """These contributed to a round, with this peer or in the history of a copy that it keeps."""
        for peer in peers:
            _keep(self._known, peer, None, at_most=PEERS_MAX)

    def verified(self, peer: PeerId) -> None:
        """A peer has shown its pass to this one."""
        _keep(self._passes, peer, None, at_most=PEERS_MAX)

    def met(self, peer: PeerId) -> bool:
        """Whether a peer was in a round with this one, or in the history of a copy that it keeps."""
        return peer in self._known

    def admitted(self, peer: PeerId) -> bool:
        """Whether a peer is known to have a pass: anybody can make keys, and sign reports with them."""
        return peer in self._passes or peer in self._known

    def ancestors(self, state: StateName) -> list[bytes]:
        """Marks of the states that led to it, the nearest first, as far as they are known and a report names them."""
        return self._path(state.mark)[1 : 1 + ANCESTORS_MAX]

    def abandons(self, mine: StateName, other: StateName) -> bool:
        """Whether a peer that goes from one state to the other gives up steps, as far as the history is known."""
        ours, theirs = self._path(mine.mark), self._path(other.mark)
        return mine.mark not in theirs and (other.epoch <= mine.epoch or not set(theirs).isdisjoint(ours))

    def company(self, mine: StateName, stands: Iterable[Stand]) -> bool:
        """Whether anybody that was in rounds trains on the branch of this state, as far as the history is known."""
        root = self._path(mine.mark)[-1]
        there = [stand.peer for stand in stands if stand.trains and self._path(stand.state.mark)[-1] == root]
        return any(peer in self._known for peer in there)

    def head(
        self,
        mine: StateName | None,
        stands: Iterable[Stand],
        *,
        trains: bool = True,
        loyal: bool = False,
        back: bool = False,
    ) -> StateName | None:
        """The state to stand on; None: where this peer stands, or nobody says anything.

        Args:
            mine: Where this peer stands, which counts too, a newcomer's like a stranger's; None: nowhere yet.
            stands: Of the others.
            trains: Whether this peer does.
            loyal: Whether it follows nobody that was in no round.
            back: Whether it goes back to a state that led to its own, where most have stayed.
        """
        here: defaultdict[bytes, _Voices] = defaultdict(_Voices)
        called: defaultdict[bytes, Counter[StateName]] = defaultdict(Counter)
        heard, newcomers = list(stands), _Voices()
        further = trains and mine is not None and mine.epoch > 0
        self._learn(heard)
        for stand in heard:
            hosts = mine is not None and mine.mark == self._guest_at and mine.mark in self._path(stand.state.mark)
            known = stand.trains and (hosts or stand.peer in self._known)
            voice = _Voices(stand.trains, known, not stand.trains, stand.peer == self._backbone)
            if further and not stand.state.epoch:
                newcomers = newcomers.plus(voice)
                continue
            state = stand.state if self._round is None else self._round.led(stand)
            here[state.mark] = here[state.mark].plus(voice)
            called[state.mark][state] += 1
        names = {mark: _most(said) for mark, said in called.items()}
        if mine is not None:
            here[mine.mark] = here[mine.mark].plus(_Voices(trains, others=not trains, own=1, stepped=further))
            names[mine.mark] = mine
        ways = {mark: self._path(mark)[::-1] for mark in here}
        found = _heaviest(here, names, ways, newcomers=newcomers, trains=trains, loyal=loyal)
        if mine is None or found is None:
            return found
        return None if found.mark in (self._path(mine.mark)[:1] if back else self._path(mine.mark)) else found

    # --- inside ------------------------------------------------------------------------------------------------------

    def _learn(self, stands: Iterable[Stand]) -> None:
        """Take in where states come from: what most of those say that stand on them.

        Of the way that led there they are asked only where nothing is known: who stood there has told before.
        """
        said: defaultdict[bytes, Counter[bytes]] = defaultdict(Counter)
        ways = Counter((stand.state.mark, *stand.ancestors) for stand in stands)
        for way, number in ways.items():
            for mark, parent in pairwise(way[:2]):
                said[mark][parent] += number
        asked = said.keys() | self._told.keys()
        for way, number in ways.items():
            for mark, parent in pairwise(way[1:]):
                if mark not in asked:
                    said[mark][parent] += number
        for mark, parents in said.items():
            if mark not in self._own:
                self._remember(self._told, mark, _most(parents))

    def _remember(self, parents: "OrderedDict[bytes, bytes]", mark: bytes, parent: bytes) -> None:
        if mark in self._path(parent):  # a circle, which only liars claim
            return
        _keep(parents, mark, parent, at_most=OWN_MAX if parents is self._own else TOLD_MAX)

    def _path(self, mark: bytes) -> list[bytes]:
        """Marks of this state, and of all that are known to have led to it, the nearest first."""
        found = [mark]
        while mark := self._own.get(mark) or self._told.get(mark, b""):
            found.append(mark)
        return found


def _heaviest(
    here: Mapping[bytes, _Voices],
    names: Mapping[bytes, StateName],
    ways: Mapping[bytes, Sequence[bytes]],
    *,
    newcomers: _Voices,
    trains: bool,
    loyal: bool,
) -> StateName | None:
    """Go from the heaviest root down to the state where most of those stay that have come so far.

    Args:
        here: Who stands on each state, by its mark.
        names: Of these states.
        ways: Marks of the states that led to each, the first one first, and its own.
        newcomers: The first state, where they stand, led to this peer's own, however little is known of the way.
        trains: Whether this peer does.
        loyal: As for `head`.
    """
    depth, node = 0, b""
    while True:
        stay = here[node] if node in ways else _Voices()
        children: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for mark, way in ways.items():
            if len(way) > depth:
                children[way[depth]].append(mark)
        if not children:
            break
        said = {child: _sum(here[mark] for mark in marks) for child, marks in children.items()}
        if not depth:
            said = {child: one.plus(newcomers) if one.own else one for child, one in said.items()}
        knows = any(one.known for one in said.values() if not one.own)
        weights = {child: one.weight(knows=knows) for child, one in said.items()}
        best = max(said, key=lambda child: (weights[child], max(names[mark] for mark in children[child])))
        stays = stay.weight(knows=knows)
        if trains:  # those that do not come after, but the backbone keeps it from strangers
            keeps = stays.backbone if stays.trains and not said[best].known else 0
            stays = stays._replace(others=0, backbone=keeps)
        if weights[best] < stays:
            break
        if loyal and not said[best].known:
            own = [child for child, one in said.items() if one.own]
            if not own:
                break
            (best,) = own
        depth, node = depth + 1, best
        ways = {mark: ways[mark] for mark in children[best]}
    return names.get(node)


def _sum(voices: Iterable[_Voices]) -> _Voices:
    return reduce(_Voices.plus, voices)


def _most(said: Counter[Name]) -> Name:
    """What was said most often, and of equals the greatest."""
    return max(said, key=lambda one: (said[one], one))


def _keep(remembered: "OrderedDict[K, V]", key: K, value: V, *, at_most: int = OWN_MAX) -> None:
    """Put it at the end, and forget the oldest beyond the limit."""
    remembered[key] = value
    remembered.move_to_end(key)
    while len(remembered) > at_most:
        remembered.popitem(last=False)
