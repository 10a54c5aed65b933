"""Windows: the connection's cost and kind from the Windows Runtime, the router from the route table, by PowerShell."""

import ipaddress
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from core.schedule.senses.sense import Ask, Medium, NetworkSense

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
