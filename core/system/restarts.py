"""How long a child process that ended stays away before it is started again."""

import asyncio
import contextlib
from collections.abc import Callable
from random import Random
from typing import Final

from core.base.back_off import BackOff

FIRST_S: Final = 0.2
LONGEST_S: Final = 120.0
SOON: Final = 20
"""Number of ends, without a good run between them, after each of which the child is back in `FIRST_S`: a person, or a
computer that lacks memory for a while, may kill it again and again within minutes.  A child that fails at each start
costs so many starts more before the waits grow."""
GOOD_S: Final = 120.0
"""Least run of a child after whose end the next wait is the first again, seconds: it ended by chance."""


TROUBLE_S: Final = (10.0, 60.0, 600.0)
"""Waits after a trouble that a person has to mend, such as a full disk, while it repeats; the last one stays."""
LOOK_S: Final = 2.0
"""Time between two looks whether the trouble is over."""


class Restarts:
    """Waits between the runs of one child: `FIRST_S` at first, then doubling up to `LONGEST_S`.

    A trouble that a person has to mend is waited for as `TROUBLE_S` says, or until it is over.

    Args:
        random: Draws the jitter of those that double: half to one and a half.
    """

    def __init__(self, random: Random) -> None:
        self._back_off: BackOff[str] = BackOff(first=FIRST_S, longest=LONGEST_S, free=SOON, random=random)
        self._wanted = asyncio.Event()
        self._began_at = asyncio.get_running_loop().time()
        self._troubles = 0

    async def wait(self, *, over: Callable[[], bool] | None = None) -> None:
        """Return when the child, which has just ended, is to be started again.

        Args:
            over: Whether the trouble that ended it is over; None: it was none that a person has to mend.
        """
        loop = asyncio.get_running_loop()
        if loop.time() - self._began_at >= GOOD_S:
            self._forget()
        self._wanted.clear()
        if over is None:
            until = max(self._back_off.fail("child", loop.time()), loop.time() + FIRST_S)
        else:
            until = loop.time() + TROUBLE_S[min(self._troubles, len(TROUBLE_S) - 1)]
            self._troubles += 1
        while (left := until - loop.time()) > 0 and not self._wanted.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), left if over is None else min(left, LOOK_S))
            if over is not None and over():
                break
        self._began_at = loop.time()

    def skip_wait(self) -> None:
        """A person wants the child now: a wait that has begun is over, and the next one is the first again."""
        self._forget()
        self._wanted.set()

    def _forget(self) -> None:
        self._back_off.clear("child")
        self._troubles = 0
