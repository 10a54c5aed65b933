"""Loss scaling: what makes the small gradients of half precision not vanish (Micikevicius et al. 2018, section 3.2).

The loss is multiplied before the backward pass, and the gradients divided after it, by a power of two that is found
while training.  It is the machine's own: what is added up and sent has no scale.
"""

from typing import Final

FIRST: Final = 2.0**16
LEAST: Final = 1.0
"""Below it small gradients vanish sooner than without any scale."""
MOST: Final = 2.0**24
GOOD_PASSES: Final = 2000
"""Passes in a row without an overflow after which twice the scale is tried."""


class LossScale:
    """Doubles after `good_passes` good passes, and halves where a gradient overflows, as torch's `GradScaler` does."""

    def __init__(self, good_passes: int = GOOD_PASSES) -> None:
        self.value = FIRST
        self._good_passes = good_passes
        self._good = 0

    @property
    def can_fall(self) -> bool:
        """Whether an overflow may be the scale's fault."""
        return self.value > LEAST

    def fits(self) -> None:
        """A pass gave gradients that are finite."""
        self._good += 1
        if self._good >= self._good_passes:
            self.value, self._good = min(2 * self.value, MOST), 0

    def overflowed(self) -> None:
        """A pass gave gradients that are not."""
        self.value, self._good = max(self.value / 2, LEAST), 0
