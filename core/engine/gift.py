"""Counts what this computer gives into days."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from core.base.problems import Problem
from core.ledger.days import Days, GiftTotals

COUNT_S: Final = 10.0
"""Time between two looks at what was given."""
SAVE_COUNTS: Final = 6
"""Looks between two writes to the disk."""


async def count_gifts(days: Days, given: Callable[[], GiftTotals], *, interval_s: float = COUNT_S) -> None:
    """Count until cancelled.  A full disk is told by the journal; the next write tries again.

    Args:
        days: Where it is kept.
        given: Sums that only grow.
        interval_s: Time between two looks, seconds.
    """
    before = given()
    looks = 0
    try:
        while True:
            await asyncio.sleep(interval_s)
            now = given()
            days.add(now - before)
            before, looks = now, looks + 1
            if looks % SAVE_COUNTS == 0:
                with contextlib.suppress(Problem):
                    days.save()
    finally:
        days.add(given() - before)
        with contextlib.suppress(Problem):
            days.save()
