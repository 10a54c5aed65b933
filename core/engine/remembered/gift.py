"""Adds what this computer gives to the count of the day on which it gave it."""

import asyncio
import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from core.api.look import THREAD_WATTS
from core.base.problems import Problem
from core.engine.installation import Installation
from core.ledger.days import Days, GiftTotals
from core.schedule.sensed import Sensed
from core.storage.settings import Settings

COUNT_S: Final = 10.0
"""Time between two looks at what was given."""
SAVE_COUNTS: Final = 6
"""Looks between two writes to the disk."""


def drawn_watts(settings: Settings, sensed: Sensed) -> float:
    """What this computer draws more while it contributes: as its owner says, else as it is measured, else a rule.

    Processors tell what they draw in all, which is somewhat more.

    Args:
        settings: The person's.
        sensed: What the senses have found.
    """
    if settings.energy_watts:
        return settings.energy_watts
    told = [one.watts for one in sensed.gpus if one.watts is not None]
    told += [sensed.watts] if sensed.watts is not None else []
    return sum(told) if told else THREAD_WATTS * (settings.threads or max(1, (os.cpu_count() or 1) - 1))


def watts_of(installation: Installation) -> float:
    """What this computer draws more while it contributes, by what is known now."""
    return drawn_watts(installation.preferences.settings, installation.usage_policy.sensed)


class GiftMeter:
    """Counts what a session gives into days: as often as somebody looks, and once in a while.

    Args:
        days: Where it is kept.
        given: Sums that only grow.
        watts: What is drawn while this computer gives its time.
    """

    def __init__(self, days: Days, given: Callable[[], GiftTotals], watts: Callable[[], float]) -> None:
        self._days = days
        self._given = given
        self._watts = watts
        self._counted = given()

    def count(self) -> None:
        """Bring the days up to this moment, at no cost where nothing was given."""
        given = self._given()
        added, self._counted = given - self._counted, given
        self._days.add(replace(added, joules=added.seconds * self._watts()))

    async def keep(self, *, interval_s: float = COUNT_S) -> None:
        """Count and save until cancelled.  A full disk is told by the journal; the next write tries again.

        Args:
            interval_s: Time between two looks, seconds.
        """
        looks = 0
        try:
            while True:
                await asyncio.sleep(interval_s)
                self.count()
                looks += 1
                if looks % SAVE_COUNTS == 0:
                    self._save()
        finally:
            self.count()
            self._save()

    def _save(self) -> None:
        with contextlib.suppress(Problem):
            self._days.save()
