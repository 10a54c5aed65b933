"""An engine that hangs: its worker stands still, everything says that it does not answer, and it can be ended."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from core.api.running import why_none_answers
from core.api.snapshot import Snapshot
from core.api.verdict import VerdictCode
from tests.process.screens import screen
from tests.process.swarm import CORE, ENVIRONMENT, Volunteer, collaboration, found
from tests.process.test_when_to_run import cpu_s, potluck

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be stopped here"),
]
REPEATS = 20 if os.environ.get("POTLUCK_LONG") else 1
STILL_S = 6.0
"""After so long the worker of a silent engine computes nothing."""
TOLD_S = 5.0
GONE_S = 8.0
WATCHED_S = 4.0 if os.environ.get("POTLUCK_LONG") else 2.0


def trains(news: Snapshot) -> bool:
    return news.verdict.code is VerdictCode.CONTRIBUTING and news.me.samples_pending > 0


def of(one: Volunteer) -> list[psutil.Process]:
    """The engine's process, and all that it started."""
    engine = psutil.Process(one.process.pid)
    return [engine, *engine.children(recursive=True)]


def runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


async def hangs(ada: Volunteer) -> tuple[list[psutil.Process], float]:
    """Its engine hangs from now on while it trains; all its processes, and when that began."""
    await ada.until(trains)
    processes = of(ada)
    processes[0].suspend()
    return processes, time.monotonic()


async def stands_still(children: list[psutil.Process], since: float) -> None:
    await asyncio.sleep(since + STILL_S - time.monotonic())
    before, began = sum(map(cpu_s, children)), time.monotonic()
    await asyncio.sleep(WATCHED_S)
    share = (sum(map(cpu_s, children)) - before) / (time.monotonic() - began)
    sys.stdout.write(f"the children's share of a core: {share:.4f}\n")
    assert share < 0.01


def test_hung_engine_computes_nothing_goes_on_and_is_ended(tmp_path: Path) -> None:
    async def run() -> None:
        charter = found(tmp_path, target_samples=1_000_000)
        async with collaboration(charter, tmp_path) as swarm, contextlib.AsyncExitStack() as finally_:
            for _ in range(REPEATS):
                ada = swarm.join("ada")
                finally_.callback(lambda ada=ada: ada.process.send_signal(signal.SIGCONT))
                (engine, *children), since = await hangs(ada)
                code, told = await potluck(ada, "status")
                assert time.monotonic() - since < TOLD_S
                assert (code, told["code"], told["snapshot"]) == (5, "no_answer", None)
                await stands_still(children, since)
                engine.resume()
                pending = (await ada.snapshot()).me.samples_pending
                await ada.until(lambda news, pending=pending: news.me.samples_pending > pending)
                assert of(ada)[1:] == children, "nobody was restarted"
                processes, since = await hangs(ada)
                code, told = await potluck(ada, "quit")
                assert (code, told["forced"]) == (0, True)
                assert not list(filter(runs, processes))
                sys.stdout.write(f"quit took {time.monotonic() - since:.2f} s\n")
                assert time.monotonic() - since < GONE_S
                assert why_none_answers(ada.home.directory) == "stopped"

    asyncio.run(run())


def keys(environ: Mapping[str, str], *words: str) -> None:
    subprocess.run(["xdotool", "key", *words], env=environ, check=True, timeout=20)


def opened(one: Volunteer, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A window on the engine, with the keyboard."""
    words = [*CORE, "--home", str(one.home.directory)]
    with (one.home.directory / "window.log").open("ab") as log:
        window = subprocess.Popen(words, env={**ENVIRONMENT, **environ}, stdout=log, stderr=log)
    find = ["xdotool", "search", "--sync", "--onlyvisible", "--name", "A test"]
    shown = subprocess.run(find, env=environ, capture_output=True, timeout=60, check=True).stdout.split()
    focus = ["xdotool", "windowactivate", "--sync", shown[-1].decode()]
    subprocess.run(focus, env=environ, timeout=60, check=True)
    return window


def wait_until_gone(processes: list[psutil.Process]) -> None:
    end = time.monotonic() + 2 * GONE_S
    while any(map(runs, processes)):
        assert time.monotonic() < end, "some of them run on"
        time.sleep(0.05)


@pytest.mark.long
@pytest.mark.parametrize("way", ["quit", "stop"])
def test_window_ends_a_hung_engine_by_keys(tmp_path: Path, way: str) -> None:
    """Ctrl+Q; or Ctrl+P, and then Space on the button that is there after five seconds."""

    async def run(environ: Mapping[str, str]) -> None:
        charter = found(tmp_path, target_samples=1_000_000)
        async with collaboration(charter, tmp_path) as swarm, contextlib.AsyncExitStack() as finally_:
            for _ in range(REPEATS):
                ada = swarm.join("ada")
                finally_.callback(lambda ada=ada: ada.process.send_signal(signal.SIGCONT))
                await ada.until(trains)
                window = await asyncio.to_thread(opened, ada, environ)
                finally_.callback(window.kill)
                processes, since = await hangs(ada)
                if way == "quit":
                    keys(environ, "ctrl+q")
                else:
                    keys(environ, "ctrl+p")
                    await asyncio.sleep(TOLD_S)
                    since = time.monotonic()
                    keys(environ, "space")
                ends = [*processes, psutil.Process(window.pid)] if way == "quit" else processes
                await asyncio.to_thread(wait_until_gone, ends)
                sys.stdout.write(f"{way} took {time.monotonic() - since:.2f} s\n")
                assert time.monotonic() - since < GONE_S
                await asyncio.sleep(2.0)
                assert why_none_answers(ada.home.directory) == "stopped", "it is not started again"
                window.kill()
                window.wait()

    with screen() as environ:
        asyncio.run(run(environ))
