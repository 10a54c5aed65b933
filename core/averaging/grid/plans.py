"""The plans of the butterflies that a grid is made of.  Everybody makes the same ones of the same words."""

import math
from collections.abc import Sequence

import msgspec

from core.averaging.grid.messages import Holding, StagePlan, first_round, stage_round
from core.averaging.grid.placement import Group, layout_of
from core.averaging.matchmaking.division import divide, work_of
from core.averaging.outcome import Outcome
from core.averaging.penalties.observed import Observations
from core.averaging.plan import PairLimit, Plan
from core.base.ids import PeerId, hashed_key
from core.base.problems import RemoteProblem


def butterflies(plan: Plan) -> list[Plan]:
    """The butterflies with which a round begins: itself, or those of its grid's first stage."""
    if plan.stages == 1:
        return [plan]
    return [first_plan(plan, group, number) for number, group in enumerate(layout_of(plan).stages[0])]


def first_plan(plan: Plan, group: Group, number: int) -> Plan:
    """Of the butterfly of a group of the first stage; its shares stand in the round's own plan."""
    members = group.members
    return _narrowed(
        plan,
        members,
        round=first_round(plan.round, number),
        members=tuple(plan.members[member] for member in members),
        chunks=tuple(plan.chunks[member] for member in members),
        leaders=tuple(members.index(member) for member in plan.leaders if member in members),
        gifts=tuple(plan.gifts[member] for member in members) if plan.gifts else (),
    )


def later_plan(plan: Plan, word: StagePlan, group: Group) -> Plan:
    """Of the butterfly that somebody of a group has called for.

    Who gives has its block's samples as weight; who stands in for another reduces nothing.
    """
    weights = [*word.holdings, *(None for _ in word.entries[len(word.holdings) :])]
    members = []
    for entry, holding in zip(word.entries, weights, strict=True):
        member = plan.members[entry.member]
        samples, loss = (0, 0.0) if holding is None else (holding.samples, holding.loss)
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
    givers, spares = word.entries[: len(word.holdings)], word.entries[len(word.holdings) :]
    members = [entry.member for entry in word.entries]
    places = [entry.place for entry in givers]
    if len(givers) != len(word.holdings) or not all(e.gives for e in givers) or any(e.gives for e in spares):
        raise RemoteProblem("a stage's plan whose givers do not come first")
    if len(set(members)) != len(members) or places != sorted(set(places)) or max(places) >= len(group.places):
        raise RemoteProblem("a stage's plan with somebody or some block twice, or a block too many")
    if any(entry.member not in group.blocks[entry.place] for entry in givers):
        raise RemoteProblem("a stage's plan in which somebody gives for another block")
    if any(entry.place >= len(group.places) or entry.member not in group.places[entry.place] for entry in spares):
        raise RemoteProblem("a stage's plan with a stranger")
    if len(word.chunks) != len(members) or sum(word.chunks) != plan.chunk_total:
        raise RemoteProblem("a stage's plan whose shares do not make up the vector")
    for entry, holding in zip(givers, word.holdings, strict=True):
        check_holding(plan, holding, group.blocks[entry.place])


def check_holding(plan: Plan, holding: Holding, block: Sequence[int]) -> None:
    """Refuse a mean that a block cannot have.

    Raises:
        RemoteProblem: says what is wrong.
    """
    most = sum(plan.members[member].samples for member in block)
    lacking = dict(holding.missing)
    if holding.samples > most or not math.isfinite(holding.loss):
        raise RemoteProblem("a block with more samples than its peers brought")
    if len(lacking) < len(holding.missing) or not lacking.keys() <= set(block):
        raise RemoteProblem("a block that lacks the same peer twice, or another's")
    if any(chunks > plan.chunk_total for chunks in lacking.values()):
        raise RemoteProblem("a block that lacks more chunks than there are")


def joined(plan: Plan, word: StagePlan, group: Group) -> Holding:
    """What everybody holds once all of the blocks in `word` are averaged.

    It does not depend on who gave, nor on who reduced: groups that join the same means get the same fingerprint, and,
    since sums are made in the order of the blocks, the same bits.
    """
    samples = sum(holding.samples for holding in word.holdings)
    parts = [held.fingerprint + held.samples.to_bytes(8, "big") for held in word.holdings if held.samples]
    here = {entry.place for entry in word.entries if entry.gives}
    absent = [member for place, block in enumerate(group.blocks) if place not in here for member in block]
    lacking = [(member, plan.chunk_total) for member in absent if plan.members[member].samples]
    return Holding(
        fingerprint=hashed_key(b"joined", plan.round, word.stage.to_bytes(1, "big"), *parts),
        samples=samples,
        loss=sum(held.loss * held.samples for held in word.holdings) / samples if samples else 0.0,
        missing=tuple(sorted([*lacking, *(item for holding in word.holdings for item in holding.missing)])),
    )


def outcome_of(
    plan: Plan,
    holding: Holding,
    *,
    left_out: tuple[tuple[int, int], ...],
    seconds: float,
    payload_bytes: int,
    seen: Observations,
) -> Outcome:
    """What a round on a grid came to, for those who hold this mean of all."""
    lacking = dict(holding.missing)
    counts = [plan.chunk_total - lacking.get(i, 0) if m.samples else 0 for i, m in enumerate(plan.members)]
    return Outcome(
        round=plan.round,
        versions=(),
        makers=(),
        contributors=tuple(
            (PeerId(member.peer), member.samples) for index, member in enumerate(plan.members) if counts[index]
        ),
        present=tuple(count for count in counts if count),
        missing=tuple(
            (PeerId(member.peer), lacking[index])
            for index, member in enumerate(plan.members)
            if member.samples and index in lacking
        ),
        chunk_total=plan.chunk_total,
        samples=holding.samples,
        loss=holding.loss,
        left_out=left_out,
        seconds=seconds,
        payload_bytes=payload_bytes,
        content=holding.fingerprint,
        seen=seen,
    )


def _narrowed(plan: Plan, among: Sequence[int], **changes: object) -> Plan:
    return msgspec.structs.replace(
        plan,
        topology="butterfly",
        stages=1,
        lines=tuple(plan.lines[member] for member in among) if plan.lines else (),
        limits=_limits(plan, among),
        **changes,
    )


def _limits(plan: Plan, members: Sequence[int]) -> tuple[PairLimit, ...]:
    index = {member: number for number, member in enumerate(members)}
    kept = [limit for limit in plan.limits if limit.sender in index and limit.receiver in index]
    return tuple(PairLimit(index[limit.sender], index[limit.receiver], limit.rate) for limit in kept)
