"""What a round teaches a member about the others, and what it goes by in the next one."""

from collections.abc import Collection
from dataclasses import dataclass, fields

from core.base.ids import PeerId


@dataclass(frozen=True, slots=True)
class Observations:
    """What one member has observed of the others in a round itself: no message is the source of it."""

    late: tuple[PeerId, ...] = ()
    """Reducers whose means did not come in time."""
    gone: tuple[PeerId, ...] = ()
    """Reducers whose link ended before all of their means were here."""
    slow: tuple[PeerId, ...] = ()
    """Members that were left behind: as senders, or by the coordinator, if this member was that."""
    differed: tuple[PeerId, ...] = ()
    """As the coordinator: members that voted, with few others, for other means."""
    doubted: tuple[PeerId, ...] = ()
    """As the coordinator: members that made these means."""

    def with_(self, other: "Observations") -> "Observations":
        """Joins the observations of two stages of a round; a member stands once in each kind."""
        kinds = [field.name for field in fields(self)]
        return Observations(**{kind: tuple(sorted({*getattr(self, kind), *getattr(other, kind)})) for kind in kinds})


@dataclass(frozen=True, slots=True)
class Remembered:
    """With which members a member has less patience, because of rounds before."""

    on_probation: frozenset[PeerId] = frozenset()
    """Members that have less time."""
    vote_ignored: frozenset[PeerId] = frozenset()
    """Members for whose vote alone no share is made anew: they are excluded at once."""
    usual: float = 1.0
    """Number of times longer than planned that rounds take of late, at least: no member is the reason for it."""

    def among(self, peers: Collection[PeerId]) -> "Remembered":
        """The part of it that concerns `peers`, for a round in which only they are members."""
        return Remembered(self.on_probation.intersection(peers), self.vote_ignored.intersection(peers), self.usual)


NOTHING = Remembered()
"""There was no round before."""
