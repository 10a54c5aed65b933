"""Waits before a child is started again, on a loop whose clock jumps to whatever is due next."""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest

from core.system.restarts import FIRST_S, GOOD_S, LONGEST_S, LOOK_S, SOON, TROUBLE_S, Restarts


class Leaping(asyncio.SelectorEventLoop):
    """A loop that waits for nothing: its clock leaps to the next timer."""

    ahead_s = 0.0

    def time(self) -> float:
        return self.ahead_s

    def call_at(self, when: float, *args: Any, **options: Any) -> asyncio.TimerHandle:
        self.call_soon(self._leap, when)
        return super().call_at(when, *args, **options)

    def _leap(self, when: float) -> None:
        self.ahead_s = max(self.ahead_s, when)


def leap(main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=Leaping) as runner:
        runner.run(main)


async def waited_s(restarts: Restarts) -> float:
    loop = asyncio.get_running_loop()
    before = loop.time()
    await restarts.wait()
    return loop.time() - before


def test_a_child_killed_again_and_again_is_back_soon() -> None:
    async def main() -> None:
        restarts = Restarts(Random(1))
        for _ in range(SOON):
            assert await waited_s(restarts) == pytest.approx(FIRST_S)
            await asyncio.sleep(5.0)

    leap(main())


def test_waits_of_a_child_that_always_fails_double() -> None:
    async def main() -> None:
        restarts = Restarts(Random(1))
        waits = [await waited_s(restarts) for _ in range(SOON + 12)]
        for place, wait in enumerate(waits[SOON:]):
            middle = min(FIRST_S * 2**place, LONGEST_S)
            assert 0.5 * middle <= wait <= 1.5 * middle

    leap(main())


def test_a_child_that_ran_well_is_started_again_soon() -> None:
    async def main() -> None:
        restarts = Restarts(Random(1))
        for _ in range(SOON + 8):
            await restarts.wait()
        await asyncio.sleep(GOOD_S)
        assert await waited_s(restarts) <= 1.5 * FIRST_S

    leap(main())


def test_a_person_cuts_the_wait_short() -> None:
    async def main() -> None:
        restarts = Restarts(Random(1))
        waiting = asyncio.ensure_future(restarts.wait())
        await asyncio.sleep(0)
        restarts.skip_wait()
        for _ in range(5):
            await asyncio.sleep(0)
        assert waiting.done()

    asyncio.run(main())


def test_a_person_makes_the_next_wait_the_first() -> None:
    async def main() -> None:
        restarts = Restarts(Random(1))
        for _ in range(SOON + 9):
            await restarts.wait()
        restarts.skip_wait()
        assert await waited_s(restarts) <= 1.5 * FIRST_S

    leap(main())


def test_a_trouble_that_repeats_is_tried_ever_more_rarely() -> None:
    async def main() -> None:
        restarts, loop = Restarts(Random(1)), asyncio.get_running_loop()
        for expected in (*TROUBLE_S, TROUBLE_S[-1]):
            before = loop.time()
            await restarts.wait(over=lambda: False)
            assert loop.time() - before == expected
        restarts.skip_wait()
        before = loop.time()
        await restarts.wait(over=lambda: loop.time() > before + 3.0)
        assert loop.time() - before == 2 * LOOK_S

    leap(main())
