"""What a round works on at one member."""

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs import Codec
from core.averaging.feedback import Carry
from core.averaging.plan import Plan
from core.base.ids import PeerId


def check_vectors(
    plan: Plan, me: PeerId, *, contribution: NDArray[np.float32] | None, result: NDArray[np.float32] | None
) -> None:
    """Make sure that these are what the plan has a member bring.

    Raises:
        ValueError: a vector that is missing or of the wrong shape or type, or a plan without me.
    """
    mine = next((member for member in plan.members if member.peer == me), None)
    if mine is None:
        raise ValueError("the plan is one without me")
    for vector in (contribution, result):
        if vector is not None and (vector.shape != (plan.numel,) or vector.dtype != np.float32):
            raise ValueError(f"a vector of shape {vector.shape} and type {vector.dtype} for {plan.numel} float32")
    if contribution is None and mine.samples and plan.gift(plan.members.index(mine)):
        raise ValueError("the plan has me with a contribution, and there is none")
    if result is None and mine.receives:
        raise ValueError("the plan has me as one that needs the mean, and there is nowhere to put it")


class Vectors:
    """The member's contribution and its result, as far as it has them, by share and chunk of the share.

    Args:
        plan: The round's plan.
        contribution: Shape (numel,), float32; None: there is nothing to give.
        result: Shape (numel,), float32; None: only the shares that are reduced here are held.
        codec: How numbers look on the wire.
        carry: Where the codec's errors are carried to the next round.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        contribution: NDArray[np.float32] | None,
        result: NDArray[np.float32] | None,
        codec: Codec,
        carry: Carry | None = None,
    ) -> None:
        self.carry = carry
        self.codec = codec
        self._plan = plan
        self._first_chunks = [plan.first_chunk(share) for share in range(len(plan.chunks))]
        self._contribution = contribution
        self._result = result
        self._held: dict[int, NDArray[np.float32]] = {}

    def number(self, share: int, chunk: int) -> int:
        """The chunk's number in the whole vector."""
        return self._first_chunks[share] + chunk

    def share_of(self, chunk: int) -> int:
        """Which share a chunk of the whole vector belongs to."""
        return bisect_right(self._first_chunks, chunk) - 1  # the last of those that begin there: others are empty

    def span(self, share: int, chunk: int) -> slice:
        """Where the chunk lies in the whole vector."""
        return self._plan.span(self._first_chunks[share] + chunk)

    def part(self, share: int, chunk: int) -> NDArray[np.float32]:
        """My numbers of the chunk; read only."""
        assert self._contribution is not None
        return self._contribution[self.span(share, chunk)]

    def payload(self, share: int, chunk: int) -> memoryview:
        """The same, encoded for the member that reduces it."""
        start = self.span(share, chunk).start
        if self.carry is None:
            return self.codec.encode(self.part(share, chunk), start)
        return self.carry.part(self.number(share, chunk), self.part(share, chunk), start)

    def own(self, share: int, chunk: int, out: NDArray[np.float32]) -> None:
        """Write to `out` what I contribute to a chunk that I reduce myself: as another would read it, or with carry."""
        if self.carry is not None:
            out[:] = self.carry.own(self.number(share, chunk), self.part(share, chunk))
            return
        start = self.span(share, chunk).start
        self.codec.decode_into(self.codec.encode(self.part(share, chunk), start), out, start)

    def seal(self, share: int, chunk: int, *, samples: int, own: bool) -> memoryview:
        """Encode the mean that lies there now, which becomes what the others read.

        Args:
            share: Whose.
            chunk: Of the share.
            samples: Whose mean it is, in all.
            own: Mine are among them.
        """
        mean, start = self.mean(share, chunk), self.span(share, chunk).start
        if self.carry is None:
            payload = self.codec.encode(mean, start)
        else:
            payload = self.carry.mean(self.number(share, chunk), mean, start, samples=samples, own=own)
        if not np.may_share_memory(np.frombuffer(payload, np.uint8), mean):
            self.codec.decode_into(payload, mean, start)
        return payload

    def mean(self, share: int, chunk: int) -> NDArray[np.float32]:
        """Where the mean of the chunk lies; of a share that is held."""
        span = self.span(share, chunk)
        if self._result is not None:
            return self._result[span]
        start = self.span(share, 0).start
        return self._held[share][span.start - start : span.stop - start]

    def hold(self, share: int) -> None:
        """Make room for the means of a share; in all no more than the vector, whose length is known before the plan."""
        if self._result is not None or share in self._held or not self._plan.chunks[share]:
            return
        numel = self.span(share, self._plan.chunks[share] - 1).stop - self.span(share, 0).start
        self._held[share] = np.empty(numel, dtype=np.float32)

    def drop(self, share: int) -> None:
        """The means of a share are held no longer."""
        self._held.pop(share, None)
