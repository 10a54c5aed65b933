"""The sending half of a link: cuts, encrypts and writes, as much as the connection takes."""

import asyncio
from collections.abc import Callable

from core.base.budget import Budget
from core.net.identity.tls import SecureChannel
from core.net.links.delay_pacing import Pacing
from core.net.links.liveness import FRAGMENT_S, DrainRate, Liveness
from core.net.links.outbox import Outbox
from core.net.links.stream_terms import StreamTerms

TURN_BYTES = 1024 * 1024
"""Bytes written at a time, before other links have their turn."""
UNSENT_BYTES_MAX = 128 * 1024
SLOW_FRAGMENT_BYTES = 64 * 1024


class Sender:
    """Writes nothing while the connection is full, however long that lasts, and bulk only as the pace allows.

    Args:
        terms: Shared by all links of the host.
        liveness: Notes what is sent.
    """

    def __init__(self, terms: StreamTerms, liveness: Liveness) -> None:
        self._bucket = terms.pace.upload
        self._flow = self._bucket.flow(self.plan)
        self._uplink = terms.uplink
        self._liveness = liveness
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._channel: SecureChannel | None = None
        self._drain = DrainRate()
        self._timer: asyncio.TimerHandle | None = None
        self._planned = self._full = False
        self._unsent_bytes_max = 0
        """How much the kernel may hold unsent: more of a link that goes by a rate, which must never run dry."""
        self.pacing = Pacing(None, terms.uplink)
        self.budget: Budget | None = None
        """What the present round sends to the peer; None: bulk leaves as the link takes it."""
        self.outbox = Outbox()
        self.bytes_sent = 0
        """Bytes sent on the wire, with TLS."""

    def attach(self, transport: asyncio.Transport) -> None:
        """Begin to write bytes of the handshake to a connection that stands."""
        transport.set_write_buffer_limits(high=0, low=0)
        self._transport = transport
        self.pacing = Pacing(transport.get_extra_info("socket"), self._uplink)

    def open(self, channel: SecureChannel, rtt_s: float, *, simultaneous: bool) -> None:
        """Begin to send messages: the handshake is complete.

        Args:
            channel: Encrypts.
            rtt_s: The round trip that the handshake took, seconds.
            simultaneous: Whether both sides called.
        """
        self._channel = channel
        self.pacing.opened(rtt_s, simultaneous=simultaneous)
        self.plan()

    def send(self, data: bytes, *, bulk: bool, beside: bool = False) -> bool:
        """Queue a message; returns False if its queue is full."""
        if not self.outbox.put(data, bulk=bulk, beside=beside):
            return False
        if data:
            self._liveness.used_at = self._loop.time()
        self.plan()
        return True

    @property
    def bytes_left(self) -> int:
        """Number of sent bytes that have arrived, as far as the system tells; else those that left this program.

        Bytes in the queue before a slow line have left this computer as well, but were not carried by the line.
        """
        waiting = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self.bytes_sent - self.pacing.unacked_bytes() - waiting

    @property
    def bulk_waits(self) -> bool:
        """Whether bulk waits for the line, and not for its turn in a round; to be asked every `budget.LOOK_S` or so."""
        if not self.outbox.bulk_bytes:
            return False
        return self.budget is None or not self.budget.follows(self._loop.time(), id(self), self.bytes_left)

    def plan(self) -> None:
        """Write soon what waits, together with what is sent until then."""
        if not self._planned:
            self._planned = True
            self._loop.call_soon(self._pump)

    def write(self, data: bytes) -> None:
        """Write bytes as they are, whether there is room or not."""
        assert self._transport is not None
        self.bytes_sent += len(data)
        self._flow.spent(len(data), self._loop.time())
        self._transport.write(data)

    def pause(self) -> None:
        """Write nothing: the connection takes no more for now."""
        self._full = True
        self._drain.hindered()

    def resume(self) -> None:
        """Write on: the connection has taken all that was written."""
        self._full = False
        self._drain.resumed(self._loop.time())
        self.plan()

    def leave(self, *, goodbye: bool) -> None:
        """Send nothing more.

        Args:
            goodbye: Write the waiting control, and that nothing follows, whether there is room or not.
        """
        if goodbye and self._channel is not None:
            while self.outbox.control_bytes:
                self._write_next(self._loop.time())
            self._channel.say_goodbye()
            self.write(self._channel.take())
        self._channel = None
        self.outbox.clear()
        self._flow.leave()
        if self._timer is not None:
            self._timer.cancel()

    def _pump(self) -> None:
        """Write until the connection is full, bulk must wait, nothing is left, or others have their turn."""
        self._planned = False
        now = self._loop.time()
        if self.outbox.bulk_bytes:
            self._liveness.used_at = now
        if self._full or self._channel is None or not self.outbox:
            return
        self._drain.begin(now)
        before = self.bytes_sent
        while self.outbox and not self._full:
            if self.bytes_sent - before > TURN_BYTES:
                self.plan()
                return
            bulk = not self.outbox.control_bytes
            if not self._flow.room(now, bulk=bulk):
                return
            waits = bulk and not self.pacing.paces and not self.outbox.overtakes
            if waits and self.budget is not None and (wait_s := self.budget.wait_s(now)):
                self._wake(wait_s, self.plan)
                return
            self._write_next(now)
            if not self._full and self._unsent_bytes_max <= SLOW_FRAGMENT_BYTES:
                self._look()

    def _write_next(self, now: float) -> None:
        """Write waiting control, or else one fragment of bulk."""
        assert self._channel is not None
        if self.budget is not None and not self.budget.active(now):
            self.budget = None
        if self.budget is None:
            self.pacing.begin(now)
        most = self._unsent_bytes_max = self._drain.fragment_bytes
        if self.budget is not None:
            self._unsent_bytes_max = self.budget.burst_bytes(now)
            most = min(most, self._unsent_bytes_max)
        for piece in self.outbox.take(min(most, self._bucket.turn_bytes)):
            self._channel.write(piece)
        self.pacing.limit_unsent(min(self._unsent_bytes_max, UNSENT_BYTES_MAX))
        if self.outbox.bulk_bytes or self.budget is not None:
            self.pacing.look(now, self.budget)
        data = self._channel.take()
        self.write(data)
        if self.budget is not None:
            self.budget.spend(len(data))
        self._drain.wrote(len(data))
        self._liveness.sent_at = now

    def _look(self) -> None:
        """Write nothing while the kernel of a slow link holds more than leaves in a moment, and look again then."""
        unsent = self.pacing.unsent_bytes()
        if unsent > (self._unsent_bytes_max // 2 if self._full else self._unsent_bytes_max):
            self.pause()
            self._wake(FRAGMENT_S / 2, self._look)
        elif self._full:
            if not unsent:
                self._drain.emptied()
            self.resume()

    def _wake(self, wait_s: float, call: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(wait_s, call)
