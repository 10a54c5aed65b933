"""Who leads an attempt to form a group, and what the attempt is called."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from core.averaging.codecs import FEEDBACK
from core.averaging.grid.placement import grid_of
from core.averaging.matchmaking.division import divide_groups, work_of
from core.averaging.messages import GROUP_MAX
from core.averaging.plan import GRID, LIMITS_MAX, Member, PairLimit, Plan, Rates, chunk_count
from core.base.ids import Key, PeerId, distance, hashed_key, node_key
from core.base.manifest import AveragingNumbers


def attempt_key(run_id: bytes, lineage: bytes, epoch: int, attempt: int) -> Key:
    """The point of the key space that decides who leads this attempt."""
    return hashed_key(b"round", run_id, lineage, epoch.to_bytes(8, "big"), attempt.to_bytes(4, "big"))


def by_distance(peers: Iterable[PeerId], key: Key) -> list[PeerId]:
    """`peers` in the order in which they lead: the one nearest to `key` first."""
    return sorted(peers, key=lambda peer: (distance(node_key(peer), key), peer))


def round_id(key: Key, leader: PeerId, nonce: int) -> bytes:
    """Name of the round that `leader` makes of the attempt at `key`: 32 bytes.  No two rounds share a nonce."""
    return hashed_key(b"round by", key, leader, nonce.to_bytes(8, "big"))


def call_rank(attempt: int, key: Key, leader: PeerId) -> tuple[int, int]:
    """Two calls for the same state: the smaller rank wins.  The earlier attempt, then the nearer leader."""
    return attempt, distance(node_key(leader), key)


def make_plan(  # noqa: PLR0913 - a plan is what it is
    members: Iterable[Member],
    numbers: AveragingNumbers,
    *,
    round_: bytes,
    key: Key,
    leader: PeerId,
    state: tuple[int, bytes, int],
    numel: int,
    topology: str,
    lines: Mapping[PeerId, Rates] = MappingProxyType({}),
    shown: Mapping[PeerId, Rates] = MappingProxyType({}),
    limits: Mapping[tuple[PeerId, PeerId], int] = MappingProxyType({}),
    paced: bool = False,
    stages: int = 1,
    target_samples: int = 0,
    last: Collection[PeerId] = (),
) -> Plan:
    """The plan that `leader` publishes for at most GROUP_MAX `members`, itself among them.

    Args:
        members: Who is ready.
        numbers: The manifest's.
        round_: Its name.
        key: Of the attempt (`attempt_key`).
        leader: Who publishes the plan; first in the order of leaders.
        state: Epoch, lineage and attempt.
        numel: Numbers in the vector.
        topology: Name of the topology, where all average in one group.
        lines: What is known of the members' lines.
        shown: What of that they have shown.
        limits: Bytes a second from one to another where less comes through than their lines would carry.
        paced: Whether parts leave at the pace of the plan's lines; never on a grid.
        stages: Above 1: a grid of those who need the mean.  One group all the same where the codec needs feedback.
        target_samples: See `work_of`; on a grid everybody gives all.
        last: Who is to succeed the leader only after all others.
    """
    epoch, lineage, attempt = state
    ordered = tuple(sorted(members, key=lambda member: member.peer))
    needing = tuple(member for member in ordered if member.receives)
    if numbers.codec in FEEDBACK or len(needing) < 1 << stages or leader not in {member.peer for member in needing}:
        stages = 1
    ordered = ordered if stages == 1 else needing
    assert len(ordered) <= GROUP_MAX
    places = {PeerId(member.peer): index for index, member in enumerate(ordered)}
    successors = sorted(by_distance((peer for peer in places if peer != leader), key), key=set(last).__contains__)
    rates = tuple(lines.get(PeerId(member.peer), Rates()) for member in ordered) if lines else ()
    slow = tuple(
        PairLimit(places[a], places[b], rate)
        for (a, b), rate in sorted(limits.items())
        if a in places and b in places and rate > 0
    )[:LIMITS_MAX]
    chunks, gifts = divide_groups(
        [group.members for group in grid_of(round_, tuple(places), stages).stages[0]],
        ordered,
        rates,
        limits=slow,
        shown=tuple(shown.get(PeerId(member.peer), Rates()) for member in ordered) if shown else (),
        chunks=chunk_count(numel, numbers.chunk_numel),
        work=work_of(numel, numbers.codec, target_samples=target_samples if stages == 1 else 0),
    )
    return Plan(
        round=round_,
        epoch=epoch,
        lineage=lineage,
        attempt=attempt,
        numel=numel,
        chunk_numel=numbers.chunk_numel,
        codec=numbers.codec,
        topology=topology if stages == 1 else GRID,
        stall_timeout_s=numbers.stall_timeout_s,
        round_timeout_s=numbers.round_timeout_s,
        members=ordered,
        chunks=chunks,
        leaders=tuple(places[peer] for peer in [leader, *successors]),
        lines=rates,
        limits=slow,
        gifts=gifts,
        paced=paced and bool(rates) and stages == 1,
        stages=stages,
    )
