"""A link to one peer: messages over TLS over one TCP connection."""

import asyncio
import ssl
from collections import deque
from typing import Any, Literal

from core.base.ids import PeerId
from core.base.problems import ProofProblem, WireProblem
from core.base.wire import FrameDecoder
from core.net.liveness import HEARTBEAT_S, Liveness
from core.net.passes import Pass
from core.net.sender import Sender
from core.net.simultaneous_open import SimultaneousOpen
from core.net.terms import StreamTerms
from core.net.tls import SecureChannel
from core.net.udp import source_of

HANDSHAKE_S = 10.0
CLOSE_S = 1.0
"""How long a closing link may take to send what it still holds."""
HEARTBEAT_BYTES_MAX = 32
Way = Literal["tcp", "quic", "relay"]
TURN_S = 0.010
"""How long one link may keep the loop before timers and other links have their turn."""


class PeerStream(asyncio.BufferedProtocol):
    """One connection, ours or theirs: TCP, QUIC or relayed, whatever looks like a transport of asyncio.

    Control overtakes bulk between fragments, whose size follows the link's speed.  Nothing is written while the
    connection is full, however long that lasts; nothing is read while the owner holds the link.

    Args:
        terms: See there.
        expected: Whom we called; None when they called us.
    """

    def __init__(self, terms: StreamTerms, *, expected: PeerId | None) -> None:
        self._terms = terms
        self.expected = expected
        self.attempt: tuple[int, int] | None = None
        """Of whoever asked for this link: the attempt's number, and its way."""
        self.proven: Pass | None = None
        self.closed: str | None = None
        """Why it is over."""
        self.broken = False
        """Whether it ended without a goodbye of either side."""
        self.left = False
        """Whether the other side said goodbye; it has read nothing that was sent to it at that time."""
        self.bytes_received = 0
        self.opened_at = 0.0
        """Unix seconds."""
        self._loop = asyncio.get_running_loop()
        self.finished: asyncio.Future[None] = self._loop.create_future()
        """Done when the socket is gone."""
        self.settled: asyncio.Future[bool] = self._loop.create_future()
        """Whether the link opened; done when that is known."""
        self._transport: asyncio.Transport | None = None
        self.initiated = expected is not None
        """Whether we are the caller."""
        self._asked_at = self._trip_s = 0.0
        """When our part of the handshake left, and how long it took until the other side's came."""
        self._crossing = (
            None if expected is None else SimultaneousOpen(stays_caller=terms.credentials.peer_id < expected)
        )
        self._channel = SecureChannel(terms.credentials, server_side=expected is None)
        self._decoder = FrameDecoder()
        self._arrived: deque[bytearray] = deque()
        self._sender = Sender(self._channel, terms.pace.upload, self._plan_pump, uplink=terms.uplink)
        self._taking = terms.pace.download.flow(self._plan_turn)
        self._slowed = False
        self._liveness = Liveness(self._loop.time())
        self._busy_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._held = False
        self._turn_planned = False
        self._pump_planned = False
        self._ended = False

    @property
    def peer(self) -> PeerId:
        """Who is at the other end, proven."""
        assert self.proven is not None
        return self.proven.peer

    @property
    def own_host(self) -> str | None:
        """The address of this computer that it leaves from, if it is bound to one."""
        name = None if self._transport is None else self._transport.get_extra_info("sockname")
        return str(name[0]) if isinstance(name, tuple) else None

    @property
    def other_address(self) -> tuple[str, int] | None:
        """Where the other end is, as our socket sees it; None if nobody else could call that."""
        name = None if self._transport is None else self._transport.get_extra_info("peername")
        return source_of(name) if isinstance(name, tuple) else None

    @property
    def way(self) -> Way:
        """How the bytes travel."""
        way: Way = "tcp" if self._transport is None else self._transport.get_extra_info("way", "tcp")
        return way

    @property
    def quiet_s(self) -> float:
        """Seconds since the last byte arrived."""
        return self._loop.time() - self._liveness.heard

    @property
    def idle_s(self) -> float:
        """Seconds since a message, other than a heartbeat, was sent or received."""
        return self._loop.time() - self._busy_at

    @property
    def queued_bytes(self) -> int:
        """What waits to be sent."""
        return self._sender.outbox.control_bytes + self._sender.outbox.bulk_bytes

    @property
    def bytes_sent(self) -> int:
        """On the wire, with TLS."""
        return self._sender.bytes_sent

    @property
    def bytes_left(self) -> int:
        """Of those, what has arrived, as far as the system tells, or else has left our memory."""
        return self._sender.bytes_left

    @property
    def trip_s(self) -> float:
        """A round trip on this link when it is idle: the system's least, or else that of the handshake; 0: unknown."""
        least_s = self._sender.least_trip_s
        return max(0.0, self._trip_s if least_s is None else least_s)

    @property
    def bulk_waits(self) -> bool:
        """Whether bulk waits to be sent."""
        return bool(self._sender.outbox.bulk_bytes)

    def send(self, data: bytes, *, bulk: bool, ahead: bool = False) -> None:
        """Send an encoded message.  A link whose queue would overflow is closed: it must never lose one of many."""
        if self.closed is not None:
            return
        if not self._sender.outbox.put(data, bulk=bulk, ahead=ahead):
            self._terms.trace.mark("net.drop.queue")
            self.close("takes nothing")
            return
        if data:
            self._busy_at = self._loop.time()
        self._plan_pump()

    def hold(self) -> None:
        """Deliver and read nothing until `release`; the other side is slowed down by TCP.  Only on an open link."""
        assert self._transport is not None
        assert self.proven is not None
        self._held = True
        self._transport.pause_reading()

    def release(self) -> None:
        """Go on after `hold`."""
        self._held = False
        self._plan_turn()

    def close(self, reason: str) -> None:
        """End the link; control that waits is still sent, within `CLOSE_S`."""
        if self.closed is not None:
            return
        transport = self._transport
        if transport is not None and self.proven is not None:
            self._sender.say_goodbye(self._loop.time())
        self._end(reason)
        if transport is not None:
            transport.close()
            self._timer = self._loop.call_later(CLOSE_S, transport.abort)

    def abort(self, reason: str) -> None:
        """End the link at once."""
        self.broken = self.broken or self.closed is None
        self._end(reason)
        if self._transport is not None:
            self._transport.abort()

    # --- called by the loop ------------------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """The TCP connection stands; the handshake begins."""
        self._transport = transport
        if self.closed is not None:
            transport.abort()
            return
        now = self._loop.time()
        self._liveness.heard = now
        self._sender.attach(transport, now)
        self._timer = self._loop.call_later(HANDSHAKE_S, self.abort, "handshake took too long")
        self._handshake()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go."""
        del sizehint
        return self._terms.scratch.cipher[: self._terms.pace.download.turn_bytes]

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes arrived."""
        self._liveness.heard = self._loop.time()
        self.bytes_received += nbytes
        self._taking.spent(nbytes, self._liveness.heard)
        if self.proven is None:
            self._greeted(self._terms.scratch.cipher[:nbytes])
        else:
            self._channel.feed(self._terms.scratch.cipher[:nbytes])
            self._turn()

    def eof_received(self) -> bool:
        """The other side ended, perhaps without a goodbye; what came before is still delivered."""
        self._ended = True
        if self.proven is None or not (self._arrived or self._held or self._turn_planned):
            self.abort("ended")
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        self.broken = self.broken or self.closed is None
        self._end("ended" if exc is None else f"broke: {type(exc).__name__}")
        if self._timer is not None:
            self._timer.cancel()
        if not self.finished.done():
            self.finished.set_result(None)

    def pause_writing(self) -> None:
        """The kernel takes no more for now."""
        self._sender.full()

    def resume_writing(self) -> None:
        """All that was written has left for the kernel."""
        self._sender.room(self._loop.time())
        self._plan_pump()

    # --- inside ------------------------------------------------------------------------------------------------------

    def _greeted(self, data: memoryview) -> None:
        """Bytes of the handshake; when both sides have called, one of them becomes the called."""
        self._trip_s = self._liveness.heard - self._asked_at
        if self._crossing is None:
            self._channel.feed(data)
        else:
            told = self._crossing.look(data)
            if self._crossing.crossed and self.initiated and not self._crossing.stays_caller:
                self.initiated = False
                self._channel = self._sender.channel = SecureChannel(self._terms.credentials, server_side=True)
            self._channel.feed(told)
        self._handshake()

    def _handshake(self) -> None:
        assert self._transport is not None
        if self.closed is not None:
            return
        try:
            complete = self._channel.handshake()
            before = self._sender.bytes_sent
            self._sender.flush()
            if self._sender.bytes_sent > before:
                self._asked_at = self._loop.time()
            if not complete:
                return
            proven = self._terms.verify(self._channel.peer_pass)
        except (ssl.SSLError, ProofProblem) as error:
            self._terms.trace.mark("net.drop.handshake")
            self._sender.flush()  # the alert that says why
            self.close(f"handshake failed: {_sentence(error)}")
            return
        if self.expected not in {None, proven.peer}:
            self._terms.trace.mark("net.drop.impostor")
            self.close("handshake failed: another peer answered")
            return
        self._open(proven)

    def _open(self, proven: Pass) -> None:
        self.proven = proven
        self.opened_at = self._terms.now()
        if self._crossing is not None and self._crossing.crossed:
            self._sender.crossed(self._trip_s)
        assert self._timer is not None
        self._timer.cancel()
        self._timer = self._loop.call_later(HEARTBEAT_S / 2, self._watch)
        self.settled.set_result(True)
        self._terms.owner.stream_opened(self)
        self._plan_pump()
        self._plan_turn()

    def _watch(self) -> None:
        """See whether the other side is there, and still let in."""
        assert self.proven is not None
        now = self._loop.time()
        if self._held or self._slowed:
            self._liveness.heard = now  # we are not listening
        try:
            self.proven.check_time(self._terms.now())
        except ProofProblem:
            self.close("its pass has expired")
            return
        match self._liveness.verdict(now, sent=self._sender.sent_at):
            case "dead":
                self.abort("silent")
                return
            case "beat":
                self.send(b"", bulk=False)
            case "fine":
                pass
        self._timer = self._loop.call_later(HEARTBEAT_S / 2, self._watch)

    def _plan_turn(self) -> None:
        if not self._turn_planned and self.closed is None:
            self._turn_planned = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Decrypt and deliver what has arrived, for at most about `TURN_S`; an empty message is a heartbeat."""
        self._turn_planned = False
        if self.proven is None or self._transport is None:
            return
        ends_at = self._loop.time() + TURN_S
        more = True
        while self.closed is None and not self._held:
            while self._arrived and not self._held and self.closed is None:
                if data := self._arrived.popleft():
                    self._busy_at = self._liveness.heard
                    self._terms.owner.stream_received(self, data)
                if self._loop.time() > ends_at:
                    self._transport.pause_reading()
                    self._plan_turn()
                    return
            if not more:
                if self._ended:
                    self.abort("ended")
                self._listen()
                return
            more = self._decrypt()

    def _listen(self) -> None:
        """Read on, unless the download limit says later."""
        assert self._transport is not None
        self._slowed = not self._taking.room(self._loop.time())
        if self._slowed:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _decrypt(self) -> bool:
        """Decrypt what there is room for; whether there may be more."""
        plain = self._terms.scratch.plain
        try:
            count, goodbye = self._channel.read_into(plain)
            self._arrived.extend(self._decoder.feed(plain[:count]))
        except ssl.SSLError as error:
            self.abort(f"broke: {_sentence(error)}")
            return True
        except WireProblem:
            self._terms.trace.mark("net.drop.wire")
            self.abort("sent garbage")
            return True
        if count > HEARTBEAT_BYTES_MAX:
            self._busy_at = self._liveness.heard
        if goodbye and not self._arrived:
            self.left = True
            self.close("said goodbye")
        return goodbye or count == len(plain)

    def _plan_pump(self) -> None:
        if not self._pump_planned:
            self._pump_planned = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        self._pump_planned = False
        if self._sender.outbox.bulk_bytes:
            self._busy_at = self._loop.time()
        if self.proven is not None and self.closed is None and self._sender.pump(self._loop.time()):
            self._plan_pump()

    def _end(self, reason: str) -> None:
        if self.closed is not None:
            return
        self.closed = reason
        self._sender.leave()
        self._taking.leave()
        self._arrived.clear()
        if self._timer is not None:
            self._timer.cancel()
        if not self.settled.done():
            self.settled.set_result(False)
        self._terms.owner.stream_closed(self, reason)


def _sentence(error: Exception) -> str:
    """A short reason, without the details that differ from time to time."""
    return (getattr(error, "reason", None) or str(error))[:80]
