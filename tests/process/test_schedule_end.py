"""What happens at the end of a manifest's schedule, with real engines and workers."""

import asyncio
from pathlib import Path

import pytest

from core.api.snapshot import Activity
from core.base.manifest import PAPER_LAMB
from tests.process.swarm import collaboration, found

pytestmark = pytest.mark.process

SHORT = {**PAPER_LAMB, "learning_rate": 0.01, "warmup_epochs": 1, "total_epochs": 3, "schedule": "cosine"}


@pytest.mark.long
def test_a_collaboration_is_finished_where_its_schedule_ends(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64, optimizer=SHORT)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada, bob = swarm.join("ada"), swarm.join("bob")
            for one in (ada, bob):
                news = await one.until(lambda news: news.activity is Activity.FINISHED)
                assert (news.epoch, news.verdict.reason) == (3, "ended")
                assert "end of its schedule" in news.sentence
            late = swarm.join("late")
            assert (await late.until(lambda news: news.activity is Activity.FINISHED)).epoch == 3
            assert [(await one.snapshot()).epoch for one in (ada, bob)] == [3, 3]
            swarm.assert_same_model(ada, bob)

    asyncio.run(run())
