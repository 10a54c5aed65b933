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
PACED_PART: Final = 0.97
"""Links send at so much of the rate that the plan gives them, which was measured without headers: acknowledgements and
the household's packets take the rest."""


@dataclass(frozen=True, slots=True)
class Demand:
    """By member, in the plan's order."""

    link_bytes: Floats
    """What each member (row) sends to each other (column): parts of the other's share, and means of its own."""
    seconds: float | None
    """How long the plan's own lines say it takes; None: the plan knows of none."""

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
        return Demand(np.zeros((members, members)), None)
    gives = np.array([plan.portion(i) / WHOLE_PORTION * bool(member.samples) for i, member in enumerate(plan.members)])
    receives = np.array([member.receives for member in plan.members], dtype=np.float64)
    shares = np.array(plan.chunks) / plan.chunk_total
    link_bytes = number_bytes(plan.codec) * plan.numel * (np.outer(gives, shares) + np.outer(shares, receives))
    np.fill_diagonal(link_bytes, 0.0)
    seconds = _seconds(plan, link_bytes)
    if among is not None:
        counted = np.array([peer in among for peer in plan.peers])
        link_bytes = link_bytes * np.outer(counted, counted)
    return Demand(link_bytes, seconds)


def _seconds(plan: Plan, link_bytes: Floats) -> float | None:
    lines = lines_of(plan.members, plan.lines) if plan.lines else None
    if lines is None:
        return None
    up_s = link_bytes.sum(axis=1) / [line.up_bytes_per_s for line in lines]
    down_s = link_bytes.sum(axis=0) / [line.down_bytes_per_s for line in lines]
    pairs_s = [link_bytes[limit.sender, limit.receiver] / limit.rate for limit in plan.limits]
    return float(max(*up_s, *down_s, *pairs_s))


def planned_s(plan: Plan) -> float:
    """How long the round takes where nothing but the plan's lines counts, in seconds; 0 where no lines are known."""
    return min(demand_of(plan).seconds or 0.0, plan.round_timeout_s)


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
