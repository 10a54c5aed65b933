"""The means of a share, from a member that holds them, when their reducer is gone."""

from collections.abc import Callable

from core.averaging.allreduce.reducer import Answer
from core.averaging.allreduce.vectors import Vectors
from core.averaging.plan import Plan
from core.base.trace import Trace


class Repeater:
    """Answers each part, whose payload it ignores, with the mean that it holds; in place of a `Reducer`.

    A codec gives back the same numbers when it encodes what it has decoded, so the copies are bit-identical.

    Args:
        plan: The round's plan.
        share: Which share; complete here.
        contributors: Tells whose parts are in the mean of a chunk of the share (bits).
        vectors: Whose result holds the means.
        trace: Where misuse is marked.
    """

    open_chunks = 0
    held_bytes = 0
    complete = True
    deadline: float | None = None

    def __init__(
        self, plan: Plan, share: int, *, contributors: Callable[[int], int], vectors: Vectors, trace: Trace
    ) -> None:
        self.count = plan.chunks[share]
        self._share = share
        self._contributors = contributors
        self._vectors = vectors
        self._trace = trace
        self._answered = [0] * self.count

    def take(self, member: int, chunk: int, payload: memoryview, *, now: float) -> list[Answer]:  # noqa: ARG002 - a Reducer's
        """The mean of `chunk` for `member`, once."""
        bit = 1 << member
        if self._answered[chunk] & bit:
            self._trace.mark("averaging.drop.duplicate")
            return []
        self._answered[chunk] |= bit
        start = self._vectors.span(self._share, chunk).start
        payload = self._vectors.codec.encode(self._vectors.mean(self._share, chunk), start)
        return [Answer(chunk, self._contributors(chunk), payload, bit)]

    def drop(self, member: int, now: float) -> list[Answer]:  # noqa: ARG002 - a Reducer's
        """Nobody is waited for."""
        return []

    def forget(self, member: int, now: float) -> list[Answer]:  # noqa: ARG002 - a Reducer's
        """Nothing is kept for anybody."""
        return []

    def overdue(self, now: float) -> list[int]:  # noqa: ARG002 - a Reducer's
        """Nobody is waited for."""
        return []

    def hold_ups(self) -> list[int]:
        """Nobody is waited for."""
        return []
