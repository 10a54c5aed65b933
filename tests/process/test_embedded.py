"""The embedded collaboration obeys the person's switch: its companions are on the same computer."""

import asyncio
import contextlib
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace

import psutil
import pytest

from core.api.modes import OFF
from core.api.snapshot import Activity
from core.base.manifest import Manifest
from core.control.client import ControlClient
from core.engine import embedded as embedded_module
from core.engine.embedded import Embedded, EmbeddedOptions, volunteer_homes
from core.engine.limits.usage_policy import UsagePolicy
from core.storage.paths import Home
from core.storage.settings import Settings
from tests.process.swarm import CORE, ENVIRONMENT, Volunteer, end, found, start

pytestmark = pytest.mark.process
SETTLE_S = 3.0
LOOK_S = 5.0
WORKERS_SHARE_MAX = 0.01
"""The share of a core that what has torch may take."""
SHARE_MAX = 0.15
"""The same of engine and backbone, which go on to say where they are; on a computer that tests fill."""
LINK = f"potluck://127.0.0.1:4000/{'ab' * 32}#invitation"
CHILD = f"""
import json, sys
if "backbone" in sys.argv:
    print(json.dumps({{"link": "{LINK}"}}), flush=True)
sys.stdin.read()
"""


def children() -> list[str]:
    """Which of them run: backbone, engine."""
    roles = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):  # a zombie, too, has ended
            words = child.cmdline()
            roles += [role for role in ("backbone", "engine") if role in words]
            assert not any("#invitation" in word for word in words[3:]), "others read an invitation"
    return sorted(roles)


async def until(expected: list[str]) -> None:
    async with asyncio.timeout(20):
        while await asyncio.to_thread(children) != expected:  # noqa: ASYNC110 - other processes, no event
            await asyncio.sleep(0.05)


def test_companions_run_while_they_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_module, "own_command", lambda *_: [sys.executable, "-c", CHILD])

    async def run() -> None:
        policy = UsagePolicy(Settings(computing=OFF), path=tmp_path / "usage.json", now=lambda: 0.0, alone=True)
        embedded = Embedded(home=Home(tmp_path), options=EmbeddedOptions(), policy=policy, random=Random(1))
        manifest = Manifest(name="n", organiser="o", task="albert", authority="ab" * 32)
        charter = SimpleNamespace(folder=tmp_path, manifest=manifest)
        linked: list[object] = []
        running = asyncio.create_task(embedded.run(charter, linked.append))
        await until(["backbone"])
        for _ in range(2):
            policy.apply(Settings())
            await until(["backbone", "engine", "engine"])
            policy.apply(Settings(computing=OFF))
            await until(["backbone"])
        assert len(linked) == 1
        running.cancel()
        await asyncio.wait([running])
        assert children() == []

    asyncio.run(run())


def cpu_s(processes: list[psutil.Process]) -> float:
    return float(sum(sum(one.cpu_times()[:2]) for one in processes))


@pytest.mark.long
def test_pause_ends_companions_and_resume_begins_them(tmp_path: Path) -> None:
    made, home = found(tmp_path / "made", target_samples=64), Home(tmp_path / "home")
    text = made.manifest.sources[0].path
    options = EmbeddedOptions(text=Path(text), peers=3)
    shutil.copytree(made.folder, home.directory / "embedded" / options.folder_name / "charter")
    words = ["engine", "--home", str(home.directory), "--embedded", "--peers", "3", "--text", text, "--with-parent"]
    owner = Volunteer(home, start([*words, "--threads", "1"], tmp_path / "engine.log"))
    everybody = [Volunteer(each, owner.process) for each in volunteer_homes(home, options)]

    async def workers() -> list[int]:
        return [(await each.until(lambda news: news.activity is Activity.TRAINING)).me.worker_pid for each in everybody]

    async def run() -> None:
        await owner.until(lambda news: news.epoch >= 1)
        mine, *theirs = await workers()
        async with ControlClient.connect(home) as client:
            await client.call("pause")
        await asyncio.sleep(SETTLE_S)
        assert not any(map(psutil.pid_exists, theirs))
        worker, process = psutil.Process(mine), psutil.Process(owner.process.pid)
        children = process.children(recursive=True)
        everything = [process, *(child for child in children if "core.reading" not in child.cmdline())]  # that one ends
        assert sum("engine" in one.cmdline() for one in everything) == 1
        for processes, share_max in (([worker], WORKERS_SHARE_MAX), (everything, SHARE_MAX)):
            used_s = -cpu_s(processes)
            await asyncio.sleep(LOOK_S)
            assert used_s + cpu_s(processes) < share_max * LOOK_S
        async with ControlClient.connect(home) as client:
            await client.call("resume")
        assert (await workers())[0] == mine

    try:
        asyncio.run(run())
    finally:
        end(owner.process)
        owner.kill()


def test_engine_whose_parent_is_gone_at_once_ends(tmp_path: Path) -> None:
    """The word came before there was an engine, and was lost: it computed on for nobody."""
    command = [*CORE, "engine", "--embedded", "--with-parent", "--home", str(tmp_path)]
    done = subprocess.run(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert done.returncode == 0
