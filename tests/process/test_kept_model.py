"""The model outlives its volunteers: the backbone keeps a copy, and gives it to who comes when nobody trains."""

import asyncio
import shutil
from pathlib import Path

import pytest

from core.backbone.copy_check import check_copy
from core.backbone.kept_states import STATES
from tests.process.swarm import collaboration, end, found

pytestmark = pytest.mark.process
LONG_S = 120.0


def test_model_of_a_lone_volunteer_outlives_its_computer(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)

    def kept() -> int:
        return max((int(path.name.split("-")[2]) for path in (charter.folder / STATES).glob("*-state-*")), default=0)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada = swarm.join("ada")
            async with asyncio.timeout(LONG_S):
                while not kept():  # noqa: ASYNC110 - it is another process's
                    await asyncio.sleep(0.1)
            copy = next((charter.folder / STATES).glob("*-state-*"))
            assert (await check_copy(charter, copy)).loss is not None
            torn = tmp_path / "torn"
            torn.write_bytes(copy.read_bytes()[:-1])
            assert "cannot be read" in (await check_copy(charter, torn)).fault
            ada.kill()
            epoch = kept()
            shutil.rmtree(ada.home.directory)
            assert swarm.backbone is not None
            end(swarm.backbone)
            swarm.start_backbone()
            bob = swarm.join("bob")
            seen = await bob.until(lambda news: news.me.samples > 0)
            assert {row.name: row.epochs for row in seen.leaderboard}["ada"] == epoch
            assert seen.epoch > epoch

    asyncio.run(run())
