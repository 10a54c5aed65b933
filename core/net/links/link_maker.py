"""Makes links: TCP to all known addresses, TCP and UDP punches through routers, and QUIC where only UDP passes."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from ipaddress import ip_address
from random import Random
from typing import TYPE_CHECKING, Any, Final, Protocol

from core.base.ids import PeerId
from core.base.machine import Trace
from core.net.addresses.address_book import Address
from core.net.addresses.hosts import is_literal
from core.net.addresses.ports import REUSE, call
from core.net.carriers.punch import (
    ADMITTED_CONNECTIONS_MAX,
    PUNCH_BYTE,
    OwnSocket,
    Put,
    Rendezvous,
    UdpPunches,
    punch_packet,
)
from core.net.links.streams import PeerStream, Way

if TYPE_CHECKING:
    from core.net.carriers.quic import QuicEndpoint

CALL_S: Final = 10.0
STAGGER_S: Final = 0.15
"""Seconds between the beginnings of two attempts (RFC 8305 has 0.25)."""
PUNCH_CALLS_MAX: Final = 64
"""Number of calls to one address in one punch: a peer may name an address that is not its own."""
RETRY_S: Final = 0.012
"""Pause between calls, short against a round trip: a router that rejects calls does so only while no call of this side
is in flight."""
TCP_FIRST_S: Final = 0.1
"""Seconds for which an open hole for UDP waits for TCP, which costs far less."""
RANKS: Final[dict[Way, int]] = {"relay": 0, "quic": 1, "tcp": 2}


class LinkRegistry(Protocol):
    """Makes and knows the streams of all links."""

    def new(self, expected: PeerId) -> PeerStream:
        """Make the stream of a link that this peer calls."""

    def accept(self) -> asyncio.BaseProtocol:
        """Make a protocol for an incoming connection."""

    def best(self, peer: PeerId) -> Way | None:
        """The best way of the links that are open; None: there is no link."""


def nearest_first(addresses: Sequence[Address]) -> list[Address]:
    """Addresses in the order in which to try them: local networks, IPv6, the rest; newest first among equals."""
    return sorted(addresses, key=lambda address: _distance(address[0]))


def _distance(host: str) -> int:
    if not is_literal(host):
        return 3
    found = ip_address(host)
    if found.is_private or found.is_link_local:
        return 0
    return 1 if found.version == 6 else 2


class LinkMaker:
    """Makes links to peers, by calls and punches.

    Args:
        me: This peer's id.
        own: Returns the address to call from: where the host listens in that family; None for any port.
        links: Owns the links.
        put: Sends from the UDP port.
        trace: Counts what is dropped.
        random: Draws jitter.
    """

    def __init__(
        self,
        *,
        me: PeerId,
        own: Callable[[str], Address | None],
        links: LinkRegistry,
        put: Put,
        trace: Trace,
        random: Random,
    ) -> None:
        self._me = me
        self._own = own
        self._links = links
        self._put = put
        self._trace = trace
        self._random = random
        self.punches = UdpPunches(me=me, put=put, packet=self._packet)
        self.endpoint: QuicEndpoint | None = None
        """QUIC over the host's port, once it was needed."""

    async def call(self, peer: PeerId, addresses: Sequence[Address]) -> str | None:
        """Call all addresses, one a little after the other.

        Args:
            peer: The peer.
            addresses: Its addresses.

        Returns:
            Why none worked; None: a link stands.
        """
        reason: str | None = "no address is known"
        running: set[asyncio.Task[str | None]] = set()
        async with asyncio.TaskGroup() as group:
            for address in nearest_first(addresses):
                running.add(group.create_task(self.attempt(peer, address)))
                done, running = await asyncio.wait(running, timeout=STAGGER_S, return_when=asyncio.FIRST_COMPLETED)
                reason = _outcome(done, reason)
                if reason is None:
                    break
            while running and reason is not None:
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                reason = _outcome(done, reason)
            for attempt in running:
                attempt.cancel()
        return reason

    async def punch(self, rendezvous: Rendezvous) -> None:
        """Try to reach the peer through both routers, at the agreed moment."""
        await asyncio.sleep(rendezvous.wait_s)
        tcp, udp = (tuple(one for one in told if is_literal(one[0])) for told in (rendezvous.tcp, rendezvous.udp))
        async with asyncio.TaskGroup() as group:
            for address in tcp:
                group.create_task(self._punch_tcp(rendezvous, address))
            group.create_task(self._punch_udp(replace(rendezvous, udp=udp)))

    def datagram(self, data: bytes, source: Address) -> None:
        """Handle a packet of the UDP port that is not an envelope.

        Args:
            data: The packet.
            source: Where it came from.
        """
        if data[0] == PUNCH_BYTE:
            if not self.punches.received(data, source):
                self._trace.mark("net.drop.punch")
        elif not self._quic().received(data, source):
            self._trace.mark("net.drop.quic")

    def close(self) -> None:
        """End all QUIC connections and close the punches' sockets."""
        own = tuple(self.punches.own)
        for endpoint in [self.endpoint, *(each.endpoint for each in own)]:
            if endpoint is not None:
                endpoint.close()
        for each in own:
            each.close()

    # --- TCP ---------------------------------------------------------------------------------------------------------

    async def attempt(self, peer: PeerId, address: Address, *, attempt: tuple[int, int] | None = None) -> str | None:
        """Call one address.

        Args:
            peer: The peer.
            address: Its address.
            attempt: Number and way of the traversal machine's attempt, if it is one.

        Returns:
            Why it did not work; None: a link stands.
        """
        stream = self._links.new(peer)
        stream.attempt = attempt
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CALL_S):
                connection = await call(address, own=self._own(address[0]))
                await loop.create_connection(lambda: stream, sock=connection)
            await asyncio.wait([stream.settled])
        except TimeoutError:
            stream.abort("no answer")
        except OSError as error:
            stream.abort(error.strerror or "cannot be reached")
        except ValueError:  # a host that is not even a name
            stream.abort("has no address")
        finally:
            if stream.proven is None:
                stream.abort("another way was quicker")
        return None if stream.proven is not None else stream.closed or "ended"

    async def _punch_tcp(self, rendezvous: Rendezvous, address: Address) -> None:
        """Call again and again: the first calls open this side's router, and may be rejected by the other one."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + rendezvous.lasts_s
        for _ in range(PUNCH_CALLS_MAX):
            left_s = ends_at - loop.time()
            if self._links.best(rendezvous.peer) == "tcp" or left_s <= 0:
                return
            try:
                async with asyncio.timeout(left_s):
                    connection = await call(address, own=self._own(address[0]), only=REUSE)
            except TimeoutError:
                return
            except OSError:
                await asyncio.sleep(RETRY_S * self._random.uniform(0.5, 1.5))
                continue
            stream = self._links.new(rendezvous.peer)
            stream.attempt = rendezvous.attempt
            try:
                await loop.create_connection(lambda made=stream: made, sock=connection)  # type: ignore[misc]
                await asyncio.wait([stream.settled])
            except OSError:  # it was over at once (macOS)
                stream.abort("broke")

    # --- UDP ---------------------------------------------------------------------------------------------------------

    async def _punch_udp(self, rendezvous: Rendezvous) -> None:
        hole = await self.punches.punch(rendezvous)
        if hole is None:
            return
        self._trace.mark("net.hole")
        if self._me > rendezvous.peer:
            return  # the smaller id calls
        await asyncio.sleep(TCP_FIRST_S)
        if self._links.best(rendezvous.peer) in {None, "relay"}:
            stream = self._links.new(rendezvous.peer)
            stream.attempt = rendezvous.attempt
            punch = punch_packet(rendezvous.nonce, sender=self._me, receiver=rendezvous.peer)
            hole.put(punch, hole.address)  # the other side admits only senders that it has heard
            through = self._quic() if hole.socket is None else self._quic_on(hole.socket)
            through.connect(stream, hole.address)
            await asyncio.wait([stream.settled])

    def _packet(self, own: OwnSocket, data: bytes, source: Address) -> None:
        if not self._quic_on(own).received(data, source):
            self._trace.mark("net.drop.quic")

    def _quic(self) -> "QuicEndpoint":
        if self.endpoint is None:
            self.endpoint = self._make(self._put)
        return self.endpoint

    def _quic_on(self, own: OwnSocket) -> "QuicEndpoint":
        if own.endpoint is None:
            own.endpoint = self._make(own.put, emptied=own.close, connections_max=ADMITTED_CONNECTIONS_MAX)
        endpoint: QuicEndpoint = own.endpoint
        return endpoint

    def _make(self, put: Put, **terms: Any) -> Any:
        from core.net.carriers.quic import QuicEndpoint  # noqa: PLC0415 - costs a tenth of a second; most hosts never need it

        return QuicEndpoint(send=put, accept=self._links.accept, welcome=self.punches.admits, **terms)


def _outcome(done: set[asyncio.Task[str | None]], before: str | None) -> str | None:
    """None as soon as one of the attempts worked, else the last reason."""
    for attempt in done:
        before = attempt.result()
        if before is None:
            return None
    return before
