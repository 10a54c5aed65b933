"""Limits that are set on a running engine, by the command line, as a person would."""

import asyncio
import json
import subprocess
import time
from pathlib import Path

import pytest

from core.api.snapshot import Activity
from core.net.limits.pace import BURST_S, DEBT_S, TURN_BYTES_MIN
from core.storage.paths import Home
from core.storage.settings import Settings, load_settings, save_settings
from tests.process.swarm import CORE, ENVIRONMENT, WIDE, Collaboration, Volunteer, collaboration, found

pytestmark = pytest.mark.process
LIMIT_BYTES_S = 12_500.0
"""100 kbit/s."""
LIMITED_S = 5.0


async def potluck(one: Volunteer, *words: str) -> dict:
    """The command's output as JSON; it must end well."""
    command = [*CORE, *words, "--home", str(one.home.directory), "--json"]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def join(swarm: Collaboration, name: str) -> Volunteer:
    """An engine that listens everywhere: only where all are on one computer do limits not count."""
    return swarm.join(name, "--bind", "0.0.0.0")


async def sent(one: Volunteer, seconds: float) -> tuple[int, float]:
    """Bytes that it sends in about that time, and a time in which it did so, never too short."""
    began, before = time.monotonic(), await one.snapshot()
    await asyncio.sleep(seconds)
    after = await one.snapshot()
    return after.me.bytes_sent - before.me.bytes_sent, time.monotonic() - began


def allowed(seconds: float) -> float:
    """The most bytes that may pass: what was saved, what control may borrow, a turn begun, and heads."""
    return LIMIT_BYTES_S * (BURST_S + seconds + DEBT_S) + 2 * TURN_BYTES_MIN


def later() -> tuple[str, str]:
    """Hours that begin in one or two, and the time at which they do."""
    then = time.localtime(time.time() + 2 * 3600)  # noqa: TID251 - the hours are those of this computer's clock
    return f"{time.strftime('%a', then)} {then.tm_hour}:00-24:00", f"{then.tm_hour:02}:00"


@pytest.mark.long
def test_limits_and_hours_hold_at_once(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64, numbers=WIDE)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada, ben = join(swarm, "ada"), join(swarm, "ben")
            await asyncio.gather(*(one.until(lambda news: news.me.epochs >= 1) for one in (ada, ben)))
            before = await ada.snapshot()
            after = await ada.until(
                lambda news: news.me.epochs > before.me.epochs + 1
            )  # the next one may be sent already
            assert after.me.bytes_sent - before.me.bytes_sent > allowed(LIMITED_S), "a single round is too much"
            told = await potluck(ada, "settings", "upload", "100kbit")
            assert told["running"]
            assert told["settings"]["upload_bytes_s"] == LIMIT_BYTES_S
            await ada.until(lambda news: news.activity is Activity.AVERAGING)
            count, seconds = await sent(ada, LIMITED_S)
            assert count <= allowed(seconds)
            await potluck(ada, "settings", "upload", "none")

            assert told["settings"]["month_used_bytes"] > 1_000_000
            await potluck(ada, "settings", "month", "1MB")
            resting = await ada.until(lambda news: news.activity is Activity.PAUSED and news.me.worker_pid is not None)
            assert "month's limit" in resting.sentence
            assert resting.contributing

            await potluck(ada, "settings", "keep", "0")
            await ada.until(lambda news: news.activity is Activity.PAUSED and news.me.worker_pid is None)

            hours, begin = later()
            await potluck(ada, "settings", "hours", hours)
            await potluck(ada, "settings", "month", "none")
            resting = await ada.snapshot()
            assert resting.activity is Activity.PAUSED
            assert f"{begin} at" in resting.sentence
            await potluck(ada, "settings", "hours", "always")
            await ada.until(lambda news: news.me.worker_pid is not None and news.activity is not Activity.PAUSED)
            assert load_settings(ada.home.settings_file).settings.hours == "always"

            tested = (await potluck(ada, "settings", "port", "test"))["test"]
            assert tested["port"] > 0
            assert tested["sentence"].endswith(".")

    asyncio.run(run())


@pytest.mark.long
def test_engine_started_outside_its_hours_rests_on_a_shared_computer(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)
    home = Home(tmp_path / "ada")
    hours, begin = later()
    home.create()
    save_settings(home.settings_file, Settings(hours=hours, month_bytes=1_000_000))

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada = swarm.join("ada")
            resting = await ada.until(lambda news: news.activity is Activity.PAUSED)
            assert f"{begin} at" in resting.sentence
            assert resting.me.worker_pid is None
            assert resting.contributing
            assert (await potluck(ada, "settings", "port", "test"))["test"]["port"] == 0
            await potluck(ada, "resume")
            resting = await ada.snapshot()
            assert resting.verdict.code == "resting"
            assert resting.me.contributing_s == 0.0, "no time is given while nothing is computed"
            await potluck(ada, "settings", "hours", "always")
            await ada.until(lambda news: news.epoch >= 1 and news.me.contributing_s > 0)

    asyncio.run(run())
