"""How far senders may be ahead of the means, and how long a healthy member may take to be heard again.

Both sides of a share work them out from the plan, so that a reducer can refuse what was not to be sent yet.
"""

from typing import Final

from core.averaging.plan import Plan
from core.codecs.codec import Codec

AHEAD_PART: Final = 8
"""The vector's bytes divided by this may be on their way from a member at once."""
HELD_PART: Final = 2
"""The vector's bytes divided by this may wait at a reducer at most."""
AHEAD_NUMEL_MAX: Final = 4 << 20
"""As many float32 on their way from one member at most, in bytes: enough for 1 Gbit/s over 0.1 s."""
AHEAD_MIN: Final = 2
"""Chunks of a share, also before all reducers are ready: while one is on its way, the next is made."""


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
