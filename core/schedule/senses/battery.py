"""The battery, as the system's own files or functions tell (psutil)."""

from typing import Final

import psutil

from core.schedule.sensed import Sensed

LOOK_S: Final = 5.0


def battery() -> Sensed:
    """Look at the battery; a computer without one tells nothing."""
    found = psutil.sensors_battery()
    if found is None:
        return Sensed()
    plugged = found.power_plugged
    return Sensed(on_battery=None if plugged is None else not plugged, battery=min(1.0, max(0.0, found.percent / 100)))
