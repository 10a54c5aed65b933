"""One back-off for whatever is left alone after failures: exclusions that double, and decay."""

import math
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from random import Random
from typing import Final, Generic, TypeVar

from core.base.bounds import remember

K = TypeVar("K", bound=Hashable)

THINGS_MAX: Final = 1024
"""Number of things remembered by one back-off; the one whose last failure is oldest is forgotten first."""
JITTER: Final = (0.5, 1.5)
"""Factors between which an exclusion is drawn, so that many do not come back at the same moment."""


@dataclass(slots=True)
class _Failures:
    level: int = 0
    until: float = 0.0
    last: float = 0.0


class BackOff(Generic[K]):
    """How often things have failed, and until when each is excluded.

    A failure adds a level.  Each level above `free` excludes the thing, first for `first`, then for twice as long each
    time, up to `longest`.  A success takes one level away, and so does each `decay` without a failure.

    Args:
        first: Length of the first exclusion, in the unit of `now`: seconds, or rounds.
        longest: Upper bound on an exclusion, jitter apart, in the same unit.
        free: Number of levels that exclude nothing yet.
        decay: Time without a failure after which a level is forgotten.
        random: Draws the jitter; None: exclusions are exact.
        things_max: See `THINGS_MAX`.
    """

    def __init__(
        self,
        *,
        first: float,
        longest: float,
        free: int = 0,
        decay: float = math.inf,
        random: Random | None = None,
        things_max: int = THINGS_MAX,
    ) -> None:
        self._first = first
        self._free = free
        self._most = free + 1 + max(0, math.ceil(math.log2(longest / first)))
        self._longest = longest
        self._decay = decay
        self._random = random
        self._things_max = things_max
        self._of: OrderedDict[K, _Failures] = OrderedDict()

    def fail(self, thing: K, now: float, *, times: int = 1) -> float:
        """Count a failure.

        Args:
            thing: The thing that failed.
            now: The time, in the unit of `first`.
            times: Number of levels that it counts for.

        Returns:
            Until when the thing is excluded; a time in the past while it is not.
        """
        before = self._of.pop(thing, _Failures())
        level = min(self._left(before, now) + times, self._most)
        until, beyond = before.until, level - self._free
        if beyond > 0:
            until = now + min(self._first * (1 << (beyond - 1)), self._longest) * self._jitter
        remember(self._of, thing, _Failures(level, until, now), self._things_max)
        return until

    def succeed(self, thing: K, now: float) -> None:
        """Take one level away; an exclusion that has begun ends with the last of them only."""
        failures = self._of.get(thing)
        if failures is not None:
            failures.level, failures.last = self._left(failures, now) - 1, now
            if failures.level <= 0:
                del self._of[thing]

    def clear(self, thing: K) -> None:
        """Forget all failures of a thing."""
        self._of.pop(thing, None)

    def is_excluded(self, thing: K, now: float) -> bool:
        """Whether the thing is to be left alone."""
        return self.wait(thing, now) > 0

    def wait(self, thing: K, now: float) -> float:
        """How long the thing is still to be left alone; 0 when it is not."""
        failures = self._of.get(thing)
        return 0.0 if failures is None else max(0.0, failures.until - now)

    def level(self, thing: K, now: float) -> int:
        """How many failures are held against the thing."""
        failures = self._of.get(thing)
        return 0 if failures is None else self._left(failures, now)

    @property
    def _jitter(self) -> float:
        return 1.0 if self._random is None else self._random.uniform(*JITTER)

    def _left(self, failures: _Failures, now: float) -> int:
        return max(0, failures.level - int(max(0.0, now - failures.last) / self._decay))
