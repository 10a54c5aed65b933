"""The sending half of a link: cuts, encrypts and writes, as much as the connection takes."""

import asyncio
import socket

from core.net.outbox import Outbox
from core.net.rhythm import DrainRate
from core.net.tls import SecureChannel

TURN_BYTES = 1024 * 1024
"""Written at a time, before others have their turn."""
UNSENT_BYTES_MAX = 128 * 1024
_NOTSENT_LOWAT: int | None = getattr(socket, "TCP_NOTSENT_LOWAT", None)


class Sender:
    """Writes nothing while the connection is full, however long that lasts."""

    def __init__(self, channel: SecureChannel) -> None:
        self._channel = channel
        self._transport: asyncio.Transport | None = None
        self._drain = DrainRate()
        self._full = False
        self._unsent_bytes = 0
        self.outbox = Outbox()
        self.bytes_sent = 0
        self.sent_at = 0.0
        """Time of the last byte, on the loop's clock."""

    def attach(self, transport: asyncio.Transport, now: float) -> None:
        """The connection stands."""
        transport.set_write_buffer_limits(high=0, low=0)
        self._transport = transport
        self.sent_at = now

    def pump(self, now: float) -> bool:
        """Write until the connection is full or nothing is left; True if only others' turns interrupted it."""
        if self._full or not self.outbox:
            return False
        self._drain.begin(now)
        before = self.bytes_sent
        while self.outbox and not self._full:
            if self.bytes_sent - before > TURN_BYTES:
                return True
            self._write(now)
        return False

    def say_goodbye(self, now: float) -> None:
        """Write the control that waits, and that nothing more follows, whether there is room or not."""
        while self.outbox.control_bytes:
            self._write(now)
        self._channel.say_goodbye()
        self.flush()

    def flush(self) -> None:
        """Write what the channel itself has to say."""
        assert self._transport is not None
        if data := self._channel.take():
            self.bytes_sent += len(data)
            self._transport.write(data)

    def full(self) -> None:
        """The connection takes no more for now."""
        self._full = True
        self._drain.hindered()

    def room(self, now: float) -> None:
        """The connection has taken all that was written."""
        self._full = False
        self._drain.resumed(now)

    def _write(self, now: float) -> None:
        for piece in self.outbox.take(self._drain.fragment_bytes):
            self._channel.write(piece)
        self._keep_kernel_queue_short()
        before = self.bytes_sent
        self.flush()
        self._drain.wrote(self.bytes_sent - before)
        self.sent_at = now

    def _keep_kernel_queue_short(self) -> None:
        """What the kernel holds unsent cannot be overtaken any more."""
        wanted = min(self._drain.fragment_bytes, UNSENT_BYTES_MAX)
        if _NOTSENT_LOWAT is None or wanted == self._unsent_bytes:
            return
        self._unsent_bytes = wanted
        assert self._transport is not None
        own_socket = self._transport.get_extra_info("socket")
        if own_socket is not None:
            own_socket.setsockopt(socket.IPPROTO_TCP, _NOTSENT_LOWAT, wanted)
