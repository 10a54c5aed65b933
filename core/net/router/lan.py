"""Peers of the same collaboration in the same local network, found by mDNS (RFC 6762) through `zeroconf`.

An announcement names nobody: it holds a hash of collaboration and peer, and a port.  Only peers that know both
recognise it.  A neighbour proves nothing here; the link to it proves everything.
"""

import asyncio
import contextlib
import ipaddress
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from core.base.ids import PeerId, hashed_key
from core.base.machine import Trace
from core.nat.peer_record import is_private
from core.net.addresses.address_book import Address

if TYPE_CHECKING:
    from zeroconf import ServiceStateChange, Zeroconf
    from zeroconf.asyncio import AsyncServiceInfo

SERVICE: Final = "_potluck._tcp.local."
TAG_LETTERS: Final = 32
NEIGHBOURS_MAX: Final = 64
ADDRESSES_MAX: Final = 4
ASKING_MAX: Final = 8
"""Number of announcements that are resolved at a time."""
ASK_MS: Final = 3000
AGAIN_S: Final = 60.0
"""Seconds until the next attempt when this computer has no network for it."""


def group_tag(manifest_id: bytes) -> str:
    """Tag by which members of one collaboration recognise each other's announcements."""
    return hashed_key(b"lan group 1", manifest_id).hex()[:TAG_LETTERS]


def peer_tag(manifest_id: bytes, peer: PeerId) -> str:
    """Name of a peer in its local network.

    Args:
        manifest_id: The collaboration.
        peer: The peer.
    """
    return hashed_key(b"lan peer 1", manifest_id, peer).hex()[:TAG_LETTERS]


class LanDiscovery:
    """Announces this peer and listens, as long as `run` runs.

    Args:
        me: This peer's id.
        manifest_id: The collaboration; others are not heard.
        port: This peer's port, for both planes.
        changed: Called when a neighbour came, went or moved.
        trace: Counts oddities.
        interfaces: Addresses of the interfaces; None for all.
    """

    def __init__(
        self,
        *,
        me: PeerId,
        manifest_id: bytes,
        port: int,
        changed: Callable[[], None],
        trace: Trace,
        interfaces: Sequence[str] | None = None,
    ) -> None:
        self._manifest_id, self._group = manifest_id, group_tag(manifest_id)
        self._own, self._port = peer_tag(manifest_id, me), port
        self._changed, self._trace = changed, trace
        self._interfaces = None if interfaces is None else list(interfaces)
        self._neighbours: dict[str, tuple[Address, ...]] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._moved = asyncio.Event()

    def addresses(self, peer: PeerId) -> tuple[Address, ...]:
        """Addresses of a peer in the local network; empty: it was not found there."""
        return self._neighbours.get(peer_tag(self._manifest_id, peer), ())

    def network_changed(self) -> None:
        """Announce again, in the new network."""
        self._moved.set()

    async def run(self) -> None:
        """Announce and listen until cancelled; then withdraw the announcement."""
        while True:
            self._moved.clear()
            try:
                await self._session()
            except OSError:
                self._trace.mark("net.lan.none")
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(AGAIN_S):
                        await self._moved.wait()

    # --- inside ------------------------------------------------------------------------------------------------------

    async def _session(self) -> None:
        """Announce and listen in one network."""
        from zeroconf import InterfaceChoice, IPVersion  # noqa: PLC0415 - needed only where it is switched on
        from zeroconf.asyncio import AsyncServiceBrowser, AsyncZeroconf  # noqa: PLC0415 - as above

        interfaces = self._interfaces if self._interfaces is not None else InterfaceChoice.All
        network = AsyncZeroconf(interfaces=interfaces, ip_version=IPVersion.V4Only)
        try:
            info = self._announcement()
            await (await network.async_register_service(info, cooperating_responders=True))
            browser = AsyncServiceBrowser(network.zeroconf, SERVICE, handlers=[self.heard])
            try:
                await self._moved.wait()
            finally:
                await browser.async_cancel()
                await (await network.async_unregister_service(info))
        finally:
            for task in self._asking:
                task.cancel()
            await network.async_close()
            if self._neighbours:
                self._neighbours.clear()
                self._changed()

    def _announcement(self) -> "AsyncServiceInfo":
        from zeroconf.asyncio import AsyncServiceInfo  # noqa: PLC0415 - as above

        return AsyncServiceInfo(
            SERVICE,
            f"{self._own}.{SERVICE}",
            port=self._port,
            properties={"g": self._group},
            server=f"{self._own}.local.",
            parsed_addresses=self._interfaces if self._interfaces is not None else own_addresses(),
        )

    def heard(self, zeroconf: "Zeroconf", service_type: str, name: str, state_change: "ServiceStateChange") -> None:
        """Handle an announcement that came, went or changed.

        Args:
            zeroconf: The library's instance.
            service_type: `SERVICE`.
            name: Name of the announcement.
            state_change: Whether it came, went or changed.
        """
        from zeroconf import ServiceStateChange  # noqa: PLC0415 - as above

        tag = name.removesuffix(f".{service_type}")
        if tag == self._own or len(tag) != TAG_LETTERS:
            return
        if state_change is ServiceStateChange.Removed:
            if self._neighbours.pop(tag, None) is not None:
                self._changed()
        elif len(self._asking) >= ASKING_MAX or (
            tag not in self._neighbours and len(self._neighbours) >= NEIGHBOURS_MAX
        ):
            self._trace.mark("net.drop.neighbour")
        else:
            task = asyncio.get_running_loop().create_task(self._ask(zeroconf, name, tag))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    async def _ask(self, zeroconf: "Zeroconf", name: str, tag: str) -> None:
        from zeroconf import IPVersion  # noqa: PLC0415 - as above
        from zeroconf.asyncio import AsyncServiceInfo  # noqa: PLC0415 - as above

        info = AsyncServiceInfo(SERVICE, name)
        if not await info.async_request(zeroconf, ASK_MS) or info.properties.get(b"g") != self._group.encode():
            return
        hosts = info.parsed_addresses(IPVersion.All)[:ADDRESSES_MAX]
        found = tuple((host, info.port) for host in hosts if info.port and is_near(host))
        if found and found != self._neighbours.get(tag):
            self._neighbours[tag] = found
            self._changed()


def is_near(host: str) -> bool:
    """Whether an address is local: an announcement must not send this peer anywhere else."""
    ip = ipaddress.ip_address(host)
    if ip.version == 6:
        return is_private(host)
    return ip.is_private and not (ip.is_unspecified or ip.is_multicast)


def own_addresses() -> list[str]:
    """This computer's addresses in local networks, those of IPv4 first."""
    import psutil  # noqa: PLC0415 - as above

    hosts = [
        address.address
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family.name in {"AF_INET", "AF_INET6"}
    ]
    near = [host for host in hosts if is_near(host) and not ipaddress.ip_address(host).is_loopback]
    return sorted(near, key=lambda host: ":" in host)[:ADDRESSES_MAX]
