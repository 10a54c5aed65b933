"""The receiving half of a link: decrypts, and delivers whole messages."""

import asyncio
import ssl
from collections import deque
from typing import Protocol

from core.base.problems import WireProblem
from core.base.wire import FrameDecoder
from core.net.identity.tls import SecureChannel, reason_of
from core.net.links.liveness import Liveness
from core.net.links.stream_terms import StreamTerms

HEARTBEAT_BYTES_MAX = 32
TURN_S = 0.010
"""Time for which one link may keep the loop before timers and other links have their turn."""


class ReceiverOwner(Protocol):
    """The link of a receiver."""

    def deliver(self, data: bytearray) -> None:
        """Take a whole message; the bytes are the link's to keep."""

    def close(self, reason: str) -> None:
        """End the link, since the other side said goodbye."""

    def abort(self, reason: str) -> None:
        """End the link, which is broken."""


class Receiver:
    """Reads nothing while its owner holds it, or while the download limit delays it.

    Args:
        terms: Shared by all links of the host.
        liveness: Notes that bytes arrive.
        owner: Takes the messages, and the end.
    """

    def __init__(self, terms: StreamTerms, liveness: Liveness, owner: ReceiverOwner) -> None:
        self._scratch = terms.scratch
        self._trace = terms.trace
        self._bucket = terms.pace.download
        self._flow = self._bucket.flow(self._plan)
        self._liveness = liveness
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._channel: SecureChannel | None = None
        self._decoder = FrameDecoder()
        self._arrived: deque[bytearray] = deque()
        self._held = self._slowed = self._planned = self._ended = self._over = False
        self.bytes_received = 0
        self.goodbye = False
        """Whether the other side said goodbye; it has read nothing that was sent to it at that time."""

    def buffer(self) -> memoryview:
        """Shared buffer for the next bytes that arrive."""
        return self._scratch.cipher[: self._bucket.turn_bytes]

    def count(self, nbytes: int) -> memoryview:
        """Count bytes that arrived in the buffer; returns them."""
        now = self._liveness.heard_at = self._loop.time()
        self.bytes_received += nbytes
        self._flow.spent(nbytes, now)
        return self._scratch.cipher[:nbytes]

    def open(self, transport: asyncio.Transport, channel: SecureChannel) -> None:
        """Begin to deliver: the handshake is complete.

        Args:
            transport: The connection.
            channel: Decrypts; may have bytes already.
        """
        self._transport = transport
        self._channel = channel
        self._plan()

    def feed(self, data: memoryview) -> None:
        """Decrypt and deliver bytes that arrived after the handshake."""
        assert self._channel is not None
        self._channel.feed(data)
        self._turn()

    def end(self) -> None:
        """Note the other side's end, perhaps without a goodbye; earlier bytes are still delivered."""
        self._ended = True
        if not (self._arrived or self._held or self._planned):
            self._owner.abort("ended")

    def hold(self) -> None:
        """Deliver and read nothing until `release`; TCP slows the other side down.  Only on an open link."""
        assert self._transport is not None
        self._held = True
        self._transport.pause_reading()

    def release(self) -> None:
        """Deliver and read again after `hold`."""
        self._held = False
        self._plan()

    @property
    def reads(self) -> bool:
        """Whether silence is the other side's: neither the owner nor a limit keeps this side from reading."""
        return not (self._held or self._slowed)

    def leave(self) -> None:
        """Deliver nothing more: the link has ended."""
        self._over = True
        self._flow.leave()
        self._arrived.clear()

    def _plan(self) -> None:
        if not self._planned and not self._over:
            self._planned = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Decrypt and deliver what has arrived, for at most about `TURN_S`; an empty message is a heartbeat."""
        self._planned = False
        ends_at = self._loop.time() + TURN_S
        more = True
        while not self._held and not self._over:
            if self._arrived:
                if data := self._arrived.popleft():
                    self._liveness.used_at = self._liveness.heard_at
                    self._owner.deliver(data)
                if self._loop.time() > ends_at:
                    assert self._transport is not None
                    self._transport.pause_reading()
                    self._plan()
                    return
            elif more:
                more = self._decrypt()
            elif self._ended:
                self._owner.abort("ended")
            else:
                self._listen()
                return

    def _listen(self) -> None:
        """Read on, unless the download limit delays it."""
        assert self._transport is not None
        self._slowed = not self._flow.room(self._loop.time())
        if self._slowed:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _decrypt(self) -> bool:
        """Decrypt as much as fits the buffer; returns whether there may be more."""
        assert self._channel is not None
        plain = self._scratch.plain
        try:
            count, goodbye = self._channel.read_into(plain)
            self._arrived.extend(self._decoder.feed(plain[:count]))
        except ssl.SSLError as error:
            self._owner.abort(f"broke: {reason_of(error)}")
            return True
        except WireProblem:
            self._trace.mark("net.drop.wire")
            self._owner.abort("sent garbage")
            return True
        if count > HEARTBEAT_BYTES_MAX:
            self._liveness.used_at = self._liveness.heard_at
        if goodbye and not self._arrived:
            self.goodbye = True
            self._owner.close("said goodbye")
        return goodbye or count == len(plain)
