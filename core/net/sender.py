"""The sending half of a link: cuts, encrypts and writes, as much as the connection takes."""

import asyncio
import socket
from collections.abc import Callable

from core.base.budget import Budget
from core.net.delay_pacing import Pacing, Uplink
from core.net.liveness import FRAGMENT_S, DrainRate
from core.net.outbox import Outbox
from core.net.pace import SharedBucket
from core.net.tls import SecureChannel

TURN_BYTES = 1024 * 1024
"""Bytes written at a time, before other links have their turn."""
UNSENT_BYTES_MAX = 128 * 1024
SLOW_FRAGMENT_BYTES = 64 * 1024
_NOTSENT_LOWAT: int | None = getattr(socket, "TCP_NOTSENT_LOWAT", None)


class Sender:
    """Writes nothing while the connection is full, however long that lasts, and bulk only as the pace allows.

    Args:
        channel: Encrypts.
        bucket: The limit that all links share.
        resume: Called when the pace allows what it did not allow before.
        uplink: Shared by all links of this computer.
    """

    def __init__(
        self, channel: SecureChannel, bucket: SharedBucket, resume: Callable[[], None], *, uplink: Uplink
    ) -> None:
        self.channel = channel
        self._bucket = bucket
        self._flow = bucket.flow(resume)
        self._resume = resume
        self._timer: asyncio.TimerHandle | None = None
        self._waits = False
        """Whether bulk waits for its turn in the round."""
        self._transport: asyncio.Transport | None = None
        self._drain = DrainRate()
        self._uplink = uplink
        self._pacing = Pacing(None, uplink)
        self._full = False
        self._unsent_bytes = 0
        self.budget: Budget | None = None
        """What the present round sends to the peer; None: no round."""
        self.outbox = Outbox()
        self.bytes_sent = 0
        self.sent_at = 0.0
        """Time of the last byte, on the loop's clock."""

    def attach(self, transport: asyncio.Transport, now: float) -> None:
        """Begin to write to a connection that stands.

        Args:
            transport: The connection.
            now: Seconds of the loop's clock.
        """
        transport.set_write_buffer_limits(high=0, low=0)
        self._transport = transport
        self._pacing = Pacing(transport.get_extra_info("socket"), self._uplink)
        self.sent_at = now

    def simultaneous(self, rtt_s: float) -> None:
        """Note a simultaneous open, and the round trip that was measured for it, seconds."""
        self._pacing.simultaneous(rtt_s)

    @property
    def bytes_left(self) -> int:
        """Number of sent bytes that have arrived, as far as the system tells; else those that left this program.

        Bytes in the queue before a slow line have left this computer as well, but were not carried by the line.
        """
        waiting = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self.bytes_sent - self._pacing.unacked_bytes() - waiting

    @property
    def least_rtt_s(self) -> float | None:
        """The shortest round trip that the system has seen; None where it does not tell."""
        return self._pacing.least_s

    def spend(self, budget: Budget | None) -> None:
        """Send bulk as a budget allows, from now on; None: as the link takes it."""
        if budget is None:
            self._pacing.release()
        self.budget = budget

    @property
    def bulk_waits(self) -> bool:
        """Whether bulk waits for the line, and not for its turn in a round; to be asked every `budget.LOOK_S` or so."""
        now = asyncio.get_running_loop().time()
        if not self.outbox.bulk_bytes:
            return False
        return self.budget is None or not self.budget.follows(now, id(self), self.bytes_left)

    def pump(self, now: float) -> bool:
        """Write until the connection is full or nothing is left; True if only others' turns interrupted it."""
        if self._full or not self.outbox:
            return False
        self._drain.begin(now)
        before = self.bytes_sent
        while self.outbox and not self._full:
            if self.bytes_sent - before > TURN_BYTES:
                return True
            if not self._flow.room(now, bulk=not self.outbox.control_bytes) or self._must_wait(now):
                return False
            self._write(now)
            if self._queue_is_long():
                self.full()
                self._look_again()
        return False

    def say_goodbye(self, now: float) -> None:
        """Write the waiting control, and that nothing more follows, whether there is room or not."""
        while self.outbox.control_bytes:
            self._write(now)
        self.channel.say_goodbye()
        self.flush()

    def flush(self) -> None:
        """Write the bytes that the channel itself has produced."""
        assert self._transport is not None
        if data := self.channel.take():
            self.bytes_sent += len(data)
            self._flow.spent(len(data), asyncio.get_running_loop().time())
            self._transport.write(data)

    def leave(self) -> None:
        """Drop all queues and cancel the timer."""
        self.outbox.clear()
        self._flow.leave()
        if self._timer is not None:
            self._timer.cancel()

    def full(self) -> None:
        """Note that the connection takes no more for now."""
        self._full = True
        self._drain.hindered()

    def room(self, now: float) -> None:
        """Note that the connection has taken all that was written."""
        self._full = False
        self._drain.resumed(now)

    def _write(self, now: float) -> None:
        if self.budget is not None and not self.budget.active(now):
            self.budget = None
            self._pacing.release()
        if self.outbox.bulk_bytes and self.budget is None:
            self._pacing.begin(now)
        most = min(self._drain.fragment_bytes, self._bucket.turn_bytes)
        if self.budget is not None and not self._pacing.paces:
            most = min(most, self.budget.burst_bytes(now))
        for piece in self.outbox.take(most):
            self.channel.write(piece)
        self._keep_kernel_queue_short()
        if self.outbox.bulk_bytes or self.budget is not None:
            self._pacing.look(now, self.budget)
        before = self.bytes_sent
        self.flush()
        if self.budget is not None:
            self.budget.spend(self.bytes_sent - before)
        self._drain.wrote(self.bytes_sent - before)
        self.sent_at = now

    def _must_wait(self, now: float) -> bool:
        """Whether bulk must wait for its turn in the round, where the system does not see to that."""
        if self.budget is None or self._pacing.paces or self.outbox.control_bytes:
            return False
        wait_s = self.budget.wait_s(now)
        if wait_s and not self._waits:
            self._waits = True
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._waited)
        return wait_s > 0

    def _waited(self) -> None:
        self._waits = False
        self._resume()

    def _queue_is_long(self) -> bool:
        """Whether the kernel of a slow link holds more than leaves in a moment."""
        wanted = self._kernel_bytes
        return not self._full and wanted <= SLOW_FRAGMENT_BYTES and self._pacing.unsent_bytes() > wanted

    @property
    def _kernel_bytes(self) -> int:
        """How much the kernel may hold unsent: more of a link that goes by a rate, which must never run dry."""
        paced = 0 if self.budget is None else self.budget.burst_bytes(asyncio.get_running_loop().time())
        return max(self._drain.fragment_bytes, min(paced, UNSENT_BYTES_MAX))

    def _look_again(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(FRAGMENT_S / 2, self._looked)

    def _looked(self) -> None:
        unsent = self._pacing.unsent_bytes()
        if unsent > self._kernel_bytes // 2:
            self._look_again()
        else:
            if not unsent:
                self._drain.emptied()
            self.room(asyncio.get_running_loop().time())
            self._resume()

    def _keep_kernel_queue_short(self) -> None:
        """Limit the kernel's unsent bytes, which nothing can overtake any more."""
        wanted = min(self._kernel_bytes, UNSENT_BYTES_MAX)
        if _NOTSENT_LOWAT is None or wanted == self._unsent_bytes:
            return
        self._unsent_bytes = wanted
        assert self._transport is not None
        own_socket = self._transport.get_extra_info("socket")
        if own_socket is not None:
            own_socket.setsockopt(socket.IPPROTO_TCP, _NOTSENT_LOWAT, wanted)
