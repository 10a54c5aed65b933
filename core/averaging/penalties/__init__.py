"""What one peer remembers of the others from round to round: what rounds teach it, and what it goes by in the next."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from core.base.ids import PeerId


class Kind(Enum):
    """Why something is held against a peer."""

    LEADING = "leading"
    """Rounds that it led have failed.  Counted in seconds, as `REDUCING` is."""
    REDUCING = "reducing"
    """Rounds have failed by a share of its."""
    LATE = "late"
    """Its means came late, or as a helper it hung up before they were there.  Counted in rounds, as `SLOW` is."""
    SLOW = "slow"
    """It was left behind: as a sender, or by the coordinator, if this peer was that."""
    DIFFERED = "differed"
    """It voted, with few others, for other means.  Counted in rounds that this peer led: only leaders hear votes."""
    DOUBTED = "doubted"
    """It made means that others differed from.  Counted likewise."""


Observations = Mapping[Kind, frozenset[PeerId]]
"""What one member has observed of the others in a round itself: no message is the source of it."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """With which members a member has less patience, because of rounds before."""

    on_probation: frozenset[PeerId] = frozenset()
    """Members that have less time."""
    vote_ignored: frozenset[PeerId] = frozenset()
    """Members for whose vote alone no share is made anew: they are excluded at once."""
    usual: float = 1.0
    """Number of times longer than planned that rounds take of late, at least: no member is the reason for it."""


NOTHING = Remembered()
"""There was no round before."""
