"""Companions rest with the engine that started them: they are engines, and are told to pause and to resume as such.

So their workers stand still with all that they hold, go on at once, and give their memory back when the person's own
does.
"""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, Final, Protocol

from core.base.back_off import BackOff
from core.base.problems import Problem
from core.storage.paths import Home

AGAIN_S: Final = 0.2
AGAIN_MAX_S: Final = 5.0


class ObeyedPolicy(Protocol):
    """What is to be obeyed (`core.engine.usage_policy.UsagePolicy`)."""

    keep_minutes: int
    """How long what rests keeps its memory."""

    async def until(self, *, resting: bool) -> None:
        """Return when there is a reason to rest, or when there is none."""

    async def while_allowed(self, work: Callable[[], Coroutine[None, None, Any]]) -> Any:
        """Do work; it is cancelled when there is a reason to rest, and begun again when there is none."""


async def obey(home: Home, policy: ObeyedPolicy, random: Random) -> None:
    """Have the engine of a home compute while that is allowed, and rest while it is not, until cancelled.

    Args:
        home: The companion's; its engine may start, end and start again meanwhile.
        policy: Says when.
        random: Draws the jitter of the waits before it is told again.
    """
    for rests in itertools.cycle((False, True)):
        telling = asyncio.create_task(_tell(home, policy.keep_minutes, random, rests=rests))
        try:
            await policy.until(resting=not rests)
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)


async def _tell(home: Home, keep_minutes: int, random: Random, *, rests: bool) -> None:
    """Tell it until it has heard: it may just be starting."""
    from core.control.client import ControlClient  # noqa: PLC0415 - an engine without companions is smaller

    back_off: BackOff[str] = BackOff(first=AGAIN_S, longest=AGAIN_MAX_S, random=random)
    now = asyncio.get_running_loop().time
    while True:
        with contextlib.suppress(Problem, TimeoutError):
            async with ControlClient.connect(home) as client:
                await client.settings({"keep_minutes": keep_minutes})
                await client.call("pause" if rests else "resume")
                return
        await asyncio.sleep(back_off.fail("companion", now()) - now())
