"""What members of a grid say to come together for a later stage (`GRID_MESSAGES`); the rest is a butterfly's.

They carry the id of the whole round.  Each butterfly within it has an id of its own (`first_round`, `stage_round`).
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.averaging.messages import GROUP_MAX, SAMPLES_MAX, SHARE_CHUNKS_MAX, Index, RoundId
from core.averaging.plan import STAGES_MAX
from core.base.ids import KEY_BYTES, hashed_key
from core.base.wire import Message

ATTEMPTS_MAX: Final = 1024
"""Upper bound on the attempts of one group at one stage: four turns of the largest group, so time ends them first."""

Chunks = Annotated[int, Meta(ge=1, le=SHARE_CHUNKS_MAX)]


class Holding(msgspec.Struct, frozen=True, array_like=True):
    """The mean of a block, as all of its members hold it."""

    fingerprint: Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
    """Names the mean: equal ones are equal bit for bit."""
    samples: Annotated[int, Meta(ge=0, le=SAMPLES_MAX * GROUP_MAX)]
    """Its weight: all samples that are in it, at least in part."""
    loss: Annotated[float, Meta(ge=-1e30, le=1e30)]
    """Mean training loss over these samples."""
    missing: Annotated[tuple[tuple[Index, Chunks], ...], Meta(max_length=GROUP_MAX)] = ()
    """Members of the block, by their places in the plan, and the number of chunks that their contributions lack."""


class StageMember(msgspec.Struct, frozen=True, array_like=True):
    """A member of a group in one attempt."""

    member: Index
    place: Index
    """Which of the group's blocks it comes from."""
    holding: Holding | None = None
    """What it gives on behalf of its block; None: another gives for the block, so it brings no weight."""


class StageMessage(Message, frozen=True):
    """Names the attempt of a group at a stage, of which a member speaks."""

    round: RoundId
    stage: Annotated[int, Meta(ge=1, lt=STAGES_MAX)]
    group: Index
    attempt: Annotated[int, Meta(ge=0, lt=ATTEMPTS_MAX)]


class Arrived(StageMessage, frozen=True, tag="averaging.stage.arrived"):
    """A member holds its block's mean and waits for its group, or stands in; repeated as a heartbeat."""

    holding: Holding


class StageBusy(StageMessage, frozen=True, tag="averaging.stage.busy"):
    """Answer to Arrived and StandIn: the member does not come now."""

    passed: bool
    """It is beyond this stage, and comes no more.  False: something goes before; it is worth waiting."""


class StandIn(StageMessage, frozen=True, tag="averaging.stage.stand_in"):
    """To a member of another group: give your block's mean here too, since this group has lost its member of it."""


class StagePlan(StageMessage, frozen=True, tag="averaging.stage.plan"):
    """From the coordinator of an attempt: the attempt begins."""

    entries: Annotated[tuple[StageMember, ...], Meta(min_length=1, max_length=GROUP_MAX)]
    """Members that give, in the order of their blocks, then the others."""
    chunks: Annotated[tuple[Annotated[int, Meta(ge=0, le=SHARE_CHUNKS_MAX)], ...], Meta(max_length=GROUP_MAX)]
    """Number of chunks that the member of each entry reduces."""


GRID_MESSAGES: Final = (Arrived, StageBusy, StandIn, StagePlan)
GridMessage = Arrived | StageBusy | StandIn | StagePlan


def first_round(round_: bytes, group: int) -> bytes:
    """Id of the butterfly with which a group of the first stage averages."""
    return hashed_key(b"first stage", round_, group.to_bytes(2, "big"))


def stage_round(plan: StagePlan) -> bytes:
    """Id of the butterfly that follows from `plan`: another plan for the same attempt is another round."""
    return hashed_key(b"stage", msgspec.msgpack.encode(plan))
