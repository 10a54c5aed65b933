"""What this computer's own choices cost everybody, as far as the engine knows it."""

from typing import Final

from core.api.hints import Hint
from core.averaging.bandwidth.demand import demand_of
from core.averaging.plan import WHOLE_PORTION, Plan
from core.base.ids import PeerId
from core.codecs.registry import number_bytes
from core.swarm.view import ParticipantView

LONGER: Final = 1.5
"""Times what a step would take without the limit from which on it is told."""

OF_THE_LIMIT: Final = 0.9
"""A line measured below this share of the limit is what holds the others up, and a higher limit changes nothing."""


def upload_hint(
    participant: ParticipantView | None, me: PeerId | None, *, limit_bytes_s: float | None, samples_per_s: float
) -> Hint | None:
    """The hint that a person's upload limit makes everybody's steps longer; None: it does not, or not by much.

    A plan can take the reducing from a member with a slow line, and with `partial` some of its contribution; what is
    left has to be sent before anybody has the mean.

    Args:
        participant: What is known of its rounds.
        me: This peer.
        limit_bytes_s: The person's; None: none.
        samples_per_s: Speed of the whole collaboration; 0: not known.
    """
    if participant is None or participant.plan is None or limit_bytes_s is None or samples_per_s <= 0:
        return None
    plan, settings = participant.plan, participant.settings
    if me not in plan.peers or len(plan.members) < 2:
        return None
    mine = plan.peers.index(me)
    line = plan.lines[mine].up if mine < len(plan.lines) else 0
    if 0 < line < OF_THE_LIMIT * limit_bytes_s:
        return None
    computing_s = settings.target_samples / samples_per_s
    gives = plan.portion(mine) / WHOLE_PORTION * bool(plan.members[mine].samples)
    sending_s = gives * plan.stages * plan.numel * number_bytes(plan.codec) / limit_bytes_s
    shorter, longer = (
        max(computing_s, averaging_s) if settings.averaging.overlaps else computing_s + averaging_s
        for averaging_s in (_others_s(plan, mine), sending_s)
    )
    if longer <= LONGER * shorter:
        return None
    return Hint(
        "upload", {"limit": round(limit_bytes_s), "longer": _rounded(longer), "shorter": max(1, _rounded(shorter))}
    )


def _others_s(plan: Plan, mine: int) -> float:
    """How long the others' lines are busy in the round, seconds; 0 where none is known."""
    demand = demand_of(plan)
    busy_s = [
        count / rate
        for place, (line, up, down) in enumerate(zip(plan.lines, demand.up_bytes, demand.down_bytes, strict=False))
        for count, rate in ((up, line.up), (down, line.down))
        if place != mine and rate
    ]
    return max(busy_s, default=0.0)


def _rounded(seconds: float) -> int:
    """With two digits that mean something, so that it does not change from moment to moment."""
    return round(float(f"{seconds:.2g}"))
