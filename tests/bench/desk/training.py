"""The figures of `python -m tests.bench desk` while training goes on, and of how it makes way for a person who types.

One real volunteer; the key is pressed in an X server of its own, where there is one to be had.
"""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Final

import psutil

from core.api.snapshot import Activity, Snapshot
from core.backbone.charter import Charter
from core.base.problems import Problem
from core.control.client import ControlClient
from core.storage.paths import Home
from core.storage.settings import Settings
from tests.bench.collaboration import running_collaboration
from tests.bench.desk.figures import MEBIBYTE, DeskFigure, cpu_s, engine_of_home, pss_bytes

NEEDED: Final = ("Xvfb", "xdotool")
TRAINS_S: Final = 180.0
IDLE_MINUTES: Final = 1
KEEP_MINUTES: Final = 1
STILL_S: Final = 1.5
"""A worker whose processor time has not grown for so long stands still."""
LOOK_S: Final = 0.02
WATCHED_S: Final = 20.0


async def training_figures(charter: Charter, folder: Path, seconds: float) -> tuple[list[DeskFigure], list[str]]:
    """Measure with a volunteer that trains.

    Args:
        charter: The collaboration.
        folder: For homes and logs.
        seconds: Length of a look.

    Returns:
        The figures, and why others could not be measured.

    Raises:
        Problem: nothing is trained.
    """
    chosen = [Settings(idle_minutes=IDLE_MINUTES, keep_minutes=KEEP_MINUTES)]
    async with (
        _screen() as environ,
        running_collaboration(charter, folder, 1, settings=chosen, environ={**environ, "POTLUCK_SENSES": "on"}),
    ):
        home = Home(folder / "peer-0")
        engine = await engine_of_home(home)
        async with ControlClient.connect(home) as client:
            await until(client, is_training)
            busy_ms = await _typing_ms(seconds)
            await client.call("pause")
            quiet_ms = await _typing_ms(seconds)
            await until(client, lambda news: news.me.worker_pid is None)
            figures = [
                DeskFigure("typing elsewhere while it trains, later by", max(0.0, busy_ms - quiet_ms), 10, "ms"),
                DeskFigure(f"memory {KEEP_MINUTES} min after a pause (PSS)", pss_bytes(engine) / MEBIBYTE, 60, "MiB"),
            ]
            if not environ:
                return figures, [f"input to suspended is not measured: {' and '.join(NEEDED)} are not installed"]
            await client.settings({"in_use": False})
            await client.call("resume")
            trains = await until(client, is_training)
            figures.append(DeskFigure("input to suspended", await _suspended_s(trains, environ), 1.0, "s"))
    return figures, []


def is_training(news: Snapshot) -> bool:
    """Whether the volunteer computes, and holds samples already."""
    return news.activity is Activity.TRAINING and news.me.worker_pid is not None and news.me.samples_pending > 0


async def until(client: ControlClient, is_so: Callable[[Snapshot], bool]) -> Snapshot:
    """Wait for a snapshot.

    Raises:
        Problem: it does not come.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(TRAINS_S):
            if is_so(now := await client.snapshot()):
                return now
            async for news in client.notifications():
                if isinstance(news, Snapshot) and is_so(news):
                    return news
    raise Problem("The volunteer of the measurement does not train as it should.", hint="Is this computer too busy?")


async def _typing_ms(seconds: float) -> float:
    """How late keys are done in a program of its own, milliseconds."""
    words = [sys.executable, "-m", "tests.bench.desk.key_probe", str(seconds)]
    process = await asyncio.create_subprocess_exec(*words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    said, _ = await process.communicate()
    return float(said)


async def _suspended_s(news: Snapshot, environ: Mapping[str, str]) -> float:
    """Press a key; seconds until the worker used the processor for the last time.

    Raises:
        Problem: it goes on.
    """
    assert news.me.worker_pid is not None
    worker = psutil.Process(news.me.worker_pid)
    pressed_at = last_at = time.monotonic()
    await asyncio.to_thread(subprocess.run, ["xdotool", "key", "a"], env=dict(environ), check=True)
    used = cpu_s(worker)
    while (now := time.monotonic()) < last_at + STILL_S:
        if now > pressed_at + WATCHED_S:
            raise Problem("Training goes on while somebody types.")
        await asyncio.sleep(LOOK_S)
        if (grown := cpu_s(worker)) > used:
            used, last_at = grown, time.monotonic()
    return last_at - pressed_at


@contextlib.asynccontextmanager
async def _screen() -> AsyncIterator[Mapping[str, str]]:
    """An X server without a screen; gives the environment in which programs find it, empty where there is none."""
    if any(shutil.which(name) is None for name in NEEDED):
        yield {}
        return
    reads, writes = os.pipe()
    words, nothing = ("Xvfb", "-displayfd", str(writes), "-nolisten", "tcp"), subprocess.DEVNULL
    server = await asyncio.create_subprocess_exec(
        *words, pass_fds=(writes,), stdin=nothing, stdout=nothing, stderr=nothing
    )
    os.close(writes)
    try:
        number = await asyncio.to_thread(_line, reads)
        yield {"DISPLAY": f":{number}", "WAYLAND_DISPLAY": ""} if number else {}
    finally:
        server.terminate()
        await server.wait()


def _line(reads: int) -> str:
    with os.fdopen(reads, encoding="ascii") as said:
        return said.readline().strip()
