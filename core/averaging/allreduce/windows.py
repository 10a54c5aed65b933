"""How far senders may be ahead of the means, and how long a healthy member may take to be heard again.

Both sides of a share work them out from the plan, so that a reducer can refuse what was not to be sent yet.
"""

from statistics import median
from typing import Final

from core.averaging.bandwidth.demand import demand_of
from core.averaging.codecs.codec import Codec
from core.averaging.plan import Plan, is_paced
from core.base.machine import Transfer

AHEAD_PART: Final = 8
"""Of the vector's bytes, one of so many parts may be on its way from a member."""
HELD_PART: Final = 2
"""Of the vector's bytes, one of so many parts may wait at a reducer at most."""
AHEAD_NUMEL_MAX: Final = 4 << 20
"""As many float32 on their way from one member at most, in bytes: enough for 1 Gbit/s over 0.1 s."""
AHEAD_MIN: Final = 2
"""Chunks of a share, also before all reducers are ready: while one is on its way, the next is made."""
OTHERS_PART: Final = 1.5
"""Bulk leaves over no more than so many times what the middle member's line needs: one slow line, or one word about a
line, holds up its own links and no others."""
PACED_PART: Final = 0.97
"""Links send at so much of the rate that the plan gives them, which was measured without headers: acknowledgements and
the household's packets take the rest."""


def windows_of(plan: Plan, codec: Codec) -> tuple[int, ...]:
    """For each share the number of chunks that a sender may be ahead of the first mean that is missing.

    They are in proportion to the shares, so that all of them end at the same time, within what there is memory for, and
    together twice what a member may have on its way.  What waits is encoded: of smaller parts more may wait.
    """
    total, others = plan.chunk_total, max(1, len(plan.members) - 1)
    small = max(1.0, 4 * plan.numel / max(1, codec.max_bytes(plan.numel)))  # float32, over what is sent of it
    ahead = int(small * min(total // AHEAD_PART, AHEAD_NUMEL_MAX // plan.chunk_numel))
    held = int(small * total / (HELD_PART * others))
    return tuple(max(AHEAD_MIN, min(-(-2 * ahead * count // total), held)) for count in plan.chunks)


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
