"""What owners wished for, each from its event on the system to what Potluck does then, and the sentence for that."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import pytest

from app import translations as catalogues
from app.looks.language import LANGUAGES
from core.api.modes import OFF
from core.api.rules import AMOUNTS, RESTS
from core.engine.limits.preferences import changed
from core.engine.limits.usage_policy import UsagePolicy
from core.schedule.policy import Decision
from core.schedule.sensed import names_of
from core.storage.settings import Settings
from core.system.child_process import own_command
from tests.process.screens import running, screen, type_key
from tests.process.sensing import PATIENCE_S, senses, without_screen
from tests.process.test_senses import STREAMS, start_orphan

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="the events are Linux's"),
]

DAY = 1_795_003_200.0 - 12 * 3600
"""Wednesday, 18 November 2026, 00:00 UTC."""
CARD = "cuda:0"
HOLDS = "import time; held = bytearray(b'x') * 500_000_000; time.sleep(600)"
UNSHARE = ("unshare", "--mount", "--propagation", "private")
SENSORS = "/sys/class"


@contextlib.asynccontextmanager
async def owned(
    tmp_path: Path,
    wish: Mapping[str, object],
    environ: Mapping[str, str] | None = None,
    command: Sequence[str] | None = None,
) -> AsyncIterator[UsagePolicy]:
    """Senses, and what follows from them by somebody's rules."""
    settings = changed(Settings(), wish)
    policy = UsagePolicy(settings, path=tmp_path / "use.json", now=lambda: DAY + 12 * 3600)
    policy.computes_on(CARD)
    async with senses(tmp_path, environ or without_screen(), command) as found:
        found.child.watch(names_of(settings))
        found.child.follow(policy.sense)
        yield policy


async def until(policy: UsagePolicy, so: Callable[[Decision], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not so(policy.decision):  # noqa: ASYNC110 - the decision follows the clock, too
            await asyncio.sleep(0.05)


def rests(why: str) -> Callable[[Decision], bool]:
    """Whether all computing rests for a reason, which has its sentence in each language."""
    assert_told(why)
    return lambda now: now.computing is not None and now.computing.reason == why


def card_rests(why: str) -> Callable[[Decision], bool]:
    """Whether the card alone rests for it."""
    assert_told(why)
    return lambda now: now.computing is None and now.gpu is not None and now.gpu.reason == why


def assert_told(why: str) -> None:
    for code in LANGUAGES[1:]:
        assert RESTS[why] in catalogues.translations(catalogues.FOLDER / f"potluck_{code}.ts"), code


@pytest.mark.parametrize(("amount", "share", "why"), [("quiet", 30, "gpu_in_use"), ("all", 100, None)])
def test_amount_decides_what_rests_while_somebody_types(tmp_path, amount, share, why):
    async def go(environ: Mapping[str, str]) -> None:
        async with owned(tmp_path, AMOUNTS[amount], environ) as policy:
            await until(policy, lambda _: (policy.sensed.idle_s or 0) >= 1)
            await asyncio.to_thread(type_key, environ)
            await until(policy, lambda now: policy.sensed.idle_s == 0 and now.profile.share == share)
            assert (policy.decision.gpu and policy.decision.gpu.reason) == why

    with screen() as environ:
        asyncio.run(go(environ))


def test_night_begins_with_another_share(tmp_path):
    """The clock is two seconds before eight in the evening, and goes."""

    async def go() -> None:
        began = asyncio.get_running_loop().time()
        policy = UsagePolicy(
            changed(Settings(), {"hours": "20:00-07:00", "other_hours": "20:00-21:00", "other_share": 55}),
            path=tmp_path / "use.json",
            now=lambda: DAY + 20 * 3600 - 2 + asyncio.get_running_loop().time() - began,
            offset_s=lambda _: 0.0,
        )
        keeping = asyncio.create_task(policy.keep())
        assert rests("schedule")(policy.decision)
        async with asyncio.timeout(60):
            await policy.until(resting=False)
        assert policy.profile.share == 55
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

    asyncio.run(go())


def test_heat_slows_training_and_a_loud_fan_stops_it(tmp_path):
    """The kernel's files of sensors are others' here; all that reads them is real."""
    sensors = tmp_path / "class"
    sensors.mkdir()
    command = [*UNSHARE, "sh", "-c", f'mount --bind "$0" {SENSORS} && exec "$@"', str(sensors)]
    tried = subprocess.run([*command, "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip(f"no files can be put in the place of {SENSORS}: {tried.stderr.decode()}")

    def say(milli_celsius: int, rpm: int) -> None:
        chip = sensors / "hwmon" / "hwmon0"
        chip.mkdir(parents=True, exist_ok=True)
        for name, value in {"name": "coretemp", "temp1_input": milli_celsius, "fan1_input": rpm}.items():
            (chip / name).write_text(f"{value}\n")

    async def go() -> None:
        wish = {"warm_celsius": 60, "warm_share": 20, "fan_rpm_max": 2500}
        child = [*own_command("senses", "core.schedule.senses"), str(os.getpid())]
        async with owned(tmp_path, wish, command=[*command, *child]) as policy:
            await until(policy, lambda _: policy.sensed.fan_rpm == 1200 and policy.sensed.celsius == 45)
            assert (policy.decision.computing, policy.decision.profile.share) == (None, 100)
            say(71_000, 2900)
            await until(policy, lambda now: rests("fan")(now) and now.profile.share == 20)

    say(45_000, 1200)
    asyncio.run(go())


@pytest.mark.parametrize(("rule", "limit", "why"), [("meter_max", 30, "meter_high"), ("meter_min", 400, "meter_low")])
def test_price_and_surplus_of_a_meter_stop_it(tmp_path, rule, limit, why):
    meter, said = tmp_path / "meter", tmp_path / "said"
    said.write_text("312 W" if rule == "meter_min" else "31.5 ct/kWh")
    if rule == "meter_min":
        meter.write_text(f"#!/bin/sh\ncat {said}\n")
        meter.chmod(0o755)

    async def go() -> None:
        wish = {"meter": str(meter if rule == "meter_min" else said), rule: limit}
        async with owned(tmp_path, wish) as policy:
            await until(policy, rests(why))

    asyncio.run(go())


def test_game_in_a_folder_rests_the_card_alone(tmp_path):
    games = tmp_path / "Games"
    (games / "chess").mkdir(parents=True)
    shutil.copy(shutil.which("sleep") or "", games / "chess" / "start")

    async def go() -> None:
        async with owned(tmp_path, {"gpu_programs": [str(games)]}) as policy:
            await until(policy, lambda now: bool(policy.sensed.programs) and now.gpu is None)
            orphan = await asyncio.to_thread(start_orphan, games / "chess" / "start")
            try:
                await until(policy, card_rests("gpu_program"))
            finally:
                os.kill(orphan, signal.SIGTERM)

    asyncio.run(go())


def test_streamed_desktop_gives_memory_back(tmp_path):
    """Somebody watches this computer's screen elsewhere, while a child of this process holds half a gigabyte."""

    async def go() -> None:
        async with owned(tmp_path, {"in_use_memory_bytes": 300_000_000}) as policy:
            with running([sys.executable, "-c", STREAMS, "udp", "47998"], without_screen()):
                await until(policy, lambda now: policy.sensed.remote is True and now.computing is None)
                with running([sys.executable, "-c", HOLDS], without_screen()):
                    await until(policy, rests("in_use_memory"))

    asyncio.run(go())


def test_one_card_of_several_is_paused(tmp_path):
    settings = changed(Settings(), {"device": "cuda:0,cuda:1"})
    policy = UsagePolicy(settings, path=tmp_path / "use.json", now=lambda: DAY)
    assert policy.decision.left_out == ()
    policy.apply(Settings(device="cuda:0,cuda:1", cards={"cuda:1": OFF}))
    assert (policy.decision.rest, policy.decision.left_out) == (None, ("cuda:1",))
