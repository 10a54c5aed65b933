"""What window, engine and command line cost at rest and with many people, and how soon they come.

A real engine, paused in a collaboration on this computer, and real windows; drawn offscreen where there is no display.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
import psutil

from core.api.modes import OFF
from core.base.problems import Problem
from core.control.client import ControlClient
from core.storage.paths import Home
from core.storage.settings import Settings
from core.system.child_process import own_command
from tests.bench.charters import charter_of
from tests.bench.collaboration import running_collaboration
from tests.bench.desk.figures import MEBIBYTE, START_S, DeskFigure, cpu_s, engine_of_home, pss_bytes
from tests.bench.desk.training import is_training, training_figures, until

RUNS: Final = 5
SETTLE_S: Final = 5.0
"""Between a window's start and a look at rest."""
ENGINE_SETTLES_S: Final = 20.0
"""The same for an engine, which searches for a router first."""
DEMO_SETTLES_S: Final = 25.0
"""The same for a demo that was paused: its reader ends a while after."""
PEOPLE: Final = 200
PAGES: Final = ("home", "model", "people")


class DeskReport(msgspec.Struct, frozen=True, kw_only=True):
    """All figures of one run."""

    bench: str = "desk"
    platform: str = ""
    """What windows were drawn on; empty: there were none."""
    figures: tuple[DeskFigure, ...]
    notes: tuple[str, ...] = ()
    """What could not be measured, and why."""


def run(args: argparse.Namespace) -> int:
    """Measure everything, and print a table of the figures.

    Raises:
        Problem: something did not start.
    """
    with tempfile.TemporaryDirectory(prefix="potluck-desk-") as folder:
        report = asyncio.run(_measured(Path(folder), float(args.seconds)))
    sys.stdout.write(f"{msgspec.json.encode(report).decode() if args.json else as_table(report)}\n")
    return 0


def as_table(report: DeskReport) -> str:
    """The figures below each other, a star behind those that miss their target."""
    drawn = [f"Window drawn on: {report.platform}"] if report.platform else []
    lines = [*drawn, f"{'':44}{'measured':>12}{'target':>10}"]
    for one in report.figures:
        missed = "" if one.value <= one.target else "  *"
        lines.append(f"{one.name:44}{one.value:>9.2f} {one.unit:<3}{one.target:>7g}{missed}")
    return "\n".join([*lines, *report.notes])


async def _measured(folder: Path, seconds: float) -> DeskReport:
    figures = [
        DeskFigure("potluck --help", _seconds(["--help"]), 0.2, "s"),
        DeskFigure("potluck status, no engine", _seconds(["status", "--home", str(folder / "none")]), 0.2, "s"),
    ]
    charter = await charter_of(folder / "charter")
    paused = [Settings(computing=OFF)]
    async with running_collaboration(charter, folder / "run", 1, settings=paused, environ={"POTLUCK_SENSES": "on"}):
        home = folder / "run" / "peer-0"
        engine = await engine_of_home(Home(home))
        await asyncio.sleep(ENGINE_SETTLES_S)
        figures += await _at_rest("engine at rest", engine, seconds, share=0.3, mebibytes=60)
        figures.append(DeskFigure("potluck status", _seconds(["status", "--home", str(home)]), 0.2, "s"))
        starts = []
        for _ in range(RUNS):
            async with _window(home) as (window, usable_s):
                starts.append(usable_s)
        figures.append(DeskFigure("window usable, engine up", statistics.median(starts), 1.5, "s"))
        async with _window(home) as (window, _):
            await asyncio.sleep(SETTLE_S)
            figures += await _at_rest("window at rest", window, seconds, share=0.3, mebibytes=120)
            figures.append(DeskFigure("second start", _seconds(["--home", str(home)]), 0.3, "s"))
    figures += await _paused_demo(Home(folder / "demo"), seconds)
    figures += await _crowd(folder / "crowd", seconds)
    training, notes = await training_figures(charter, folder / "training", seconds)
    return DeskReport(platform=_platform() or "the display", figures=(*figures, *training), notes=tuple(notes))


async def _paused_demo(home: Home, seconds: float) -> list[DeskFigure]:
    """The embedded collaboration of three with its window, paused once it has trained."""
    home.create()
    process = await asyncio.create_subprocess_exec(
        *own_command(), "engine", "--home", str(home.directory), "--embedded", "--with-parent",
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment(),
    )  # fmt: skip
    assert process.stdin is not None
    try:
        engine = await engine_of_home(home)
        async with ControlClient.connect(home) as client:
            await until(client, is_training)
            await client.call("pause")
        async with _window(home.directory) as (window, _):
            await asyncio.sleep(DEMO_SETTLES_S)
            used = sum(await asyncio.gather(*(_share(one, seconds) for one in (engine, window))))
            held = pss_bytes(engine) + pss_bytes(window)
    finally:
        process.stdin.close()
        await process.wait()
    name = "paused demo of three, with window"
    return [DeskFigure(f"{name}, of a core", used, 1.2, "%"), DeskFigure(name, held / MEBIBYTE, 450, "MiB")]


async def _crowd(home: Path, seconds: float) -> list[DeskFigure]:
    """A window whose engine tells of many people, four times a second."""
    words = [sys.executable, "-m", "tests.bench.desk.engine", str(home), str(PEOPLE)]
    process = await asyncio.create_subprocess_exec(*words, stdin=subprocess.PIPE)
    figures = []
    try:
        await engine_of_home(Home(home))
        for page in PAGES:
            async with _window(home, page) as (window, _):
                await asyncio.sleep(SETTLE_S)
                used = await _share(window, seconds)
                figures.append(DeskFigure(f"window with {PEOPLE} people, page {page}", used, 5.0, "%"))
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
    return figures


async def _at_rest(
    name: str, process: psutil.Process, seconds: float, *, share: float, mebibytes: float
) -> list[DeskFigure]:
    used = await _share(process, seconds)
    return [
        DeskFigure(f"{name}, of a core", used, share, "%"),
        DeskFigure(f"{name}, memory (PSS)", pss_bytes(process) / MEBIBYTE, mebibytes, "MiB"),
    ]


async def _share(process: psutil.Process, seconds: float) -> float:
    """What a process and its children use of one core, per cent."""
    before = cpu_s(process)
    began = time.monotonic()
    await asyncio.sleep(seconds)
    return 100 * (cpu_s(process) - before) / (time.monotonic() - began)


def _seconds(words: Sequence[str]) -> float:
    """Median time of a command, started anew each time."""
    taken = []
    for _ in range(RUNS):
        began = time.monotonic()
        subprocess.run(
            [*own_command(), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False, env=_environment()
        )
        taken.append(time.monotonic() - began)
    return statistics.median(taken)


@asynccontextmanager
async def _window(home: Path, page: str = "home") -> AsyncIterator[tuple[psutil.Process, float]]:
    """A window that attaches to the engine of a home, and after how many seconds it showed its state.

    Raises:
        Problem: it did not.
    """
    words = [*own_command(), "app", "--home", str(home), "--attach", "--page", page, "--tell"]
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment()
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_S):
            line = await process.stdout.readline()
        if not line:
            raise Problem("The window of the measurement did not open.", hint="Check with: potluck doctor")
        yield psutil.Process(process.pid), time.monotonic() - began
    finally:
        if process.returncode is None:
            process.kill()  # a polite request would end the engine, too
        await process.wait()


def _platform() -> str:
    """What Qt draws on where there is no display; empty: there is one."""
    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or not sys.platform.startswith("linux")
    return os.environ.get("QT_QPA_PLATFORM", "") if shown else "offscreen"


def _environment() -> dict[str, str]:
    platform = _platform()
    return {**os.environ, "POTLUCK_KEYRING": "off", **({"QT_QPA_PLATFORM": platform} if platform else {})}
