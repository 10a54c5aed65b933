"""The package is removed, and installed again, while its engine runs."""

import asyncio
import os
import sys
from pathlib import Path

import psutil
import pytest

from core.api.snapshot import Activity, Snapshot
from tests.process.swarm import collaboration, found

pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name == "nt", reason="no program that runs is deleted there")]
ROOT = Path(__file__).parents[2]


def installed(folder: Path) -> Path:
    """An interpreter like that of the package for Debian: a link in an environment."""
    python = folder / "bin" / "python3"
    python.parent.mkdir(parents=True)
    python.symlink_to(os.path.realpath(sys.executable))
    (folder / "pyvenv.cfg").write_text(f"home = {Path(os.path.realpath(sys.executable)).parent}\n")
    return python


def test_engine_outlives_its_package_and_trains_once_it_is_back(tmp_path: Path) -> None:
    python = installed(tmp_path / "package")
    paths = os.pathsep.join((str(ROOT), *(path for path in sys.path if path.endswith("-packages"))))

    def is_gone(news: Snapshot) -> bool:
        told = news.problem
        return told is not None and told.message.startswith(f"{python} does not start") and "install it" in told.hint

    async def scenario() -> None:
        async with collaboration(found(tmp_path, target_samples=64), tmp_path) as swarm:
            program = ("env", f"PYTHONPATH={paths}", str(python), "-m", "core")
            engine = swarm.join("ada", program=program)
            trains = await engine.until(lambda news: news.activity is Activity.TRAINING)
            python.rename(tmp_path / "removed")
            assert trains.me.worker_pid is not None
            psutil.Process(trains.me.worker_pid).kill()
            await engine.until(is_gone)
            (tmp_path / "removed").rename(python)
            await engine.until(lambda news: news.activity is Activity.TRAINING)

    asyncio.run(scenario())
