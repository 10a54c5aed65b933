"""A real engine obeys its senses, which a script plays, and pauses that end by themselves."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import psutil
import pytest

from core.api.modes import UseMode
from core.api.verdict import VerdictCode
from core.schedule.sensed import Sensed
from tests.process.screens import screen, type_key
from tests.process.swarm import CORE, ENVIRONMENT, Volunteer, collaboration, found

pytestmark = pytest.mark.process

SENSES = """
import pathlib, sys, time
path, said = pathlib.Path(sys.argv[1]), b""
while True:
    line = path.read_bytes() if path.exists() else b""
    if line.endswith(b"\\n") and line != said:
        said = line
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    time.sleep(0.01)
"""
ENGINE = f"""
import functools, os, sys
os.environ["POTLUCK_SENSES"] = "on"
import core.cli.volunteer.start as start
command = [sys.executable, "-c", {SENSES!r}, os.environ["SENSED"]]
start.SensesChild = functools.partial(start.SensesChild, command=command)
from core.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
TRAINS = VerdictCode.CONTRIBUTING


async def potluck(one: Volunteer, *words: str) -> tuple[int, dict]:
    """The command's exit status and its output as JSON."""
    command = [*CORE, *words, "--home", str(one.home.directory), "--json"]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT
    )
    return done.returncode, json.loads(done.stdout)


def cpu_s(worker: psutil.Process) -> float:
    times = worker.cpu_times()
    return times.user + times.system


async def idles(worker: psutil.Process) -> None:
    """The worker has stopped to compute."""
    while True:
        before = cpu_s(worker)
        await asyncio.sleep(0.2)
        if cpu_s(worker) - before < 0.05:
            return


def test_input_suspends_within_a_second_and_keeps_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charter, script = found(tmp_path, target_samples=100_000), tmp_path / "sensed"
    monkeypatch.setitem(ENVIRONMENT, "SENSED", str(script))

    def sense(sensed: Sensed) -> None:
        script.with_suffix(".new").write_bytes(msgspec.json.encode(sensed) + b"\n")
        script.with_suffix(".new").replace(script)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada = swarm.join("ada", program=(sys.executable, "-c", ENGINE))
            training = await ada.until(lambda news: news.verdict.code is TRAINS and news.me.samples_pending > 0)
            await potluck(ada, "settings", "in-use", "no")
            worker = psutil.Process(training.me.worker_pid)
            sense(Sensed(idle_s=0.0))
            began = time.monotonic()
            resting = await ada.until(lambda news: news.verdict.code is VerdictCode.RESTING)
            await idles(worker)
            assert time.monotonic() - began < 1.0 + 0.5
            assert (resting.verdict.reason, resting.verdict.args) == ("in_use", {"minutes": 3})
            assert resting.rests.keys() == {"computing"}
            code, said = await potluck(ada, "status")
            assert (code, said["code"], said["reason"]) == (3, "resting", "in_use")

            sense(Sensed(idle_s=179.0))  # the rest is up in a second, and nothing more is sensed
            began = time.monotonic()
            await ada.until(lambda news: news.verdict.code is TRAINS)
            assert 0.5 < time.monotonic() - began < 3.0
            assert psutil.Process(training.me.worker_pid) == worker

            sense(Sensed(on_battery=True, full_screen=True))
            resting = await ada.until(lambda news: news.verdict.code is VerdictCode.RESTING)
            assert resting.verdict.reason == "battery"
            assert (await potluck(ada, "resume", "--for", "1h"))[0] == 0
            forced = await ada.until(lambda news: news.verdict.code is TRAINS)
            assert forced.switches.computing.meanwhile is UseMode.ALWAYS
            assert psutil.Process(training.me.worker_pid) == worker

    asyncio.run(run())


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="X is Linux's")
def test_real_key_press_suspends_and_idle_time_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charter = found(tmp_path, target_samples=100_000)

    async def run(environ: dict[str, str]) -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada = swarm.join("ada")
            await potluck(ada, "settings", "idle", "1")
            training = await ada.until(lambda news: news.verdict.code is TRAINS and news.me.samples_pending > 0)
            await potluck(ada, "settings", "in-use", "no")
            await ada.until(lambda news: news.verdict.reason == "in_use")
            await asyncio.to_thread(type_key, environ)
            touched = time.monotonic()
            again = await ada.until(lambda news: news.verdict.code is TRAINS)
            assert -1.0 < time.monotonic() - touched - 60.0 < 1.5
            worker = psutil.Process(again.me.worker_pid)
            assert worker.pid == training.me.worker_pid
            touched = time.monotonic()
            await asyncio.to_thread(type_key, environ)
            await ada.until(lambda news: news.verdict.reason == "in_use")
            await idles(worker)
            assert time.monotonic() - touched < 1.0 + 0.5
            assert worker.is_running()

    with screen() as environ:
        for name in ("DISPLAY", "XAUTHORITY"):
            monkeypatch.setitem(ENVIRONMENT, name, environ.get(name, ""))
        monkeypatch.setitem(ENVIRONMENT, "POTLUCK_SENSES", "on")
        monkeypatch.delitem(ENVIRONMENT, "WAYLAND_DISPLAY", raising=False)
        asyncio.run(run(environ))


@pytest.mark.long
def test_a_pause_ends_and_memory_can_be_raised(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=100_000)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada = swarm.join("ada", "--stay")
            training = await ada.until(lambda news: news.verdict.code is TRAINS)
            code, said = await potluck(ada, "pause", "--for", "3s")
            assert (code, said["code"], said["reason"], said["contributing"]) == (0, "paused", "until", False)
            assert said["until"] > 0
            assert (await potluck(ada, "status"))[0] == 3
            again = await ada.until(lambda news: news.verdict.code is TRAINS)
            assert again.contributing
            assert again.me.worker_pid == training.me.worker_pid

            await potluck(ada, "pause", "network", "--until", "tomorrow")
            resting = await ada.snapshot()
            assert (resting.verdict.code, resting.contributing) == (TRAINS, True), "all are on this computer"
            await potluck(ada, "pause", "--until", "tomorrow")
            assert (await ada.snapshot()).verdict.code is VerdictCode.PAUSED
            await potluck(ada, "resume")
            back = await ada.until(lambda news: news.verdict.code is TRAINS)
            assert back.switches.computing.ends(back.time) is None
            assert back.me.worker_pid == training.me.worker_pid

            await potluck(ada, "settings", "memory", "256MB")
            told = await ada.until(lambda news: news.verdict.code is VerdictCode.PROBLEM)
            assert "and you allow 256 MB." in told.sentence
            assert (await potluck(ada, "status"))[0] == 4
            await potluck(ada, "settings", "memory", "16GB")
            await ada.until(lambda news: news.verdict.code is TRAINS)

    asyncio.run(run())
