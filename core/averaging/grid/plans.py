"""What members of a grid say to come together for a later stage, and the plans of the butterflies that follow.

The messages (`GRID_MESSAGES`) carry the id of the whole round.  Each butterfly within it has an id of its own
(`first_round`, `stage_round`).  All members make the same plans of the same messages.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.averaging.grid.layout import Group, layout_of
from core.averaging.matchmaking.division import divide, work_of
from core.averaging.messages import GROUP_MAX, SAMPLES_MAX, SHARE_CHUNKS_MAX, Index, RoundId
from core.averaging.outcome import Outcome
from core.averaging.plan import STAGES_MAX, PairLimit, Plan
from core.base.ids import KEY_BYTES, hashed_key
from core.base.problems import RemoteProblem
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


def butterflies(plan: Plan) -> list[Plan]:
    """The butterflies with which a round begins: itself, or those of its grid's first stage."""
    return [plan] if plan.stages == 1 else [first_plan(plan, group) for group in layout_of(plan).stages[0]]


def first_plan(plan: Plan, group: Group) -> Plan:
    """The plan of a group of the first stage; its shares stand in the round's own plan."""
    members = group.members
    return _narrowed(
        plan,
        members,
        round=first_round(plan.round, group.number),
        members=tuple(plan.members[member] for member in members),
        chunks=tuple(plan.chunks[member] for member in members),
        leaders=tuple(members.index(member) for member in plan.leaders if member in members),
        gifts=tuple(plan.gifts[member] for member in members) if plan.gifts else (),
    )


def later_plan(plan: Plan, word: StagePlan, group: Group) -> Plan:
    """The plan of an attempt at a later stage: a giver weighs what its block does, and a stand-in reduces nothing."""
    members = []
    for entry in word.entries:
        member = plan.members[entry.member]
        samples, loss = (0, 0.0) if entry.holding is None else (entry.holding.samples, entry.holding.loss)
        reduces = member.reduces and entry.member in group.members
        members.append(msgspec.structs.replace(member, samples=samples, loss=loss, reduces=reduces))
    return _narrowed(
        plan,
        [entry.member for entry in word.entries],
        round=stage_round(word),
        members=tuple(members),
        chunks=word.chunks,
        leaders=tuple(range(len(word.entries))),
        gifts=(),
    )


def divided(plan: Plan, word: StagePlan, group: Group) -> StagePlan:
    """The same with shares that balance the members' lines."""
    later = later_plan(plan, word, group)
    work = work_of(plan.numel, plan.codec)
    chunks, _ = divide(later.members, later.lines, limits=later.limits, chunks=plan.chunk_total, work=work)
    return msgspec.structs.replace(word, chunks=chunks)


def check_stage_plan(plan: Plan, word: StagePlan, group: Group) -> None:
    """Refuse a stage's plan that contradicts itself, the grid, or what a block can hold.

    Raises:
        RemoteProblem: says what is wrong.
    """
    members = [entry.member for entry in word.entries]
    places = [entry.place for entry in word.entries if entry.holding is not None]
    if len(set(members)) != len(members) or not places or places != sorted(set(places)):
        raise RemoteProblem("a stage's plan with a member or a block twice, or without any")
    for index, (member, place, holding) in enumerate((e.member, e.place, e.holding) for e in word.entries):
        gives = index < len(places)
        among = group.blocks if gives else group.places
        if gives != (holding is not None) or place >= len(among) or member not in among[place]:
            raise RemoteProblem("a stage's plan with a stranger, or a member that gives for another block")
        if holding is not None:
            check_holding(plan, holding, group.blocks[place])
    if len(word.chunks) != len(members) or sum(word.chunks) != plan.chunk_total:
        raise RemoteProblem("a stage's plan whose shares do not make up the vector")


def check_holding(plan: Plan, holding: Holding, block: Sequence[int]) -> None:
    """Refuse a mean that a block cannot have.

    Raises:
        RemoteProblem: says what is wrong.
    """
    most = sum(plan.members[member].samples for member in block)
    lacking = dict(holding.missing)
    if holding.samples > most or not math.isfinite(holding.loss):
        raise RemoteProblem("a block with more samples than its members brought")
    if len(lacking) < len(holding.missing) or not lacking.keys() <= set(block):
        raise RemoteProblem("a block that lacks the same member twice, or another's")
    if any(chunks > plan.chunk_total for chunks in lacking.values()):
        raise RemoteProblem("a block that lacks more chunks than there are")


def joined(plan: Plan, word: StagePlan, group: Group) -> Holding:
    """What all members hold once the blocks in `word` are averaged.

    It depends neither on the givers nor on the reducers: groups that join the same means get the same fingerprint, and,
    since sums are made in the order of the blocks, the same bits.
    """
    given = {entry.place: entry.holding for entry in word.entries if entry.holding is not None}
    samples = sum(held.samples for held in given.values())
    parts = [held.fingerprint + held.samples.to_bytes(8, "big") for held in given.values() if held.samples]
    absent = [member for place, block in enumerate(group.blocks) if place not in given for member in block]
    lacking = [(member, plan.chunk_total) for member in absent if plan.members[member].samples]
    return Holding(
        fingerprint=hashed_key(b"joined", plan.round, word.stage.to_bytes(1, "big"), *parts),
        samples=samples,
        loss=sum(held.loss * held.samples for held in given.values()) / samples if samples else 0.0,
        missing=tuple(sorted([*lacking, *(item for held in given.values() for item in held.missing)])),
    )


def outcome_of(plan: Plan, holding: Holding) -> Outcome:
    """The outcome of a round on a grid for members that hold this mean of all, as far as it is the same on them."""
    lacking = dict(holding.missing)
    present = {i: plan.chunk_total - lacking.get(i, 0) for i, member in enumerate(plan.members) if member.samples}
    present = {i: chunks for i, chunks in present.items() if chunks}
    peers, members = plan.peers, plan.members
    return Outcome(
        round=plan.round,
        versions=(),
        makers=(),
        contributors=tuple((peers[i], members[i].samples) for i in present),
        present=tuple(present.values()),
        missing=tuple((peers[i], lacking[i]) for i, m in enumerate(members) if m.samples and i in lacking),
        chunk_total=plan.chunk_total,
        samples=holding.samples,
        loss=holding.loss,
        content=holding.fingerprint,
    )


def _narrowed(plan: Plan, among: Sequence[int], **changes: object) -> Plan:
    """The plan of a butterfly of some members, with their lines and the limits between them."""
    index = {member: number for number, member in enumerate(among)}
    kept = [limit for limit in plan.limits if limit.sender in index and limit.receiver in index]
    return msgspec.structs.replace(
        plan,
        topology="butterfly",
        stages=1,
        lines=tuple(plan.lines[member] for member in among) if plan.lines else (),
        limits=tuple(PairLimit(index[limit.sender], index[limit.receiver], limit.rate) for limit in kept),
        **changes,
    )
