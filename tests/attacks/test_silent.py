"""A member that gives nothing in rounds slows the others down for a moment; one that slept is back at once."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.attacks.pace import SLEEPER, TARGET, join, rounds_of, stop
from tests.process.swarm import CORE, Collaboration, Volunteer, collaboration, found

pytestmark = [pytest.mark.process, pytest.mark.long]
UNDEFENDED = (sys.executable, "-m", "tests.attacks.undefended", "patience")
ROUNDS = 30
TIMES = 2
"""Number of rounds with the defence for each one without it, at least: it was six when this was written."""
MISSED = 2
"""Rounds that go on without a computer that has just woken, at most."""


async def three(swarm: Collaboration, program: Sequence[str] = CORE) -> list[Volunteer]:
    """Three honest members, after some rounds."""
    honest = [join(swarm, name, program) for name in ("ada", "bob", SLEEPER)]
    await asyncio.gather(*(one.until(lambda news: news.epoch >= 4) for one in honest))
    return honest


def test_silent_member_slows_nobody_down_for_long(tmp_path: Path) -> None:
    """Two collaborations at the same time on the same machine, one of them without the defence.

    A member that withholds its means only costs less: `tests.attacks.pace` measures that, in turns.
    """
    silent = (sys.executable, "-m", "tests.attacks.silent", "mute")
    folders = {program: tmp_path / str(number) for number, program in enumerate((CORE, UNDEFENDED))}

    async def run() -> None:
        async with (
            collaboration(found(folders[CORE], target_samples=TARGET), folders[CORE]) as one,
            collaboration(found(folders[UNDEFENDED], target_samples=TARGET), folders[UNDEFENDED]) as other,
        ):
            [ada, *_], [without, *_] = await asyncio.gather(three(one), three(other, UNDEFENDED))
            began = (await ada.snapshot()).epoch, (await without.snapshot()).epoch
            for swarm in (one, other):
                join(swarm, "mallory", silent)
            await ada.until(lambda news: news.epoch >= began[0] + ROUNDS)
            assert TIMES * ((await without.snapshot()).epoch - began[1]) <= ROUNDS

    asyncio.run(run())


def test_member_that_slept_is_back_after_two_rounds(tmp_path: Path) -> None:
    async def run() -> None:
        async with collaboration(found(tmp_path, target_samples=TARGET), tmp_path) as swarm:
            ada, _, eve = await three(swarm)
            asleep = await ada.snapshot()
            stop(eve, signal.SIGSTOP)
            await ada.until(lambda news: news.epoch >= asleep.epoch + 3)
            stop(eve, signal.SIGCONT)
            woke = await ada.snapshot()
            back = await ada.until(lambda news: rounds_of(news, SLEEPER) > rounds_of(woke, SLEEPER))
            assert back.epoch - 1 - woke.epoch <= MISSED, "its part is in the round that led there"

    asyncio.run(run())
