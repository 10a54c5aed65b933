"""How hot the processor is, by the hottest of its sensors (psutil; Linux tells, and FreeBSD)."""

from typing import Final

import psutil

from core.schedule.sensed import Sensed
from core.schedule.senses.findings import Absent

LOOK_S: Final = 10.0
PROCESSORS: Final = frozenset({"coretemp", "cpu_thermal", "k10temp", "zenpower"})
"""The drivers of processors' sensors, as the kernel names them."""
BOARD: Final = frozenset({"acpitz", "soc_thermal", "x86_pkg_temp"})
"""Sensors near the processor, for where it has none of its own."""
_CELSIUS: Final = (0.0, 150.0)
"""What a sensor may say and be believed: some say -273 or 255 where they are not connected."""


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
