"""What a plan for a group goes by: all that one peer knows of its members' lines.  Pure functions.

A peer's own word about its line counts up to `TRUST` times what rounds have proven of it, or as much as they have
proven if a round has waited for it since.  A peer that was in no round with it believes the lower middle of what at
least two others say they have seen.  So nobody alone can talk a line up
or down.  Of a line that nobody has seen, no more is believed than the best line of the group has shown; where none has
shown anything, no more than the lower middle of what is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from types import MappingProxyType
from typing import Final, Literal

from core.averaging.bandwidth.proven import TRUST, Proven, ProvenLine
from core.averaging.bandwidth.records import LineFacts, from_level, mark_of
from core.averaging.plan import Rates
from core.base.ids import PeerId

WITNESSES: Final = 2
"""Number of others that must have seen a line before their word counts."""
USUAL_MOST: Final = 3.0
"""A round keeps no line busy all the time: lines carry more than whole rounds show, by what most of a group say."""
ALIKE: Final = 1.2
"""Limits of several lines that differ by no more than this may be the same, measured with its usual error."""
SLOW: Final = 0.5
"""A pair is slow that has less than this part of what its ends carry."""


@dataclass(frozen=True, slots=True)
class KnownLines:
    """What is known of a group, for its plan."""

    lines: Mapping[PeerId, Rates]
    limits: Mapping[tuple[PeerId, PeerId], int]
    shown: Mapping[PeerId, Rates] = field(default_factory=dict)
    """What of that the lines have carried at some time; the rest is hope."""


UNKNOWN: Final = KnownLines(MappingProxyType({}), MappingProxyType({}))
"""Nothing at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnessed:
    """All that is known of one direction of a peer's line.  Bytes a second; 0: nothing."""

    claim: float = 0.0
    """Its own word."""
    proven: Proven = field(default_factory=Proven)
    told: Sequence[float] = ()
    """What each other peer says to have seen of it."""

    @property
    def shown(self) -> float:
        """What it has shown: to this peer, or else to most of at least two others."""
        words = [word for word in self.told if word > 0]
        return self.proven.best or (median_low(words) if len(words) >= WITNESSES else 0.0)


def believed(group: Sequence[Witnessed]) -> list[int]:
    """What each line of a group carries, as a plan is to take it: whole bytes a second, 0 for unknown."""
    claims = [one.claim for one in group if one.claim > 0]
    best = max((one.shown for one in group), default=0.0) or (median_low(claims) if len(claims) > 1 else 0.0)
    ratios = [one.claim / one.shown for one in group if one.claim > 0 and one.shown > 0]
    usual = min(max(median_low(ratios), 1.0), USUAL_MOST) if len(ratios) > WITNESSES else 1.0
    return [int(_judge(one, best=best, usual=usual)) for one in group]


def _judge(one: Witnessed, *, best: float, usual: float) -> float:
    shown, trust = one.shown, one.proven.trust
    if shown <= 0:
        return min(one.claim, best)
    most = shown * (max(trust, usual) if trust >= TRUST else trust)
    return max(min(one.claim or shown, most), one.proven.floor)


def alike(rates: Sequence[int], firm: Sequence[bool]) -> list[int]:
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
    return found


def known_of(
    peers: Sequence[PeerId], facts: Mapping[PeerId, LineFacts], proven: Mapping[PeerId, ProvenLine]
) -> KnownLines:
    """What a plan for these peers is to go by.

    Args:
        peers: The members of the group.
        facts: What each peer tells, this one among them.
        proven: What rounds have proven of each.
    """
    told: dict[bytes, list[Rates]] = {}
    for witness, said in facts.items():
        for seen in said.seen:
            if seen.peer != mark_of(witness):
                told.setdefault(seen.peer, []).append(Rates(int(from_level(seen.up)), int(from_level(seen.down))))
    (up, up_shown), (down, down_shown) = (_direction(peers, facts, proven, told, way) for way in ("up", "down"))
    if not any(up) and not any(down):
        return UNKNOWN
    lines, shown = (dict(zip(peers, map(Rates, *ways), strict=True)) for ways in ((up, down), (up_shown, down_shown)))
    return KnownLines(lines, slow_pairs(facts, lines), shown)


def _direction(
    peers: Sequence[PeerId],
    facts: Mapping[PeerId, LineFacts],
    proven: Mapping[PeerId, ProvenLine],
    told: Mapping[bytes, Sequence[Rates]],
    way: Literal["up", "down"],
) -> tuple[list[int], list[int]]:
    """What the lines are taken for, and what of it is more than hope: what their peers say that they have shown."""
    records = [facts.get(peer, LineFacts(Rates())) for peer in peers]
    witnessed = [
        Witnessed(
            claim=getattr(record.own, way),
            proven=getattr(proven.get(peer) or ProvenLine(), way),
            told=[getattr(word, way) for word in told.get(mark_of(peer), ())],
        )
        for peer, record in zip(peers, records, strict=True)
    ]
    rates = believed(witnessed)
    said = [getattr(record.shown, way) or int(one.shown) for record, one in zip(records, witnessed, strict=True)]
    firm = [word >= rate for word, rate in zip(said, rates, strict=True)]
    rates = alike(rates, firm)
    return rates, [
        rate if sure or not word else min(word, rate) for word, rate, sure in zip(said, rates, firm, strict=True)
    ]


def slow_pairs(facts: Mapping[PeerId, LineFacts], lines: Mapping[PeerId, Rates]) -> dict[tuple[PeerId, PeerId], int]:
    """Pairs of whom both ends say that less comes through than the lines of both would carry.

    All senders share a receiver's line, and all receivers a sender's: a pair is slow only if it has clearly less than
    its part of both.

    Args:
        facts: What each peer tells.
        lines: What is believed of the members' lines.

    Returns:
        By (sender, receiver): the rate in bytes a second, as the sender says.
    """
    by_mark = {mark_of(peer): peer for peer in lines}
    said = {
        (peer, by_mark[held.peer]): from_level(held.rate)
        for peer in lines
        if peer in facts
        for held in facts[peer].held
        if held.peer in by_mark
    }
    others = max(1, len(lines) - 1)
    return {
        (sender, receiver): max(1, int(rate))
        for (sender, receiver), rate in said.items()
        if (receiver, sender) in said and rate < SLOW * min(lines[sender].up, lines[receiver].down) / others
    }
