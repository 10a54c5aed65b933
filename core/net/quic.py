"""QUIC (RFC 9000) on the UDP port that also carries our datagrams: for pairs of peers that no TCP connection can join.

QUIC only carries bytes, one bidirectional stream per connection: who is at the other end is proven by our own TLS 1.3
inside it, exactly as on TCP, so the certificate that QUIC itself demands is made up and checked by nobody.
`aioquic` does the protocol without sockets.  This module is imported when the first such connection is made.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from aioquic._buffer import Buffer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, StreamDataReceived
from aioquic.quic.packet import QuicFrameType, QuicPacketType, pull_quic_header
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from core.net.book import Address
from core.net.carried import CarriedTransport

PACKET_BYTES: Final = 1400
"""Fits the usual tunnels: 1492 for PPPoE, less the headers of IPv6 and UDP, and some."""
WINDOW_BYTES: Final = 4 * 1024 * 1024
"""What the other side may send before we have read it."""
UNSENT_BYTES_MIN: Final = 32 * 1024
UNSENT_BYTES_MAX: Final = 64 * 1024
UNSENT_S: Final = 0.01
"""What the stream holds unsent takes about so long to leave, within these bounds: control waits behind it."""
FAST_BYTES: Final = 20 * 1024
"""A connection from which so much leaves in that time needs no short queue, and short ones would cost it speed."""
MEASURE_S: Final = 0.1
IDLE_S: Final = 30.0
CONNECTIONS_MAX: Final = 256
CID_BYTES: Final = 8
FIRST_PACKET_BYTES_MIN: Final = 1200


def is_quic(first_byte: int) -> bool:
    """Whether a datagram is QUIC's: every packet of its versions 1 and 2 has this bit set, and no other of ours has."""
    return bool(first_byte & 0x40)


class _Connection(QuicConnection):
    """Grants the other side a window beyond what was read, where the library's own window grows without end."""

    read_bytes = 0

    def _write_stream_limits(self, builder: Any, space: Any, stream: Any) -> None:
        del space
        limit = self.read_bytes + WINDOW_BYTES
        if limit - stream.max_stream_data_local >= WINDOW_BYTES // 4:
            stream.max_stream_data_local = limit
        if stream.max_stream_data_local_sent < stream.max_stream_data_local:
            frame = builder.start_frame(
                QuicFrameType.MAX_STREAM_DATA,
                capacity=1 + 8 + 8,
                handler=self._on_max_stream_data_delivery,
                handler_args=(stream,),
            )
            frame.push_uint_var(stream.stream_id)
            frame.push_uint_var(stream.max_stream_data_local)
            stream.max_stream_data_local_sent = stream.max_stream_data_local


class QuicEndpoint:
    """All QUIC connections over one UDP socket.

    Args:
        send: Sends a packet.
        accept: A protocol for a connection that somebody made to us.
        emptied: Called when the last connection is gone.
    """

    def __init__(
        self,
        *,
        send: Callable[[bytes, Address], object],
        accept: Callable[[], asyncio.BaseProtocol],
        emptied: Callable[[], object] | None = None,
    ) -> None:
        self._send = send
        self._emptied = emptied
        self._accept = accept
        self._loop = asyncio.get_running_loop()
        self._links: dict[bytes, QuicTransport] = {}
        self._all: set[QuicTransport] = set()
        self._server: QuicConfiguration | None = None

    def connect(self, protocol: Any, address: Address) -> None:
        """Begin a connection; `protocol.connection_made` is called when it stands, `connection_lost` if it fails."""
        connection = _Connection(configuration=_configuration(is_client=True))
        link = self._add(connection, protocol, address)
        connection.connect(address, now=self._loop.time())
        link.settle()

    def received(self, data: bytes, address: Address) -> bool:
        """Take a packet; whether it was of any use."""
        try:
            header = pull_quic_header(Buffer(data=data), host_cid_length=CID_BYTES)
        except ValueError:
            return False
        link = self._links.get(header.destination_cid)
        if link is None:
            if (
                header.packet_type != QuicPacketType.INITIAL
                or len(data) < FIRST_PACKET_BYTES_MIN
                or len(self._all) >= CONNECTIONS_MAX
            ):
                return False
            if self._server is None:
                self._server = _server_configuration()
            if header.version not in self._server.supported_versions:
                return False
            connection = _Connection(
                configuration=self._server, original_destination_connection_id=header.destination_cid
            )
            link = self._add(connection, self._accept(), address)
            self._links[header.destination_cid] = link
        link.packet(data, address)
        return True

    def close(self) -> None:
        """End all connections at once."""
        for link in list(self._all):
            link.abort()

    def _add(self, connection: _Connection, protocol: Any, address: Address) -> "QuicTransport":
        link = QuicTransport(connection, protocol, address, self._send, self._forget)
        self._links[connection.host_cid] = link
        self._all.add(link)
        return link

    def _forget(self, link: "QuicTransport") -> None:
        self._all.discard(link)
        self._links = {cid: other for cid, other in self._links.items() if other is not link}
        if not self._all and self._emptied is not None:
            self._emptied()


class QuicTransport(CarriedTransport):
    """One connection's stream, as a transport of asyncio."""

    def __init__(
        self,
        connection: _Connection,
        protocol: Any,
        address: Address,
        send: Callable[[bytes, Address], object],
        forget: Callable[["QuicTransport"], None],
    ) -> None:
        super().__init__(protocol, extra={"peername": address, "way": "quic"})
        self._connection = connection
        self._send = send
        self._forget = forget
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._written = 0
        self._unsent_bytes_max = UNSENT_BYTES_MAX
        self._measured_at = self._loop.time()
        self._sent_then = 0
        self._planned = False

    def packet(self, data: bytes, address: Address) -> None:
        """A packet of this connection arrived."""
        self._connection.receive_datagram(data, address, now=self._loop.time())
        self._plan()

    # --- what a carrier does -----------------------------------------------------------------------------------------

    def carry(self, data: bytes) -> None:
        """Hand bytes to the stream."""
        self._connection.send_stream_data(0, data)
        self._written += len(data)
        self._plan()

    def room(self) -> bool:
        """Whether the stream has sent nearly all that it was given."""
        stream: Any = self._connection._streams.get(0)  # noqa: SLF001 - the library tells nobody how much it holds
        if stream is None:
            return True
        sent = stream.sender.highest_offset
        now = self._loop.time()
        if now >= self._measured_at + MEASURE_S:
            leaving = int((sent - self._sent_then) / (now - self._measured_at) * UNSENT_S)
            self._unsent_bytes_max = UNSENT_BYTES_MAX if leaving > FAST_BYTES else max(UNSENT_BYTES_MIN, leaving)
            self._measured_at, self._sent_then = now, sent
        return bool(self._written - sent < self._unsent_bytes_max)

    def consumed(self, count: int) -> None:
        """The owner has read `count` bytes, so the other side may send as many more."""
        self._connection.read_bytes += count
        self._plan()

    def end(self, *, at_once: bool) -> None:
        """Nothing more is sent."""
        if at_once:
            self._connection.close()
        else:
            self._connection.send_stream_data(0, b"", end_stream=True)
        self._plan()

    # --- inside ------------------------------------------------------------------------------------------------------

    def _plan(self) -> None:
        """Send soon: several packets that arrive in one turn of the loop are answered together."""
        if not self._planned:
            self._planned = True
            self._loop.call_soon(self.settle)

    def settle(self) -> None:
        """Take the events, send what there is, and see to the timer."""
        self._planned = False
        while (event := self._connection.next_event()) is not None:
            match event:
                case HandshakeCompleted():
                    self.made()
                case StreamDataReceived(stream_id=0, data=data, end_stream=ended):
                    self.arrived(data, ended=ended)
                case ConnectionTerminated():
                    self._leave()
                    return
        now = self._loop.time()
        for data, address in self._connection.datagrams_to_send(now=now):
            self._send(data, (str(address[0]), int(address[1])))
        self.breathe()
        self._arm(self._connection.get_timer())

    def _arm(self, at: float | None) -> None:
        if self._timer is not None:
            if at == self._timer_at:
                return
            self._timer.cancel()
            self._timer = None
        if at is not None and not self.gone:
            self._timer_at = at
            self._timer = self._loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = self._loop.time()
        self._connection.handle_timer(now=now)
        self.settle()

    def _leave(self) -> None:
        self._arm(None)
        self._forget(self)
        self.lost()


def _configuration(*, is_client: bool) -> QuicConfiguration:
    return QuicConfiguration(
        alpn_protocols=["potluck"],
        is_client=is_client,
        congestion_control_algorithm="reno",
        connection_id_length=CID_BYTES,
        idle_timeout=IDLE_S,
        max_data=2**60,
        max_stream_data=WINDOW_BYTES,
        max_datagram_size=PACKET_BYTES,
        verify_mode=0,
    )


def _server_configuration() -> QuicConfiguration:
    configuration = _configuration(is_client=False)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "potluck")])
    now = datetime.now(UTC)
    configuration.private_key = key
    configuration.certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    return configuration
