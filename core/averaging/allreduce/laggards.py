"""Who would not be done by the end of the round: whoever moves, but too slowly, is never silent for long."""

from collections.abc import Callable, Mapping
from typing import Final

LOOKS: Final = 10
"""In one round."""
FIRST_LOOK: Final = 2
SENDERS_FROM: Final = 4
"""From this look on senders that are too slow are left behind."""
REDUCERS_FROM: Final = 5
"""From this look on, which is half of the round's time, reducers are complained about: their senders went first."""


class Laggards:
    """Looks every tenth of the round's time at how much is left of each share, and what the last tenth brought.

    Only what was too slow twice in a row counts: a line that is gone for a moment, or a computer that sleeps, stops
    everybody's shares at once.

    Args:
        began_at: Of the round, unix seconds.
        timeout_s: The round's time.
    """

    def __init__(self, began_at: float, timeout_s: float) -> None:
        self._began_at = began_at
        self._each_s = timeout_s / LOOKS
        self._look = FIRST_LOOK
        self._left: dict[tuple[int, int], int] = {}
        self._late: set[tuple[int, int]] = set()

    @property
    def deadline(self) -> float | None:
        """When to look next."""
        return self._began_at + self._look * self._each_s if self._look < LOOKS else None

    def look(self, now: float, left: Callable[[], Mapping[tuple[int, int], int]]) -> tuple[int, set[tuple[int, int]]]:
        """If it is time to look: which look this is, and what would not be done by the round's end at its pace, again.

        Args:
            now: Unix seconds.
            left: Tells, for each thing that is not done (a share and its version), what is left of it.
        """
        deadline = self.deadline
        if deadline is None or now < deadline:
            return 0, set()
        number = max(self._look, int((now - self._began_at) / self._each_s))
        self._look = number + 1
        slept = now >= deadline + self._each_s / 2
        before, self._left = {} if slept else self._left, dict(left())
        slow = {
            what
            for what, still in self._left.items()
            if what in before and (before[what] - still) * (LOOKS - number) < still
        }
        late, self._late = slow & self._late, slow
        return number, late
