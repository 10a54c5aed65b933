"""The battery, as UPower tells over D-Bus; where it does not run, the kernel's files are looked at."""

import contextlib
from typing import Any, Final

from core.schedule.sensed import Sensed
from core.schedule.senses.battery import LOOK_S, battery
from core.schedule.senses.dbus import Service
from core.schedule.senses.findings import Absent, Periodic, Tell

_NAME: Final = "org.freedesktop.UPower"
_PATH: Final = "/org/freedesktop/UPower"
_DISPLAYED: Final = f"{_PATH}/devices/DisplayDevice"
"""All batteries together, as the desktop shows them."""


class UPower:
    """Watches the battery, and the plug."""

    name: Final = "battery"
    is_coarse: Final = False

    def run(self, tell: Tell) -> None:
        """Watch them until UPower leaves the bus, or for ever."""
        try:
            service = Service("system", _NAME)
        except Absent:
            Periodic(self.name, battery, LOOK_S).run(tell)
            return
        with contextlib.closing(service):
            tell(_found(service))
            for _ in service.signals():
                tell(_found(service))


def _found(service: Service) -> Sensed:
    device: dict[str, Any] = service.properties(_DISPLAYED, f"{_NAME}.Device")
    charge = float(device["Percentage"]) / 100 if device.get("IsPresent") else None
    return Sensed(on_battery=bool(service.properties(_PATH, _NAME)["OnBattery"]), battery=charge)
