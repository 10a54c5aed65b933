"""How far senders may be ahead of the means, and how long a healthy member may take to be heard again.

Both sides of a share work them out from the plan, so that a reducer can refuse what was not to be sent yet.
"""

from dataclasses import dataclass
from statistics import median
from typing import Final

from core.averaging.codecs.codec import Codec
from core.averaging.plan import WHOLE_GIFT, Plan, is_paced
from core.base.machine import Transfer

AHEAD_PART: Final = 8
"""Of the vector's bytes, one of so many parts may be on its way from a member."""
HELD_PART: Final = 2
"""Of the vector's bytes, one of so many parts may wait at a reducer at most..."""
HELPERS_MORE: Final = 3
"""... and so many times that where it has neither a contribution nor a result to keep."""
AHEAD_NUMEL_MAX: Final = 4 << 20
"""As many float32 on their way from one member at most, in bytes: enough for 1 Gbit/s over 0.1 s."""
FLOAT_BYTES: Final = 4
AHEAD_MIN: Final = 2
"""Chunks of a share: while one is on its way, the next is made."""
TURNS_PART: Final = 1 / 10
"""Members take turns within no more than this part of the round, however long a part's length is."""
EVEN_FROM_S: Final = 0.25
"""Rounds that take no longer are not paced: there the lines' delays count more than how they are shared."""
OTHERS_PART: Final = 1.5
"""Bulk leaves over no more than so many times what the middle member's line needs: one slow line, or one word about a
line, holds up its own links and no others."""
EVEN_CHUNKS: Final = 8
"""Nor are rounds with fewer chunks in an average share: the last one takes its link's part of a line twice."""
PACED_PART: Final = 0.97
"""Links send at so much of the rate that the plan gives them, which was measured without headers: acknowledgements and
the household's packets take the rest."""


@dataclass(frozen=True, slots=True)
class Windows:
    """What the flow of a round goes by."""

    shares: tuple[int, ...]
    """For each share how many chunks a sender may be ahead of the first mean that is missing."""
    parts: int
    """Parts of one member that may be unanswered, over all shares."""
    seconds: float
    """Over which a member's parts leave evenly; 0: as soon as they can."""


def windows_of(plan: Plan, codec: Codec) -> Windows:
    """In proportion to the shares, so that all of them end at the same time; within what there is memory for.

    What waits is encoded, so that of a codec's smaller parts more may wait.
    """
    total, others = plan.chunk_total, max(1, len(plan.members) - 1)
    small = max(1.0, FLOAT_BYTES * plan.numel / max(1, codec.max_bytes(plan.numel)))
    ahead = int(small * min(total // AHEAD_PART, AHEAD_NUMEL_MAX // plan.chunk_numel))
    bare = [HELPERS_MORE * (not member.samples and not member.receives) or 1 for member in plan.members]
    held = [int(small * more * total / (HELD_PART * others)) for more in bare]
    return Windows(
        shares=tuple(
            max(AHEAD_MIN, min(-(-2 * ahead * count // total), most))
            for count, most in zip(plan.chunks, held, strict=True)
        ),
        parts=max(AHEAD_MIN * others, ahead),
        seconds=even_s(plan, codec),
    )


def planned_s(plan: Plan, codec: Codec) -> float:
    """How long the round takes where nothing but the plan's lines counts, in seconds; 0 where no lines are known."""
    if not plan.lines:
        return 0.0
    return min(max(_member_s(plan, codec)), plan.round_timeout_s)


def _member_s(plan: Plan, codec: Codec) -> list[float]:
    """How long each member's line takes for what the plan has it send and receive, in seconds."""
    numel, total = min(plan.numel, plan.chunk_numel), plan.chunk_total
    chunk_bytes = codec.max_bytes(numel)
    gifts = [plan.gift(m) / WHOLE_GIFT * bool(member.samples) for m, member in enumerate(plan.members)]
    receivers = sum(member.receives for member in plan.members)
    found = []
    for m, (member, line, own) in enumerate(zip(plan.members, plan.lines, plan.chunks, strict=True)):
        up = gifts[m] * (total - own) + (receivers - member.receives) * own
        down = member.receives * (total - own) + (sum(gifts) - gifts[m]) * own
        found.append(
            max(chunks * chunk_bytes / rate if rate else 0.0 for chunks, rate in ((up, line.up), (down, line.down)))
        )
    return found


def even_s(plan: Plan, codec: Codec) -> float:
    """Over how many seconds bulk leaves evenly; 0: as soon as it can."""
    if not is_paced(plan.lines):
        return 0.0
    usual_s = OTHERS_PART * median(_member_s(plan, codec))
    seconds = min(planned_s(plan, codec), usual_s, plan.round_timeout_s / 2) / PACED_PART
    few = plan.chunk_total < EVEN_CHUNKS * len(plan.members)
    return 0.0 if few or seconds < EVEN_FROM_S else seconds


def transfers_of(plan: Plan, codec: Codec, me: int) -> dict[int, Transfer]:
    """What one member sends to each other in the round, and over how many seconds: evenly, where lines are known.

    So no link takes another's room, and no queue stands before any line.
    """
    seconds = even_s(plan, codec)
    chunk_bytes = codec.max_bytes(min(plan.numel, plan.chunk_numel))
    gift = plan.gift(me) / WHOLE_GIFT * bool(plan.members[me].samples)
    return {
        other: Transfer(
            chunk_bytes * (gift * plan.chunks[other] + member.receives * plan.chunks[me]),
            seconds or plan.round_timeout_s,
            seconds > 0,
        )
        for other, member in enumerate(plan.members)
        if other != me
    }
