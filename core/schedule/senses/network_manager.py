"""Whether the connection costs, as NetworkManager tells over D-Bus."""

import contextlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from core.schedule.sensed import Sensed
from core.schedule.senses.dbus import Service
from core.schedule.senses.findings import Tell

_NAME: Final = "org.freedesktop.NetworkManager"
_PATH: Final = "/org/freedesktop/NetworkManager"
_METERED: Final[Mapping[int, bool]] = MappingProxyType({1: True, 2: False, 3: True, 4: False})
"""NMMetered: yes, no, probably, probably not."""


class NetworkManager:
    """Watches what NetworkManager thinks of the connection."""

    name: Final = "metered"
    is_coarse: Final = False

    def run(self, tell: Tell) -> None:
        """Watch it until NetworkManager leaves the bus.

        Raises:
            Absent: it does not run.
        """
        with contextlib.closing(Service("system", _NAME)) as service:
            tell(_found(service))
            for signals in service.signals():
                if "PropertiesChanged" in signals:
                    tell(_found(service))


def _found(service: Service) -> Sensed:
    return Sensed(metered=_METERED.get(service.properties(_PATH, _NAME).get("Metered", 0)))
