"""The model outlives its volunteers: the backbone keeps a copy, and gives it to who comes when nobody trains."""

import asyncio
import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.backbone.copy_check import check_copy
from core.backbone.kept_states import STATES, losses_of
from tests.process.swarm import CORE, ENVIRONMENT, collaboration, end, found
from tests.process.test_moderators import founder, moderate, sees
from tests.process.test_site import free_port

pytestmark = pytest.mark.process
LONG_S = 120.0
STUCK = (sys.executable, "-m", "tests.process.stuck_check")


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


@pytest.mark.parametrize("stuck", [False, pytest.param(True, marks=pytest.mark.long)])
def test_everybody_goes_back_while_all_are_there(tmp_path: Path, *, stuck: bool) -> None:
    """One command, while the backbone runs and both train, or checks another copy without end."""
    charter = found(tmp_path, target_samples=512)

    def copies(*words: str) -> list[dict[str, Any]]:
        command = [*CORE, "copies", "--charter", str(charter.folder), "--json", *words]
        said = subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT).stdout
        return [json.loads(line) for line in said.splitlines()]

    async def run() -> None:
        port = free_port()
        async with collaboration(charter, tmp_path, "--site", str(port), program=STUCK if stuck else CORE) as swarm:
            ada, bob = swarm.join("ada"), swarm.join("bob")
            async with asyncio.timeout(LONG_S):
                while not losses_of(charter.folder / STATES):  # noqa: ASYNC110 - another process makes them
                    await asyncio.sleep(0.5)
            there = await asyncio.to_thread(copies)
            epoch = there[0]["epoch"]
            async with asyncio.timeout(LONG_S):
                while stuck and not (charter.folder / "stuck").exists():  # noqa: ASYNC110 - another process makes it
                    await asyncio.sleep(0.5)
            before = await ada.until(lambda news: news.epoch > epoch + 3)
            assert there[0]["loss"] > 0
            if stuck:
                (gone_back,) = await asyncio.to_thread(copies, "--back-to", "1")
                assert (gone_back["epoch"], gone_back["done"]) == (epoch, True)
            else:
                assert (await moderate(ada, "go-back", "1"))["code"] == "not_trusted"
                assert (await founder(charter, "add", "ada"))["done"]
                await sees(partial(moderate, ada), lambda view: view["moderates"])
                assert (await moderate(ada, "copies"))["copy"] >= 1
                assert (await moderate(ada, "page"))["address"].startswith(f"http://127.0.0.1:{port}/m/in?code=")
                assert (await moderate(ada, "go-back", "1", "--words", "noise"))["done"], "who holds no copy can do it"
            await asyncio.gather(*(one.until(lambda news: epoch <= news.epoch < before.epoch) for one in (ada, bob)))
            await asyncio.gather(*(one.until(lambda news: news.epoch > before.epoch) for one in (ada, bob)))

    asyncio.run(run())
