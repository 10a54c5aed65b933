"""Windows: input and full screens from User32, and how dear the network is.

The connection's cost and kind come from the Windows Runtime, the router from the route table, both by PowerShell.
"""

import ctypes
import ipaddress
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol

from core.schedule.sensed import Sensed
from core.schedule.senses.findings import Ask, Medium, NetworkSense

_SCRIPT: Final = (
    "$p = [Windows.Networking.Connectivity.NetworkInformation,Windows,ContentType=WindowsRuntime]"
    "::GetInternetConnectionProfile();"
    "if ($p) { 'cost=' + $p.GetConnectionCost().NetworkCostType;"
    " 'kind=' + $p.NetworkAdapter.IanaInterfaceType };"
    "$r = Get-NetRoute -DestinationPrefix 0.0.0.0/0 -ErrorAction SilentlyContinue |"
    " Sort-Object -Property RouteMetric | Select-Object -First 1;"
    "if ($r) { 'gateway=' + $r.NextHop }"
)
QUESTION: Final = ("powershell.exe", "-NoProfile", "-NonInteractive", "-Command", _SCRIPT)
_METERED: Final[Mapping[str, bool]] = MappingProxyType({"Unrestricted": False, "Fixed": True, "Variable": True})
"""Windows.Networking.Connectivity.NetworkCostType."""
_MEDIA: Final[Mapping[str, Medium]] = MappingProxyType({"6": "cable", "71": "wifi", "243": "mobile", "244": "mobile"})
"""IANA's interface types."""


INPUT_S: Final = 0.2
"""How often the last input is looked at: no event tells a program without a window."""
DESKTOP_S: Final = 2.0
IDLE_S: Final = 1.0
"""Time without a touch after which a person counts as idle."""
_SM_REMOTESESSION: Final = 0x1000
_FULL_SCREEN: Final = frozenset({2, 3, 4})
"""QUNS_BUSY, QUNS_RUNNING_D3D_FULL_SCREEN, QUNS_PRESENTATION_MODE."""
_TICKS: Final = 1 << 32
"""The system counts milliseconds, and begins anew after 49.7 days."""


class WindowsCalls(Protocol):
    """The functions of Windows that are called."""

    def last_input_ms(self) -> int | None:
        """Ticks at the last input of this session; None: the call failed."""

    def ticks_ms(self) -> int:
        """Milliseconds since the system began, modulo 2^32."""

    def is_remote(self) -> bool:
        """Whether this session is one of remote desktop."""

    def notification_state(self) -> int | None:
        """The system's QUERY_USER_NOTIFICATION_STATE; None: the call failed."""


class User32:
    """The functions, of the system's own libraries."""

    def __init__(self) -> None:
        libraries: Any = ctypes
        self._user32 = libraries.WinDLL("user32")
        self._kernel32 = libraries.WinDLL("kernel32")
        self._shell32 = libraries.WinDLL("shell32")
        self._kernel32.GetTickCount.restype = ctypes.c_uint32

    def last_input_ms(self) -> int | None:
        """Ticks at the last input, of GetLastInputInfo."""
        info = (ctypes.c_uint32 * 2)(8, 0)
        return int(info[1]) if self._user32.GetLastInputInfo(ctypes.byref(info)) else None

    def ticks_ms(self) -> int:
        """Ticks now, of GetTickCount, whose clock is that of the last input."""
        return int(self._kernel32.GetTickCount())

    def is_remote(self) -> bool:
        """Whether SM_REMOTESESSION is set, of GetSystemMetrics."""
        return bool(self._user32.GetSystemMetrics(_SM_REMOTESESSION))

    def notification_state(self) -> int | None:
        """What SHQueryUserNotificationState says of the screen."""
        state = ctypes.c_int(0)
        return state.value if self._shell32.SHQueryUserNotificationState(ctypes.byref(state)) == 0 else None


def last_input(calls: WindowsCalls) -> Sensed:
    """Look at the last input of this session."""
    at = calls.last_input_ms()
    if at is None:
        return Sensed()
    idle_s = (calls.ticks_ms() - at) % _TICKS / 1000
    return Sensed(idle_s=idle_s if idle_s >= IDLE_S else 0.0)


def desktop(calls: WindowsCalls) -> Sensed:
    """Look at the kind of session, and at the screen."""
    state = calls.notification_state()
    return Sensed(remote=calls.is_remote(), full_screen=None if state is None else state in _FULL_SCREEN)


async def network(ask: Ask) -> NetworkSense:
    """Ask the Windows Runtime about the network."""
    answers = dict(line.strip().split("=", 1) for line in (await ask(QUESTION)).splitlines() if "=" in line)
    return NetworkSense(
        metered=_METERED.get(answers.get("cost", "")),
        medium=_MEDIA.get(answers.get("kind", ""), "unknown"),
        gateway=_address(answers.get("gateway", "")),
    )


def _address(text: str) -> str | None:
    try:
        ip = ipaddress.IPv4Address(text)
    except ValueError:
        return None
    return None if ip.is_unspecified else str(ip)
