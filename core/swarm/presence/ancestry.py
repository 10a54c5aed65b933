"""Which state came from which, as far as this peer knows: by its own steps, by files, and by what others say."""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from typing import Final, TypeVar

from core.base.bounds import remember
from core.base.ids import PeerId
from core.swarm.words.states import StateName

Name = TypeVar("Name", bytes, StateName)
OWN_MAX: Final = 256
"""Number of own states that are remembered: peers that are here are a few epochs apart."""
TOLD_MAX: Final = 4 * OWN_MAX
"""Number of others' states whose parents are remembered: a report may name 16."""


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


class Ancestry:
    """Parents of states, by their marks."""

    def __init__(self) -> None:
        self._own: OrderedDict[bytes, bytes] = OrderedDict()
        """Marks of the parents of states that this peer has reached itself, by the state's mark, the newest at the end.

        No other peer tells where these came from, and no number of others' states pushes them out."""
        self._told: OrderedDict[bytes, bytes] = OrderedDict()
        """Marks of the parents of other states, as peers report them."""

    def stepped(self, mark: bytes, parent: bytes) -> None:
        """This peer has gone from one state to another."""
        self._remember(self._own, mark, parent)

    def read(self, way: Sequence[bytes]) -> None:
        """The file of the state that it holds names the states that led there, the nearest first after its own."""
        # Only the held state's own parent is as sure as a step taken here; earlier ones fill gaps.
        for parents, (mark, parent) in zip(chain((self._own,), repeat(self._told)), pairwise(way), strict=False):
            if mark not in self._own and (parents is self._own or mark not in self._told):
                self._remember(parents, mark, parent)

    def learn(self, stands: Iterable[Stand]) -> None:
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
            if mark not in self._own:  # what this peer has seen itself nobody overrules
                self._remember(self._told, mark, most(parents))

    def _remember(self, parents: "OrderedDict[bytes, bytes]", mark: bytes, parent: bytes) -> None:
        if parents is self._own:  # lest a lie come to light when the step is forgotten, and close a circle
            self._told.pop(mark, None)
        if mark not in self.path(parent):  # a circle, which only liars claim
            remember(parents, mark, parent, OWN_MAX if parents is self._own else TOLD_MAX)

    def path(self, mark: bytes) -> list[bytes]:
        """Marks of this state, and of all that are known to have led to it, the nearest first."""
        found = [mark]
        while mark := self._own.get(mark) or self._told.get(mark, b""):
            found.append(mark)
        return found


def most(said: Counter[Name]) -> Name:
    """What was said most often, and of equals the greatest."""
    return max(said, key=lambda one: (said[one], one))
