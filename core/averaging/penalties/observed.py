"""What a round teaches a member about the others, and what it goes by in the next one."""

from collections.abc import Collection
from dataclasses import dataclass, fields

from core.base.ids import PeerId


@dataclass(frozen=True, slots=True)
class Observations:
    """What one member has seen of the others in a round, with its own eyes: nobody's word is in it."""

    late: tuple[PeerId, ...] = ()
    """Reducers of which it has complained, since their means did not come."""
    gone: tuple[PeerId, ...] = ()
    """Reducers whose link ended before all of their means were here."""
    behind: tuple[PeerId, ...] = ()
    """Reducers for whose means alone it has waited beyond the time that the plan's lines say."""
    slow: tuple[PeerId, ...] = ()
    """Who kept what it reduces, or the round that it led, waiting beyond that time."""
    differed: tuple[PeerId, ...] = ()
    """As the leader: who told it that it holds other means than the others."""
    doubtful: tuple[PeerId, ...] = ()
    """As the leader: whose means these are."""

    def with_(self, other: "Observations") -> "Observations":
        """Both together."""
        kinds = [field.name for field in fields(self)]
        return Observations(**{kind: tuple(sorted({*getattr(self, kind), *getattr(other, kind)})) for kind in kinds})


@dataclass(frozen=True, slots=True)
class Remembered:
    """With whom a member has less patience, because of rounds before; they lose it nothing but that."""

    hurried: frozenset[PeerId] = frozenset()
    """Who is left behind as soon as it keeps others waiting beyond the time that the plan's lines say."""
    unheeded: frozenset[PeerId] = frozenset()
    """Whose word that it holds other means makes nobody begin anew: it is excluded at once."""
    usual: float = 1.0
    """How many times what their plans say rounds take of late, at the least: for that nobody is to blame."""

    def among(self, peers: Collection[PeerId]) -> "Remembered":
        """Of it what concerns these."""
        return Remembered(self.hurried.intersection(peers), self.unheeded.intersection(peers), self.usual)


NOTHING = Remembered()
"""There was no round before."""
