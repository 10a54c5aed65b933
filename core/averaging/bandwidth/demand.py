"""What a plan asks of its members' lines: bytes, how long that should take, and how fast they leave."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from core.averaging.balance.traffic import Floats
from core.averaging.matchmaking.division import lines_of
from core.averaging.plan import WHOLE_PORTION, Plan, is_paced
from core.base.arrays import np
from core.base.ids import PeerId
from core.base.machine import Transfer
from core.codecs.registry import number_bytes

OTHERS_PART: Final = 1.5
"""Bulk leaves over no more than so many times what the middle member's line needs: one slow line, or one word about a
line, holds up its own links and no others."""
TIMELY_PART: Final = 1 / 2
"""Part of the round's time in which a line has to carry what is asked of it: a member that is late then is left behind
at three quarters (`core.averaging.failure_detector.ASKED_AT`), and the others have the rest to end the round."""
PACED_PART: Final = 0.97
"""Links send at so much of the rate that the plan gives them, which was measured without headers: acknowledgements and
the household's packets take the rest."""


@dataclass(frozen=True, slots=True)
class Demand:
    """By member, in the plan's order."""

    link_bytes: Floats
    """What each member (row) sends to each other (column): parts of the other's share, and means of its own."""
    busy_s: Sequence[float] = ()
    """How long the plan's own lines say each member's line is busy, in seconds; empty: the plan knows of none."""

    @property
    def seconds(self) -> float | None:
        """How long the plan's own lines say it takes; None: the plan knows of none."""
        return max(self.busy_s, default=None)

    @property
    def up_bytes(self) -> Sequence[float]:
        """What each member sends."""
        return [float(count) for count in self.link_bytes.sum(axis=1)]

    @property
    def down_bytes(self) -> Sequence[float]:
        """What each member receives."""
        return [float(count) for count in self.link_bytes.sum(axis=0)]


def demand_of(plan: Plan, *, among: Collection[PeerId] | None = None) -> Demand:
    """What the plan asks; every member gives a part of each chunk to its reducer and gets its mean (S000 3.2).

    Args:
        plan: Plan of a round.
        among: Only what goes between these is counted, and the others have nothing to carry; None: all.
    """
    members = len(plan.members)
    if plan.stages > 1:  # what the later stages ask is settled on the way
        return Demand(np.zeros((members, members)))
    gives = np.array([plan.portion(i) / WHOLE_PORTION * bool(member.samples) for i, member in enumerate(plan.members)])
    receives = np.array([member.receives for member in plan.members], dtype=np.float64)
    shares = np.array(plan.chunks) / plan.chunk_total
    link_bytes = number_bytes(plan.codec) * plan.numel * (np.outer(gives, shares) + np.outer(shares, receives))
    np.fill_diagonal(link_bytes, 0.0)
    busy_s = _busy_s(plan, link_bytes)
    if among is not None:
        counted = np.array([peer in among for peer in plan.peers])
        link_bytes = link_bytes * np.outer(counted, counted)
    return Demand(link_bytes, busy_s)


def _busy_s(plan: Plan, link_bytes: Floats) -> list[float]:
    lines = lines_of(plan.members, plan.lines) if plan.lines else None
    if lines is None:
        return []
    up_s = link_bytes.sum(axis=1) / [line.up_bytes_per_s for line in lines]
    down_s = link_bytes.sum(axis=0) / [line.down_bytes_per_s for line in lines]
    busy_s = np.maximum(up_s, down_s)
    for limit in plan.limits:
        busy_s[limit.sender] = max(busy_s[limit.sender], link_bytes[limit.sender, limit.receiver] / limit.rate)
    return [float(seconds) for seconds in busy_s]


def planned_s(plan: Plan, *, usual: float = 1.0) -> float:
    """How long the round is planned to take, in seconds; 0 where no lines are known.

    Only lines count with which it can be over in time, if most are such: a member with one that is slower, or is said
    to be, is late like one whose line nobody knows.  If its line counted, nobody would be late before the round fails.

    Args:
        plan: The round's.
        usual: How many times what their plans say rounds take.
    """
    busy_s = [usual * seconds for seconds in demand_of(plan).busy_s]
    timely_s = [seconds for seconds in busy_s if seconds <= TIMELY_PART * plan.round_timeout_s]
    if 2 * len(timely_s) > len(busy_s):
        return max(timely_s)
    return min(max(busy_s, default=0.0), plan.round_timeout_s)


def even_s(plan: Plan) -> float:
    """Over how many seconds bulk leaves evenly; 0: as soon as it can."""
    if not is_paced(plan.lines):
        return 0.0
    demand = demand_of(plan)
    members_s = [
        max(count / rate if rate else 0.0 for count, rate in ((up, line.up), (down, line.down)))
        for line, up, down in zip(plan.lines, demand.up_bytes, demand.down_bytes, strict=True)
    ]
    return min(max(members_s), OTHERS_PART * median(members_s), plan.round_timeout_s / 2) / PACED_PART


def transfers_of(plan: Plan, me: int) -> dict[int, Transfer]:
    """What one member sends to each other in the round, and over how many seconds: evenly, where lines are known.

    So no link takes another's room, and no queue stands before any line.
    """
    seconds = even_s(plan)
    sent = enumerate(demand_of(plan).link_bytes[me])
    return {
        other: Transfer(float(count), seconds or plan.round_timeout_s, seconds > 0)
        for other, count in sent
        if other != me
    }
