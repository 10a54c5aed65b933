"""What one member brings to a round, and the means that it holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from core.averaging.aggregators import MEAN_FACTOR, MEDIAN_LEAST, TYPICAL_PART, Aggregator, WeightedMean
from core.averaging.allreduce.share_map import ShareMap
from core.averaging.distances import DistanceBook
from core.averaging.feedback import Carry
from core.averaging.messages import Members
from core.base.arrays import np
from core.base.machine import Send, Trace
from core.base.wire import Message
from core.codecs.codec import Codec, norm_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"

LEAST_RADIUS: Final = 0.999
"""Times the least radius that a reducer may clip at: others round differently."""


@dataclass(frozen=True, slots=True)
class VectorInput:
    """A member's vectors in a round, and how their numbers travel and are averaged."""

    contribution: Vector | None
    """Shape (numel,), float32; only read, and not to be changed before the end.  None: the member brings no samples."""
    result: Vector | None
    """Shape (numel,), float32; written all along, the mean once `RoundFinished` is out.  None: a helper, which holds
    only the shares that it reduces."""
    codec: Codec
    """Turns numbers into payloads; what the plan names, for the layout of these vectors."""
    carry: Carry | None = None
    """Carries what a coarse codec loses to the next round."""
    aggregator: Aggregator = field(default_factory=WeightedMean)
    """Makes one vector of several."""
    distances: DistanceBook | None = None
    """Remembers how far members' parts lie from the others'; None: nobody looks."""


class Vectors:
    """One member's contribution and result, by share and chunk.

    Args:
        shares: The plan's division.
        me: This member's place in the plan.
        work: The vectors, their codec, and what carries its errors.

    Raises:
        ValueError: a vector that the plan has this member bring is missing, or has another shape or type.
    """

    def __init__(self, shares: ShareMap, me: int, work: VectorInput) -> None:
        contribution, result = work.contribution, work.result
        numel = shares.plan.numel
        for vector in (contribution, result):
            if vector is not None and (vector.shape != (numel,) or vector.dtype != np.float32):
                raise ValueError(f"a vector of shape {vector.shape} and type {vector.dtype} for {numel} float32")
        if contribution is None and me in shares.givers:
            raise ValueError("the plan expects a contribution that this member does not have")
        if result is None and me in shares.receivers:
            raise ValueError("the plan expects this member to take the mean, for which it has no vector")
        self.codec = work.codec
        self.carry = work.carry
        self._shares = shares
        self._plan = shares.plan
        self._me = me
        self._contribution = contribution
        self._result = result
        self._held: dict[int, Vector] = {}
        """Means that a helper has made, by the chunk's number."""

    def part(self, number: int) -> memoryview:
        """The payload of this member's part of a chunk, for its reducer."""
        values, start = self._own(number)
        return self.codec.encode(values, start) if self.carry is None else self.carry.part(number, values, start)

    def read(self, member: int, number: int, payload: memoryview, out: Vector) -> None:
        """Write the numbers of a member's part to `out`, this member's own as the others would read it.

        Raises:
            RemoteProblem: the payload does not fit the chunk.
        """
        if member != self._me:
            self.codec.decode_into(payload, out, self._plan.span(number).start)
            return
        values, start = self._own(number)
        if self.carry is None:
            self.codec.decode_into(self.codec.encode(values, start), out, start)
        else:
            out[:] = self.carry.own(number, values)

    def may_be_norm(self, number: int, norm: float) -> bool:
        """Whether a chunk's mean may have this norm, as far as this member can tell from its own part of it.

        The own part is looked at only where the mean is longer than what is typical allows.
        """
        if self.carry is not None or not self._shares.gives(self._me, number):
            return True  # what is carried on may be many times what was contributed
        own, _ = self._own(number)
        typical = self._shares.typical((self._me,), own.size)
        return not typical or norm <= MEAN_FACTOR * typical or norm <= MEAN_FACTOR * norm_of(own)

    def mean(self, number: int) -> Vector:
        """Where the mean of a chunk lies; a helper has memory for those that it makes only."""
        span = self._plan.span(number)
        if self._result is not None:
            return self._result[span]
        if number not in self._held:
            self._held[number] = np.empty(span.stop - span.start, dtype=np.float32)
        return self._held[number]

    def seal(self, number: int, contributors: Members) -> memoryview:
        """Encode the mean that lies there now, which becomes what all members read.

        Returns:
            Its payload.
        """
        mean, start = self.mean(number), self._plan.span(number).start
        if self.carry is None:
            payload = self.codec.encode(mean, start)
        else:
            samples = self._shares.samples_of(contributors)
            payload = self.carry.mean(number, mean, start, samples=samples, own=self._me in contributors)
        if not np.may_share_memory(np.frombuffer(payload, np.uint8), mean):
            self.codec.decode_into(payload, mean, start)
        return payload

    def encoded(self, number: int) -> memoryview:
        """The payload of a mean again: encoding what was decoded gives the same bytes."""
        return self.codec.encode(self.mean(number), self._plan.span(number).start)

    def max_bytes(self, number: int) -> int:
        """Length of the longest payload of a chunk."""
        span = self._plan.span(number)
        return self.codec.max_bytes(span.stop - span.start, span.start)

    def drop(self, share: int) -> None:
        """Another member makes the means of a share: what is held of it, and what the codec lost of it, is void."""
        chunks = self._shares.numbers(share)
        self._held = {number: mean for number, mean in self._held.items() if number not in chunks}
        if self.carry is not None:
            self.carry.forget(chunks)

    def commit(self, contributors: Iterable[Members]) -> None:
        """The round is committed, with these contributors of each chunk: what its codec has lost is carried on."""
        if self.carry is not None:
            self.carry.commit([self._me in members for members in contributors])

    def holds(self, share: int) -> bool:
        """Whether this member holds the means of a share, once they are made."""
        return bool(self._shares.counts[share]) and (
            self._result is not None or self._shares.first[share] in self._held
        )

    def _own(self, number: int) -> tuple[Vector, int]:
        """This member's numbers of a chunk, and where they begin in the vector."""
        assert self._contribution is not None
        span = self._plan.span(number)
        return self._contribution[span], span.start


@dataclass(frozen=True, slots=True)
class RoundContext:
    """What all parts of one member's side of a round work on."""

    shares: ShareMap
    me: int
    """This member's place in the plan."""
    vectors: Vectors
    aggregator: Aggregator
    trace: Trace
    proven: bool = False
    """Whether members prove that the means are those of their parts (`core.averaging.commit.sums`)."""
    distances: DistanceBook | None = None
    """As in `VectorInput`."""

    def may_be_radius(self, radius: float, contributors: Members, numel: int) -> bool:
        """Whether a reducer may have clipped so many numbers of these members' parts beyond this radius."""
        if not self.proven:
            return True
        if len(contributors) < MEDIAN_LEAST:
            return radius == 0
        return radius >= LEAST_RADIUS * self.aggregator.clip * TYPICAL_PART * self.shares.typical(contributors, numel)

    def send(self, members: Iterable[int], message: Message) -> list[Send[Message]]:
        """Send one message to several members."""
        return [Send(self.shares.peers[member], message) for member in sorted(members)]
