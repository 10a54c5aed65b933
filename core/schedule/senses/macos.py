"""macOS: the time since the last input, and how dear the network is.

Low Data Mode ("constrained") and personal hotspots ("expensive") are flags that `ifconfig` shows.
"""

import ctypes
import re
from collections.abc import Callable, Mapping
from typing import Final

from core.schedule.sensed import Sensed
from core.schedule.senses.findings import Ask, Medium, NetworkSense

ROUTE: Final = ("/sbin/route", "-n", "get", "default")
PORTS: Final = ("/usr/sbin/networksetup", "-listallhardwareports")
_FLAGS: Final = re.compile(r"\b[ex]flags=[0-9a-f]+<([^>]*)>")
_COSTLY: Final = frozenset({"EXPENSIVE", "CONSTRAINED"})


INPUT_S: Final = 0.2
"""How often the last input is looked at: to get events a program needs a permission."""
IDLE_S: Final = 1.0
"""Time without a touch after which a person counts as idle."""
_LIBRARY: Final = "/System/Library/Frameworks/ApplicationServices.framework/ApplicationServices"
_COMBINED_SESSION: Final = 0
_ANY_INPUT: Final = 0xFFFFFFFF


def seconds_since_input() -> Callable[[], float]:
    """Return the system's function.

    Raises:
        OSError: the library is not there.
    """
    function = ctypes.CDLL(_LIBRARY).CGEventSourceSecondsSinceLastEventType
    function.restype, function.argtypes = ctypes.c_double, (ctypes.c_int32, ctypes.c_uint32)
    return lambda: float(function(_COMBINED_SESSION, _ANY_INPUT))


def last_input(seconds: Callable[[], float]) -> Sensed:
    """Look at the last input of this session.

    Args:
        seconds: Gives the seconds since then.
    """
    idle_s = seconds()
    if not 0 <= idle_s < 1e9:  # what is said where no input has been yet
        return Sensed()
    return Sensed(idle_s=idle_s if idle_s >= IDLE_S else 0.0)


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
