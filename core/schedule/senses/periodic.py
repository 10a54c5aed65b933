"""A sense that looks from time to time, for what no system tells as an event."""

import time
from collections.abc import Callable
from dataclasses import replace
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
        told = None
        while True:
            sensed = self._look()
            if told is None or (sensed != told and not _only_grew(told, sensed)):
                tell(sensed)
                told = sensed
            time.sleep(self._every_s)


def _only_grew(told: Sensed, sensed: Sensed) -> bool:
    """Whether nothing but idle time is new, which grows by itself where it was told."""
    then, now = told.idle_s, sensed.idle_s
    return bool(then and now) and sensed == replace(told, idle_s=now) and (now or 0.0) >= (then or 0.0)
