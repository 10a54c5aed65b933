"""How long a child process that ended stays away before it is started again."""

import asyncio
import contextlib
from random import Random
from typing import Final

from core.base.back_off import BackOff

FIRST_S: Final = 1.0
LONGEST_S: Final = 120.0
SOON: Final = 20
"""Number of ends, without a good run between them, after each of which the child is back in `FIRST_S`: a person, or a
computer that lacks memory for a while, may kill it again and again within minutes.  A child that fails at each start
costs so many starts more before the waits grow."""
GOOD_S: Final = 120.0
"""A child that ran for so long ended by chance: the next wait is the first again."""


class Restarts:
    """Waits between the runs of one child: `FIRST_S` at first, then doubling up to `LONGEST_S`.

    Args:
        random: Draws the jitter of those that double: half to one and a half.
    """

    def __init__(self, random: Random) -> None:
        self._back_off: BackOff[str] = BackOff(first=FIRST_S, longest=LONGEST_S, free=SOON, random=random)
        self._wanted = asyncio.Event()
        self._began_at = asyncio.get_running_loop().time()

    async def wait(self) -> None:
        """Return when the child, which has just ended, is to be started again."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._began_at >= GOOD_S:
            self._back_off.clear("child")
        self._wanted.clear()
        until = max(self._back_off.fail("child", loop.time()), loop.time() + FIRST_S)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                await self._wanted.wait()
        self._began_at = loop.time()

    def skip_wait(self) -> None:
        """A person wants the child now: a wait that has begun is over, and the next one is the first again."""
        self._back_off.clear("child")
        self._wanted.set()
