"""A collaboration whose text lies on a web server: founded and joined by commands, trained, and cut off for a while."""

import asyncio
import json
import random
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import resources
from core.api.data_state import DataCode
from core.api.snapshot import Snapshot
from core.api.verdict import VerdictCode
from core.control.client import ControlClient
from core.storage.paths import Home
from tests.process.swarm import CORE, ENVIRONMENT, LOOPBACK, Volunteer, end, start
from tests.small_task import WORDS

pytestmark = pytest.mark.process

FILES = 96
FILE_CHARS = 40_000
OUTAGE_S = 30.0
NAMES = ("Ada", "Bo", "Cy")
MODEL = {"length": 32, "heads": 2, "layers": 1}


class WebServer:
    """Python's own web server over a folder, in a process that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as made:
            made.bind(("127.0.0.1", 0))
            self.port = int(made.getsockname()[1])
        self.process = self.start()

    def start(self) -> "subprocess.Popen[bytes]":
        words = ["-m", "http.server", str(self.port), "--bind", "127.0.0.1", "--directory", str(self._folder)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([sys.executable, *words], **quiet)
        return self.process

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def write_text(folder: Path) -> None:
    """Files of sentences in which some words like to follow others."""
    chance = random.Random(3)
    for number in range(FILES):
        said, place, written = [], 0, 0
        while written < FILE_CHARS:
            words = []
            for _ in range(chance.randint(5, 12)):
                place = (place + chance.choice([1, 1, 1, 2, 7])) % len(WORDS)
                words.append(WORDS[place])
            said.append(" ".join(words).capitalize() + ".")
            written += len(said[-1])
        paragraphs = [" ".join(said[at : at + 5]) for at in range(0, len(said), 5)]
        (folder / f"{number:02}.txt").write_text("\n\n".join(paragraphs))


def potluck(*words: object) -> dict[str, Any]:
    done = subprocess.run(
        [*CORE, *map(str, words), "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def found(folder: Path, port: int) -> dict[str, Any]:
    """A collaboration of a recipe that names the server and no folder."""
    text = resources.file("recipes", "small-gpt.toml").read_text()
    text = re.sub(r"(?m)^text = .*$", "", text)
    text = re.sub(r"target_samples = \d+", "target_samples = 256", text)
    for name, number in MODEL.items():
        text = re.sub(rf"(?m)^{name} = \d+", f"{name} = {number}", text)
    source = f'address = "http://127.0.0.1:{port}/{{00..{FILES - 1}}}.txt"\nlicence = "CC0"\ncredit = "A test"\n'
    (folder / "my.toml").write_text(f"{text}\n[[data]]\n{source}")
    return potluck("found", folder / "my.toml", "--charter", folder / "charter", "--host", "127.0.0.1")


async def codes(volunteer: Volunteer) -> list[str]:
    async with ControlClient.connect(volunteer.home) as client:
        return [notice.code for notice in await client.notices()]


async def see_outage(server: WebServer, volunteers: list[Volunteer]) -> None:
    first = volunteers[0]
    begun = await first.until(lambda news: news.epoch >= 2 and news.data is not None and news.data.network_bytes > 0)
    assert begun.collaboration is not None
    (source,) = begun.collaboration.sources
    assert (source.host, source.licence) == ("127.0.0.1", "CC0")

    server.kill()
    killed_at = begun.time
    stalled = await first.until(lambda news: news.data is not None and news.data.code == DataCode.NO_ANSWER)
    assert stalled.verdict.code in {VerdictCode.CONTRIBUTING, VerdictCode.STARTING}
    await first.until(lambda news: news.epoch > stalled.epoch)
    last = await first.until(lambda news: news.time >= killed_at + OUTAGE_S)
    if last.data is not None and last.data.waiting:
        assert (last.verdict.code, last.verdict.reason) == (VerdictCode.NOT_CONNECTED, "data.no-answer")
        assert last.sentence.startswith(f"127.0.0.1:{server.port}, where the text is, does not answer.")

    server.start()

    def flows(news: Snapshot) -> bool:
        return news.data is not None and not news.data.code and news.epoch >= last.epoch + 3

    for volunteer in volunteers:
        await volunteer.until(flows)
    told = [code for code in await codes(first) if code.startswith("data.")]
    assert told[:2] == ["data.away", "data.flows"]
    assert len(told) <= 4


@pytest.mark.long
def test_training_outlives_its_web_server(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    write_text(tmp_path / "text")
    server = WebServer(tmp_path / "text")
    running: list[subprocess.Popen[bytes]] = []
    try:
        founded = found(tmp_path, server.port)
        backbone = start(
            [*founded["command"].split()[1:], "--with-parent"], tmp_path / "backbone.log", stdout=subprocess.PIPE
        )
        running.append(backbone)
        assert backbone.stdout is not None
        backbone.stdout.readline()
        shown = potluck("join", founded["link"], "--show", "--home", tmp_path / "looker")
        assert shown["sources"][0]["host"] == "127.0.0.1"
        assert not shown["folder"]
        volunteers = []
        for name in NAMES:
            home = Home(tmp_path / name)
            words = ["engine", "--home", str(home.directory), "--join", founded["link"], "--name", name]
            running.append(start([*words, *LOOPBACK, "--port", "0", "--with-parent"], tmp_path / f"{name}.log"))
            volunteers.append(Volunteer(home, running[-1]))
        asyncio.run(see_outage(server, volunteers))
    finally:
        for process in reversed(running):
            end(process)
        server.kill()
