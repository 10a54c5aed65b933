"""Which of several collaborations is served: the first in the person's order that can be worked for."""

from collections.abc import Sequence
from random import Random
from typing import Final

from core.api.turns import WhyNot
from core.base.back_off import BackOff

LONGEST: Final = 36
"""Upper bound on the time between two looks at an unreachable collaboration, in units of the first."""


class Turns:
    """Decides which of several collaborations is served.

    Going on to a collaboration of lower priority needs no proof, since joining it is the proof.  Going back to one of
    higher priority needs a look that succeeded.  While the served one is not reached either, the network itself may be
    down, so that a look that fails then does not make the next one later.

    Args:
        order: Ids of the collaborations, the highest priority first; at least one.
        first_s: Mean time to the first look at a collaboration that cannot be reached, seconds.
        random: Draws the jitter.
    """

    def __init__(self, order: Sequence[str], *, first_s: float, random: Random) -> None:
        self._order = tuple(order)
        self._why: dict[str, WhyNot] = {}
        self._looks: BackOff[str] = BackOff(first=first_s, longest=LONGEST * first_s, random=random)
        self._reached = False
        self.served = self._order[0]
        """The id of the one whose turn it is."""

    @property
    def passed_over(self) -> list[tuple[str, WhyNot]]:
        """All that had their turn and are not served for a reason, in the person's order."""
        return [(each, self._why[each]) for each in self._order if each in self._why and each != self.served]

    def reached(self) -> None:
        """The served one has let this computer in."""
        if not self._reached:
            self._reached = True
            self._looks.clear(self.served)

    def give_way(self, why: WhyNot, now: float) -> bool:
        """The served one cannot be worked for.

        Args:
            why: The reason.
            now: Seconds of any clock that does not go back.

        Returns:
            Whether another one is served from now on; there may be none.
        """
        self._why[self.served] = why
        place = self._order.index(self.served) + 1
        following = [each for each in self._order[place:] if not self._is_over(each)]
        if why is WhyNot.UNREACHABLE:
            if following:
                self._looks.fail(self.served, now)
        else:
            following += [each for each in self._order[: place - 1] if not self._is_over(each)]
        return bool(following) and self._serve(following[0])

    def due(self, now: float) -> str | None:
        """The id of the highest above the served one that is to be looked at now; None: there is none."""
        above = self._order[: self._order.index(self.served)]
        waiting = (each for each in above if not self._is_over(each) and not self._looks.is_excluded(each, now))
        return next(waiting, None)

    def answers(self, found: str) -> None:
        """A look at a collaboration has succeeded: it is served from now on."""
        self._serve(found)

    def does_not_answer(self, missed: str, now: float, why: WhyNot = WhyNot.UNREACHABLE) -> None:
        """A look at a collaboration has failed, or has shown that it has ended.

        Args:
            missed: Its id.
            now: Seconds.
            why: What the look has shown.
        """
        self._why[missed] = why
        if not self._reached:
            self._looks.clear(missed)
        self._looks.fail(missed, now)

    def _serve(self, chosen: str) -> bool:
        for each in self._order[self._order.index(chosen) :]:
            if not self._is_over(each):
                self._why.pop(each, None)
        self.served, self._reached = chosen, False
        return True

    def _is_over(self, each: str) -> bool:
        """Whether it is not looked at again before the person chooses it or the engine restarts."""
        return self._why.get(each, WhyNot.UNREACHABLE) is not WhyNot.UNREACHABLE
