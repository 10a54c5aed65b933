"""What a plan asks of its members' lines: bytes, and how long that should take."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from core.averaging.balance.traffic import Floats
from core.averaging.codecs.registry import number_bytes
from core.averaging.matchmaking.division import lines_of
from core.averaging.plan import WHOLE_GIFT, Plan
from core.base.ids import PeerId


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
        plan: Of a round.
        among: Only what goes between these is counted, and the others have nothing to carry; None: all.
    """
    members = len(plan.members)
    if plan.stages > 1:  # what the later stages ask is settled on the way
        return Demand(np.zeros((members, members)), None)
    gives = np.array([plan.gift(i) / WHOLE_GIFT * bool(member.samples) for i, member in enumerate(plan.members)])
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
