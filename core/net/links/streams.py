"""A link to one peer: messages over TLS over one connection."""

import asyncio
from dataclasses import dataclass
from typing import Any, Literal, Self

from core.base.ids import PeerId
from core.base.problems import ProofProblem
from core.base.rate_limit import household
from core.net.addresses.address_book import Address
from core.net.datagrams.udp import source_of
from core.net.identity.passes import Pass
from core.net.links.handshake import Handshake
from core.net.links.liveness import HEARTBEAT_S, Liveness
from core.net.links.receiver import Receiver
from core.net.links.sender import Sender
from core.net.links.stream_terms import StreamOwner, StreamTerms

HANDSHAKE_S = 10.0
CLOSE_S = 1.0
"""Seconds that a closing link may take to send its waiting control."""
Way = Literal["tcp", "quic", "relay"]


@dataclass(frozen=True, slots=True)
class Route:
    """The connection that carries a link's bytes, and its two ends."""

    way: Way = "tcp"
    own_host: str | None = None
    """The address of this computer that it leaves from, if it is bound to one."""
    other_address: Address | None = None
    """The other end's address as this socket sees it; None if nobody else could call that."""
    household: str = ""
    """Part of that address that one household has for itself; empty: the link passes through a relay."""

    @classmethod
    def of(cls, transport: asyncio.Transport) -> Self:
        """Return the route of a connection that stands."""
        own, other = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
        return cls(
            way=transport.get_extra_info("way", "tcp"),
            own_host=str(own[0]) if isinstance(own, tuple) else None,
            other_address=source_of(other) if isinstance(other, tuple) else None,
            household=household(other[0]) if isinstance(other, tuple) else "",
        )


class PeerStream(asyncio.BufferedProtocol):
    """One connection, called or accepted: TCP, QUIC or relayed, any transport of asyncio.

    A handshake comes first; then the sender and the receiver are open.  Control overtakes bulk between fragments, whose
    size follows the link's speed.  Nothing is written while the connection is full, however long that lasts; nothing is
    read while the owner holds the receiver.

    Args:
        terms: Shared by all links of the host.
        owner: Takes the messages.
        expected: The peer that this one called; None: the other peer called.
    """

    peer: PeerId
    """The peer at the other end, proven by its pass; set when the link opens."""

    def __init__(self, terms: StreamTerms, owner: StreamOwner, *, expected: PeerId | None) -> None:
        self._terms = terms
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self.attempt: tuple[int, int] | None = None
        """Number and way of the traversal machine's attempt, if it asked for this link."""
        self.route = Route()
        self.initiated = expected is not None
        """Whether this peer is the caller."""
        self.proven: Pass | None = None
        self.opened_at = 0.0
        """Time of opening, Unix seconds."""
        self.closed: str | None = None
        """Reason of the end; None: the link lives."""
        self.broken = False
        """Whether it ended without a goodbye of either side."""
        self.settled: asyncio.Future[bool] = self._loop.create_future()
        """Whether the link opened; done when that is known."""
        self.finished: asyncio.Future[None] = self._loop.create_future()
        """Done when the socket is gone."""
        self.liveness = Liveness(self._loop.time())
        self.sender = Sender(terms, self.liveness)
        self.receiver = Receiver(terms, self.liveness, self)
        self._handshake = Handshake(terms, expected)
        self.transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def send(self, data: bytes, *, bulk: bool, beside: bool = False) -> None:
        """Send an encoded message.  A link whose queue would overflow is closed: it must never lose one of many."""
        if self.closed is None and not self.sender.send(data, bulk=bulk, beside=beside):
            self._terms.trace.mark("net.drop.queue")
            self.close("takes nothing")

    def deliver(self, data: bytearray) -> None:
        """Pass a message that the receiver has read on to the owner."""
        self._owner.stream_received(self, data)

    def close(self, reason: str) -> None:
        """End the link; waiting control is still sent, within `CLOSE_S`."""
        if self.closed is not None:
            return
        self._end(reason, goodbye=True)
        if self.transport is not None:
            self.transport.close()
            self._timer = self._loop.call_later(CLOSE_S, self.transport.abort)

    def abort(self, reason: str) -> None:
        """End the link at once, without a goodbye."""
        self.broken = self.broken or self.closed is None
        self._end(reason)
        if self.transport is not None:
            self.transport.abort()

    # --- called by the loop ------------------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Begin the handshake on a connection that stands."""
        self.transport = transport
        self.route = Route.of(transport)
        if self.closed is None:
            self._owner.stream_connected(self)
        if self.closed is not None:
            transport.abort()
            return
        self.liveness.heard_at = self.liveness.sent_at = self._loop.time()
        self.sender.attach(transport)
        self._timer = self._loop.call_later(HANDSHAKE_S, self.abort, "handshake took too long")
        self._proceed(b"")

    def get_buffer(self, sizehint: int) -> memoryview:
        """Shared buffer for the next bytes that arrive."""
        del sizehint
        return self.receiver.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """Handle the bytes that arrived in the buffer."""
        data = self.receiver.count(nbytes)
        if self.proven is None:
            self._owner.stream_heard(self)
            self._proceed(data)
        else:
            self.receiver.feed(data)

    def eof_received(self) -> bool:
        """Note the other side's end, perhaps without a goodbye; earlier bytes are still delivered."""
        self.receiver.end()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """End the link, whose socket is gone."""
        self.broken = self.broken or self.closed is None
        self._end("ended" if exc is None else f"broke: {type(exc).__name__}")
        if self._timer is not None:
            self._timer.cancel()
        if not self.finished.done():
            self.finished.set_result(None)

    def pause_writing(self) -> None:
        """Stop writing: the kernel takes no more for now."""
        self.sender.pause()

    def resume_writing(self) -> None:
        """Write on: the kernel has taken all that was written."""
        self.sender.resume()

    # --- inside ------------------------------------------------------------------------------------------------------

    def _proceed(self, data: memoryview | bytes) -> None:
        """Go on with the handshake, and open the link when it is complete."""
        if self.closed is not None:
            return
        try:
            self.proven = self._handshake.proceed(data, self._loop.time(), self.sender.write)
        except ProofProblem as error:
            self.close(f"handshake failed: {error}")
            return
        if self.proven is None:
            return
        assert self.transport is not None
        assert self._timer is not None
        self.peer = self.proven.peer
        self.initiated = self._handshake.initiated
        self.opened_at = self._terms.now()
        self._timer.cancel()
        self._timer = self._loop.call_later(HEARTBEAT_S / 2, self._watch)
        self.settled.set_result(True)
        self.sender.open(self._handshake.channel, self._handshake.rtt_s, simultaneous=self._handshake.simultaneous)
        self.receiver.open(self.transport, self._handshake.channel)
        self._owner.stream_opened(self)

    def _watch(self) -> None:
        """Check that the other side is alive, and that its pass is still valid."""
        assert self.proven is not None
        if not self.receiver.reads:
            self.liveness.heard_at = self._loop.time()
        try:
            self._terms.passes.check(self.proven, self._terms.now())
        except ProofProblem as error:
            self.close(str(error))
            return
        match self.liveness.verdict(self._loop.time()):
            case "dead":
                self.abort("silent")
                return
            case "beat":
                self.send(b"", bulk=False)
            case "fine":
                pass
        self._timer = self._loop.call_later(HEARTBEAT_S / 2, self._watch)

    def _end(self, reason: str, *, goodbye: bool = False) -> None:
        if self.closed is not None:
            return
        self.closed = reason
        self.sender.leave(goodbye=goodbye)
        self.receiver.leave()
        if self._timer is not None:
            self._timer.cancel()
        if not self.settled.done():
            self.settled.set_result(False)
        self._owner.stream_closed(self, reason)
