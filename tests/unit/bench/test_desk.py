"""The table of `python -m tests.bench desk`, and the engine of pretence that it measures a window with."""

import asyncio
import subprocess
import sys

from core.api.snapshot import Snapshot
from core.control.client import ControlClient
from core.control.engine_file import NotRunning
from core.storage.paths import Home
from tests.bench.desk.desk import DeskReport, as_table
from tests.bench.desk.figures import DeskFigure
from tests.bench.desk.key_probe import lateness_ms


def test_table_marks_what_misses_its_target():
    met, missed = DeskFigure("second start", 0.2, 0.3, "s"), DeskFigure("status", 0.4, 0.2, "s")
    head, _, first, second = as_table(DeskReport(platform="offscreen", figures=(met, missed))).splitlines()
    assert head == "Window drawn on: offscreen"
    assert first.split() == ["second", "start", "0.20", "s", "0.3"]
    assert second.split() == ["status", "0.40", "s", "0.2", "*"]


def test_engine_of_pretence_changes_all_the_time(tmp_path):
    words = [sys.executable, "-m", "tests.bench.desk.engine", str(tmp_path), "200"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE)

    async def watch() -> list[Snapshot]:
        while True:
            try:
                async with ControlClient.connect(Home(tmp_path)) as client:
                    told = client.notifications()
                    return [await anext(told) for _ in range(3)]
            except NotRunning:
                await asyncio.sleep(0.05)

    async def limited() -> list[Snapshot]:
        async with asyncio.timeout(30):
            return await watch()

    try:
        seen = asyncio.run(limited())
    finally:
        process.stdin.close()
        assert process.wait(20) == 0
    assert all(len(one.peers) == len(one.leaderboard) == 200 for one in seen)
    assert len({one.epoch_samples for one in seen}) == 3


def test_table_says_what_is_not_measured():
    report = DeskReport(platform="offscreen", figures=(), notes=("input is not measured: no Xvfb",))
    assert as_table(report).splitlines()[-1] == "input is not measured: no Xvfb"


def test_keys_are_never_done_before_their_moment():
    assert lateness_ms(0.1) > 0.0
