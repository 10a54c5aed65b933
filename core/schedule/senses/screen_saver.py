"""Whether the screen saver or the lock screen is on, as KDE and other desktops tell over D-Bus."""

import contextlib
from typing import Final

from core.schedule.sensed import Sensed
from core.schedule.senses.dbus import Service
from core.schedule.senses.findings import Tell

_NAME: Final = "org.freedesktop.ScreenSaver"
_PATH: Final = "/org/freedesktop/ScreenSaver"
AWAY: Final = Sensed(idle_s=1.0)
BACK: Final = Sensed(idle_s=0.0)


class ScreenSaver:
    """Watches the screen saver: while it is on, nobody is there; before it was, it tells nothing."""

    name: Final = "screen saver"
    is_coarse: Final = True

    def run(self, tell: Tell) -> None:
        """Watch it until the desktop goes."""
        with contextlib.closing(Service("session", _NAME)) as service:
            (is_on,) = service.call(_PATH, f"{_NAME}.GetActive")
            if is_on:
                tell(AWAY)
            for signals in service.signals():
                if "ActiveChanged" in signals:
                    (is_on,) = signals["ActiveChanged"]
                    tell(AWAY if is_on else BACK)
