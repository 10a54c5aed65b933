"""What members of a grid say to come together for a later stage, and the plans of the butterflies that follow.

The messages (`GRID_MESSAGES`) carry the id of the whole round.  Each butterfly within it has an id of its own, which
follows from the group or from its `StagePlan`.  All members make the same plans of the same messages.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.averaging.allreduce.share_map import ShareMap
from core.averaging.grid.layout import Group, layout_of
from core.averaging.matchmaking.division import divide
from core.averaging.messages import GROUP_MAX, SHARE_CHUNKS_MAX, Attempt, Index, RoundId
from core.averaging.outcome import Outcome, outcome_of
from core.averaging.penalties import Kind
from core.averaging.plan import STAGES_MAX, Count, PairLimit, Plan
from core.base.ids import KEY_BYTES, hashed_key
from core.base.problems import RemoteProblem
from core.base.wire import Message

Chunks = Annotated[int, Meta(ge=1, le=SHARE_CHUNKS_MAX)]


class Holding(msgspec.Struct, frozen=True, array_like=True):
    """The mean of a block, as all of its members hold it; its weight is that of the samples in it."""

    fingerprint: Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
    """Names the mean: equal ones are equal bit for bit."""
    missing: Annotated[tuple[tuple[Index, Chunks], ...], Meta(max_length=GROUP_MAX)] = ()
    """Members of the block, by their places in the plan, and the number of chunks that their contributions lack."""

    def samples(self, plan: Plan, block: Iterable[int]) -> int:
        """The samples of those members of the block that are in the mean, at least in part."""
        absent = {member for member, chunks in self.missing if chunks == plan.chunk_total}
        return sum(weight for member, weight in enumerate(plan.weights) if member in block and member not in absent)


class StageMessage(Message, frozen=True):
    """Names the attempt of a group at a stage, of which a member speaks."""

    round: RoundId
    stage: Annotated[int, Meta(ge=1, lt=STAGES_MAX)]
    group: Index
    attempt: Attempt


class Arrived(StageMessage, frozen=True, tag="averaging.stage.arrived"):
    """The sender waits for its group, or stands in there; to a member of another group: stand in here."""

    holding: Holding | None = None
    """What it holds; None: it does not come yet, and is worth waiting for."""


class StagePlan(StageMessage, frozen=True, tag="averaging.stage.plan"):
    """From the coordinator of an attempt: the attempt begins."""

    givers: Annotated[tuple[tuple[Index, Holding], ...], Meta(min_length=1, max_length=GROUP_MAX)]
    """For each block that is joined, in order, the member that gives its mean."""
    others: Annotated[tuple[Index, ...], Meta(max_length=GROUP_MAX)]
    """The rest of the group, which brings no weight."""
    chunks: Annotated[tuple[Count, ...], Meta(max_length=GROUP_MAX)]
    """Number of chunks that each of all these members reduces."""

    @property
    def members(self) -> tuple[int, ...]:
        """Members that take part, by their places in the round's plan."""
        return (*(member for member, _ in self.givers), *self.others)


GRID_MESSAGES: Final = (Arrived, StagePlan)
GridMessage = Arrived | StagePlan


def butterflies(plan: Plan) -> list[Plan]:
    """The butterflies with which a round begins: itself, or those of its grid's first stage."""
    return [plan] if plan.stages == 1 else [first_plan(plan, group) for group in layout_of(plan)[0]]


def first_plan(plan: Plan, group: Group) -> Plan:
    """The plan of a group of the first stage; its shares stand in the round's own plan."""
    members, weights = group.members, plan.weights
    return _narrowed(
        plan,
        members,
        round=hashed_key(b"first stage", plan.round, group.number.to_bytes(2, "big")),
        members=tuple(msgspec.structs.replace(plan.members[member], samples=weights[member]) for member in members),
        chunks=tuple(plan.chunks[member] for member in members),
        leaders=tuple(members.index(member) for member in plan.leaders if member in members),
        portions=tuple(plan.portions[member] for member in members) if plan.portions else (),
    )


def later_plan(plan: Plan, word: StagePlan, group: Group) -> Plan:
    """The plan of an attempt at a later stage: a giver weighs what its block does, and a stand-in reduces nothing."""
    weights = {member: holding.samples(plan, group.block_of(member)) for member, holding in word.givers}
    rows = [
        msgspec.structs.replace(
            plan.members[member],
            samples=weights.get(member, 0),
            reduces=plan.members[member].reduces and member in group.members,
        )
        for member in word.members
    ]
    return _narrowed(
        plan,
        word.members,
        round=hashed_key(b"stage", msgspec.msgpack.encode(word)),
        members=tuple(rows),
        chunks=word.chunks,
        leaders=tuple(range(len(rows))),
        portions=(),
    )


def divided(plan: Plan, word: StagePlan, group: Group) -> StagePlan:
    """The same with shares that balance the members' lines."""
    later = later_plan(plan, word, group)
    chunks, _ = divide(later)
    return msgspec.structs.replace(word, chunks=tuple(chunks))


def check_stage_plan(plan: Plan, word: StagePlan, group: Group) -> None:
    """Refuse a stage's plan that contradicts itself, the grid, or what a block can hold.

    Raises:
        RemoteProblem: says what is wrong.
    """
    for member, holding in word.givers:
        check_holding(plan, holding, group.block_of(member))
    given = [group.block_of(member) for member, _ in word.givers]
    if not given or given != [block for block in group.blocks if block in given]:
        raise RemoteProblem("a stage's plan with a block twice, or without any")
    if len(set(word.members)) != len(word.members) or not {*word.others} <= {*group.members}:
        raise RemoteProblem("a stage's plan with a member twice, or one of another group")
    if len(word.chunks) != len(word.members) or sum(word.chunks) != plan.chunk_total:
        raise RemoteProblem("a stage's plan whose shares do not make up the vector")


def check_holding(plan: Plan, holding: Holding, block: Sequence[int]) -> None:
    """Refuse a mean that a block cannot have; an empty one is not joined by the group.

    Raises:
        RemoteProblem: says what is wrong.
    """
    lacking = dict(holding.missing)
    if not block or len(lacking) < len(holding.missing) or not lacking.keys() <= {*block}:
        raise RemoteProblem("a mean that lacks the same member twice, or one of another block")
    if max(lacking.values(), default=0) > plan.chunk_total:
        raise RemoteProblem("a mean that lacks more chunks than there are")


def joined(plan: Plan, word: StagePlan, group: Group) -> Holding:
    """What all members hold once the blocks in `word` are averaged.

    It depends neither on the givers nor on the reducers: groups that join the same means get the same fingerprint, and,
    since sums are made in the order of the blocks, the same bits.
    """
    given = {group.block_of(member): holding for member, holding in word.givers}
    names = [msgspec.msgpack.encode(holding) for block, holding in given.items() if holding.samples(plan, block)]
    absent = [member for block in group.blocks if block not in given for member in block]
    lacking = [(member, plan.chunk_total) for member in absent if plan.members[member].samples]
    return Holding(
        fingerprint=hashed_key(b"joined", plan.round, word.stage.to_bytes(1, "big"), *names),
        missing=tuple(sorted([*lacking, *(item for holding in given.values() for item in holding.missing)])),
    )


def round_outcome(plan: Plan, holding: Holding, stages: Sequence[Outcome] = ()) -> Outcome:
    """The outcome of a round on a grid for a member that holds this mean of all.

    Args:
        plan: Plan of the round.
        holding: The mean: what follows from it is the same on all members.
        stages: The outcomes of the butterflies that this member took part in.
    """
    shares, lacking = ShareMap(plan), dict(holding.missing)
    present = [max(0, planned - lacking.get(member, 0)) for member, planned in enumerate(shares.planned)]
    return replace(
        outcome_of(shares, present=present, versions=(), bits=holding.fingerprint),
        waited={peer: sum(outcome.waited.get(peer, 0.0) for outcome in stages) for peer in plan.peers},
        seen={kind: frozenset().union(*(outcome.seen.get(kind, ()) for outcome in stages)) for kind in Kind},
    )


def _narrowed(plan: Plan, among: Sequence[int], **changes: object) -> Plan:
    """The plan of a butterfly of some members, with their lines and the limits between them."""
    index = {member: number for number, member in enumerate(among)}
    kept = [limit for limit in plan.limits if limit.sender in index and limit.receiver in index]
    return msgspec.structs.replace(
        plan,
        stages=1,
        weight_share=1.0,
        lines=tuple(plan.lines[member] for member in among) if plan.lines else (),
        limits=tuple(PairLimit(index[limit.sender], index[limit.receiver], limit.rate) for limit in kept),
        **changes,
    )
