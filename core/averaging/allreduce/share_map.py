"""Which chunks make up each share, where they lie in the vector, and which members contribute to them."""

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable
from itertools import accumulate
from statistics import median_high
from typing import Final

from core.averaging.messages import Members
from core.averaging.plan import WHOLE_PORTION, Plan
from core.base.ids import PeerId
from core.base.work import Untaken

CARRIED_CHUNKS_MAX: Final = 1 << 20
"""Number of chunks up to which a worker is told which of them were not taken."""
STRIDE: Final = 159
"""Odd, so that 256 chunks in a row meet every number once; near 256 / 1.618, so that few in a row are spread too, and
that members in a row, which are each one chunk later, leave every chunk about equally many givers."""


class ShareMap:
    """The division of a plan's vector, for all members alike.

    Args:
        plan: The round's plan.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.peers = plan.peers
        """The members' keys, in order."""
        self._place = {peer: place for place, peer in enumerate(plan.peers)}
        self.counts = plan.chunks
        """Number of chunks of each share."""
        self.chunk_total = plan.chunk_total
        self.first = tuple(accumulate(plan.chunks, initial=0))[:-1]
        """Number, in the whole vector, of each share's first chunk."""
        members = range(len(plan.members))
        self.everybody: Members = frozenset(members)
        self.receivers: Members = frozenset(m for m in members if plan.members[m].receives)
        """Members that need the mean; the others are helpers."""
        self.samples = tuple(plan.weights)
        """Each member's weight, in samples."""
        self._partial = tuple(m for m in members if self.samples[m] and 0 < plan.portion(m) < WHOLE_PORTION)
        self._always: Members = frozenset(m for m in members if self.samples[m] and plan.portion(m) == WHOLE_PORTION)
        self.givers: Members = self._always | frozenset(self._partial)
        """Members that contribute to any chunk."""
        self.planned = tuple(map(self._planned, members))
        """Number of chunks to which each member is to contribute."""

    def place(self, peer: PeerId) -> int:
        """A member's place in the plan.

        Raises:
            ValueError: the peer is not a member.
        """
        if peer not in self._place:
            raise ValueError("the plan lacks this member")
        return self._place[peer]

    def places(self, peers: Iterable[PeerId]) -> Members:
        """The places of those peers that are members."""
        return frozenset(self._place[peer] for peer in peers if peer in self._place)

    def share_of(self, number: int) -> int:
        """The share to which a chunk of the whole vector belongs."""
        return bisect_right(self.first, number) - 1  # the last of those that begin there: others are empty

    def numbers(self, share: int) -> range:
        """Numbers, in the whole vector, of all chunks of a share."""
        return range(self.first[share], self.first[share] + self.counts[share])

    def gives(self, member: int, number: int) -> bool:
        """Whether a member contributes to chunk `number` of the whole vector."""
        return member in self._always or (member in self._partial and self._in_turn(member, number))

    def givers_of(self, number: int) -> Members:
        """Members that contribute to chunk `number` of the whole vector."""
        return self._always.union(member for member in self._partial if self._in_turn(member, number))

    def weights(self, contributors: Iterable[int]) -> list[tuple[int, float]]:
        """Each contributor to a chunk, in the plan's order, with its part of all their samples."""
        members = sorted(contributors)
        total = self.samples_of(members)
        return [(member, self.samples[member] / total) for member in members]

    def samples_of(self, members: Iterable[int]) -> int:
        """Several members' samples added up: the denominator of their weights in a chunk's mean."""
        return sum(self.samples[member] for member in members)

    def typical(self, members: Collection[int], numel: int) -> float:
        """The norm of these members' median contribution, for so many numbers of it.

        Args:
            members: Whose parts are here: a leader may have invented the rows of others.
            numel: How many.
        """
        norm = median_high(self.plan.members[member].norm for member in members)
        return norm * math.sqrt(numel / self.plan.numel)

    def _planned(self, member: int) -> int:
        if member in self._always:
            return self.chunk_total
        turns, rest = divmod(self.chunk_total, WHOLE_PORTION)
        exact = turns * self.plan.portion(member) if member in self._partial else 0
        return exact + sum(self.gives(member, number) for number in range(rest))

    def _in_turn(self, member: int, number: int) -> bool:
        return gives_chunk(self.plan.epoch, member, number, self.plan.portion(member))


def gives_chunk(epoch: int, member: int, number: int, portion: int) -> bool:
    """Whether a member that gives a part of its contribution gives its numbers of one chunk.

    Of 256 chunks in a row it gives exactly `portion`, evenly spread; and each of them in exactly `portion` of 256
    epochs, as evenly spread, so that what is carried on does not wait for long.

    Args:
        epoch: The plan's.
        member: The giver's place in the plan.
        number: The chunk's number in the whole vector.
        portion: Number of 256ths that it gives: 0 never, 256 always.
    """
    return (number - member + epoch) * STRIDE % WHOLE_PORTION < portion


def untaken_of(plan: Plan, member: int) -> Untaken | None:
    """The chunks of its contribution that a member is not to give; None: there are none, or too many to be named.

    Of what has no weight in the plan nobody wants anything later.
    """
    portion = plan.portion(member)
    if portion == WHOLE_PORTION or not plan.members[member].samples or plan.chunk_total > CARRIED_CHUNKS_MAX:
        return None
    kept = [not gives_chunk(plan.epoch, member, number, portion) for number in range(plan.chunk_total)]
    return Untaken.of(kept, chunk_numel=plan.chunk_numel)
