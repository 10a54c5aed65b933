"""Whether rounds are quicker where parts leave at the plan's pace, as the rounds themselves show.

Where lines carry what they are known to carry, and everything else is quick, the pace keeps queues short, and rounds on
hard fleets are nearly twice as quick (`docs/decisions/0003`).  Where other things cost time as well (TCP that fills a
line only with a queue before it, slow processors), whoever does not wait is quicker.  Nobody can tell beforehand.
"""

from typing import Final

from core.averaging.bandwidth.overrun import Overrun

FIRST: Final = 3
"""Rounds without the pace come first: lines have to be learned; then so many with it."""
OTHER_OF: Final = 8
"""In one of so many rounds the other way is tried, which also lets lines show more than plans ask of them."""
BETTER: Final = 0.97
"""The pace must be better by this factor."""


class Tempo:
    """Remembers by how much rounds of both kinds exceed their plans."""

    def __init__(self) -> None:
        self._free, self._paced = Overrun(), Overrun()
        self._rounds = 0

    @property
    def paced(self) -> bool:
        """Whether the next round's parts are to leave at the plan's pace."""
        if self._free.count < FIRST:
            return False
        if self._paced.count < FIRST:
            return True
        better = self._paced.middle < BETTER * self._free.middle
        return better != (self._rounds % OTHER_OF == 0)

    def late(self, ratio: float, *, paced: bool) -> bool:
        """A round is over that took `ratio` times what its plan said: was it late, for rounds like these?"""
        self._rounds += 1
        return self._of(paced=paced).late(ratio)

    def usual(self, *, paced: bool) -> float:
        """How many times what its plan says a round takes of late, at the least."""
        return self._of(paced=paced).usual

    def _of(self, *, paced: bool) -> Overrun:
        return self._paced if paced else self._free
