"""What the processor takes, by the counters of energy that Intel's and AMD's have (RAPL), where the system shows them.

Most systems show them to the administrator only, since they tell too much about what is computed.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from core.schedule.sensed import Sensed
from core.schedule.senses.findings import Absent

LOOK_S: Final = 10.0
COUNTERS: Final = Path("/sys/class/powercap")


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
