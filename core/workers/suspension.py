"""A worker follows the person's wish: it computes, stands still with all that it holds, or ends."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from core.base.problems import Problem
from core.workers.frames import Resume, Suspend, Throttle
from core.workers.worker import Worker

STANDSTILL_S: Final = 1.0
"""A worker that computes on for longer after it was told to stand still is ended.  It is not stopped by a signal: then
it would neither give a device's memory back nor notice the end of its pipe."""
RESUME_S: Final = 30.0
"""One that does not go on for longer after it was told to is ended: its driver may hang after a computer's sleep."""


class Suspension:
    """Whether a worker is to compute, how much, and the worker, which has done one wish before it hears of the next.

        pause: Suspend -> `stands` -> resume: Resume    it goes on with all that it holds
                                   -> after `memory_s`  it is killed, and its memory is given back
                       -> not within STANDSTILL_S       it is killed

    Args:
        new_arena: Makes room for the arena of a worker that is resumed.
    """

    def __init__(self, new_arena: Callable[[], Path]) -> None:
        self._new_arena = new_arena
        self._worker: Worker[Any] | None = None
        self._limit: Throttle | None = None
        self._on = asyncio.Event()
        self._off = asyncio.Event()
        self._off.set()
        self._off_since = 0.0
        self._still = asyncio.Event()
        self._still.set()
        self._ready = asyncio.Event()
        self._gone = asyncio.Event()
        self._gone.set()
        self._giving_back: asyncio.TimerHandle | None = None

    @property
    def wanted(self) -> bool:
        """Whether the person wants to compute."""
        return self._on.is_set()

    async def until_wanted(self) -> None:
        """Return when the person wants to compute."""
        await self._on.wait()

    def resume(self) -> None:
        """From now on a worker is wanted; one that stands still goes on."""
        self._wait_no_longer()
        self._off.clear()
        self._on.set()

    def give_up(self) -> None:
        """There is no worker, and none is wanted until `resume`."""
        self._on.clear()
        self._off.set()

    async def pause(self, *, memory_s: float) -> None:
        """Return when nothing is computed any more, or when the pause was taken back.

        Args:
            memory_s: Time since the beginning of the pause for which the worker may keep its memory; 0: it ends now.
        """
        loop = asyncio.get_running_loop()
        if self.wanted:
            self._off_since = loop.time()
        self.give_up()
        self._wait_no_longer()
        if self._worker is not None and memory_s:
            self._giving_back = loop.call_at(self._off_since + memory_s, self._worker.kill)
        elif self._worker is not None:
            self._worker.kill()
        waiting = [asyncio.create_task(one.wait()) for one in (self._still if memory_s else self._gone, self._on)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()

    def throttle(self, limit: Throttle) -> None:
        """Limit what this worker, and those after it, use of the computer."""
        self._limit = limit
        self._send_limit()

    def began(self, worker: Worker[Any]) -> None:
        """This worker is to follow the wish."""
        self._worker = worker
        self._still.clear()
        self._gone.clear()

    def stands(self) -> None:
        """The worker says that it stands still."""
        self._still.set()

    def goes_on(self) -> None:
        """The worker says that it is ready, at its start or after a resume."""
        self._ready.set()
        self._send_limit()

    def ended(self) -> None:
        """The worker is gone, whatever it was that ended it."""
        self._worker = None
        self._wait_no_longer()
        self._still.set()
        self._gone.set()

    async def follow(self, worker: Worker[Any]) -> None:
        """Have it stand still and go on as the person wants; end it where that cannot be, or until cancelled."""
        while True:
            await self._off.wait()
            if not worker.began:
                break
            worker.send(Suspend())
            try:
                async with asyncio.timeout(STANDSTILL_S):
                    await self._still.wait()
            except TimeoutError:
                break
            await self._on.wait()
            self._still.clear()
            self._ready.clear()
            try:
                worker.send(Resume(arena_path=str(self._new_arena())))
                async with asyncio.timeout(RESUME_S):
                    await self._ready.wait()
            except (Problem, TimeoutError):  # the next worker meets the problem again, and it is told
                break
        worker.kill()

    def _send_limit(self) -> None:
        if self._worker is not None and self._limit is not None:
            self._worker.send(self._limit)

    def _wait_no_longer(self) -> None:
        if self._giving_back is not None:
            self._giving_back.cancel()
            self._giving_back = None
