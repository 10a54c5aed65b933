"""Leaders whose calls fail, and members that refuse plans alone."""

from typing import Final

from core.base.back_off import BackOff
from core.base.ids import PeerId

FREE: Final = 2
"""Number of failed calls before the next one excludes its leader."""
FIRST_S: Final = 2.0
LONGEST_S: Final = 32.0
DECAY_S: Final = 30.0


def fruitless_calls() -> BackOff[PeerId]:
    """Leaders whose calls fail, in seconds.

    A member that is called stands still until a plan comes, so calling is a way to keep others from training.  A leader
    that calls and makes no plan is followed a few times; then it is excluded, for 2 s to 32 s.  A plan makes good for
    everything (`BackOff.clear`).
    """
    return BackOff(first=FIRST_S, longest=LONGEST_S, free=FREE, decay=DECAY_S)
