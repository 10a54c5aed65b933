"""Port mapping by UPnP: an Internet Gateway Device, found by SSDP, spoken to by SOAP."""

import asyncio
import ipaddress
import urllib.parse
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from core.net.router.nat_pmp import GrantedMapping, MappingRequest, NoMapping, PortTaken

SEARCH_S: Final = 2
"""Seconds that routers may take to answer the search."""
CALL_S: Final = 5
DEVICE_S: Final = 10
"""Seconds for the description of a device and of all its services, of which it may name a thousand slow ones."""
FOUND_MAX: Final = 8
"""Number of devices of which the description is fetched; any host of the network may claim to be a router."""
DESCRIPTION: Final = "Potluck"
DEVICE_TYPES: Final = tuple(f"urn:schemas-upnp-org:device:InternetGatewayDevice:{version}" for version in (1, 2))
NO_ROUTER: Final = "no router of this network speaks UPnP"
_TAKEN: Final = 718
"""UPnP's error "ConflictInMappingEntry"."""
_ONLY_PERMANENT: Final = 725
"""UPnP's error "OnlyPermanentLeasesSupported" (WANIPConnection:1)."""
_ANY: Final = ipaddress.IPv4Address(0)


class Igd:
    """One Internet Gateway Device.

    Args:
        device: `async_upnp_client.profiles.igd.IgdDevice`.
        own_host: This computer's address towards it.
    """

    def __init__(self, device: Any, own_host: str) -> None:
        self._device, self._own_host = device, own_host

    async def ask(self, request: MappingRequest) -> GrantedMapping:
        """Ask for a port, renew it, or release it.

        Raises:
            PortTaken: another computer has that port.
            NoMapping: the router refuses.
        """
        from async_upnp_client.exceptions import UpnpActionError, UpnpError  # noqa: PLC0415 - heavy; most never need it

        transport = request.transport.upper()
        try:
            if not request.lifetime_s:
                await self._device.async_delete_port_mapping(_ANY, request.external_port, transport)
                return GrantedMapping(request.external_port, 0.0)
            try:
                await self._add(request, transport, request.lifetime_s)
            except UpnpActionError as error:
                if error.error_code != _ONLY_PERMANENT:
                    raise
                await self._add(request, transport, 0)
            return GrantedMapping(request.external_port, request.lifetime_s)
        except (UpnpError, TimeoutError, ValueError) as error:
            kind = PortTaken if getattr(error, "error_code", None) == _TAKEN else NoMapping
            raise kind(f"the router refuses: {error}") from error

    async def address(self) -> str:
        """The router's external address.

        Raises:
            NoMapping: it does not tell.
        """
        from async_upnp_client.exceptions import UpnpError  # noqa: PLC0415 - as above

        try:
            host = await self._device.async_get_external_ip_address()
            return str(ipaddress.ip_address(host or ""))
        except (UpnpError, TimeoutError, ValueError) as error:
            raise NoMapping(f"the router does not tell its address: {error}") from error

    async def _add(self, request: MappingRequest, transport: str, lifetime_s: int) -> None:
        await self._device.async_add_port_mapping(
            _ANY,
            request.external_port,
            transport,
            request.port,
            ipaddress.IPv4Address(self._own_host),
            True,
            DESCRIPTION,
            timedelta(seconds=lifetime_s),
        )


async def find_igd(own_host: str, *, target: tuple[str, int] | None = None) -> Igd:
    """Find the first router of the network that speaks UPnP.

    Args:
        own_host: This computer's address in that network.
        target: The router to ask; None: all (multicast).

    Raises:
        NoMapping: there is none.
    """
    locations = await _search(own_host, target)
    if not locations:
        raise NoMapping(NO_ROUTER)

    from async_upnp_client.client_factory import UpnpFactory  # noqa: PLC0415 - as above
    from async_upnp_client.exceptions import UpnpError  # noqa: PLC0415 - as above
    from async_upnp_client.profiles.igd import IgdDevice  # noqa: PLC0415 - as above

    from core.net.router.igd_http import OneHost  # noqa: PLC0415 - as above

    for location in locations:
        host = urllib.parse.urlsplit(location).hostname or ""
        try:
            factory = UpnpFactory(OneHost(host, timeout_s=CALL_S), non_strict=True)
            async with asyncio.timeout(DEVICE_S):
                device = await factory.async_create_device(location)
            return Igd(IgdDevice(device, None), own_host)
        except (UpnpError, TimeoutError, ValueError, RecursionError):  # devices within devices, without end
            continue
    raise NoMapping(NO_ROUTER)


async def _search(own_host: str, target: tuple[str, int] | None) -> list[str]:
    """Addresses of descriptions: of hosts of this network, each describing itself."""
    from async_upnp_client.search import async_search  # noqa: PLC0415 - as above

    found: list[str] = []

    async def heard(headers: Mapping[str, Any]) -> None:
        location = str(headers.get("location", ""))
        if len(found) < FOUND_MAX and location not in found and _describes_itself(location, headers.get("_host")):
            found.append(location)

    try:
        async with asyncio.TaskGroup() as group:
            for kind in DEVICE_TYPES:
                search = async_search(heard, SEARCH_S, kind, (own_host, 0), target)
                group.create_task(search)
    except* OSError as errors:
        raise NoMapping("this network cannot be searched for routers") from errors
    return found


def _describes_itself(location: str, sender: object) -> bool:
    """Whether a description lies on the private host that announces it: never call an address that a stranger names."""
    try:
        url = urllib.parse.urlsplit(location)
        host = ipaddress.ip_address(url.hostname or "")
    except ValueError:
        return False
    return url.scheme == "http" and (host.is_private or host.is_loopback) and str(host) == str(sender)
