"""A real engine rests, and goes on, by what really goes on on this computer: no part of it is played."""

import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from core.api.snapshot import Snapshot
from core.api.verdict import VerdictCode
from core.storage.paths import Home
from core.storage.settings import Settings, save_settings
from tests.process.screens import running, screen
from tests.process.swarm import ENVIRONMENT, collaboration, found
from tests.process.test_senses import FULL_SCREEN

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")]


def trains(news: Snapshot) -> bool:
    return news.verdict.code is VerdictCode.CONTRIBUTING and news.me.samples_pending > 0


@pytest.mark.long
def test_listed_program_and_full_screen_window_suspend_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charter, home, game = found(tmp_path, target_samples=100_000), Home(tmp_path / "ada"), tmp_path / "Some-Game"
    shutil.copy(str(shutil.which("sleep")), game)
    home.create()
    save_settings(home.settings_file, Settings(programs=("some-game",), full_screen=False))

    async def run(environ: dict[str, str]) -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada = swarm.join("ada")
            worker = (await ada.until(trains)).me.worker_pid
            for words, reason in (
                ([str(game), "600"], "program"),
                ([sys.executable, "-c", FULL_SCREEN, "full"], "full_screen"),
            ):
                with running(words, environ):
                    resting = await ada.until(lambda news, reason=reason: news.verdict.reason == reason)
                    assert resting.verdict.code is VerdictCode.RESTING
                assert (await ada.until(trains)).me.worker_pid == worker

    with screen() as environ:
        for name in ("DISPLAY", "XAUTHORITY"):
            monkeypatch.setitem(ENVIRONMENT, name, environ.get(name, ""))
        monkeypatch.setitem(ENVIRONMENT, "POTLUCK_SENSES", "on")
        monkeypatch.delitem(ENVIRONMENT, "WAYLAND_DISPLAY", raising=False)
        asyncio.run(run(environ))
