"""What is believed of a peer's line: its own word within what others have seen of it.  Pure functions.

What a line carried in a round that ended is proven to all members of that round: they know how many bytes the plan
asked of it, and how long it took.  Nobody has to be believed for that.  A peer that was not there believes the lower
middle of what at least two others say they have seen.  So nobody alone can talk a line up or down, and a peer's own
word about itself counts up to `TRUST` times what was seen, or as much as was seen if a round has waited for it since.
Of whom nothing has been seen, no more is believed than the best line of the group has shown; where nobody has shown
anything, no more than the lower middle of what is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.averaging.plan import Rates
from core.base.ids import PeerId

TRUST: Final = 2.0
"""A line is believed to carry so many times what it has been seen to carry, if its peer says so."""
SLOW: Final = 0.5
"""A pair is slow that has less than this part of what its ends carry."""
USUAL_MOST: Final = 3.0
"""A round keeps no line busy all the time: lines carry more than whole rounds show, by what most of a group say."""
ALIKE: Final = 1.2
"""Limits of several lines that differ by no more than this may be the same, measured with its usual error."""
WITNESSES: Final = 2
"""So many others must have seen a line before their word counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnessed:
    """All that is known of one direction of a peer's line.  Bytes a second; 0: nothing."""

    claim: float = 0.0
    """Its own word."""
    best: float = 0.0
    """The most that it was seen to carry in rounds that we took part in."""
    floor: float = 0.0
    """What it carried lately at least: less is not believed, whatever it says."""
    told: Sequence[float] = ()
    """What each other peer says to have seen of it."""
    trust: float = TRUST
    """Its own word is believed up to so many times what was seen: fewer, once a round has waited because of it."""

    @property
    def shown(self) -> float:
        """What it has shown: to us, or else to most of at least two others."""
        words = sorted(word for word in self.told if word > 0)
        return self.best or (words[(len(words) - 1) // 2] if len(words) >= WITNESSES else 0.0)


def believed(group: Sequence[Witnessed]) -> tuple[int, ...]:
    """What each line of a group carries, as a plan is to take it: whole bytes a second, 0 for unknown."""
    best = max((one.shown for one in group), default=0.0) or _middle(group)
    ratios = sorted(one.claim / one.shown for one in group if one.claim > 0 and one.shown > 0)
    usual = min(max(ratios[(len(ratios) - 1) // 2], 1.0), USUAL_MOST) if len(ratios) > WITNESSES else 1.0
    return tuple(int(_judge(one, best=best, usual=usual)) for one in group)


def _judge(one: Witnessed, *, best: float, usual: float) -> float:
    shown = one.shown
    if shown <= 0:
        return min(one.claim, best)
    most = shown * (max(one.trust, usual) if one.trust >= TRUST else one.trust)
    return max(min(one.claim or shown, most), one.floor)


def _middle(group: Sequence[Witnessed]) -> float:
    """Where nobody has shown anything: the lower middle of the words, so that one alone says nothing."""
    claims = sorted(one.claim for one in group if one.claim > 0)
    return claims[(len(claims) - 1) // 2] if len(claims) > 1 else 0.0


def alike(rates: Sequence[int], firm: Sequence[bool]) -> tuple[int, ...]:
    """The same, where limits that may be the same are: a plan would take chance for a reason to divide unequally.

    Args:
        rates: Bytes a second.
        firm: Which of them are limits that have been seen; others may carry more, and stay as they are.
    """
    order = sorted((index for index, sure in enumerate(firm) if sure and rates[index]), key=lambda i: -rates[i])
    found = list(rates)
    while order:
        group = [index for index in order if rates[index] * ALIKE >= rates[order[0]]]
        middle = sum(rates[index] for index in group) // len(group)
        for index in group:
            found[index] = middle
        order = order[len(group) :]
    return tuple(found)


def slow_pairs(
    said: Mapping[tuple[PeerId, PeerId], float], lines: Mapping[PeerId, Rates]
) -> dict[tuple[PeerId, PeerId], int]:
    """Pairs of whom both ends say that less comes through than the lines of both would carry.

    All senders share a receiver's line, and all receivers a sender's: a pair is slow only if it has clearly less than
    its part of both.

    Args:
        said: By (sender, receiver): the rate in bytes a second, as the sender says.
        lines: What is believed of the members' lines.
    """
    slow: dict[tuple[PeerId, PeerId], int] = {}
    for (sender, receiver), rate in said.items():
        if (receiver, sender) not in said or sender not in lines or receiver not in lines:
            continue
        if rate < SLOW * min(lines[sender].up, lines[receiver].down) / max(1, len(lines) - 1):
            slow[sender, receiver] = max(1, int(rate))
    return slow
