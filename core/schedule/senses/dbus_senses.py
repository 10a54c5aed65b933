"""Senses of services on D-Bus, which a desktop or a system of Linux runs; each watches until its service has gone.

Mutter, GNOME's window manager, tells of input under X and Wayland; the screen saver of KDE and others, whether it or
the lock screen is on; UPower, the battery; NetworkManager, whether the connection costs.
"""

import contextlib
from typing import Any, Final

from core.schedule.sensed import Sensed
from core.schedule.senses.dbus import Service
from core.schedule.senses.findings import Absent, Periodic, Tell
from core.schedule.senses.linux import METERED, NETWORK_MANAGER, NETWORK_MANAGER_PATH
from core.schedule.senses.sensors import BATTERY_S, battery

IDLE_MS: Final = 1000
"""Time without a touch after which a person counts as idle."""
_MUTTER: Final = "org.gnome.Mutter.IdleMonitor"
_MUTTER_PATH: Final = "/org/gnome/Mutter/IdleMonitor/Core"
_SCREEN_SAVER: Final = "org.freedesktop.ScreenSaver"
_SCREEN_SAVER_PATH: Final = "/org/freedesktop/ScreenSaver"
AWAY: Final = Sensed(idle_s=1.0)
BACK: Final = Sensed(idle_s=0.0)
_UPOWER: Final = "org.freedesktop.UPower"
_UPOWER_PATH: Final = "/org/freedesktop/UPower"
_DISPLAYED: Final = f"{_UPOWER_PATH}/devices/DisplayDevice"
"""All batteries together, as the desktop shows them."""


class Mutter:
    """Watches input to a session of GNOME."""

    name: Final = "input (GNOME)"
    is_coarse: Final = False

    def run(self, tell: Tell) -> None:
        """Watch input until the desktop goes.

        A watch for idleness stays; one for the next touch fires once, and is made anew when idleness has begun.
        """
        with contextlib.closing(Service("session", _MUTTER)) as service:
            service.call(_MUTTER_PATH, f"{_MUTTER}.AddIdleWatch", IDLE_MS, signature="t")
            service.call(_MUTTER_PATH, f"{_MUTTER}.AddUserActiveWatch")
            sensed = _input(service)
            tell(sensed)
            for signals in service.signals():
                if "WatchFired" not in signals:
                    continue
                before, sensed = sensed, _input(service)
                if sensed.idle_s and not before.idle_s:
                    service.call(_MUTTER_PATH, f"{_MUTTER}.AddUserActiveWatch")
                    sensed = _input(service)  # somebody may have come just before it was made
                tell(sensed)


def _input(service: Service) -> Sensed:
    (milliseconds,) = service.call(_MUTTER_PATH, f"{_MUTTER}.GetIdletime")
    return Sensed(idle_s=milliseconds / 1000 if milliseconds >= IDLE_MS else 0.0)


class ScreenSaver:
    """Watches the screen saver: while it is on, nobody is there; before it was, it tells nothing."""

    name: Final = "screen saver"
    is_coarse: Final = True

    def run(self, tell: Tell) -> None:
        """Watch it until the desktop goes."""
        with contextlib.closing(Service("session", _SCREEN_SAVER)) as service:
            (is_on,) = service.call(_SCREEN_SAVER_PATH, f"{_SCREEN_SAVER}.GetActive")
            if is_on:
                tell(AWAY)
            for signals in service.signals():
                if "ActiveChanged" in signals:
                    (is_on,) = signals["ActiveChanged"]
                    tell(AWAY if is_on else BACK)


class UPower:
    """Watches the battery, and the plug."""

    name: Final = "battery"
    is_coarse: Final = False

    def run(self, tell: Tell) -> None:
        """Watch them until UPower leaves the bus, or for ever."""
        try:
            service = Service("system", _UPOWER)
        except Absent:
            Periodic(self.name, battery, BATTERY_S).run(tell)
            return
        with contextlib.closing(service):
            tell(_battery(service))
            for _ in service.signals():
                tell(_battery(service))


def _battery(service: Service) -> Sensed:
    device: dict[str, Any] = service.properties(_DISPLAYED, f"{_UPOWER}.Device")
    charge = float(device["Percentage"]) / 100 if device.get("IsPresent") else None
    return Sensed(on_battery=bool(service.properties(_UPOWER_PATH, _UPOWER)["OnBattery"]), battery=charge)


class NetworkManager:
    """Watches what NetworkManager thinks of the connection."""

    name: Final = "metered"
    is_coarse: Final = False

    def run(self, tell: Tell) -> None:
        """Watch it until NetworkManager leaves the bus.

        Raises:
            Absent: it does not run.
        """
        with contextlib.closing(Service("system", NETWORK_MANAGER)) as service:
            tell(_cost(service))
            for signals in service.signals():
                if "PropertiesChanged" in signals:
                    tell(_cost(service))


def _cost(service: Service) -> Sensed:
    return Sensed(metered=METERED.get(str(service.properties(NETWORK_MANAGER_PATH, NETWORK_MANAGER).get("Metered"))))
