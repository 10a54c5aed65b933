"""UDP hole punching: both peers send packets to each other's observed address until one hears the other.

Where one router gives every destination another port ("symmetric"), its peer opens many sockets towards the other one's
fixed address, and that one sends to random ports: by the birthday paradox, some packet meets an open port soon (256
sockets and 1,024 packets: 1 - (1 - 256/64512)^1024 = 98 %).
"""

import asyncio
import hmac
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from core.base.bounds import remember
from core.base.ids import PeerId
from core.net.addresses.address_book import Address

PUNCH_BYTE: Final = 0x20
"""First byte of a punch; neither an envelope's nor QUIC's."""
NONCE_BYTES: Final = 16
PUNCH_BYTES: Final = 2 + NONCE_BYTES
PUNCH_S: Final = 3.0
FIRST_PAUSE_S: Final = 0.02
LONGEST_PAUSE_S: Final = 0.3
RENDEZVOUS_MAX: Final = 32
SOCKETS_MAX: Final = 256
"""Number of sockets of all punches without a connection: a process has few files, and others need them, too."""
UNUSED_S: Final = 2.0
"""Seconds after a hole was found in which a punch's own sockets wait for a connection."""
ADMITTED_S: Final = 20.0
"""Seconds after an awaited punch during which its source may begin connections."""
ADMITTED_CONNECTIONS_MAX: Final = 4
ADMITTED_MAX: Final = 256
PER_TURN: Final = 16

Put = Callable[[bytes, Address], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendezvous:
    """Agreement of two peers, through a third, to try at the same moment."""

    peer: PeerId
    nonce: bytes
    """16 bytes that only the two and their relay know."""
    tcp: tuple[Address, ...] = ()
    """Addresses from which the peer's TCP calls were seen to come."""
    udp: tuple[Address, ...] = ()
    """Addresses from which its datagrams were seen to come, best first."""
    wait_s: float = 0.0
    """Seconds until the moment."""
    lasts_s: float = PUNCH_S
    sockets: int = 0
    """For the peer behind the symmetric router: number of sockets that send to the first of `udp`."""
    ports: tuple[int, ...] = ()
    """For the other one: ports of the first of `udp` that are tried."""
    packets_per_s: int = 1000
    """Upper bound on packets a second, in a birthday punch."""
    attempt: tuple[int, int] | None = None
    """Number and way of the traversal machine's attempt."""


def punch_packet(nonce: bytes, *, sender: PeerId, receiver: PeerId) -> bytes:
    """The packet by which one peer makes a hole towards another: it tells the two apart, so that nobody hears itself.

    A peer that tries many ports may meet its own, and so may a packet that something on its way sends back.

    Args:
        nonce: Nonce of the rendezvous.
        sender: The peer that sends the packet.
        receiver: The peer that it is for.
    """
    return bytes((PUNCH_BYTE, sender < receiver)) + nonce


@dataclass(frozen=True, slots=True)
class Hole:
    """A path through both routers: an address, and a function that sends there."""

    address: Address
    put: Put
    socket: "OwnSocket | None" = None
    """The punch's own socket that it goes through; None: the host's port."""


class UdpPunches:
    """All UDP punches of a host.

    Args:
        me: This peer's id.
        put: Sends from the port.
        packet: Takes packets of a punch's own socket that are not punches.
    """

    def __init__(self, *, me: PeerId, put: Put, packet: Callable[["OwnSocket", bytes, Address], object]) -> None:
        self._me = me
        self._put = put
        self._packet = packet
        self.awaited: dict[bytes, tuple[asyncio.Future[Hole], bytes]] = {}
        """By the packet that is awaited: the hole, once it is heard, and the packet that answers it."""
        self._admitted: OrderedDict[Address, tuple[float, int]] = OrderedDict()
        """Until when, and how many more connections, may begin from an address."""
        self.own: set[OwnSocket] = set()
        """Open sockets of all punches."""

    async def punch(self, rendezvous: Rendezvous) -> Hole | None:
        """Punch until the peer is heard, or for the time of the rendezvous."""
        if len(rendezvous.nonce) != NONCE_BYTES:
            raise ValueError("a nonce of another length")
        awaited = punch_packet(rendezvous.nonce, sender=rendezvous.peer, receiver=self._me)
        if not rendezvous.udp or awaited in self.awaited or len(self.awaited) >= RENDEZVOUS_MAX:
            return None
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[Hole] = loop.create_future()
        punch = punch_packet(rendezvous.nonce, sender=self._me, receiver=rendezvous.peer)
        self.awaited[awaited] = heard, punch
        loop.call_later(rendezvous.lasts_s + PUNCH_S, self.awaited.pop, awaited, None)
        sockets: list[OwnSocket] = []
        try:
            async with asyncio.timeout(rendezvous.lasts_s):
                if rendezvous.sockets:
                    await self._open_many(rendezvous, sockets)
                await _first(heard, self._punch(punch, rendezvous, heard, sockets))
                return heard.result()
        except TimeoutError:
            return None
        finally:
            for each in sockets:
                if heard.done():  # the other side may have heard another one first, and call that
                    loop.call_later(UNUSED_S, each.close_unused)
                else:
                    each.close()

    def received(self, data: bytes, source: Address, put: Put | None = None, own: "OwnSocket | None" = None) -> bool:
        """Handle a punch.  The first one is answered, so that the other side hears this one too.

        Args:
            data: The packet.
            source: Where it came from.
            put: Sends from the socket at which it arrived; None: the host's port.
            own: That socket.

        Returns:
            Whether it was awaited.
        """
        if len(data) != PUNCH_BYTES:
            return False
        known = next((each for awaited, each in self.awaited.items() if hmac.compare_digest(awaited, data)), None)
        if known is None:
            return False
        heard, answer = known
        now = asyncio.get_running_loop().time()
        if self._admitted.get(source, (0.0, 0))[0] <= now:
            remember(self._admitted, source, (now + ADMITTED_S, ADMITTED_CONNECTIONS_MAX), ADMITTED_MAX)
        if not heard.done():
            put = put or self._put
            heard.set_result(Hole(source, put, own))
            for _ in range(2):
                put(answer, source)
        return True

    def admits(self, source: Address) -> bool:
        """Whether a connection may begin from there, since an awaited punch came from there recently."""
        until, left = self._admitted.get(source, (0.0, 0))
        if not left or until <= asyncio.get_running_loop().time():
            return False
        self._admitted[source] = (until, left - 1)
        return True

    async def _punch(
        self, punch: bytes, rendezvous: Rendezvous, heard: asyncio.Future[Hole], sockets: list["OwnSocket"]
    ) -> None:
        if rendezvous.ports:
            await self._punch_ports(punch, rendezvous, heard)
        pause_s = FIRST_PAUSE_S
        while not heard.done():
            puts: list[Put] = [each.put for each in sockets]
            if puts:
                await self._punch_from_all(punch, rendezvous, puts)
            else:
                for address in rendezvous.udp:
                    self._put(punch, address)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _punch_ports(self, punch: bytes, rendezvous: Rendezvous, heard: asyncio.Future[Hole]) -> None:
        for start in range(0, len(rendezvous.ports), PER_TURN):
            if heard.done():
                return
            for port in rendezvous.ports[start : start + PER_TURN]:
                self._put(punch, (rendezvous.udp[0][0], port))
            await asyncio.sleep(PER_TURN / rendezvous.packets_per_s)

    async def _punch_from_all(self, punch: bytes, rendezvous: Rendezvous, puts: list[Put]) -> None:
        for start in range(0, len(puts), PER_TURN):
            for put in puts[start : start + PER_TURN]:
                put(punch, rendezvous.udp[0])
            await asyncio.sleep(PER_TURN / rendezvous.packets_per_s)

    async def _open_many(self, rendezvous: Rendezvous, opened: list["OwnSocket"]) -> None:
        loop = asyncio.get_running_loop()
        bind = "::" if ":" in rendezvous.udp[0][0] else "0.0.0.0"  # noqa: S104 - towards one address, from any of ours
        while len(opened) < rendezvous.sockets and sum(not each.is_used for each in self.own) < SOCKETS_MAX:
            try:
                _, own = await loop.create_datagram_endpoint(lambda: OwnSocket(self), local_addr=(bind, 0))
            except OSError:  # no more files: fewer will do
                break
            opened.append(own)
            self.own.add(own)

    def packet(self, own: "OwnSocket", data: bytes, source: Address) -> None:
        """Handle a packet of a punch's own socket.

        Args:
            own: The socket.
            data: The packet.
            source: Where it came from.
        """
        if data[:1] == bytes((PUNCH_BYTE,)):
            self.received(data, source, own.put, own)
        elif data:
            self._packet(own, data, source)


class OwnSocket(asyncio.DatagramProtocol):
    """One of many sockets towards one peer."""

    def __init__(self, punches: UdpPunches) -> None:
        self._punches = punches
        self._transport: asyncio.DatagramTransport | None = None
        self.endpoint: Any = None
        """The QUIC endpoint on it, once there is one."""

    def put(self, data: bytes, address: Address) -> None:
        """Send a packet from this socket.

        Args:
            data: The packet.
            address: Where to.
        """
        if self._transport is not None and not self._transport.is_closing():
            self._transport.sendto(data, address)

    def close(self) -> None:
        """Close the socket and release its file."""
        self._punches.own.discard(self)
        if self._transport is not None:
            self._transport.close()

    @property
    def is_used(self) -> bool:
        """Whether there is a connection on it."""
        return self.endpoint is not None and not self.endpoint.empty

    def close_unused(self) -> None:
        """Close the socket unless a connection uses it."""
        if not self.is_used:
            self.close()

    def connection_made(self, transport: Any) -> None:
        """Adopt the socket that asyncio has opened."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Pass on a packet that met this socket."""
        self._punches.packet(self, data, (str(addr[0]), int(addr[1])))


async def _first(heard: asyncio.Future[Hole], work: Coroutine[Any, Any, None]) -> None:
    """Wait until the future is done; `work` goes on meanwhile."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        await asyncio.wait([heard])
        task.cancel()
