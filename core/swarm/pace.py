"""How far the collaboration can have come since it was last seen."""

import math
from typing import Final

WINDOW_S: Final = 60.0
"""Seconds over which a pace is measured: shorter ones tell more of when reports were read than of steps."""
TIMES: Final = 4.0
"""Upper bound on how many times as fast as all before them newcomers may be."""


class EpochPace:
    """Epochs of those who were in rounds, over time."""

    def __init__(self) -> None:
        self._per_s = 0.0
        """Epochs a second, the most that was seen; 0: not yet."""
        self._began = self._last = (0, -math.inf)
        """Epoch and time, unix seconds, when the window began and when they were seen last."""

    def saw(self, epoch: int, now: float) -> None:
        """Note the epoch of those who were in rounds."""
        (before, at), (_, last_at) = self._began, self._last
        self._last = epoch, now
        if epoch < before or now - last_at > WINDOW_S:
            self._began = self._last
        elif now - at >= WINDOW_S:
            self._per_s = max(self._per_s, (epoch - before) / (now - at))
            self._began = self._last

    def furthest(self, now: float) -> float:
        """The greatest epoch that the collaboration can have reached by now, as far as is known."""
        epoch, at = self._last
        return epoch + 1 + TIMES * self._per_s * (now - at) if self._per_s else math.inf
