"""Idle time of a session of GNOME, under X and Wayland, by watches of Mutter's IdleMonitor."""

import contextlib
from typing import Final

from core.schedule.sensed import Sensed
from core.schedule.senses.dbus import Service
from core.schedule.senses.findings import Tell

IDLE_MS: Final = 1000
"""Somebody who has not touched the computer for so long is idle."""
_NAME: Final = "org.gnome.Mutter.IdleMonitor"
_PATH: Final = "/org/gnome/Mutter/IdleMonitor/Core"


class Mutter:
    """Watches input to a session of GNOME."""

    name: Final = "input (GNOME)"
    is_coarse: Final = False

    def run(self, tell: Tell) -> None:
        """Watch input until the desktop goes.

        A watch for idleness stays; one for the next touch fires once, and is made anew when idleness has begun.
        """
        with contextlib.closing(Service("session", _NAME)) as service:
            service.call(_PATH, f"{_NAME}.AddIdleWatch", IDLE_MS, signature="t")
            service.call(_PATH, f"{_NAME}.AddUserActiveWatch")
            sensed = _found(service)
            tell(sensed)
            for signals in service.signals():
                if "WatchFired" not in signals:
                    continue
                before, sensed = sensed, _found(service)
                if sensed.idle_s and not before.idle_s:
                    service.call(_PATH, f"{_NAME}.AddUserActiveWatch")
                    sensed = _found(service)  # somebody may have come just before it was made
                tell(sensed)


def _found(service: Service) -> Sensed:
    (milliseconds,) = service.call(_PATH, f"{_NAME}.GetIdletime")
    return Sensed(idle_s=milliseconds / 1000 if milliseconds >= IDLE_MS else 0.0)
