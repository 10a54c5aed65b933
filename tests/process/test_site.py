"""The page of a collaboration as a process beside a real backbone, and in a real browser."""

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import psutil
import pytest

from tests.process.swarm import CORE, ENVIRONMENT, LOOPBACK, alive, collaboration, found

pytestmark = pytest.mark.process
LONGEST_S = 180.0


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def read(port: int, path: str) -> str:
    """What stands at an address; empty: nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def tried(port: int, text: str) -> str:
    """The page on which the newest copy has answered."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/try", urlencode({"text": text}).encode(), LONGEST_S) as said:
        return str(said.read().decode())


async def until(holds: Callable[[], object], *, within_s: float = LONGEST_S) -> None:
    """Wait; the bound only ends a test that has failed."""
    began = time.monotonic()
    while not await asyncio.to_thread(holds):
        assert time.monotonic() - began < within_s
        await asyncio.sleep(0.2)


def site_of(backbone: int) -> psutil.Process | None:
    """The page's process of a backbone, while it runs."""
    for one in psutil.Process(backbone).children():
        with contextlib.suppress(psutil.Error):
            if "core.site" in one.cmdline():
                return one
    return None


def test_name_is_on_board_and_killed_page_comes_back(tmp_path: Path) -> None:
    asyncio.run(walk(tmp_path))


async def walk(tmp_path: Path) -> None:
    port, charter = free_port(), found(tmp_path, target_samples=32)
    async with collaboration(charter, tmp_path, "--site", str(port)) as running:
        await until(lambda: "Nobody's samples" in read(port, "/board"))
        ada = running.join("ada")
        gave = await ada.until(lambda news: news.me.samples > 0)
        await until(lambda: ">ada<" in read(port, "/board"))
        assert running.backbone is not None
        site = site_of(running.backbone.pid)
        assert site is not None
        held = [one.path for one in site.open_files()]
        assert not [path for path in held if path.endswith(".key")]
        site.kill()
        await until(lambda: ">ada<" in read(port, "/board"))
        assert "What the model says" in await asyncio.to_thread(tried, port, "People bring their ___ computers")
        later = await ada.until(lambda news: news.epoch > gave.epoch + 1)
        assert later.me.samples > gave.me.samples
        shown = json.loads(read(port, "/api/v1/collaboration"))
        assert (shown["name"], shown["id"]) == (charter.manifest.name, charter.manifest.id.hex())
        assert "#" not in shown["link"]
        assert charter.invite not in read(port, "/")
        (copy, *_) = json.loads(read(port, "/api/v1/copies"))
        assert copy["epoch"] > 0
        assert sum(day["samples"] for day in json.loads(read(port, "/api/v1/days"))) > 0
        last = site_of(running.backbone.pid)
        assert last is not None
        running.backbone.send_signal(signal.SIGKILL)
        running.backbone.wait()
        await until(lambda: not alive(last.pid), within_s=30)
    assert (charter.folder / "days.json").exists()


def test_port_of_another_program_is_told_at_once(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=32)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        words = ["backbone", "--charter", str(charter.folder), *LOOPBACK, "--site", str(held.getsockname()[1])]
        done = subprocess.run([*CORE, *words], capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=60)
    assert done.returncode == 2
    assert "The page cannot be served at 127.0.0.1" in done.stderr
    assert "Choose another one: --site PORT" in done.stderr
