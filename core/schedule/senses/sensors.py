"""Battery (sysfs or psutil), heat and fans (psutil; Linux tells), and what the processor takes (RAPL), as far as shown.

Counters of energy, which Intel's and AMD's processors have, are shown to the administrator only on most systems, since
they tell too much about what is computed.
"""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import psutil

from core.schedule.sensed import Sensed
from core.schedule.senses.findings import Absent

BATTERY_S: Final = 5.0
SUPPLIES: Final = Path("/sys/class/power_supply")
SENSORS_S: Final = 10.0
PROCESSORS: Final = frozenset({"coretemp", "cpu_thermal", "k10temp", "zenpower"})
"""The drivers of processors' sensors, as the kernel names them."""
BOARD: Final = frozenset({"acpitz", "soc_thermal", "x86_pkg_temp"})
"""Sensors near the processor, for where it has none of its own."""
_CELSIUS: Final = (0.0, 150.0)
"""What a sensor may say and be believed: some say -273 or 255 where they are not connected."""
RPM_MAX: Final = 30_000.0
"""Sensors say more where there is no fan."""
COUNTERS: Final = Path("/sys/class/powercap")


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


def heat() -> Sensed:
    """Look at the sensors.

    Raises:
        Absent: the processor has none.
    """
    sensors = psutil.sensors_temperatures()
    for names in (PROCESSORS, BOARD):
        found = [float(each.current) for name in names for each in sensors.get(name, ())]
        believed = [celsius for celsius in found if _CELSIUS[0] < celsius < _CELSIUS[1]]
        if believed:
            return Sensed(celsius=max(believed))
    raise Absent("no sensor of the processor")


def fans() -> Sensed:
    """Look at the fans.

    Raises:
        Absent: the system shows none that turns.
    """
    told = psutil.sensors_fans() if hasattr(psutil, "sensors_fans") else {}
    turns = [float(each.current) for found in told.values() for each in found if 0 <= each.current <= RPM_MAX]
    if not any(turns):
        raise Absent("no fan that tells how fast it turns")
    return Sensed(fan_rpm=max(turns))


class Rapl:
    """Differences of the counters between two looks.

    Args:
        counters: The folder that has them.
    """

    def __init__(self, counters: Path = COUNTERS) -> None:
        self._counters = counters
        self._before: tuple[float, Mapping[Path, int]] | None = None

    def look(self) -> Sensed:
        """Return the watts since the look before, of all processors together; nothing at the first look.

        Raises:
            Absent: there are no counters, or they are not shown to this person.
        """
        return self.look_at(time.monotonic())

    def look_at(self, now: float) -> Sensed:
        """Do the same at a certain time.

        Args:
            now: Seconds.

        Raises:
            Absent: there are no counters, or they are not shown to this person.
        """
        try:
            joules = {each: _number(each / "energy_uj") for each in self._counters.glob("intel-rapl:?")}
            ranges = {each: _number(each / "max_energy_range_uj") for each in joules}
        except (OSError, ValueError) as error:
            raise Absent("counters of energy that may not be read") from error
        if not joules:
            raise Absent("no counters of energy")
        before, self._before = self._before, (now, joules)
        if before is None or before[1].keys() != joules.keys() or now <= before[0]:
            return Sensed()
        microjoules = sum((joules[each] - then) % (ranges[each] + 1) for each, then in before[1].items())
        return Sensed(watts=microjoules / 1e6 / (now - before[0]))


def _number(path: Path) -> int:
    return int(path.read_text(encoding="ascii"))
