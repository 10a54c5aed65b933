"""What members of a grid say to come together for the next stage (`GRID_MESSAGES`); the rest is a butterfly's.

They carry the id of the whole round.  Each butterfly within it has an id of its own (`stage_round`).
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.averaging.messages import GROUP_MAX, SAMPLES_MAX, SHARE_CHUNKS_MAX, Index, RoundId
from core.averaging.plan import STAGES_MAX
from core.base.ids import KEY_BYTES, hashed_key
from core.base.wire import Message

ATTEMPTS_MAX: Final = 16
"""Attempts of one group at one stage."""

Stage = Annotated[int, Meta(ge=1, lt=STAGES_MAX)]
Attempt = Annotated[int, Meta(ge=0, lt=ATTEMPTS_MAX)]
Chunks = Annotated[int, Meta(ge=1, le=SHARE_CHUNKS_MAX)]
Shares = Annotated[tuple[Annotated[int, Meta(ge=0, le=SHARE_CHUNKS_MAX)], ...], Meta(max_length=GROUP_MAX)]


class Holding(msgspec.Struct, frozen=True, array_like=True):
    """The mean of a block, as all of its peers hold it."""

    fingerprint: Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
    """Names the mean: equal ones are equal bit for bit."""
    samples: Annotated[int, Meta(ge=0, le=SAMPLES_MAX * GROUP_MAX)]
    """Its weight: all samples that are in it, at least in part."""
    loss: Annotated[float, Meta(ge=-1e30, le=1e30)]
    """Mean training loss over these samples."""
    missing: Annotated[tuple[tuple[Index, Chunks], ...], Meta(max_length=GROUP_MAX)] = ()
    """Members of the block, by their places in the plan, whose contributions lack so many chunks."""


class StageMember(msgspec.Struct, frozen=True, array_like=True):
    """A member of a group in one attempt."""

    member: Index
    place: Index
    """Which of the group's blocks it comes from."""
    gives: bool
    """It gives its block's mean, on behalf of all of the block.  False: it brings no weight."""


class Arrived(Message, frozen=True, tag="averaging.stage.arrived"):
    """To my group, and again as a heartbeat: I hold my block's mean and wait for the others."""

    round: RoundId
    stage: Stage
    group: Index
    attempt: Attempt
    holding: Holding


class Underway(Message, frozen=True, tag="averaging.stage.underway"):
    """Answer to Arrived and StandIn: I am busy with something that comes before it; wait for me."""

    round: RoundId
    stage: Stage
    group: Index


class Passed(Message, frozen=True, tag="averaging.stage.passed"):
    """Answer to Arrived and StandIn: I am beyond this stage, and cannot help any more."""

    round: RoundId
    stage: Stage
    group: Index


class Doubted(Message, frozen=True, tag="averaging.stage.doubted"):
    """To the next group of a peer that was in mine and did not come to its end: do not wait long for it."""

    round: RoundId
    member: Index


class StandIn(Message, frozen=True, tag="averaging.stage.stand_in"):
    """To a peer of another group: give your block's mean to this group too, whose own peer of your block is gone."""

    round: RoundId
    stage: Stage
    group: Index
    attempt: Attempt


class StagePlan(Message, frozen=True, tag="averaging.stage.plan"):
    """From the first of a group: this attempt begins."""

    round: RoundId
    stage: Stage
    group: Index
    attempt: Attempt
    entries: Annotated[tuple[StageMember, ...], Meta(min_length=1, max_length=GROUP_MAX)]
    """Those who give, in the order of their blocks, then the others."""
    holdings: Annotated[tuple[Holding, ...], Meta(min_length=1, max_length=GROUP_MAX)]
    """What those who give hold, in the same order."""
    chunks: Shares
    """How many chunks each entry's member reduces."""


GRID_MESSAGES: Final = (Arrived, Underway, Passed, Doubted, StandIn, StagePlan)
GridMessage = Arrived | Underway | Passed | Doubted | StandIn | StagePlan


def first_round(round_: bytes, group: int) -> bytes:
    """Id of the butterfly with which a group of the first stage averages."""
    return hashed_key(b"first stage", round_, group.to_bytes(2, "big"))


def stage_round(plan: StagePlan) -> bytes:
    """Id of the butterfly that follows from `plan`: another plan for the same attempt is another round."""
    return hashed_key(b"stage", msgspec.msgpack.encode(plan))
