"""The plan of a round: its members, the chunks that each of them reduces, their size, and the time there is."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.averaging.messages import GROUP_MAX, SHARE_CHUNKS_MAX, Index, Lineage, Peer, RoundId
from core.base.bounds import Epoch, Loss, Norm, Samples, SamplesPerS
from core.base.ids import PeerId
from core.base.wire import Message

WHOLE_PORTION: Final = 256
"""A member that gives its whole contribution gives so many 256ths of its chunks."""
PACED_CHUNK_MIN: Final = 2048
"""Numbers in the smallest chunk that is cut for paced links: in raw its message's own bytes are then 1 of 100."""
STAGES_MAX: Final = 4
"""Iterations of one round at most: four of groups of four are enough for 256 peers."""
Count = Annotated[int, Meta(ge=0, lt=SHARE_CHUNKS_MAX)]
Portion = Annotated[int, Meta(ge=0, le=WHOLE_PORTION)]
Rate = Annotated[int, Meta(ge=0, lt=1 << 50)]
"""Whole bytes a second."""
LIMITS_MAX: Final = 1024
FAST_BYTES_S: Final = 25e6
"""Where the middle member sends faster than this, links are not paced: there the computers are the limit, and a pace
would hold each round to the speed of the last one.  Four peers on two cores carry 40 to 90 MB/s each at loopback."""
Seconds = Annotated[float, Meta(gt=0, le=3600)]


class Member(msgspec.Struct, frozen=True, array_like=True):
    """A peer of the group and what it brings."""

    peer: Peer
    samples: Samples
    """Its samples, as it offers itself; in a plan those that the leader believes.  With 0 it reduces and gets the mean
    all the same."""
    loss: Loss
    """Mean training loss over these samples."""
    reduces: bool = True
    """False: others reach it through relays only, so it asks for no share (client mode)."""
    receives: bool = True
    """False: a helper without a model, which needs no mean."""
    samples_per_s: SamplesPerS = 0.0
    """What it computes, as it says itself; 0: unknown."""
    spared: bool = False
    """It would reduce, and is given no share: the leader has seen rounds wait for it in vain."""
    norm: Norm = 0.0
    """The Euclidean norm of its contribution, of which the members' median is a measure for small chunks; what one of
    them says means nothing.  0: unknown."""
    heldout_epoch: Epoch = 0
    """Epoch in which it last evaluated the held-out text."""
    heldout_loss: Loss | None = None
    """Mean loss on it; None: it has not looked."""

    def seen(self, epoch: int, loss: float | None) -> "Member":
        """The same row with its member's newest look at the held-out text."""
        return msgspec.structs.replace(self, heldout_epoch=epoch, heldout_loss=loss)

    @property
    def is_sound(self) -> bool:
        """Whether its losses, speed and norm are numbers, and it has samples only if it needs the mean.

        A helper with samples would be believed whatever it claims, and tell no sums of what it gives.
        """
        numbers = (self.loss, self.samples_per_s, self.norm, self.heldout_loss or 0.0)
        return all(math.isfinite(number) for number in numbers) and (self.receives or not self.samples)


class Rates(msgspec.Struct, frozen=True, array_like=True):
    """A member's line as the plan counts on it; 0: unknown."""

    up: Rate = 0
    down: Rate = 0


def is_paced(lines: Sequence[Rates]) -> bool:
    """Whether the links of a round send at its plan's rates: lines are known, and they are what limits it."""
    return bool(lines) and median(line.up for line in lines) < FAST_BYTES_S


class PairLimit(msgspec.Struct, frozen=True, array_like=True):
    """From one member to another less comes through than the lines of both would carry."""

    sender: Index
    receiver: Index
    rate: Annotated[int, Meta(ge=1, lt=1 << 50)]


class Plan(Message, frozen=True, kw_only=True, tag="averaging.plan"):
    """What all members of a round go by; published by the leader that has called them."""

    round: RoundId
    epoch: Epoch
    lineage: Lineage
    numel: Annotated[int, Meta(gt=0, lt=1 << 40)]
    """Numbers in the vector."""
    chunk_numel: Annotated[int, Meta(ge=1, le=262_144)]
    codec: Annotated[str, Meta(max_length=80)]
    stall_timeout_s: Seconds
    round_timeout_s: Seconds
    members: Annotated[tuple[Member, ...], Meta(min_length=1, max_length=GROUP_MAX)]
    """In ascending order of their keys."""
    chunks: Annotated[tuple[Count, ...], Meta(min_length=1, max_length=GROUP_MAX)]
    """How many chunks each member reduces: member 0 the first ones, and so on."""
    leaders: Annotated[tuple[Index, ...], Meta(min_length=1, max_length=GROUP_MAX)]
    """All members in the order in which they lead, should those before them fail."""
    lines: Annotated[tuple[Rates, ...], Meta(max_length=GROUP_MAX)] = ()
    """Each member's line, from which the shares follow; empty: all are unknown."""
    limits: Annotated[tuple[PairLimit, ...], Meta(max_length=LIMITS_MAX)] = ()
    """Slow pairs, in ascending order."""
    portions: Annotated[tuple[Portion, ...], Meta(max_length=GROUP_MAX)] = ()
    """How many 256ths of its chunks each member gives (`balance.portions`); empty: all give everything."""
    stages: Annotated[int, Meta(ge=1, le=STAGES_MAX)] = 1
    """In how many stages it averages.  With one, all members are one butterfly; with more they are a grid, and `chunks`
    and `portions` are those of the first stage's groups."""

    weight_share: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """Upper bound on a member's share of all weights."""

    @property
    def weights(self) -> list[int]:
        """Each member's weight in the mean, in samples."""
        return leveled([member.samples for member in self.members], self.weight_share)

    @property
    def chunk_total(self) -> int:
        """Number of chunks in the vector."""
        return chunk_count(self.numel, self.chunk_numel)

    @property
    def peers(self) -> tuple[PeerId, ...]:
        """The members' keys, in the order of the plan."""
        return tuple(PeerId(member.peer) for member in self.members)

    @property
    def leader(self) -> PeerId:
        """The peer that has published the plan, once it was checked (`check_plan`)."""
        return self.peers[self.leaders[0]]

    def portion(self, member: int) -> int:
        """How many 256ths of its chunks the member with this index gives."""
        return self.portions[member] if self.portions else WHOLE_PORTION

    def span(self, chunk: int) -> slice:
        """Where chunk number `chunk` of the whole vector lies."""
        return slice(chunk * self.chunk_numel, min((chunk + 1) * self.chunk_numel, self.numel))

    def first_chunk(self, share: int) -> int:
        """Number, in the whole vector, of the share's first chunk."""
        return sum(self.chunks[:share])


def chunk_sizes(chunk_numel: int) -> list[int]:
    """How many numbers a chunk of a plan may have where the manifest says `chunk_numel`, the most first."""
    sizes = [chunk_numel]
    while sizes[-1] % 2 == 0 and sizes[-1] > PACED_CHUNK_MIN:
        sizes.append(sizes[-1] // 2)
    return sizes


def chunk_count(numel: int, chunk_numel: int) -> int:
    """Number of chunks that a vector is cut into.

    Args:
        numel: Numbers in the vector.
        chunk_numel: Numbers in each chunk; the last one may be shorter.
    """
    return -(-numel // chunk_numel)


def leveled(samples: Sequence[int], share: float) -> list[int]:
    """The members' weights in the mean, in samples: no member has more than a share of them.

    Args:
        samples: What each is believed; one with any counts for one at least.
        share: Upper bound on a member's share.  Of few members one may have twice an equal share.
    """
    most, rest, level = max(share, 2 / max(1, sum(map(bool, samples)))), sum(samples), math.inf
    for above, weight in enumerate(sorted(samples, reverse=True)):  # so many members are at the same level
        level = most * rest / (1 - above * most)
        if weight <= level:
            break
        rest -= weight
    return [min(weight, max(1, int(min(weight, level)))) for weight in samples]
