"""Who leads an attempt to form a group, and what the attempt is called."""

from collections.abc import Iterable, Sequence

from core.averaging.messages import GROUP_MAX
from core.averaging.plan import Member, Plan, apportion, chunk_count
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


def equal_shares(members: Sequence[Member], chunks: int) -> tuple[int, ...]:
    """Chunks that each member reduces: the same for all who reduce, but for rounding; if nobody does, for all."""
    weights = [int(member.reduces) for member in members]
    return apportion(chunks, weights if any(weights) else [1] * len(members))


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
        topology: Name of the topology.
    """
    epoch, lineage, attempt = state
    ordered = tuple(sorted(members, key=lambda member: member.peer))
    assert len(ordered) <= GROUP_MAX
    places = {PeerId(member.peer): index for index, member in enumerate(ordered)}
    successors = by_distance((peer for peer in places if peer != leader), key)
    return Plan(
        round=round_,
        epoch=epoch,
        lineage=lineage,
        attempt=attempt,
        numel=numel,
        chunk_numel=numbers.chunk_numel,
        codec=numbers.codec,
        topology=topology,
        stall_timeout_s=numbers.stall_timeout_s,
        round_timeout_s=numbers.round_timeout_s,
        members=ordered,
        chunks=equal_shares(ordered, chunk_count(numel, numbers.chunk_numel)),
        leaders=tuple(places[peer] for peer in [leader, *successors]),
    )
