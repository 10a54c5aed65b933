"""Between messages and bytes: the plane of each message, and the refusal of bytes that are not a message."""

from collections.abc import Callable

from core.base.ids import Observed, PeerId
from core.base.machine import Received, Send, Trace
from core.base.problems import WireProblem
from core.base.wire import Message, MessageCodec, Plane
from core.nat.messages import DialBackDatagram, Mirrored
from core.net.addresses.address_book import Address
from core.net.datagrams.datagrams import DatagramPort
from core.net.datagrams.envelope import VerifiedDatagram
from core.net.links.links import Links
from core.net.links.metering import Metering
from core.net.links.streams import PeerStream


class Planes:
    """Sends messages on their planes and decodes what arrives.

    Args:
        me: This peer's id, to which nothing is sent.
        codec: Every message that may arrive.
        trace: Counts what is dropped.
        deliver: Takes a `Received` or `Observed`.
    """

    def __init__(
        self,
        me: PeerId,
        *,
        codec: MessageCodec,
        trace: Trace,
        deliver: Callable[[Received[Message] | Observed], None],
    ) -> None:
        self.codec = codec
        self._me = me
        self._trace = trace
        self._deliver = deliver
        self._port: DatagramPort | None = None
        self._links: Links | None = None
        self._metering: Metering | None = None
        self._encoded: tuple[Message | None, bytes] = (None, b"")
        self._answering: tuple[PeerId, bytes, Address | None] | None = None
        """Sender, nonce and address of the datagram that is being handled."""

    def open(self, port: DatagramPort, links: Links, metering: Metering | None) -> None:
        """Begin to send.

        Args:
            port: Takes datagrams.
            links: Take messages of the stream plane.
            metering: Told when bulk moves on them; None: not measured.
        """
        self._port = port
        self._links = links
        self._metering = metering

    def send(self, output: Send[Message]) -> None:
        """Send a message on its plane.  Several in a row may be the same; `sent_all` follows the last.

        Raises:
            ValueError: it is addressed to this peer.
        """
        to, message = output.to, output.message
        if to == self._me:
            raise ValueError(f"{type(message).__name__} is addressed to ourselves")
        data = self._encode(message)
        if message.plane == "stream":
            assert self._links is not None
            links = self._links.to(to)
            if output.transfer is not None or (message.bulk and not message.beside):
                links.carry(output.transfer)
            links.send(data, bulk=message.bulk, beside=message.beside)
            if message.bulk and self._metering is not None:
                self._metering.moved()
        else:
            reply_to, at = b"", None
            if self._answering is not None and self._answering[0] == to:
                _, reply_to, at = self._answering
            assert self._port is not None
            self._port.send(to, data, reply_to=reply_to, at=at)

    def sent_all(self) -> None:
        """Forget the last message, whose content may change now."""
        self._encoded = (None, b"")

    def hang_up(self, peer: PeerId, reason: str) -> None:
        """End all links with a peer.

        Args:
            peer: The peer, which may call again.
            reason: Why, for the log.
        """
        assert self._links is not None
        for stream in self._links.to(peer).streams.copy():
            stream.close(reason)

    def arrived(self, stream: PeerStream, data: bytearray) -> None:
        """Decode a message of a stream; a stream that sends anything else is closed.

        Args:
            stream: The stream.
            data: The encoded message.
        """
        message = self._decoded(data, "stream")
        if message is None:
            stream.close("sent garbage")
            return
        if message.bulk and self._metering is not None:
            self._metering.moved()
        self._deliver(Received(stream.peer, message))

    def datagram(self, datagram: VerifiedDatagram, source: Address | None) -> None:
        """Decode a message of a datagram: messages sent to its sender meanwhile answer it.

        Args:
            datagram: The verified datagram.
            source: Address for answers; None: the address book's.
        """
        message = self._decoded(datagram.body, "datagram")
        if message is None:
            return
        self._answering = (datagram.sender, datagram.nonce, source)
        self._deliver(Received(datagram.sender, message))
        self._answering = None

    def observed(self, peer: PeerId, address: Address) -> None:
        """Tell the machine at which address a peer is seen.

        Args:
            peer: The sender of a datagram.
            address: Where it came from.
        """
        self._deliver(Observed(peer, *address))

    def packet(self, data: bytes, source: Address) -> None:
        """Pass a packet of QUIC or a punch on to the links.

        Args:
            data: The packet.
            source: Where it came from.
        """
        if self._links is not None:
            self._links.maker.datagram(data, source)

    def is_stray(self, datagram: VerifiedDatagram) -> bool:
        """Whether it may come from a port at which its sender does not listen.

        Dial-back datagrams come from a fresh port, and some answers to Mirror from a second one.
        """
        try:
            return isinstance(self.codec.decode(datagram.body), DialBackDatagram | Mirrored)
        except WireProblem:
            return False

    def _decoded(self, data: bytes | bytearray, plane: Plane) -> Message | None:
        """A message that arrived on a plane; None, and counted, if it is not one, or is one of the other plane.

        What bounds messages of datagrams is the size of a datagram, and the share of the processor that is for them.
        """
        try:
            message = self.codec.decode(data)
        except WireProblem:
            self._trace.mark("net.drop.message")
            return None
        if message.plane != plane:
            self._trace.mark("net.drop.plane")
            return None
        return message

    def _encode(self, message: Message) -> bytes:
        """Encode a message; one that goes to many in a row is encoded once."""
        if message is not self._encoded[0]:
            self._encoded = (message, self.codec.encode(message))
        return self._encoded[1]
