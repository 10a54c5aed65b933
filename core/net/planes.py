"""Between messages and bytes: which plane a message goes by, and what arrives that is none."""

from collections.abc import Callable

from core.base.ids import PeerId
from core.base.machine import Received, Send
from core.base.problems import WireProblem
from core.base.trace import Trace
from core.base.wire import Message, MessageCodec
from core.nat.messages import DialBackDatagram, Mirrored
from core.net.address_book import Address
from core.net.datagrams import DatagramPort
from core.net.envelope import VerifiedDatagram
from core.net.links import Links
from core.net.metering import Metering
from core.net.streams import PeerStream


class Planes:
    """See the module's docstring.

    Args:
        me: Our id; nothing is sent there.
        codec: Every message that may arrive.
        trace: Counts what is dropped.
        deliver: Takes a `Received`.
    """

    def __init__(
        self,
        me: PeerId,
        *,
        codec: MessageCodec,
        trace: Trace,
        deliver: Callable[[Received[Message]], None],
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
        """Whom, which nonce, and where."""

    def open(self, port: DatagramPort, links: Links, metering: Metering | None) -> None:
        """Send from now on.

        Args:
            port: Takes datagrams.
            links: Take what goes on streams.
            metering: Is told when bulk moves on them; None: nobody wants to know.
        """
        self._port = port
        self._links = links
        self._metering = metering

    def send(self, output: Send[Message]) -> None:
        """Send a message on its plane.  Several in a row may be the same; then `sent_all` is to be said.

        Raises:
            ValueError: it is addressed to ourselves.
        """
        to, message = output.to, output.message
        if to == self._me:
            raise ValueError(f"{type(message).__name__} is addressed to ourselves")
        data = self._encode(message)
        if message.plane == "stream":
            assert self._links is not None
            if message.together:
                self._links.join()
            self._links.send(to, data, bulk=message.bulk, ahead=output.ahead)
            if message.bulk and self._metering is not None:
                self._metering.moved()
        else:
            reply_to, at = b"", None
            if self._answering is not None and self._answering[0] == to:
                _, reply_to, at = self._answering
            assert self._port is not None
            self._port.send(to, data, reply_to=reply_to, at=at)

    def sent_all(self) -> None:
        """Forget the last message: what it is made of may change now."""
        self._encoded = (None, b"")

    def arrived(self, stream: PeerStream, data: bytearray) -> None:
        """What came on a stream; one that sends garbage is closed."""
        try:
            message = self.codec.decode(data)
        except WireProblem:
            self._trace.mark("net.drop.message")
            stream.close("sent garbage")
            return
        if message.bulk and self._metering is not None:
            self._metering.moved()
        self._deliver(Received(stream.peer, message))

    def datagram(self, datagram: VerifiedDatagram, source: Address | None) -> None:
        """What came as a datagram: what is sent to its sender meanwhile answers it."""
        try:
            message = self.codec.decode(datagram.body)
        except WireProblem:
            self._trace.mark("net.drop.message")
            return
        if message.plane != "datagram":
            self._trace.mark("net.drop.plane")
            return
        self._answering = (datagram.sender, datagram.nonce, source)
        self._deliver(Received(datagram.sender, message))
        self._answering = None

    def is_stray(self, datagram: VerifiedDatagram) -> bool:
        """Whether it may come from where its sender does not listen.

        Knocks come from a fresh port, and some answers to Mirror from a second one.
        """
        try:
            return isinstance(self.codec.decode(datagram.body), DialBackDatagram | Mirrored)
        except WireProblem:
            return False

    def _encode(self, message: Message) -> bytes:
        """The message's bytes; one that goes to many in a row is encoded once."""
        if message is not self._encoded[0]:
            self._encoded = (message, self.codec.encode(message))
        return self._encoded[1]
