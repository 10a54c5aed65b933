"""Real engines on computers whose wall clocks are wrong, are set while they run, and are put right again."""

import asyncio
import time
from pathlib import Path

import pytest

from core.api.snapshot import Snapshot
from core.control.client import ControlClient
from core.net.clock import Clock
from tests.process.false_clock import FalseClock
from tests.process.swarm import Collaboration, Volunteer, collaboration, found

pytestmark = pytest.mark.process
WRONG_S = {"90 seconds": 90.0, "24 hours": -86_400.0}
"""How a person is told of it, and by how much a clock is ahead from the start."""
STEPS_S = {"10 minutes": -600.0, "730 days": 2 * 365 * 86_400.0}
"""The same of clocks that are set later."""
TOGETHER_S = 60.0
NOTICED_S = 25.0
"""A peer that is heard no more is believed for 20 s."""


class Computer(FalseClock):
    """With an engine that only helps."""

    def __init__(self, swarm: Collaboration, name: str, ahead_s: float = 0.0) -> None:
        super().__init__(swarm.folder, name, ahead_s)
        self.engine: Volunteer = swarm.join(name, "--helper", program=self.program)

    async def notices(self) -> str:
        async with ControlClient.connect(self.engine.home) as client:
            return " ".join(notice.text for notice in await client.notices())


async def all_together(computers: list[Computer]) -> None:
    """Each hears the backbone and all others."""

    def hears_all(news: Snapshot) -> bool:
        return len(news.peers) == len(computers) + 1

    await asyncio.gather(*(one.engine.until(hears_all, timeout_s=TOGETHER_S) for one in computers))


@pytest.mark.long
def test_wrong_wall_clocks_isolate_nobody_and_are_told(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            wrong = [Computer(swarm, f"w{place}", ahead_s) for place, ahead_s in enumerate(WRONG_S.values())]
            right = [Computer(swarm, f"r{place}") for place in range(len(STEPS_S))]
            await all_together(wrong + right)
            for computer, words in zip(wrong, WRONG_S, strict=True):
                assert f"clock is {words}" in await computer.notices()
            for computer, ahead_s in zip(right, STEPS_S.values(), strict=True):
                computer.set(ahead_s)
            for computer in wrong:
                computer.set(0.0)
            set_at = time.monotonic()
            while time.monotonic() < set_at + NOTICED_S:
                await all_together(wrong + right)
                await asyncio.sleep(1.0)
            for computer, words in zip(right, STEPS_S, strict=True):
                assert f"clock is {words}" in await computer.notices()
            for computer in wrong:
                assert "agrees with the collaboration's time again" in await computer.notices()

    asyncio.run(run())


@pytest.mark.long
@pytest.mark.parametrize("forward", [True, False], ids=["stood still", "ran ahead"])
def test_an_engine_alone_asks_the_backbone_for_the_time(tmp_path: Path, forward: bool) -> None:  # noqa: FBT001
    charter = found(tmp_path, target_samples=64)

    async def run() -> None:
        theirs = FalseClock(tmp_path, "backbone")
        swarm = Collaboration(tmp_path, charter)
        swarm.start_backbone(program=theirs.program)
        try:
            computer = Computer(swarm, "ada")
            await all_together([computer])
            (theirs if forward else computer).set(600.0, steady_s=600.0)
            await computer.engine.until(lambda news: news.time > Clock().now() + 300.0, timeout_s=TOGETHER_S)
            await all_together([computer])
        finally:
            await asyncio.to_thread(swarm.close)

    asyncio.run(run())
