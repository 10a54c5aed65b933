"""Which branch of its history the collaboration follows: the one that those stand on who have earned a voice.

After a partition there are several states that nobody can put in order by looking at them: an epoch's number costs its
sender nothing, and a pass little.  What costs something is a round: a peer that was in one with this peer has computed
for the model that this peer holds.  So each person counts once, by the computer that stands where most of theirs do,
for that state and for all that led there, and from every state the history goes on to the child with the greatest
`Weight`: GHOST (Sompolinsky and Zohar 2015, "Secure high-rate transaction processing in Bitcoin", section 3), with the
newest word of each in place of work (Buterin et al. 2020, "Combining GHOST and Casper", section 4.3).  Peers that were
in no round with this one, however many they are, lead away neither those who know each other nor those who hear the
backbone.
"""

from collections import ChainMap, Counter, OrderedDict, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, NamedTuple

from core.base.bounds import remember
from core.base.ids import AccountId, PeerId, account_of
from core.base.state_header import ANCESTORS_MAX
from core.swarm.presence.ancestry import Ancestry, Stand
from core.swarm.words.facts import WayBack
from core.swarm.words.orders import RoundRecord
from core.swarm.words.states import State, StateName

PEERS_MAX: Final = 4096
"""Number of peers that are remembered with passes, and number of those that were in rounds."""


class Weight(NamedTuple):
    """What speaks for a branch, where it parts from others; compared in this order."""

    backbone: int = 0
    """1: the backbone that let this peer in stands there; it knows who was in rounds while this peer was away."""
    known: int = 0
    """Peers that train, and were in rounds with this one, or on whose state it is a guest and hears no backbone.

    This peer is one of them where another branch has any: else one that is alone would never join strangers."""
    trains: int = 0
    """Peers that train."""
    others: int = 0
    """Backbones and helpers: they go where those go that train, and decide where these are divided."""
    known_and_own: int = 0
    """The known ones and, in any case, this peer: one stranger leads it nowhere."""


class Voices(NamedTuple):
    """Numbers of those who stand on a state, or on what came of it."""

    trains: int = 0
    known: int = 0
    """Training peers that were in rounds with this one."""
    others: int = 0
    backbone: int = 0
    own: int = 0
    """1: this peer is one of them."""
    stepped: int = 0
    """1: this peer is one of them, and has a model."""

    def plus(self, other: "Voices") -> "Voices":
        """The sum of both."""
        return Voices(*(one + more for one, more in zip(self, other, strict=True)))

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
        account: Whose key a peer's is.
    """

    def __init__(
        self,
        met: Iterable[PeerId] = (),
        *,
        backbone: PeerId | None = None,
        account: Callable[[PeerId], AccountId] = account_of,
    ) -> None:
        self._backbone = backbone
        self.account = account
        """Whose key a peer's is."""
        self._ways = Ancestry()
        self._met: OrderedDict[PeerId, None] = OrderedDict.fromkeys(met)
        self._credited: OrderedDict[PeerId, None] = OrderedDict()
        """By ledgers of copies: however many these name, who was in rounds with this peer is not forgotten for them."""
        self._known = ChainMap(self._met, self._credited)
        self._passes: OrderedDict[PeerId, None] = OrderedDict()
        self._round: _Round | None = None
        """The last one of ours that was committed."""
        self._guest_at = b""
        """Mark of the state that was taken from others."""
        self.back = WayBack()
        """Where all go back to."""
        self._went_back = False
        """Whether that state came from nowhere: it is the root of a copy to which everybody goes back."""
        self.returns = True
        """Whether the state comes from this peer's own disk, and no other peer has shared a step since."""

    def led(self, before: StateName, after: StateName, *, members: Iterable[PeerId] = ()) -> None:
        """Note that a round of ours, with these members, has led from one state to the next."""
        self._ways.stepped(after.mark, before.mark)
        for peer in members:
            remember(self._met, peer, None, PEERS_MAX)

    def committed(self, before: StateName, record: RoundRecord) -> None:
        """Note that a round of ours was committed, and who contributed to it."""
        members = [peer for peer, samples in record.credited if samples]
        self.led(before, record.name, members=members)
        self._round = _Round(before, record.name, frozenset(members))
        # Steps taken alone bind no other peer to this branch.
        self.returns = self.returns and len(members) == 1

    def loaded(self, state: State, *, guest: bool = False) -> None:
        """Note where the state that this peer's trainer holds came from: its file knows, and before that who has told.

        Args:
            state: The state.
            guest: Whether it was taken from others, whose guest this peer is there until a round of its own.
        """
        self._guest_at, self.returns = state.name.mark if guest else b"", not guest
        self._went_back = guest and state.name.epoch > 0 and not state.ancestors
        self._ways.read((state.name.mark, *state.ancestors))

    def earned(self, peers: Iterable[PeerId]) -> None:
        """These contributed in the history of a copy that this peer keeps, those last that gave most."""
        for peer in peers:
            remember(self._credited, peer, None, PEERS_MAX)

    def verified(self, peer: PeerId) -> None:
        """A peer has shown its pass to this one."""
        remember(self._passes, peer, None, PEERS_MAX)

    @property
    def known(self) -> tuple[PeerId, ...]:
        """Peers in the history of a copy that it keeps, then those that were in rounds with it; the last one last."""
        return (*(peer for peer in self._credited if peer not in self._met), *self._met)

    def met(self, peer: PeerId) -> bool:
        """Whether a peer was in a round with this one, or in the history of a copy that it keeps."""
        return peer in self._known

    def admitted(self, peer: PeerId) -> bool:
        """Whether a peer is known to have a pass: anybody can make keys, and sign reports with them."""
        return peer in self._passes or peer in self._met or peer in self._credited

    def ancestors(self, state: StateName) -> list[bytes]:
        """Marks of the states that led to it, the nearest first, as far as they are known and a report names them."""
        return self._ways.path(state.mark)[1 : 1 + ANCESTORS_MAX]

    def abandons(self, mine: StateName, other: StateName) -> bool:
        """Whether a peer that goes from one state to the other gives up steps, as far as the history is known."""
        ours, theirs = self._ways.path(mine.mark), self._ways.path(other.mark)
        # A later state of which no common ancestor is known may have come from the own one.
        return mine.mark not in theirs and (other.epoch <= mine.epoch or not set(theirs).isdisjoint(ours))

    def undone(self, state: StateName) -> bool:
        """Whether moderators have had everybody go back from a state."""
        return self.back.undoes(state)

    def company(self, mine: StateName, stands: Iterable[Stand]) -> bool:
        """Whether anybody that was in rounds trains on the branch of this state, as far as the history is known."""
        root = self._ways.path(mine.mark)[-1]
        there = [stand.peer for stand in stands if stand.trains and self._ways.path(stand.state.mark)[-1] == root]
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
            stands: Stands of the others.
            trains: Whether this peer does.
            loyal: Whether it follows nobody that was in no round.  Where its backbone is heard, that holds for any peer
                that has a model of its own, or knows of anybody that was in rounds, whether they are here now or not.
            back: Whether it goes back to a state that led to its own, where most have stayed.
        """
        here: defaultdict[bytes, Voices] = defaultdict(Voices)
        called: defaultdict[bytes, defaultdict[StateName, Voices]] = defaultdict(lambda: defaultdict(Voices))
        heard, newcomers = list(stands), Voices()
        further = trains and mine is not None and mine.epoch > 0
        guest = mine is not None and mine.mark == self._guest_at
        judged = any(stand.peer == self._backbone for stand in heard)
        self._ways.learn(heard)
        for stand in one_each(heard, self.account, self._known):
            # A guest knows nobody here yet: those whose state it took stand in, unless the backbone judges.
            hosts = guest and not judged and mine is not None and mine.mark in self._ways.path(stand.state.mark)
            known = stand.trains and (hosts or stand.peer in self._known)
            voice = Voices(stand.trains, known, not stand.trains, stand.peer == self._backbone)
            if further and not stand.state.epoch:
                # They are counted apart: `heaviest` adds them to the root of this peer's own way.
                newcomers = newcomers.plus(voice)
                continue
            state = stand.state if self._round is None else self._round.led(stand)
            here[state.mark] = here[state.mark].plus(voice)
            called[state.mark][state] = called[state.mark][state].plus(voice)
        names = {mark: weightiest(said) for mark, said in called.items()}
        if mine is not None:
            here[mine.mark] = here[mine.mark].plus(Voices(trains, others=not trains, own=1, stepped=further))
            names[mine.mark] = mine
        ways = {mark: self._ways.path(mark)[::-1] for mark in here}
        # Who has gone back with its backbone to a copy follows no stranger on from there.
        hosted = self._went_back and any(stand.peer == self._backbone and stand.state == mine for stand in heard)
        loyal = loyal or (judged and (bool(self._known) or (further and (not guest or hosted))))
        found = heaviest(here, names, ways, newcomers=newcomers, trains=trains, loyal=loyal)
        if mine is None or found is None:
            return found
        # A state that led to this peer's own asks for no move, unless it may go back.
        return None if found.mark in (self._ways.path(mine.mark)[:1] if back else self._ways.path(mine.mark)) else found


def one_each(
    stands: Sequence[Stand], account: Callable[[PeerId], AccountId], known: Container[PeerId]
) -> Iterable[Stand]:
    """One stand of each person among those that train, and one among the others: known, and where most of theirs are.

    Args:
        stands: Those of all their computers.
        account: Whose key a peer's is.
        known: Peers that were in rounds with this one.
    """
    people: defaultdict[tuple[AccountId, bool], list[Stand]] = defaultdict(list)
    for stand in stands:
        people[account(stand.peer), stand.trains].append(stand)
    for said in people.values():
        at = Counter(stand.state for stand in said)
        yield max(said, key=lambda stand: (stand.peer in known, at[stand.state], stand.state))


def weightiest(said: Mapping[StateName, Voices]) -> StateName:
    """What a state is called, and of equal names the greatest: anybody can take its mark, and call it otherwise."""
    return max(said, key=lambda name: (said[name].weight(knows=True), name))


def heaviest(
    here: Mapping[bytes, Voices],
    names: Mapping[bytes, StateName],
    ways: Mapping[bytes, Sequence[bytes]],
    *,
    newcomers: Voices,
    trains: bool,
    loyal: bool,
) -> StateName | None:
    """Go from the heaviest root down to the state where most of those stay that have come so far.

    Args:
        here: Who stands on each state, by its mark.
        names: Names of these states.
        ways: Marks of the states that led to each, the first one first, and its own.
        newcomers: The first state, where they stand, led to this peer's own, however little is known of the way.
        trains: Whether this peer does.
        loyal: As for `head`.
    """
    depth, node = 0, b""
    while True:
        stay = here[node] if node in ways else Voices()
        children: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for mark, way in ways.items():
            if len(way) > depth:
                children[way[depth]].append(mark)
        if not children:
            break
        said = {child: _sum(here[mark] for mark in marks) for child, marks in children.items()}
        if not depth:
            # The first state led to this peer's own, even where the way between is forgotten.
            said = {child: one.plus(newcomers) if one.own else one for child, one in said.items()}
        knows = any(one.known for one in said.values() if not one.own)
        weights = {child: one.weight(knows=knows) for child, one in said.items()}
        # Of equal branches the greatest name wins, so that all peers choose the same.
        best = max(said, key=lambda child: (weights[child], max(names[mark] for mark in children[child])))
        stays = stay.weight(knows=knows)
        if trains:  # those that do not come after, but the backbone keeps newcomers from strangers
            keeps = stays.backbone if stay.trains > stay.own and not said[best].known else 0
            stays = stays._replace(others=0, backbone=keeps)
        if weights[best] < stays:  # more have stayed here than gone on any one way
            break
        if loyal and not (said[best].known or said[best].backbone):
            # Strangers alone are not followed: it goes its own way on, or stays.
            own = [child for child, one in said.items() if one.own]
            if not own:
                break
            (best,) = own
        depth, node = depth + 1, best
        ways = {mark: ways[mark] for mark in children[best]}
    return names.get(node)


def _sum(voices: Iterable[Voices]) -> Voices:
    return reduce(Voices.plus, voices)
