"""Contributions that a round could take along for nothing."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.balance.merit import Merit, line_steps, merit, settled, steps_per_s
from core.averaging.balance.traffic import Fleet, Pairs, seconds_of
from core.averaging.plan import WHOLE_GIFT

RAISE: Final = 32
"""256ths by which a gift is raised to see whether that costs anything."""
FREE: Final = 2e-4
"""So small a part of the steps a second counts as nothing.  Who verifies uses half of it."""
_RAISES_A_MEMBER: Final = WHOLE_GIFT // RAISE + 1


def free_raises(
    members: Fleet, limits: Pairs, choice: Merit, *, cost: float = FREE, by: int = RAISE
) -> NDArray[np.int64]:
    """The members that could give so many 256ths more, each alone, at a `cost` in steps a second of no more than that.

    With pair limits that is asked of the shares as they are, so that it takes no linear program.
    """
    who = np.flatnonzero(choice.gives < members.gives - 0.5 / WHOLE_GIFT)
    if not len(who):
        return who
    raised = np.repeat(choice.gives[None], len(who), axis=0)
    raised[np.arange(len(who)), who] = np.minimum(members.gives[who], choice.gives[who] + by / WHOLE_GIFT)
    if len(limits.rate):
        seconds = np.array([seconds_of(members, limits, gives=gives, shares=choice.shares) for gives in raised])
        steps = steps_per_s(members, raised @ members.samples, seconds)
    else:
        steps = line_steps(members, raised)
    return np.asarray(who[steps >= choice.steps_per_s * (1 - cost)])


def filled(members: Fleet, limits: Pairs, choice: Merit) -> Merit:
    """The choice with all raised that can be for nothing: none is left out without a reason.

    What it is measured by is found anew for each choice, as those who verify the last one will find it.
    """
    choice = settled(members, limits, merit(members, limits, choice.gives))
    for by in (WHOLE_GIFT, RAISE):
        for _ in range(_RAISES_A_MEMBER * members.size):
            free = free_raises(members, limits, choice, by=by)
            if not len(free):
                break
            choice = _raised(members, limits, choice, free[np.argsort(-members.samples[free], kind="stable")], by=by)
    return choice


def _raised(members: Fleet, limits: Pairs, choice: Merit, who: NDArray[np.int64], *, by: int) -> Merit:
    """As many of them raised as can be together, halving their number; the first one in any case."""
    while True:
        gives = choice.gives.copy()
        gives[who] = np.minimum(members.gives[who], gives[who] + by / WHOLE_GIFT)
        found = settled(members, limits, merit(members, limits, gives))
        if len(who) == 1 or found.steps_per_s >= choice.steps_per_s * (1 - FREE):
            return found
        who = who[: len(who) // 2]
