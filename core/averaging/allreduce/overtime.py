"""Who keeps others waiting when, by the lines that its plan knows, a round should be over."""

import math
from collections.abc import Collection
from typing import Final

from core.averaging.plan import Plan

SLOWER: Final = 2.0
"""A line may be slower than the plan takes it to be by this factor before anything is held against anybody."""
HURRIED: Final = 1.25
"""For whom the others have waited before, it is this factor."""
GRACE_PLAN: Final = 0.25
GRACE_STALL: Final = 0.125
"""Others may wait for one so long beyond that: parts of the planned time and of the stall timeout, together."""
URGED_BY: Final = 0.5
"""Who lacks means when others are done is urged to ask for them elsewhere after this part of the stall timeout at most:
after all of it, it is left behind if nothing has moved."""
EXACT_S: Final = 1e-3
"""Clocks count no finer."""


def is_few(count: int, *, of: int) -> bool:
    """Whether these are the smaller part of so many others, or a single one."""
    return 0 < count <= max(1, (of - 1) // 2)


class Overtime:
    """What one member of a round counts of the time for which few keep many waiting.

    A slow line that the plan knows is no offence: until the plan's time is over nobody is late.  After that, whenever
    only the smaller part of the others is awaited (or one alone), the time counts for all of these; where most are,
    something else is the reason.  Where the plan knows no lines, nobody is ever late.

    Args:
        plan: The round's plan.
        planned_s: How long its lines say it takes; 0: nobody knows.
        began_at: When the round began, unix seconds.
        hurried: Who is left behind when its grace is used up, because of earlier rounds (bits).
        slower: After so many times the planned time waiting counts for the others.
    """

    def __init__(
        self, plan: Plan, *, planned_s: float, began_at: float, hurried: int = 0, slower: float = SLOWER
    ) -> None:
        self._grace_s = GRACE_PLAN * planned_s + GRACE_STALL * plan.stall_timeout_s
        self._begins_at = [
            began_at + (HURRIED if hurried >> m & 1 else slower) * planned_s if planned_s else math.inf
            for m in range(len(plan.members))
        ]
        self._began_at = began_at
        self._planned_s = planned_s
        self._stall_timeout_s = plan.stall_timeout_s
        self._hurried = hurried
        self._first_at = min(self._begins_at)
        self._at = -math.inf
        self._waited_s = [0.0] * len(plan.members)
        self._left = 0

    def over(self, now: float) -> bool:
        """Whether it counts for anybody what is awaited."""
        return now > self._first_at

    def count(self, awaited: Collection[int], now: float, *, of: int) -> None:
        """Since this was called before, these have been awaited, of so many others."""
        if is_few(len(awaited), of=of):
            for member in awaited:
                self._waited_s[member] += max(0.0, now - max(self._at, self._begins_at[member]))
        self._at = now

    def left_at(self, awaited: Collection[int], *, of: int) -> float | None:
        """If from now on these are awaited, when one of them will have used up its grace and is to be left behind."""
        if not self._hurried or not is_few(len(awaited), of=of):
            return None
        ends = [self._left_at(member) for member in awaited if self._hurried >> member & 1]
        return min((at for at in ends if at < math.inf), default=None)

    def to_leave(self, awaited: Collection[int], now: float, *, of: int) -> list[int]:
        """Which of these are to be left behind now."""
        if not self._hurried or not is_few(len(awaited), of=of):
            return []
        return [m for m in awaited if self._hurried >> m & 1 and self._left_at(m) <= now + EXACT_S]

    def left(self, members: Collection[int], now: float) -> None:
        """These are left behind, for whatever reason.  Whoever had to wait for them may need all of its time yet."""
        self._left |= sum(1 << member for member in members)
        if members:
            again = now + self._planned_s
            self._begins_at = [at if self._hurried >> m & 1 else max(at, again) for m, at in enumerate(self._begins_at)]

    def urged_at(self, member: int, since: float) -> float:
        """When a member that lacks means, while the others have lacked none since then, is to ask for them elsewhere.

        Nothing can have been held against it by then.
        """
        if self._hurried >> member & 1 and self._planned_s:
            return max(since, self._begins_at[member])
        usual_s = min(self._planned_s or math.inf, since - self._began_at)
        grace_s = GRACE_PLAN * usual_s + GRACE_STALL * self._stall_timeout_s
        return since + min(grace_s, URGED_BY * self._stall_timeout_s)

    def urged(self, member: int, now: float) -> None:
        """It is to ask elsewhere for what it lacks: until that can have come, waiting for it does not count."""
        if not self._hurried >> member & 1:
            self._waited_s[member] = 0.0
            again = now + (SLOWER - HURRIED) * self._planned_s
            self._begins_at[member] = max(self._begins_at[member], again)

    def kept_waiting(self, member: int) -> bool:
        """Whether the others have waited for it for half of its grace."""
        return self._waited_s[member] > self._grace_s / 2

    @property
    def slow(self) -> int:
        """For whom the others have waited too long (bits).  Not who was hurried: that has cost little."""
        late = sum(1 << m for m, waited_s in enumerate(self._waited_s) if waited_s > self._grace_s)
        return (late | self._left) & ~self._hurried

    def _left_at(self, member: int) -> float:
        return max(self._at, self._begins_at[member]) + self._grace_s - self._waited_s[member]
