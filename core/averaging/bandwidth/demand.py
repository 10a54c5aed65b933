"""What a plan asks of its members' lines: bytes, and how long that should take."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from core.averaging.balance.fleet import Line
from core.averaging.codecs.registry import number_bytes
from core.averaging.matchmaking.division import lines_of, pair_limits, work_of
from core.averaging.plan import WHOLE_GIFT, Plan
from core.base.ids import PeerId


@dataclass(frozen=True, slots=True)
class Demand:
    """By member, in the plan's order."""

    up_bytes: tuple[float, ...]
    down_bytes: tuple[float, ...]
    seconds: float | None
    """How long the plan's own lines say it takes; None: the plan knows of none."""


def whole_gifts(plan: Plan, lines: Sequence[Line]) -> tuple[int, ...]:
    """One gift for each member: nothing of those that have nothing to give."""
    return tuple(plan.gift(index) if line.gives else 0 for index, line in enumerate(lines))


def demand_of(plan: Plan, *, among: Collection[PeerId] | None = None) -> Demand:
    """What the plan asks; every member gives a part of each chunk to its reducer and gets its mean (S000 3.2).

    Args:
        plan: Of a round.
        among: Only what goes between these is counted, and the others have nothing to carry; None: all.
    """
    if plan.stages > 1:  # what the later stages ask is settled on the way
        return Demand((0.0,) * len(plan.members), (0.0,) * len(plan.members), None)
    each = number_bytes(plan.codec)
    size = each * plan.numel
    shares = [count / plan.chunk_total for count in plan.chunks]
    gives = [plan.gift(index) / WHOLE_GIFT if member.samples else 0.0 for index, member in enumerate(plan.members)]
    receives = [float(member.receives) for member in plan.members]
    if among is not None:
        counted = [float(peer in among) for peer in plan.peers]
        shares, gives, receives = (
            [value * one for value, one in zip(values, counted, strict=True)] for values in (shares, gives, receives)
        )
    givers, receivers, whole = sum(gives), sum(receives), sum(shares)
    up = tuple(
        size * (gift * (whole - share) + share * (receivers - taking))
        for gift, share, taking in zip(gives, shares, receives, strict=True)
    )
    down = tuple(
        size * (taking * (whole - share) + share * (givers - gift))
        for gift, share, taking in zip(gives, shares, receives, strict=True)
    )
    return Demand(up, down, _seconds(plan))


def link_bytes(plan: Plan, sender: int, receiver: int) -> float:
    """What the plan has one member send to another: parts of the other's share, and means of its own."""
    gift = plan.gift(sender) / WHOLE_GIFT if plan.members[sender].samples else 0.0
    chunks = gift * plan.chunks[receiver] + plan.members[receiver].receives * plan.chunks[sender]
    return chunks / plan.chunk_total * number_bytes(plan.codec) * plan.numel


def _seconds(plan: Plan) -> float | None:
    lines = lines_of(plan.members, plan.lines) if plan.lines else None
    if lines is None:
        return None
    from core.averaging.balance.solver import round_seconds  # noqa: PLC0415 - as in `core.averaging.matchmaking.division`

    return round_seconds(
        lines,
        work_of(plan.numel, plan.codec),
        chunks=plan.chunks,
        gifts=whole_gifts(plan, lines),
        pair_limits=pair_limits(plan.limits) or None,
    )
