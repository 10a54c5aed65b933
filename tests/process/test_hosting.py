"""A backbone that the engine of its founder runs: it begins, comes back and ends with it, and lets others in."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from core.backbone.remembered import Ports, write_ports
from core.cli.organiser.charter import free_ports
from core.cli.program import run as run_command
from core.storage.paths import Home
from tests.process.swarm import LOOPBACK, Collaboration, Volunteer, found, start

pytestmark = pytest.mark.process


@pytest.fixture
def potluck(capsys: pytest.CaptureFixture[str]) -> Callable[..., list[dict]]:
    """Runs a command in this process, in a thread of its own, for each has a loop of its own."""

    def call(*words: object, code: int = 0) -> list[dict]:
        with ThreadPoolExecutor() as threads:
            assert threads.submit(run_command, [*map(str, words), "--json"]).result(60) == code
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return call


def backbones(volunteer: Volunteer) -> list[psutil.Process]:
    children = psutil.Process(volunteer.process.pid).children()
    return [child for child in children if "backbone" in child.cmdline()]


async def eventually(so) -> None:
    async with asyncio.timeout(60):
        while not so():  # noqa: ASYNC110 - it is another process's
            await asyncio.sleep(0.1)


@pytest.mark.long
def test_engine_runs_the_backbone_that_lets_others_in(tmp_path: Path, potluck: Callable[..., list[dict]]) -> None:
    swarm = Collaboration(tmp_path, found(tmp_path, target_samples=64))
    folder, home = swarm.charter.folder, Home(tmp_path / "ada")
    peers, desk = free_ports(2)
    write_ports(folder, Ports(peers=peers, desk=desk, host="127.0.0.1"))
    at = ("--home", home.directory)
    potluck("settings", "computing", "never", *at)  # who trains is not the matter here
    assert potluck("host", folder, *at)[0]["running"] is False
    (waits,) = potluck("collaborations", *at)
    assert (waits["backbone"], waits["served"], waits["samples"]) == ("waits", False, 0)
    words = ["engine", "--home", str(home.directory), "--with-parent", "--stay", *LOOPBACK, "--port", "0"]
    ada = Volunteer(home, start([*words, *swarm.allowed], tmp_path / "ada.log"))
    swarm.volunteers.append(ada)
    (tmp_path / "ben").mkdir()
    potluck("settings", "computing", "never", "--home", tmp_path / "ben")

    async def run() -> None:
        await ada.until(lambda news: news.collaboration is not None)
        (mine,) = potluck("collaborations", *at)
        assert (mine["backbone"], mine["served"]) == ("runs", True)
        (first,) = backbones(ada)
        first.kill()
        await eventually(lambda: [each.pid for each in backbones(ada)] not in ([], [first.pid]))
        await eventually(lambda: potluck("collaborations", *at)[0]["backbone"] == "runs")
        swarm.link = potluck("invite", *at)[0]["link"]
        ben = swarm.join("ben")
        await ben.until(lambda news: news.collaboration is not None)
        (his,) = potluck("collaborations", "--home", ben.home.directory)
        assert (his["charter"], his["backbone"]) == ("", None)
        assert potluck("invite", "--home", ben.home.directory)[0]["link"] == swarm.link
        potluck("invite", "--charter", folder, "--withdraw", swarm.link.partition("#")[2])
        (refused,) = potluck("invite", "--home", ben.home.directory, code=2)
        assert "Ask" in refused["hint"]
        potluck("host", folder, "--stop", *at)
        await eventually(lambda: not backbones(ada))
        assert potluck("collaborations", *at)[0]["backbone"] == "off"
        potluck("host", folder, *at)
        await eventually(lambda: backbones(ada))
        (last,) = backbones(ada)
        potluck("quit", *at)
        await eventually(lambda: not last.is_running())

    try:
        asyncio.run(run())
    finally:
        swarm.close()


def test_backbone_that_cannot_run_says_why(tmp_path: Path, potluck: Callable[..., list[dict]]) -> None:
    swarm = Collaboration(tmp_path, found(tmp_path, target_samples=64))
    folder, home = swarm.charter.folder, Home(tmp_path / "ada")
    write_ports(folder, Ports(peers=1, desk=1, host="127.0.0.1"))
    potluck("host", folder, "--home", home.directory)
    (folder / "authority.key").write_bytes(b"torn")
    words = ["engine", "--home", str(home.directory), "--with-parent", "--stay", *LOOPBACK, "--port", "0"]
    ada = Volunteer(home, start(words, tmp_path / "ada.log"))
    swarm.volunteers.append(ada)

    async def run() -> None:
        await eventually((folder / "hosting.json").exists)
        (mine,) = potluck("collaborations", "--home", home.directory)
        assert "has a damaged key" in mine["backbone_refusal"]["message"]

    try:
        asyncio.run(run())
    finally:
        swarm.close()
