"""The real process of the senses beside services of D-Bus that are scripted."""

import asyncio
import contextlib
import os
import time

import pytest

pytest.importorskip("jeepney", reason="D-Bus is Linux's")

from jeepney import DBusAddress, HeaderFields, message_bus, new_signal
from jeepney.io.blocking import open_dbus_connection
from jeepney.wrappers import unwrap_msg

from core.schedule.senses.dbus import PAUSE_S, Service
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


def forge(bus, path, interface, member, signature, body):
    """Send a signal, as another program on the bus, straight to each of its clients."""
    with open_dbus_connection(bus.address) as connection:

        def clients():
            (names,) = unwrap_msg(connection.send_and_get_reply(message_bus.ListNames()))
            return [name for name in names if name.startswith(":")]

        for client in clients():
            message = new_signal(DBusAddress(path, interface=interface), member, signature, body)
            message.header.fields[HeaderFields.destination] = client
            connection.send(message)
        clients()  # after this answer the bus has passed on what was sent before


def test_signals_of_other_programs_are_not_believed(monkeypatch):
    path = "/org/freedesktop/ScreenSaver"
    with private_bus() as bus, bus.service(SAVER, path) as saver:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
        with contextlib.closing(Service("session", SAVER)) as service:
            forge(bus, "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged", "sss", (SAVER, ":1.1", ""))
            forge(bus, path, SAVER, "ActiveChanged", "b", (True,))
            forge(bus, path, SAVER, "Forged", "", ())
            saver.signal(SAVER, "ActiveChanged", "b", False)
            assert next(service.signals()) == {"ActiveChanged": (False,)}


def test_signals_that_come_together_are_passed_on_once(monkeypatch):
    with private_bus() as bus, contextlib.ExitStack() as stack:
        saver = stack.enter_context(bus.service(SAVER, "/org/freedesktop/ScreenSaver"))
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus.address)
        with contextlib.closing(Service("session", SAVER)) as service:
            for number in range(30):
                saver.signal(SAVER, "ActiveChanged", "b", number % 2 == 1)
            signals = service.signals()
            assert next(signals) == {"ActiveChanged": (True,)}
            passed_at = time.monotonic()
            saver.signal(SAVER, "ActiveChanged", "b", False)
            assert next(signals) == {"ActiveChanged": (False,)}
            assert time.monotonic() - passed_at > PAUSE_S * 0.9
            stack.close()
            assert list(signals) == []


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
                await found.until(lambda sensed: (sensed.idle_s or 0) >= 1)
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
