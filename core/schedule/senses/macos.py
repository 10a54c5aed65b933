"""macOS: Low Data Mode ("constrained") and personal hotspots ("expensive"), flags that `ifconfig` shows."""

import re
from collections.abc import Mapping
from typing import Final

from core.schedule.senses.sense import Ask, Medium, NetworkSense

ROUTE: Final = ("/sbin/route", "-n", "get", "default")
PORTS: Final = ("/usr/sbin/networksetup", "-listallhardwareports")
_FLAGS: Final = re.compile(r"\b[ex]flags=[0-9a-f]+<([^>]*)>")
_COSTLY: Final = frozenset({"EXPENSIVE", "CONSTRAINED"})


def flags_question(interface: str) -> tuple[str, ...]:
    """Asks for an interface's extended flags."""
    return ("/sbin/ifconfig", "-v", interface)


async def network(ask: Ask) -> NetworkSense:
    """Ask the system's programs about the network."""
    route = dict(re.findall(r"^\s*(\w+): (\S+)", await ask(ROUTE), re.MULTILINE))
    interface = route.get("interface", "")
    if not interface:
        return NetworkSense()
    flags = {flag for group in _FLAGS.findall(await ask(flags_question(interface))) for flag in group.split(",")}
    return NetworkSense(
        metered=bool(flags & _COSTLY) if flags else None,
        medium=_medium(await ask(PORTS), interface),
        gateway=route.get("gateway"),
    )


def _medium(ports: str, interface: str) -> Medium:
    names = {device: name for name, device in re.findall(r"Hardware Port: (.+)\nDevice: (\S+)", ports)}
    return _kind(names, interface)


def _kind(names: Mapping[str, str], interface: str) -> Medium:
    name = names.get(interface, "")
    if name == "Wi-Fi":
        return "wifi"
    if any(word in name for word in ("iPhone", "iPad", "Bluetooth")):
        return "mobile"
    return "cable" if "Ethernet" in name or "LAN" in name or "Thunderbolt" in name else "unknown"
