"""Collaborations whose numbers travel in four bits, with the real worker; see test_collaboration for eight."""

import asyncio
import struct
from pathlib import Path

import pytest

from core.base.manifest import AveragingNumbers
from core.control.client import ControlClient
from tests.process.swarm import WIDE, Collaboration, Volunteer, collaboration, found

pytestmark = pytest.mark.process


def owed(swarm: Collaboration, volunteer: Volunteer) -> tuple[int, bool]:
    """How many rounds the volunteer's file of residuals has seen, and whether anything stands in it."""
    path = swarm.states(volunteer).parent / "residuals"
    data = path.read_bytes()
    return max(struct.unpack_from("<Q", data, 512 * record + 40)[0] for record in (0, 1)), any(data[1024:])


@pytest.mark.long
def test_residuals_of_four_bits_outlive_a_pause_and_a_kill(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64, averaging=AveragingNumbers(codec="q4"), numbers=WIDE)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada, bob = swarm.join("ada"), swarm.join("bob")
            await asyncio.gather(*(one.until(lambda news: news.me.epochs >= 1) for one in (ada, bob)))
            async with ControlClient.connect(ada.home) as client:
                await client.call("pause")
                paused = await client.snapshot()
                before = owed(swarm, ada)
                assert before[0] >= 1
                assert before[1]
                await client.call("resume")
            resumed = await ada.until(lambda news: news.me.epochs > paused.me.epochs + 1)  # one may be done already
            assert owed(swarm, ada)[0] > before[0]
            ada.kill()
            killed = owed(swarm, ada)
            again = swarm.join("ada")
            await again.until(lambda news: news.me.epochs > resumed.me.epochs + 1)
            assert owed(swarm, ada)[0] > killed[0]
            folder = swarm.states(ada).parent
            assert not list(folder.glob("residuals.damaged*"))

    asyncio.run(run())
