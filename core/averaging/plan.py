"""The plan of a round: who takes part, who reduces which chunks, in what size and within what time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.averaging.messages import (
    GROUP_MAX,
    SHARE_CHUNKS_MAX,
    Attempt,
    Call,
    Cancelled,
    Declined,
    Epoch,
    Index,
    Lineage,
    Peer,
    Ready,
    RoundId,
    Samples,
    Wanted,
)
from core.base.ids import PeerId
from core.base.problems import RemoteProblem
from core.base.wire import Message

Count = Annotated[int, Meta(ge=0, lt=SHARE_CHUNKS_MAX)]
Name = Annotated[str, Meta(max_length=80)]
Seconds = Annotated[float, Meta(gt=0, le=3600)]


class Member(msgspec.Struct, frozen=True, array_like=True):
    """A peer of the group and what it brings."""

    peer: Peer
    samples: Samples
    """Its weight; with 0 it reduces and gets the mean all the same."""
    loss: Annotated[float, Meta(ge=-1e30, le=1e30)]
    reduces: bool = True
    """False: it has asked for no share."""


class Plan(Message, frozen=True, kw_only=True, tag="averaging.plan"):
    """What all members of a round go by; published by the leader that gathered them."""

    round: RoundId
    epoch: Epoch
    lineage: Lineage
    attempt: Attempt
    numel: Annotated[int, Meta(gt=0, lt=1 << 40)]
    """Numbers in the vector."""
    chunk_numel: Annotated[int, Meta(ge=1, le=262_144)]
    codec: Name
    topology: Name
    stall_timeout_s: Seconds
    round_timeout_s: Seconds
    members: Annotated[tuple[Member, ...], Meta(min_length=1, max_length=GROUP_MAX)]
    """In ascending order of their keys."""
    chunks: Annotated[tuple[Count, ...], Meta(min_length=1, max_length=GROUP_MAX)]
    """How many chunks each member reduces: member 0 the first ones, and so on."""
    leaders: Annotated[tuple[Index, ...], Meta(min_length=1, max_length=GROUP_MAX)]
    """All members in the order in which they lead, should those before them fail."""

    @property
    def chunk_total(self) -> int:
        """Chunks in the vector."""
        return chunk_count(self.numel, self.chunk_numel)

    @property
    def peers(self) -> tuple[PeerId, ...]:
        """The members' keys, in order."""
        return tuple(PeerId(member.peer) for member in self.members)

    def span(self, chunk: int) -> slice:
        """Where chunk number `chunk` of the whole vector lies."""
        return slice(chunk * self.chunk_numel, min((chunk + 1) * self.chunk_numel, self.numel))

    def first_chunk(self, share: int) -> int:
        """Number, in the whole vector, of the share's first chunk."""
        return sum(self.chunks[:share])


GROUP_MESSAGES: Final = (Wanted, Call, Ready, Declined, Cancelled, Plan)
GroupMessage = Wanted | Call | Ready | Declined | Cancelled | Plan


@dataclass(frozen=True, slots=True)
class Terms:
    """What a member insists on: its own part of any plan that it follows."""

    round: bytes
    epoch: int
    lineage: bytes
    me: PeerId
    samples: int
    numel: int
    chunk_numel: int
    codec: str
    topology: str
    stall_timeout_s: float
    round_timeout_s: float


def chunk_count(numel: int, chunk_numel: int) -> int:
    """Chunks that a vector of `numel` numbers is cut into; the last may be shorter."""
    return -(-numel // chunk_numel)


def apportion(total: int, weights: Sequence[int]) -> tuple[int, ...]:
    """Divide `total` things by whole weights (Hagenbach-Bischoff: quota w * (total + 1) / W, then highest averages).

    The same on every machine: whole numbers only, ties go to the lower index.

    Raises:
        ValueError: a negative weight, or none above 0.
    """
    whole = sum(weights)
    if whole <= 0 or min(weights) < 0:
        raise ValueError("weights must not be negative, and one must be above 0")
    seats = [max(0, -(-weight * (total + 1) // whole) - 1) for weight in weights]
    while sum(seats) < total:
        best = 0
        for index in range(1, len(weights)):
            if weights[index] * (seats[best] + 1) > weights[best] * (seats[index] + 1):
                best = index
        seats[best] += 1
    return tuple(seats)


def check_plan(plan: Plan, terms: Terms) -> None:
    """Refuse a plan that contradicts itself or our terms.

    Raises:
        RemoteProblem: says what is wrong.
    """
    ours = (
        terms.round,
        terms.epoch,
        terms.lineage,
        terms.numel,
        terms.chunk_numel,
        terms.codec,
        terms.topology,
        terms.stall_timeout_s,
        terms.round_timeout_s,
    )
    theirs = (
        plan.round,
        plan.epoch,
        plan.lineage,
        plan.numel,
        plan.chunk_numel,
        plan.codec,
        plan.topology,
        plan.stall_timeout_s,
        plan.round_timeout_s,
    )
    if ours != theirs:
        raise RemoteProblem("the plan is for another round, vector or manifest")
    if [m.samples for m in plan.members if m.peer == terms.me] != [terms.samples]:
        raise RemoteProblem("the plan does not have me with my samples")
    peers = plan.peers
    if list(peers) != sorted(set(peers)):
        raise RemoteProblem("the plan's members are not in order, or not distinct")
    if len(plan.chunks) != len(peers) or sum(plan.chunks) != plan.chunk_total:
        raise RemoteProblem("the plan's shares do not make up the vector")
    if sorted(plan.leaders) != list(range(len(peers))):
        raise RemoteProblem("the plan's leaders are not its members")
    if not all(math.isfinite(member.loss) for member in plan.members):
        raise RemoteProblem("a loss in the plan is not a number")
