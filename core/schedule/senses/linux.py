"""Linux: NetworkManager, asked over D-Bus with systemd's `busctl`; the router from the kernel's table."""

import contextlib
import ipaddress
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from core.schedule.senses.findings import Ask, Medium, NetworkSense

NETWORK_MANAGER: Final = "org.freedesktop.NetworkManager"
NETWORK_MANAGER_PATH: Final = "/org/freedesktop/NetworkManager"
QUESTION: Final = (
    "busctl", "--system", "--timeout=3", "--auto-start=no", "get-property",
    NETWORK_MANAGER, NETWORK_MANAGER_PATH, NETWORK_MANAGER, "Metered", "PrimaryConnectionType",
)  # fmt: skip
METERED: Final[Mapping[str, bool]] = MappingProxyType({"1": True, "2": False, "3": True, "4": False})
"""By NMMetered: yes, no, probably, probably not."""
_MEDIA: Final[Mapping[str, Medium]] = MappingProxyType(
    {"802-3-ethernet": "cable", "802-11-wireless": "wifi", "gsm": "mobile", "cdma": "mobile", "bluetooth": "mobile"}
)
_ROUTES: Final = Path("/proc/net/route")
_IS_GATEWAY: Final = 2


async def network(ask: Ask, *, routes: Path = _ROUTES) -> NetworkSense:
    """Ask NetworkManager and the kernel about the network."""
    answers = dict(line.split(" ", 1) for line in (await ask(QUESTION)).splitlines() if " " in line)
    return NetworkSense(
        metered=METERED.get(answers.get("u", "")),
        medium=_MEDIA.get(answers.get("s", "").strip('"'), "unknown"),
        gateway=gateway(routes),
    )


def gateway(routes: Path = _ROUTES) -> str | None:
    """The default router's address; None when there is none."""
    with contextlib.suppress(OSError, ValueError):
        for line in routes.read_text(encoding="ascii").splitlines()[1:]:
            _, target, router, flags, *_ = line.split()
            if target == "00000000" and int(flags, 16) & _IS_GATEWAY:
                return str(ipaddress.IPv4Address(bytes.fromhex(router)[::-1]))
    return None
