"""QUIC (RFC 9000) on the UDP port that also carries envelopes: for pairs of peers that no TCP connection can join.

QUIC only carries bytes, one bidirectional stream per connection: the other end is authenticated by TLS 1.3 inside it,
exactly as on TCP, so the certificate that QUIC itself demands is made up and checked by nobody.  `qh3` does the
protocol without sockets.  This module is imported when the first such connection is made.

The library grants the other side room as soon as bytes have arrived, read or not.  So each side tells on a stream of
its own, in eight bytes now and then, how much it has read, and nobody sends more than a window beyond that.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from qh3.quic.configuration import QuicConfiguration
from qh3.quic.connection import QuicConnection
from qh3.quic.events import (
    ConnectionIdIssued,
    ConnectionIdRetired,
    ConnectionTerminated,
    HandshakeCompleted,
    StopSendingReceived,
    StreamDataReceived,
    StreamReset,
)

from core.net.addresses.address_book import Address
from core.net.carriers.carrier_transport import CarriedTransport
from core.net.carriers.quic_terms import CID_BYTES, called_terms, caller_terms
from core.net.carriers.quic_window import EXCESS_BYTES, WINDOW_BYTES, QuicWindow, ReadWindow

ROOM_BYTES: Final = 2 * (WINDOW_BYTES + EXCESS_BYTES)
"""Number of unread bytes that the library itself takes."""
UNSENT_BYTES_MIN: Final = 32 * 1024
UNSENT_BYTES_MAX: Final = 256 * 1024
UNSENT_S: Final = 0.01
"""Time in which the bytes held unsent by the stream should leave, within these bounds: control waits behind them."""
MEASURE_S: Final = 0.1
HANDSHAKE_S: Final = 10.0
"""The library gives a connection up after `IDLE_S`, except one whose first packet it could not read."""
CONNECTIONS_MAX: Final = 256
FIRST_PACKET_BYTES_MIN: Final = 1200
DATA_STREAM: Final = 0
VERSION_1: Final = b"\x00\x00\x00\x01"
_LONG: Final = 0x80
_KIND: Final = 0x30


def destination(packet: bytes) -> bytes:
    """The connection id that a packet of QUIC version 1 names (RFC 8999 section 5); empty: not one of this endpoint."""
    if not packet[0] & _LONG:
        return packet[1 : 1 + CID_BYTES]
    return packet[6 : 6 + packet[5]] if len(packet) > 6 and packet[1:5] == VERSION_1 else b""


def _begins(packet: bytes) -> bool:
    """Whether a packet may begin a connection: an Initial of the size that RFC 9000 section 14.1 demands."""
    return packet[0] & (_LONG | _KIND) == _LONG and len(packet) >= FIRST_PACKET_BYTES_MIN


class QuicEndpoint:
    """All QUIC connections over one UDP socket.

    Args:
        send: Sends a packet.
        accept: Makes a protocol for an incoming connection.
        welcome: Whether a connection may begin from that address; asked once for each that would.
        emptied: Called when the last connection is gone.
        connections_max: Number of connections at a time beyond which no other one begins them.
    """

    def __init__(
        self,
        *,
        send: Callable[[bytes, Address], object],
        accept: Callable[[], asyncio.BaseProtocol],
        welcome: Callable[[Address], bool] = lambda _: True,
        emptied: Callable[[], object] | None = None,
        connections_max: int = CONNECTIONS_MAX,
    ) -> None:
        self._send = send
        self._emptied = emptied
        self._connections_max = connections_max
        self._accept = accept
        self._welcome = welcome
        self._loop = asyncio.get_running_loop()
        self.ids: dict[bytes, QuicCarrier] = {}
        """Connections by each of their ids."""
        self.connections: set[QuicCarrier] = set()
        self._server: QuicConfiguration | None = None

    def connect(self, protocol: Any, address: Address) -> None:
        """Begin a connection; `protocol.connection_made` is called when it stands, `connection_lost` if it fails."""
        connection = QuicConnection(configuration=caller_terms(room_bytes=ROOM_BYTES))
        link = self._add(connection, protocol, address, own_count_stream=2)
        connection.connect(address, now=self._loop.time())
        link.settle()

    def received(self, data: bytes, address: Address) -> bool:
        """Handle a packet; returns whether it was of any use."""
        cid = destination(data)
        link = self.ids.get(cid)
        if link is None:
            begins = len(cid) >= CID_BYTES and _begins(data) and len(self.connections) < self._connections_max
            if not begins or not self._welcome(address):
                return False
            if self._server is None:
                self._server = called_terms(room_bytes=ROOM_BYTES)
            connection = QuicConnection(configuration=self._server, original_destination_connection_id=cid)
            link = self._add(connection, self._accept(), address, own_count_stream=3)
            self.ids[cid] = link
        link.packet(data, address)
        return True

    @property
    def empty(self) -> bool:
        """Whether there is no connection over this socket."""
        return not self.connections

    def close(self) -> None:
        """End all connections of this endpoint at once."""
        for link in list(self.connections):
            link.transport.abort()

    def forget(self, link: "QuicCarrier") -> None:
        """Forget a connection that is gone."""
        self.connections.discard(link)
        self.ids = {cid: other for cid, other in self.ids.items() if other is not link}
        if not self.connections and self._emptied is not None:
            self._emptied()

    def _add(
        self, connection: QuicConnection, protocol: Any, address: Address, *, own_count_stream: int
    ) -> "QuicCarrier":
        link = QuicCarrier(connection, protocol, address, self, self._send, own_count_stream)
        self.ids[connection.host_cid] = link
        self.connections.add(link)
        return link


class QuicCarrier:
    """One connection's stream, as the carrier of a transport.

    Args:
        connection: The library's.
        protocol: The transport's owner.
        address: Address of the other side.
        endpoint: Told of ids, and of the end.
        send: Sends a packet.
        own_count_stream: The unidirectional stream on which this side tells how much it has read.
    """

    def __init__(
        self,
        connection: QuicConnection,
        protocol: Any,
        address: Address,
        endpoint: QuicEndpoint,
        send: Callable[[bytes, Address], object],
        own_count_stream: int,
    ) -> None:
        self.transport = CarriedTransport(self, protocol, way="quic", other=address)
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._endpoint = endpoint
        self._send = send
        self._own_count_stream = own_count_stream
        self._packets: list[bytes] = []
        self._source = address
        self._planned = False
        self._timer: asyncio.TimerHandle | None = None
        self._patience = self._loop.call_later(HANDSHAKE_S, self.transport.abort)
        self._reading = ReadWindow()
        self._flight = QuicWindow()
        self._unsent_bytes_max = UNSENT_BYTES_MIN
        self._measured_at = self._loop.time()
        self._left_then = 0

    def packet(self, data: bytes, address: Address) -> None:
        """Take a packet of this connection; those of one turn of the loop are handled together."""
        if address != self._source:
            self._look()
            self._source = address
        self._packets.append(data)
        self._plan()

    # --- for the transport -------------------------------------------------------------------------------------------

    def carry(self, data: bytes) -> None:
        """Hand bytes to the connection's one stream."""
        self._ask(self._connection.send_stream_data, DATA_STREAM, data)
        self._reading.written += len(data)
        self._plan()

    def room(self) -> bool:
        """Whether the stream has sent nearly all of its bytes, and the other side has read what it got."""
        if self._reading.unread >= WINDOW_BYTES:
            return False
        unsent = self.unsent_bytes()
        if unsent + self._in_flight() >= self._flight.window_bytes:
            return False
        now = self._loop.time()
        if now >= self._measured_at + MEASURE_S:
            left = self._reading.written - unsent
            leaving = int((left - self._left_then) / (now - self._measured_at) * UNSENT_S)
            self._unsent_bytes_max = min(max(UNSENT_BYTES_MIN, leaving), UNSENT_BYTES_MAX)
            self._measured_at, self._left_then = now, left
        return unsent < self._unsent_bytes_max

    def unsent_bytes(self) -> int:
        """Number of bytes that the library holds unsent."""
        return self._ask(self._connection.get_send_buffer_size, DATA_STREAM) or 0

    def consumed(self, count: int) -> None:
        """Tell the other side now and then how much the owner has read."""
        told = self._reading.consumed(count)
        if told:
            self._ask(self._connection.send_stream_data, self._own_count_stream, told)
            self._plan()

    def end(self, *, at_once: bool) -> None:
        """Send nothing more; earlier bytes still arrive, unless `at_once`, which also ends the connection."""
        if at_once:
            self._ask(self._connection.close)
            self._depart()
            self._forget()
        else:
            self._ask(self._connection.send_stream_data, DATA_STREAM, b"", True)
            self._plan()

    # --- inside ------------------------------------------------------------------------------------------------------

    def _ask(self, operation: Callable[..., Any], *arguments: Any) -> Any:
        """Call the library; None if it fails, as it does on much that the other side may send: that ends the link.

        It answers broken handshakes with errors of many kinds, and with panics, which are not an `Exception`.
        """
        try:
            return operation(*arguments)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001 - see above
            self._loop.call_soon(self.transport.abort)
            return None

    def _plan(self) -> None:
        """Send soon: several packets that arrive in one turn of the loop are answered together."""
        if not self._planned:
            self._planned = True
            self._loop.call_soon(self.settle)

    def settle(self, *, rang: bool = False) -> None:
        """Handle packets and events, send what is due, and set the library's timer; `rang`: it has run out."""
        self._planned = False
        if self.transport.gone:
            return
        if rang:
            self._ask(self._connection.handle_timer, self._loop.time())
        self._look()
        self._take_events()
        self._depart()
        if self._in_flight() > 2 * self._reading.unread + EXCESS_BYTES:
            self.transport.abort()  # it makes the library answer and answer, and acknowledges nothing
        if self.transport.gone:
            return
        self.transport.resume_if_room()
        if self._timer is not None:
            self._timer.cancel()
        due_at = self._ask(self._connection.get_timer)
        self._timer = None if due_at is None else self._loop.call_at(due_at, partial(self.settle, rang=True))

    def _look(self) -> None:
        packets, self._packets = self._packets, []
        if packets:
            before, now = self._in_flight(), self._loop.time()
            self._ask(self._connection.receive_many_datagrams, packets, self._source, now)
            core = self._connection._core  # noqa: SLF001 - as in `_in_flight`
            if core is not None and core.latest_rtt is not None and core.bytes_in_flight < before:
                self._flight.seen(now, rtt_s=core.latest_rtt, flight_bytes=before)

    def _in_flight(self) -> int:
        core = self._connection._core  # noqa: SLF001 - pinned; the library tells it to nobody else
        return 0 if core is None else core.bytes_in_flight

    def _take_events(self) -> None:
        while not self.transport.gone and (event := self._connection.next_event()) is not None:
            match event:
                case HandshakeCompleted():
                    self._patience.cancel()
                    self.transport.made()
                case StreamDataReceived(stream_id=stream, data=data, end_stream=ended) if stream == DATA_STREAM:
                    if self._reading.arrived(len(data)):
                        self.transport.arrived(data, ended=ended)
                    else:
                        self.transport.abort()
                case StreamDataReceived(stream_id=stream, data=data) if stream == 5 - self._own_count_stream:
                    self._reading.told(data)
                case StreamDataReceived() | StreamReset() | StopSendingReceived():
                    self.transport.abort()  # a violation of this protocol
                case ConnectionIdIssued(connection_id=cid):
                    self._endpoint.ids[cid] = self
                case ConnectionIdRetired(connection_id=cid):
                    self._endpoint.ids.pop(cid, None)
                case ConnectionTerminated():
                    self._forget()
                    self.transport.lost()

    def _depart(self) -> None:
        for data, address in self._ask(self._connection.datagrams_to_send, self._loop.time()) or ():
            self._send(data, (str(address[0]), int(address[1])))

    def _forget(self) -> None:
        """Forget the connection, which is over."""
        self._patience.cancel()
        if self._timer is not None:
            self._timer.cancel()
        self._endpoint.forget(self)
