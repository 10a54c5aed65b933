"""Common part of QUIC streams and relayed circuits: the interface of an asyncio transport over another carrier."""

import asyncio
from collections import deque
from typing import Any

SLICE_BYTES = 64 * 1024
JOINED_BYTES_MAX = 4096
"""Pieces up to this joint size are kept as one: each costs 500 bytes besides its own."""


class CarriedTransport(asyncio.Transport):
    """Moves bytes between a `BufferedProtocol` and a carrier that a subclass knows.

    The owner keeps `set_write_buffer_limits(0, 0)`: it is paused as soon as the carrier has no room, and resumed when
    it has.  Bytes that arrive while reading is paused are kept; the carrier grants no more until they have been read.

    Args:
        protocol: The owner.
        extra: Answers of `get_extra_info`.
    """

    def __init__(self, protocol: Any, *, extra: dict[str, Any]) -> None:
        super().__init__(extra)
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._arrived: deque[memoryview] = deque()
        self._reading = True
        self._paused = False
        self._closing = False
        self._made = False
        self._ended = False
        self._delivering = False
        self.gone = False

    # --- for a subclass: the carrier's side --------------------------------------------------------------------------

    def carry(self, data: bytes) -> None:
        """Send bytes over the carrier, in order."""
        raise NotImplementedError

    def room(self) -> bool:
        """Whether the carrier takes more bytes now."""
        raise NotImplementedError

    def consumed(self, count: int) -> None:
        """Grant the other side as many bytes as the owner has read."""
        raise NotImplementedError

    def end(self, *, at_once: bool) -> None:
        """Send nothing more; earlier bytes still arrive, unless `at_once`."""
        raise NotImplementedError

    def made(self) -> None:
        """Tell the owner that the carrier stands."""
        if not self._made and not self.gone:
            self._made = True
            self._protocol.connection_made(self)

    def arrived(self, data: bytes | bytearray | memoryview, *, ended: bool = False) -> None:
        """Deliver bytes that arrived, as soon as the owner reads.

        Args:
            data: The bytes.
            ended: The other side has sent nothing after them.
        """
        if data and not self.gone:
            if self._arrived and len(self._arrived[-1]) + len(data) <= JOINED_BYTES_MAX:
                data = bytes(self._arrived.pop()) + bytes(data)
            self._arrived.append(memoryview(data))
        self._ended |= ended
        self._deliver()

    def resume_if_room(self) -> None:
        """Resume the owner's writing if the carrier has room again."""
        if self._paused and not self.gone and self.room():
            self._paused = False
            self._protocol.resume_writing()

    def lost(self, error: Exception | None = None) -> None:
        """Tell the owner that the carrier is gone."""
        if not self.gone:
            self.gone = self._closing = True
            self._arrived.clear()
            self._loop.call_soon(self._protocol.connection_lost, error)

    # --- for the owner: asyncio's side -------------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        """Send bytes, and pause the owner if the carrier is full."""
        if self._closing or not data:
            return
        self.carry(bytes(data))
        if not self._paused and not self.room():
            self._paused = True
            self._protocol.pause_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: the carrier has limits of its own."""

    def get_write_buffer_size(self) -> int:
        """Number of written bytes that have not left yet, as far as the carrier tells."""
        return 0

    def pause_reading(self) -> None:
        """Deliver nothing until reading is resumed."""
        self._reading = False

    def resume_reading(self) -> None:
        """Deliver again, beginning with the bytes that were kept."""
        if not self._reading:
            self._reading = True
            if self._arrived or self._ended:
                self._loop.call_soon(self._deliver)

    def is_reading(self) -> bool:
        """Whether bytes that arrive are delivered."""
        return self._reading

    def is_closing(self) -> bool:
        """Whether the transport has ended, or is about to."""
        return self._closing

    def close(self) -> None:
        """End after all written bytes have left."""
        if not self._closing:
            self._closing = True
            self.end(at_once=False)

    def abort(self) -> None:
        """End at once, and drop what was written."""
        self._closing = True
        if not self.gone:
            self.end(at_once=True)
            self.lost()

    # --- inside ------------------------------------------------------------------------------------------------------

    def _deliver(self) -> None:
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._arrived and self._reading and not self.gone:
                room = self._protocol.get_buffer(SLICE_BYTES)
                piece = self._arrived[0]
                count = min(len(piece), len(room))
                room[:count] = piece[:count]
                if count == len(piece):
                    self._arrived.popleft()
                else:
                    self._arrived[0] = piece[count:]
                self._protocol.buffer_updated(count)
                self.consumed(count)
            if self._ended and not self._arrived and self._reading and not self.gone:
                self._ended = False
                self._protocol.eof_received()
        finally:
            self._delivering = False
