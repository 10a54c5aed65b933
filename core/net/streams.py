"""A link to one peer: messages over TLS over one connection."""

import asyncio
import ssl
from collections import deque
from typing import Any, Literal

from core.base.budget import Budget
from core.base.ids import PeerId
from core.base.problems import ProofProblem, WireProblem
from core.base.wire import FrameDecoder
from core.net.liveness import HEARTBEAT_S, Liveness
from core.net.passes import Pass
from core.net.sender import Sender
from core.net.simultaneous_open import SimultaneousOpen
from core.net.stream_terms import StreamTerms
from core.net.tls import SecureChannel
from core.net.udp import source_of

HANDSHAKE_S = 10.0
CLOSE_S = 1.0
"""Seconds that a closing link may take to send its waiting control."""
HEARTBEAT_BYTES_MAX = 32
Way = Literal["tcp", "quic", "relay"]
TURN_S = 0.010
"""Time for which one link may keep the loop before timers and other links have their turn."""


class PeerStream(asyncio.BufferedProtocol):
    """One connection, called or accepted: TCP, QUIC or relayed, any transport of asyncio.

    Control overtakes bulk between fragments, whose size follows the link's speed.  Nothing is written while the
    connection is full, however long that lasts; nothing is read while the owner holds the link.

    Args:
        terms: Shared by all links of the host.
        expected: The peer that this one called; None: the other peer called.
    """

    def __init__(self, terms: StreamTerms, *, expected: PeerId | None) -> None:
        self._terms = terms
        self.expected = expected
        self.attempt: tuple[int, int] | None = None
        """Number and way of the traversal machine's attempt, if it asked for this link."""
        self.proven: Pass | None = None
        self.closed: str | None = None
        """Reason of the end; None: the link lives."""
        self.broken = False
        """Whether it ended without a goodbye of either side."""
        self.left = False
        """Whether the other side said goodbye; it has read nothing that was sent to it at that time."""
        self.bytes_received = 0
        self.opened_at = 0.0
        """Time of opening, Unix seconds."""
        self._loop = asyncio.get_running_loop()
        self.finished: asyncio.Future[None] = self._loop.create_future()
        """Done when the socket is gone."""
        self.settled: asyncio.Future[bool] = self._loop.create_future()
        """Whether the link opened; done when that is known."""
        self.transport: asyncio.Transport | None = None
        self.initiated = expected is not None
        """Whether this peer is the caller."""
        self._asked_at = self._rtt_s = 0.0
        """When this side's part of the handshake left, and the seconds until the other side's came."""
        self._simultaneous_open = (
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
        """The peer at the other end, proven by its pass."""
        assert self.proven is not None
        return self.proven.peer

    @property
    def own_host(self) -> str | None:
        """The address of this computer that it leaves from, if it is bound to one."""
        name = None if self.transport is None else self.transport.get_extra_info("sockname")
        return str(name[0]) if isinstance(name, tuple) else None

    @property
    def other_address(self) -> tuple[str, int] | None:
        """The other end's address as this socket sees it; None if nobody else could call that."""
        name = None if self.transport is None else self.transport.get_extra_info("peername")
        return source_of(name) if isinstance(name, tuple) else None

    @property
    def way(self) -> Way:
        """Kind of connection that carries the bytes."""
        way: Way = "tcp" if self.transport is None else self.transport.get_extra_info("way", "tcp")
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
        """Number of bytes that wait to be sent."""
        return self._sender.outbox.control_bytes + self._sender.outbox.bulk_bytes

    @property
    def bytes_sent(self) -> int:
        """Bytes sent on the wire, with TLS."""
        return self._sender.bytes_sent

    @property
    def bytes_left(self) -> int:
        """Number of sent bytes that have arrived, as far as the system tells, or else have left this program."""
        return self._sender.bytes_left

    @property
    def rtt_s(self) -> float:
        """Round trip of the idle link, seconds: the system's least, or else that of the handshake; 0: unknown."""
        least_s = self._sender.least_rtt_s
        return max(0.0, self._rtt_s if least_s is None else least_s)

    @property
    def bulk_waits(self) -> bool:
        """Whether bulk waits to be sent, although the line is asked for no more than its plan."""
        return self._sender.bulk_waits

    def send(self, data: bytes, *, bulk: bool) -> None:
        """Send an encoded message.  A link whose queue would overflow is closed: it must never lose one of many."""
        if self.closed is not None:
            return
        if not self._sender.outbox.put(data, bulk=bulk):
            self._terms.trace.mark("net.drop.queue")
            self.close("takes nothing")
            return
        if data:
            self._busy_at = self._loop.time()
        self._plan_pump()

    def spend(self, budget: Budget | None) -> None:
        """Send bulk as a budget allows, from now on; None: as the link takes it."""
        self._sender.spend(budget)

    def hold(self) -> None:
        """Deliver and read nothing until `release`; TCP slows the other side down.  Only on an open link."""
        assert self.transport is not None
        assert self.proven is not None
        self._held = True
        self.transport.pause_reading()

    def release(self) -> None:
        """Deliver and read again after `hold`."""
        self._held = False
        self._plan_turn()

    def close(self, reason: str) -> None:
        """End the link; waiting control is still sent, within `CLOSE_S`."""
        if self.closed is not None:
            return
        transport = self.transport
        if transport is not None and self.proven is not None:
            self._sender.say_goodbye(self._loop.time())
        self._end(reason)
        if transport is not None:
            transport.close()
            self._timer = self._loop.call_later(CLOSE_S, transport.abort)

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
        if self.closed is not None:
            transport.abort()
            return
        now = self._loop.time()
        self._liveness.heard = now
        self._sender.attach(transport, now)
        self._timer = self._loop.call_later(HANDSHAKE_S, self.abort, "handshake took too long")
        self._handshake()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Shared buffer for the next bytes that arrive."""
        del sizehint
        return self._terms.scratch.cipher[: self._terms.pace.download.turn_bytes]

    def buffer_updated(self, nbytes: int) -> None:
        """Handle the bytes that arrived in the buffer."""
        self._liveness.heard = self._loop.time()
        self.bytes_received += nbytes
        self._taking.spent(nbytes, self._liveness.heard)
        if self.proven is None:
            self._greeted(self._terms.scratch.cipher[:nbytes])
        else:
            self._channel.feed(self._terms.scratch.cipher[:nbytes])
            self._turn()

    def eof_received(self) -> bool:
        """Note the other side's end, perhaps without a goodbye; earlier bytes are still delivered."""
        self._ended = True
        if self.proven is None or not (self._arrived or self._held or self._turn_planned):
            self.abort("ended")
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
        self._sender.full()

    def resume_writing(self) -> None:
        """Write on: the kernel has taken all that was written."""
        self._sender.room(self._loop.time())
        self._plan_pump()

    # --- inside ------------------------------------------------------------------------------------------------------

    def _greeted(self, data: memoryview) -> None:
        """Handle bytes of the handshake; when both sides have called, one of them becomes the called."""
        self._rtt_s = self._liveness.heard - self._asked_at
        if self._simultaneous_open is None:
            self._channel.feed(data)
        else:
            told = self._simultaneous_open.look(data)
            if self._simultaneous_open.simultaneous and self.initiated and not self._simultaneous_open.stays_caller:
                self.initiated = False
                self._channel = self._sender.channel = SecureChannel(self._terms.credentials, server_side=True)
            self._channel.feed(told)
        self._handshake()

    def _handshake(self) -> None:
        assert self.transport is not None
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
        if self._simultaneous_open is not None and self._simultaneous_open.simultaneous:
            self._sender.simultaneous(self._rtt_s)
        assert self._timer is not None
        self._timer.cancel()
        self._timer = self._loop.call_later(HEARTBEAT_S / 2, self._watch)
        self.settled.set_result(True)
        self._terms.owner.stream_opened(self)
        self._plan_pump()
        self._plan_turn()

    def _watch(self) -> None:
        """Check that the other side is alive, and that its pass is still valid."""
        assert self.proven is not None
        now = self._loop.time()
        if self._held or self._slowed:
            self._liveness.heard = now  # this side is not reading
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
        if self.proven is None or self.transport is None:
            return
        ends_at = self._loop.time() + TURN_S
        more = True
        while self.closed is None and not self._held:
            while self._arrived and not self._held and self.closed is None:
                if data := self._arrived.popleft():
                    self._busy_at = self._liveness.heard
                    self._terms.owner.stream_received(self, data)
                if self._loop.time() > ends_at:
                    self.transport.pause_reading()
                    self._plan_turn()
                    return
            if not more:
                if self._ended:
                    self.abort("ended")
                self._listen()
                return
            more = self._decrypt()

    def _listen(self) -> None:
        """Read on, unless the download limit delays it."""
        assert self.transport is not None
        self._slowed = not self._taking.room(self._loop.time())
        if self._slowed:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def _decrypt(self) -> bool:
        """Decrypt as much as fits the buffer; returns whether there may be more."""
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
