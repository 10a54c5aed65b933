"""A sense that looks from time to time, for what no system tells as an event."""

import time
from collections.abc import Callable
from typing import Final

from core.schedule.sensed import Sensed
from core.schedule.senses.findings import Tell


class Periodic:
    """Looks, tells what is new, and waits.

    Args:
        name: For the log.
        look: Finds out what is known now; it may raise `Absent`.
        every_s: How long to wait between two looks.
    """

    is_coarse: Final = False

    def __init__(self, name: str, look: Callable[[], Sensed], every_s: float) -> None:
        self.name: Final = name
        self._look = look
        self._every_s = every_s

    def run(self, tell: Tell) -> None:
        """Look at once, and every so many seconds."""
        told, told_at = None, 0.0
        while True:
            sensed, now = self._look(), time.monotonic()
            if told is None or not sensed.is_like(told.after(now - told_at)):
                tell(sensed)
                told, told_at = sensed, now
            time.sleep(self._every_s)
