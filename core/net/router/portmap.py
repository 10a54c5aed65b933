"""Port mapping: a port of the router that leads to this host, asked for (PCP, NAT-PMP, UPnP), renewed, and released."""

import asyncio
import contextlib
import ipaddress
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final, Literal, Protocol

from core.base.addresses import is_reachable
from core.net.router import igd, nat_pmp
from core.net.router.nat_pmp import GatewayQueries, GrantedMapping, MappingRequest, NoMapping, PortTaken, Transport

LIFETIME_S: Final = 3600
RENEW_SHARE: Final = 0.5
"""Share of its lifetime after which a mapping is renewed (RFC 6886, 3.3)."""
RENEW_S_MIN: Final = 30.0
AGAIN_S: Final = 600.0
"""Seconds until the next search after one without result."""
PORT_TRIES: Final = 3
"""Number of external ports that are tried, until one is free for both planes."""
FAREWELL_S: Final = 2.0
PORTS: Final = (20_000, 59_999)
TRANSPORTS: Final[tuple[Transport, ...]] = ("tcp", "udp")
Method = Literal["pcp", "nat-pmp", "upnp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """The router's port that leads to this host, for TCP and UDP alike."""

    method: Method
    host: str
    """The router's external address, as it says."""
    port: int
    lifetime_s: float

    @property
    def public(self) -> bool:
        """Whether the whole Internet can call it; otherwise there is a second router behind the first."""
        return is_reachable(ipaddress.ip_address(self.host))


class Gateway(Protocol):
    """A router, by any of the three protocols."""

    method: Method

    async def ask(self, request: MappingRequest) -> GrantedMapping:
        """Ask for a port, renew it, or release it (`lifetime_s` 0).

        Raises:
            PortTaken: another computer has it.
            NoMapping: the router refuses.
        """

    async def address(self) -> str:
        """The router's external address.

        Raises:
            NoMapping: it does not tell.
        """


Search = Callable[[], contextlib.AbstractAsyncContextManager[Gateway]]
"""Finds a gateway, or raises NoMapping; its sockets live as long as the context."""


class PortMap:
    """Keeps one port mapped as long as `run` runs.

    Args:
        port: The host's port, for both planes.
        searches: Tried in this order.
        random: Draws the nonce and, when the port is taken, other external ports.
        tell: Told of each change of the mapping; None: there is none.
    """

    def __init__(
        self, port: int, *, searches: Sequence[Search], random: Random, tell: Callable[[Mapped | None], None]
    ) -> None:
        self._port, self._searches, self._random, self._tell = port, searches, random, tell
        self._moved = asyncio.Event()
        self._told: Mapped | None = None

    def network_changed(self) -> None:
        """Search again at once: this may be another router."""
        self._moved.set()

    async def run(self) -> None:
        """Search for a router, keep the port mapped, search again; cancel it to release the port."""
        while True:
            self._moved.clear()
            for search in self._searches:
                with contextlib.suppress(NoMapping):
                    async with search() as gateway:
                        await self._hold(gateway)
                if self._moved.is_set():
                    break
            else:
                self._say(None)
                await self._rest(AGAIN_S)

    # --- inside ------------------------------------------------------------------------------------------------------

    async def _hold(self, gateway: Gateway) -> None:
        """Keep the port at this router until the router refuses or the network changes."""
        nonces = {transport: self._random.randbytes(nat_pmp.NONCE_BYTES) for transport in TRANSPORTS}
        requests = [
            MappingRequest(
                transport=t, port=self._port, external_port=self._port, lifetime_s=LIFETIME_S, nonce=nonces[t]
            )
            for t in TRANSPORTS
        ]
        held: dict[Transport, MappingRequest] = {}
        try:
            while not self._moved.is_set():
                mapped = await self._map(gateway, [held.get(one.transport, one) for one in requests], held)
                self._say(mapped)
                await self._rest(max(RENEW_S_MIN, mapped.lifetime_s * RENEW_SHARE))
        finally:
            self._say(None)
            await _give_back(gateway, held)

    async def _map(
        self, gateway: Gateway, requests: list[MappingRequest], held: dict[Transport, MappingRequest]
    ) -> Mapped:
        """Map both planes to one external number.

        Args:
            gateway: The router.
            requests: What is asked for first.
            held: What it has granted; changed here.
        """
        for _ in range(PORT_TRIES):
            granted: list[GrantedMapping] = []
            try:
                for request in requests:
                    suggested = granted[0].external_port if granted else request.external_port
                    granted.append(await gateway.ask(replace(request, external_port=suggested)))
                    held[request.transport] = replace(request, external_port=granted[-1].external_port)
            except PortTaken:
                held.pop(request.transport, None)  # a router that has started anew may have given it to another
            ports = {got.external_port for got in granted}
            if len(granted) == len(requests) and len(ports) == 1:
                host = granted[0].host or await gateway.address()
                lifetime_s = min(got.lifetime_s for got in granted)
                return Mapped(method=gateway.method, host=host, port=ports.pop(), lifetime_s=lifetime_s)
            await _give_back(gateway, held)
            other = self._random.randint(*PORTS)
            requests = [replace(request, external_port=other) for request in requests]
        raise NoMapping("the router gives no number that is free for TCP and UDP")

    def _say(self, mapped: Mapped | None) -> None:
        if mapped != self._told:
            self._told = mapped
            self._tell(mapped)

    async def _rest(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._moved.wait()


async def _give_back(gateway: Gateway, held: dict[Transport, MappingRequest]) -> None:
    """Tell the router that the ports it has granted are free; also during cancellation, so it may not take long."""
    with contextlib.suppress(NoMapping, TimeoutError):
        async with asyncio.timeout(FAREWELL_S):
            while held:
                _, request = held.popitem()
                await gateway.ask(replace(request, lifetime_s=0))


# --- the three that are known -----------------------------------------------------------------------------------------


class _Pcp:
    """A gateway that speaks PCP (RFC 6887)."""

    method: Method = "pcp"

    def __init__(self, exchange: GatewayQueries) -> None:
        self._exchange = exchange

    async def ask(self, request: MappingRequest) -> GrantedMapping:
        packet = nat_pmp.pcp_request(request, self._exchange.own_host)
        granted: GrantedMapping = await self._exchange.ask(packet, lambda data: nat_pmp.pcp_answer(data, request))
        return granted

    async def address(self) -> str:
        raise NoMapping("the gateway does not tell its address")


class _NatPmp:
    """A gateway that speaks NAT-PMP (RFC 6886)."""

    method: Method = "nat-pmp"

    def __init__(self, exchange: GatewayQueries) -> None:
        self._exchange = exchange

    async def ask(self, request: MappingRequest) -> GrantedMapping:
        granted: GrantedMapping = await self._exchange.ask(
            nat_pmp.pmp_request(request), lambda data: nat_pmp.pmp_answer(data, request)
        )
        return granted

    async def address(self) -> str:
        host: str = await self._exchange.ask(nat_pmp.pmp_address_request(), nat_pmp.pmp_address_answer)
        return host


class _Upnp:
    """A router that speaks UPnP IGD."""

    method: Method = "upnp"

    def __init__(self, router: igd.Igd) -> None:
        self._router = router

    async def ask(self, request: MappingRequest) -> GrantedMapping:
        return await self._router.ask(request)

    async def address(self) -> str:
        return await self._router.address()


def known_searches(
    *, gateway: Callable[[], str | None], own_host: Callable[[], str | None], pcp_port: int = nat_pmp.GATEWAY_PORT
) -> list[Search]:
    """Searches for PCP, NAT-PMP and UPnP, in this order: the first two answer within a round trip or not at all.

    Args:
        gateway: The default gateway's address, None when unknown.
        own_host: This computer's address in its network, None when unknown.
        pcp_port: Port at which gateways listen.
    """

    @contextlib.asynccontextmanager
    async def by_datagram(kind: type[_Pcp] | type[_NatPmp]) -> AsyncIterator[Gateway]:
        host = gateway()
        if host is None:
            raise NoMapping("no gateway is known")
        exchange = await GatewayQueries.open(host, pcp_port)
        try:
            yield kind(exchange)
        finally:
            exchange.close()

    @contextlib.asynccontextmanager
    async def by_upnp() -> AsyncIterator[Gateway]:
        host = own_host()
        if host is None:
            raise NoMapping("this computer has no address in a network")
        yield _Upnp(await igd.find_igd(host))

    return [lambda: by_datagram(_Pcp), lambda: by_datagram(_NatPmp), by_upnp]
