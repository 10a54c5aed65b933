"""One share as one member sees it: parts go out within a window, means come back."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from core.averaging.messages import Mean, Members, to_bits
from core.averaging.plan import Plan
from core.codecs.codec import Codec

AHEAD_PART: Final = 8
"""The vector's bytes divided by this may be on their way from a member at once."""
HELD_PART: Final = 2
"""The vector's bytes divided by this may wait at a reducer at most."""
AHEAD_NUMEL_MAX: Final = 4 << 20
"""As many float32 on their way from one member at most, in bytes: enough for 1 Gbit/s over 0.1 s."""
AHEAD_MIN: Final = 2
"""Chunks of a share, also before all reducers are ready: while one is on its way, the next is made."""


def windows_of(plan: Plan, codec: Codec) -> tuple[int, ...]:
    """For each share the number of chunks that a sender may be ahead of the first mean that is missing.

    They are in proportion to the shares, so that all of them end at the same time, within what there is memory for, and
    together twice what a member may have on its way.  What waits is encoded: of smaller parts more may wait.  Both
    sides of a share work them out from the plan, so that a reducer can refuse what was not to be sent yet.
    """
    total, others = plan.chunk_total, max(1, len(plan.members) - 1)
    small = max(1.0, 4 * plan.numel / max(1, codec.max_bytes(plan.numel)))  # float32, over what is sent of it
    ahead = int(small * min(total // AHEAD_PART, AHEAD_NUMEL_MAX // plan.chunk_numel))
    held = int(small * total / (HELD_PART * others))
    return tuple(max(AHEAD_MIN, min(-(-2 * ahead * count // total), held)) for count in plan.chunks)


class Lane:
    """One version of one share at one member, first reduced by the member whose place in the plan is the share's.

    Args:
        share: The share.
        count: Number of chunks in it.
        window: Number of parts that may be ahead of the first missing mean, once the lane has warmed up.
        now: When the round begins, unix seconds.
    """

    def __init__(self, share: int, count: int, *, window: int, now: float) -> None:
        self.share = share
        self.count = count
        self.window = window
        self.open_window = min(window, AHEAD_MIN)
        """Number of parts that may be ahead now: few until all reducers are ready, so that none waits behind many."""
        self.opened: dict[int, int] = {}
        """The version whose parts a member waits for, by member."""
        self.restart(0, share, now)

    def restart(self, version: int, reducer: int, now: float) -> None:
        """Begin another version: what came of the last one is void."""
        self.version = version
        self.reducer = reducer
        self.gone = False
        """Whether the reducer can be reached no more."""
        self.stalled = False
        """Whether the reducer is gone, or late with its means."""
        self.repaired = False
        """Whether the coordinator gives the means, in the reducer's place."""
        self.direct = True
        """Whether all means that are here are the reducer's own word."""
        self.source: int | None = None
        """Another member, which is asked for means that the reducer does not give."""
        self.moved_at = now
        """When the reducer gave a mean last, or the version began; unix seconds."""
        self.asked_at = now
        """When the source was asked first, or gave a mean last; unix seconds."""
        self.unanswered = 0
        """Number of parts that have left, and whose means have not come."""
        self.left = self.count
        """Number of means that are missing."""
        self.first_missing = 0
        """The first chunk without a mean; `count` where none is missing."""
        self._next = self._asked = 0
        self._contributors: list[Members | None] = [None] * self.count
        self.radii = [0.0] * self.count
        """The common radius of each mean's parts; 0: they were not clipped, or the mean is missing."""

    def repair(self, coordinator: int, now: float) -> None:
        """Give the means up, and ask the coordinator for its own: the parts have left before."""
        self.restart(self.version, coordinator, now)
        self.repaired, self._next = True, self.count
        self.ask(coordinator, now)

    def lose_reducer(self) -> None:
        """The reducer can be reached no more: parts for it are lost."""
        self.gone = self.stalled = True
        self.unanswered = 0

    # --- means ---

    def has(self, chunk: int) -> bool:
        """Whether the mean of `chunk` is here."""
        return self._contributors[chunk] is not None

    def contributors(self, chunk: int) -> Members:
        """Members whose parts are in the mean of `chunk`; empty while it is missing."""
        return self._contributors[chunk] or frozenset()

    def mean(self, chunk: int, payload: memoryview, round_id: bytes, *, scaled: Members = frozenset()) -> Mean:
        """The message that gives the mean of `chunk`, which is here as a payload; `scaled` as its reducer knows it."""
        contributors = to_bits(self.contributors(chunk))
        radius = self.radii[chunk]
        return Mean(round_id, self.share, self.version, chunk, contributors, payload, to_bits(scaled), radius)

    def arrive(self, chunk: int, contributors: Members, radius: float = 0.0) -> None:
        """Take in the mean of `chunk`, which was missing, and beyond which radius parts were clipped; 0: none was."""
        self._contributors[chunk], self.radii[chunk] = contributors, radius
        self.left -= 1
        while self.first_missing < self.count and self.has(self.first_missing):
            self.first_missing += 1
        self.open_window = min(self.open_window + 1, self.window)
        if chunk < self._next and self.unanswered:
            self.unanswered -= 1

    def moved(self, member: int, now: float) -> None:
        """A member gave a mean: the reducer, or the source."""
        if member == self.reducer:
            self.moved_at = now
        else:
            self.direct = False
        if member == self.source:
            self.asked_at = now

    # --- parts, and requests for means ---

    @property
    def due(self) -> bool:
        """Whether a part may leave: the reducer waits for it, and the window is open."""
        if self.gone or not self.left or self.opened.get(self.reducer) != self.version:
            return False
        end = min(self.count, self.first_missing + self.open_window)
        while self._next < end and self.has(self._next):
            self._next += 1
        return self._next < end

    @property
    def progress(self) -> float:
        """How far in the share the middle of the next part lies, 0 to 1."""
        return (self._next + 0.5) / self.count

    def send(self) -> int:
        """Let the part that is due leave.

        Returns:
            Its chunk.
        """
        self._next += 1
        self.unanswered += 1
        return self._next - 1

    def ask(self, source: int, now: float) -> None:
        """Ask another member for the means that are missing, from the first one on."""
        self.source, self.asked_at, self._asked = source, now, self.first_missing

    def requests(self) -> list[int]:
        """The chunks to ask the source for now: as many as the window, of those whose parts have left."""
        if self.source is None or not self.left:
            return []
        end = min(self.count if self.gone else self._next, self.first_missing + self.window)
        chunks = [chunk for chunk in range(max(self._asked, self.first_missing), end) if not self.has(chunk)]
        self._asked = max(self._asked, end)
        return chunks


class Lanes(tuple[Lane, ...]):
    """One lane for each share of a plan, at one member."""

    __slots__ = ()

    @property
    def versions(self) -> tuple[int, ...]:
        """Each share's version as this member knows it; it rises when the share's means are made anew."""
        return tuple(lane.version for lane in self)

    @property
    def reducers(self) -> tuple[int, ...]:
        """The member that reduces each share."""
        return tuple(lane.reducer for lane in self)

    def next_due(self, me: int) -> Lane | None:
        """The least advanced lane of which a part may leave: so all reducers are busy to the end.

        Members begin at different shares, so that no reducer gets everybody's first part at once.

        Args:
            me: This member's place in the plan.
        """
        due = [lane for lane in self if lane.due]
        return min(due, key=lambda lane: (lane.progress, (lane.share - me) % len(self))) if due else None

    def contributors(self) -> Iterator[Members]:
        """Yield for each chunk of the vector the members whose parts are in its mean; empty while it is missing."""
        return (lane.contributors(chunk) for lane in self for chunk in range(lane.count))

    def present(self, members: int) -> tuple[int, ...]:
        """For each of so many members the number of chunks that hold its part, of the means that are here."""
        counts = [0] * members
        for contributors, count in Counter(self.contributors()).items():
            for member in contributors:
                counts[member] += count
        return tuple(counts)
