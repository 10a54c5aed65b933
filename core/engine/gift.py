"""Counts what this computer gives into days."""

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


async def count_gifts(
    days: Days, given: Callable[[], GiftTotals], watts: Callable[[], float], *, interval_s: float = COUNT_S
) -> None:
    """Count until cancelled.  A full disk is told by the journal; the next write tries again.

    Args:
        days: Where it is kept.
        given: Sums that only grow.
        watts: What is drawn while this computer gives its time.
        interval_s: Time between two looks, seconds.
    """

    def add(added: GiftTotals) -> None:
        days.add(replace(added, joules=added.seconds * watts()))

    before = given()
    looks = 0
    try:
        while True:
            await asyncio.sleep(interval_s)
            now = given()
            add(now - before)
            before, looks = now, looks + 1
            if looks % SAVE_COUNTS == 0:
                with contextlib.suppress(Problem):
                    days.save()
    finally:
        add(given() - before)
        with contextlib.suppress(Problem):
            days.save()
