"""The battery, as the system's own files or functions tell (Linux: sysfs; elsewhere psutil)."""

import sys
from pathlib import Path
from typing import Final

import psutil

from core.schedule.sensed import Sensed

LOOK_S: Final = 5.0
SUPPLIES: Final = Path("/sys/class/power_supply")


def battery(supplies: Path = SUPPLIES) -> Sensed:
    """Look at the battery; a computer without one tells nothing.

    psutil takes any supply for it whose name has "battery" in it, also that of a wireless mouse: on Linux the supplies
    are asked whose they are (their `scope`, kernel: Documentation/ABI/testing/sysfs-class-power).

    Args:
        supplies: The folder of Linux with the power supplies.
    """
    if sys.platform == "linux":
        return _of_linux(supplies)
    found = psutil.sensors_battery()
    if found is None:
        return Sensed()
    plugged = found.power_plugged
    return Sensed(on_battery=None if plugged is None else not plugged, battery=min(1.0, max(0.0, found.percent / 100)))


def _of_linux(supplies: Path) -> Sensed:
    folders = sorted(supplies.iterdir()) if supplies.is_dir() else []
    own = [each for each in folders if _word(each, "type") == "Battery" and _word(each, "scope") != "Device"]
    if not own:
        return Sensed()
    plugged = any(_word(each, "online") == "1" for each in folders if _word(each, "type") in {"Mains", "USB"})
    states = {_word(each, "status") for each in own}
    on_battery = False if plugged else True if "Discharging" in states else False if states - {"Unknown", ""} else None
    levels = [int(level) for each in own if (level := _word(each, "capacity")).isdecimal()]
    return Sensed(on_battery=on_battery, battery=min(1.0, sum(levels) / len(levels) / 100) if levels else None)


def _word(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
