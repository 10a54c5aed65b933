"""Port mapping by UPnP: an Internet Gateway Device, found by SSDP, spoken to by SOAP."""

import asyncio
import ipaddress
import socket
import urllib.parse
from datetime import timedelta
from typing import Any, Final

from core.net.nat_pmp import GrantedMapping, MappingRequest, NoMapping

SEARCH_S: Final = 2
"""Seconds that routers may take to answer the search."""
CALL_S: Final = 5
FOUND_MAX: Final = 8
"""Number of devices of which the description is fetched; any host of the network may claim to be a router."""
DESCRIPTION: Final = "Potluck"
DEVICE_TYPES: Final = tuple(f"urn:schemas-upnp-org:device:InternetGatewayDevice:{version}" for version in (1, 2))
NO_ROUTER: Final = "no router of this network speaks UPnP"
_ONLY_PERMANENT: Final = 725
"""UPnP's error "OnlyPermanentLeasesSupported" (WANIPConnection:1)."""
_EVERYBODY: Final = ("239.255.255.250", 1900)
_TTL: Final = 2
_MX_S: Final = 1
"""Seconds within which devices are asked to spread their answers."""
_ANY: Final = ipaddress.IPv4Address(0)


class Igd:
    """One Internet Gateway Device.

    Args:
        device: `async_upnp_client.profiles.igd.IgdDevice`.
        own_host: This computer's address towards it.
    """

    def __init__(self, device: Any, own_host: str) -> None:
        self._device, self._own_host = device, own_host

    @property
    def own_host(self) -> str:
        """This computer's address towards the device."""
        return self._own_host

    async def ask(self, request: MappingRequest) -> GrantedMapping:
        """Ask for a port, renew it, or release it.

        Raises:
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
            raise NoMapping(f"the router refuses: {error}") from error

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

    from core.net.igd_http import OneHost  # noqa: PLC0415 - as above

    for location in locations:
        host = urllib.parse.urlsplit(location).hostname or ""
        try:
            factory = UpnpFactory(OneHost(host, timeout_s=CALL_S), non_strict=True)
            device = await factory.async_create_device(location)
            return Igd(IgdDevice(device, None), own_host)
        except (UpnpError, TimeoutError, ValueError):
            continue
    raise NoMapping(NO_ROUTER)


class _Locations(asyncio.DatagramProtocol):
    """Collects the addresses of descriptions: of hosts of this network, each describing itself."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Keep the address that an answer to a search names."""
        location = _location(data)
        if len(self.found) < FOUND_MAX and location not in self.found and _describes_itself(location, addr[0]):
            self.found.append(location)


async def _search(own_host: str, target: tuple[str, int] | None) -> list[str]:
    """Search by SSDP, without a library of 3 MiB: in most networks no router answers."""
    loop, answers = asyncio.get_running_loop(), _Locations()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own_host))
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, _TTL)
        sock.bind((own_host, 0))
        transport, _ = await loop.create_datagram_endpoint(lambda: answers, sock=sock)
    except OSError as error:
        sock.close()
        raise NoMapping("this network cannot be searched for routers") from error
    try:
        for kind in DEVICE_TYPES:
            transport.sendto(_wish(kind), target or _EVERYBODY)
        await asyncio.sleep(SEARCH_S)
    finally:
        transport.close()
    return answers.found


def _wish(kind: str) -> bytes:
    """A search for devices of this type (UPnP Device Architecture 1.1, 1.3.2)."""
    host, port = _EVERYBODY
    lines = ("M-SEARCH * HTTP/1.1", f"HOST: {host}:{port}", 'MAN: "ssdp:discover"', f"MX: {_MX_S}", f"ST: {kind}")
    return "\r\n".join([*lines, "", ""]).encode()


def _location(answer: bytes) -> str:
    """The address of the description that an answer names; empty: it is not an answer to a search."""
    first, *lines = answer.decode(errors="replace").split("\r\n")
    if not first.startswith("HTTP/1.") or first.split()[1:2] != ["200"]:
        return ""
    fields = (line.partition(":") for line in lines)
    return next((value.strip() for name, _, value in fields if name.strip().lower() == "location"), "")


def _describes_itself(location: str, sender: str) -> bool:
    """Whether a description lies on the private host that announces it: never call an address that a stranger names."""
    try:
        url = urllib.parse.urlsplit(location)
        host = ipaddress.ip_address(url.hostname or "")
    except ValueError:
        return False
    return url.scheme == "http" and (host.is_private or host.is_loopback) and str(host) == sender
