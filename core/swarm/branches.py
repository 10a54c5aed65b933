"""Which branch of its history the collaboration follows: the one that most of those who are here stand on.

After a partition there are several states that nobody can put in order by looking at them: an epoch's number costs its
sender nothing.  What costs something is a pass.  So each peer that reports counts once, for the state on which it
stands and for all that led there, and from every state the history goes on to the child that most stand on: GHOST
(Sompolinsky and Zohar 2015, "Secure high-rate transaction processing in Bitcoin", section 3), with the newest word of
each peer in place of work (Buterin et al. 2020, "Combining GHOST and Casper", section 4.3).  One liar counts once,
whatever it says, and several count as often as they have passes.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
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
PASSES_MAX: Final = 4096
"""Number of peers with passes that are remembered."""
TRUSTED: Final = 2
"""So many strangers are followed by who stands without training: a liar's word is one."""


class Weight(NamedTuple):
    """How many stand on a state, or on what came of it."""

    trains: int = 0
    """Peers that train."""
    others: int = 0
    """Backbones and helpers: they go where those go that train, and decide where these are divided."""
    known: int = 0
    """Of those that train the ones that were in rounds with this peer: one stranger is not followed for its word."""

    def for_trainers(self) -> tuple[int, ...]:
        """What peers that train compare, in this order: those that come after them decide between equal halves."""
        return self.trains, self.others, self.known

    def for_others(self) -> tuple[int, ...]:
        """What backbones and helpers compare: none lets itself, or its like, keep it from those it was in rounds with.

        It may have lost sight of them for a few steps, when a stranger says that it has gone on from where it stands.
        """
        return self.trains, self.known, self.others

    def plus(self, other: "Weight") -> "Weight":
        """The sum of both."""
        return Weight(self.trains + other.trains, self.others + other.others, self.known + other.known)


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
    """

    def __init__(self, met: Iterable[PeerId] = ()) -> None:
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
        for peer in members:
            _keep(self._known, peer, None)

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

    def verified(self, peer: PeerId) -> None:
        """A peer has shown its pass to this one."""
        _keep(self._passes, peer, None, at_most=PASSES_MAX)

    def met(self, peer: PeerId) -> bool:
        """Whether a peer was in a round with this one."""
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
        """Whether anybody trains on the branch of this state, as far as the history is known."""
        root = self._path(mine.mark)[-1]
        return any(stand.trains and self._path(stand.state.mark)[-1] == root for stand in stands)

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
            loyal: Whether it follows no single stranger to a state of which nobody knows where it came from.
            back: Whether it goes back to a state that led to its own, where most have stayed.
        """
        here: defaultdict[bytes, Weight] = defaultdict(Weight)
        called: defaultdict[bytes, Counter[StateName]] = defaultdict(Counter)
        if mine is not None:
            here[mine.mark] = Weight(trains, not trains, trains and mine.epoch > 0)
        heard, newcomers = list(stands), Weight()
        further = trains and mine is not None and mine.epoch > 0
        self._learn(heard)
        for stand in heard:
            hosts = mine is not None and mine.mark == self._guest_at and mine.mark in self._path(stand.state.mark)
            known = hosts or stand.peer in self._known
            counted = Weight(stand.trains, not stand.trains, stand.trains and known)
            if further and not stand.state.epoch:
                newcomers = newcomers.plus(counted)
                continue
            state = stand.state if self._round is None else self._round.led(stand)
            here[state.mark] = here[state.mark].plus(counted)
            called[state.mark][state] += 1
        names = {mark: _most(said) for mark, said in called.items()}
        if mine is not None:
            names[mine.mark] = mine
        stay = {mark: weight._replace(others=0) for mark, weight in here.items()} if trains else here  # they come after
        if further and mine is not None:  # the first state led to its own, however little is known of the way
            root = self._path(mine.mark)[-1]
            here[root], names = here[root].plus(newcomers), {root: mine, **names}
        rank = Weight.for_trainers if trains else Weight.for_others
        found = self._heaviest(here, names, stay=stay, rank=rank, loyal_to=mine if loyal else None)
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
        self,
        here: Mapping[bytes, Weight],
        names: Mapping[bytes, StateName],
        *,
        stay: Mapping[bytes, Weight],
        rank: Callable[[Weight], tuple[int, ...]],
        loyal_to: StateName | None,
    ) -> StateName | None:
        """Go from the heaviest root down to the state where most of those stay that have come so far."""
        weight: defaultdict[bytes, Weight] = defaultdict(Weight)
        greatest: dict[bytes, StateName] = {}
        children: defaultdict[bytes, set[bytes]] = defaultdict(set)
        for mark, counted in here.items():
            path = self._path(mark)
            for child, node in zip([b"", *path], path, strict=False):
                weight[node] = weight[node].plus(counted)
                greatest[node] = max(names[mark], greatest.get(node, names[mark]))
                children[node] |= {child} - {b""}
            children[b""].add(path[-1])  # beneath which nothing is known
        node = b""
        while children[node]:
            best = max(children[node], key=lambda mark: (rank(weight[mark]), greatest[mark]))
            if rank(weight[best]) < rank(stay.get(node, Weight())):
                break
            if not node and loyal_to is not None and weight[best].trains < TRUSTED and not weight[best].known:
                best = self._path(loyal_to.mark)[-1]
            node = best
        return names.get(node)


def _most(said: Counter[Name]) -> Name:
    """What was said most often, and of equals the greatest."""
    return max(said, key=lambda one: (said[one], one))


def _keep(remembered: "OrderedDict[K, V]", key: K, value: V, *, at_most: int = OWN_MAX) -> None:
    """Put it at the end, and forget the oldest beyond the limit."""
    remembered[key] = value
    remembered.move_to_end(key)
    while len(remembered) > at_most:
        remembered.popitem(last=False)
