"""The real process of the senses beside services of D-Bus that are scripted."""

import asyncio
import contextlib
import os
import time

import pytest

pytest.importorskip("jeepney", reason="D-Bus is Linux's")

from tests.process.buses import private_bus
from tests.process.sensing import senses

pytestmark = pytest.mark.process

UPOWER = "org.freedesktop.UPower"
NETWORK = "org.freedesktop.NetworkManager"
LOGIN = "org.freedesktop.login1"
MUTTER = "org.gnome.Mutter.IdleMonitor"
SAVER = "org.freedesktop.ScreenSaver"


def run(go):
    with private_bus() as bus:
        asyncio.run(go(bus))


def test_battery_is_told_as_upower_tells_it(tmp_path):
    device = "/org/freedesktop/UPower/devices/DisplayDevice"

    async def go(bus):
        with bus.service(UPOWER, "/org/freedesktop/UPower", template="upower") as upower:
            async with senses(tmp_path, bus.environ) as found:
                await found.until(lambda sensed: sensed.on_battery is False and sensed.battery is None)
                upower.update(UPOWER, {"OnBattery": ("b", True)})
                await found.until(lambda sensed: sensed.on_battery is True)
                charge = {"Percentage": ("d", 41.0), "IsPresent": ("b", True)}
                upower.update(f"{UPOWER}.Device", charge, path=device)
                await found.until(lambda sensed: sensed.battery == 0.41)
                upower.update(UPOWER, {"OnBattery": ("b", False)})
                await found.until(lambda sensed: sensed.on_battery is False)

    run(go)


def test_service_that_goes_and_comes_changes_nothing(tmp_path):
    async def go(bus):
        with contextlib.ExitStack() as stack:
            path = "/org/freedesktop/NetworkManager"
            manager = stack.enter_context(bus.service(NETWORK, path, template="networkmanager"))
            manager.call("AddProperty", NETWORK, "Metered", ("u", 1), signature="ssv")
            async with senses(tmp_path, bus.environ) as found:
                await found.until(lambda sensed: sensed.metered is True)
                manager.update(NETWORK, {"Metered": ("u", 4)})
                await found.until(lambda sensed: sensed.metered is False)
                await asyncio.to_thread(stack.close)
                with bus.service(NETWORK, path, template="networkmanager") as manager:
                    manager.call("AddProperty", NETWORK, "Metered", ("u", 1), signature="ssv")
                    sensed, _ = await found.until(lambda sensed: sensed.metered is not False)
                    assert sensed.metered is True

    run(go)


def test_sessions_of_logind_are_told(tmp_path):
    session = f"{LOGIN}.Session"

    async def go(bus):
        with bus.service(LOGIN, "/org/freedesktop/login1", template="logind") as login:
            (own,) = login.call("AddSession", "1", "seat0", os.getuid(), "me", True, signature="ssusb")
            login.update(session, {"Type": ("s", "wayland")}, path=own)
            async with senses(tmp_path, bus.environ) as found:
                sensed, _ = await found.until(lambda sensed: sensed.remote is False)
                assert sensed.idle_s is None  # no desktop has told yet that it would tell
                since = int((time.monotonic() - 100) * 1e6)
                login.update(session, {"IdleHint": ("b", True), "IdleSinceHintMonotonic": ("t", since)}, path=own)
                sensed, _ = await found.until(lambda sensed: (sensed.idle_s or 0) > 0)
                assert 99 <= sensed.idle_s <= 110
                login.update(session, {"IdleHint": ("b", False)}, path=own)
                await found.until(lambda sensed: sensed.idle_s == 0)
                login.update(session, {"LockedHint": ("b", True)}, path=own)
                await found.until(lambda sensed: (sensed.idle_s or 0) >= 1)
                (other,) = login.call("AddSession", "2", "seat0", 4242, "other", True, signature="ssusb")
                login.update(session, {"Type": ("s", "x11"), "Remote": ("b", True)}, path=other)
                await found.until(lambda sensed: sensed.idle_s == 0 and sensed.remote is True)

    run(go)


def test_input_is_told_as_gnome_tells_it(tmp_path):
    path = "/org/gnome/Mutter/IdleMonitor/Core"

    async def go(bus):
        with bus.service(MUTTER, path) as mutter:
            for member, takes, gives, code in (
                ("AddIdleWatch", "t", "u", "ret = 1"),
                ("AddUserActiveWatch", "", "u", "ret = 2"),
                ("GetIdletime", "", "t", "ret = 50"),
            ):
                mutter.method(MUTTER, member, takes, gives, code)
            async with senses(tmp_path, bus.environ) as found:
                await found.until(lambda sensed: sensed.idle_s == 0)
                mutter.method(MUTTER, "GetIdletime", "", "t", "ret = 1000")
                mutter.signal(MUTTER, "WatchFired", "u", 1)
                await found.until(lambda sensed: sensed.idle_s == 1)
                await found.until(lambda sensed: sensed.idle_s == 2)
                mutter.method(MUTTER, "GetIdletime", "", "t", "ret = 3")
                began = time.monotonic()
                mutter.signal(MUTTER, "WatchFired", "u", 2)
                _, at = await found.until(lambda sensed: sensed.idle_s == 0)
                assert at - began < 0.5

    run(go)


def test_screen_saver_counts_where_nothing_else_tells(tmp_path):
    async def go(bus):
        with bus.service(SAVER, "/org/freedesktop/ScreenSaver") as saver:
            saver.method(SAVER, "GetActive", "", "b", "ret = True")
            async with senses(tmp_path, bus.environ) as found:
                await found.until(lambda sensed: (sensed.idle_s or 0) >= 1)
                saver.signal(SAVER, "ActiveChanged", "b", False)
                await found.until(lambda sensed: sensed.idle_s == 0)
                saver.signal(SAVER, "ActiveChanged", "b", True)
                await found.until(lambda sensed: (sensed.idle_s or 0) >= 1)

    run(go)
