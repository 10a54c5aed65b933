"""What QUIC streams and relayed circuits have in common: the face of an asyncio transport over some other carrier."""

import asyncio
from collections import deque
from typing import Any

SLICE_BYTES = 64 * 1024
JOINED_BYTES_MAX = 4096
"""Pieces that are shorter together are kept as one: each costs 500 bytes besides its own."""


class CarriedTransport(asyncio.Transport):
    """Moves bytes between a `BufferedProtocol` and a carrier that a subclass knows.

    The owner keeps `set_write_buffer_limits(0, 0)`: it is paused as soon as the carrier has no room, and resumed when
    it has.  What arrives while reading is paused is kept; the carrier grants no more until it has been read.

    Args:
        protocol: The owner.
        extra: What `get_extra_info` tells.
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
        """Send bytes."""
        raise NotImplementedError

    def room(self) -> bool:
        """Whether more may be sent now."""
        raise NotImplementedError

    def consumed(self, count: int) -> None:
        """The owner has read `count` bytes."""
        raise NotImplementedError

    def end(self, *, at_once: bool) -> None:
        """Nothing more is sent; what was carried before still arrives, unless `at_once`."""
        raise NotImplementedError

    def made(self) -> None:
        """The carrier stands."""
        if not self._made and not self.gone:
            self._made = True
            self._protocol.connection_made(self)

    def arrived(self, data: bytes | bytearray | memoryview, *, ended: bool = False) -> None:
        """Bytes came in."""
        if data and not self.gone:
            if self._arrived and len(self._arrived[-1]) + len(data) <= JOINED_BYTES_MAX:
                data = bytes(self._arrived.pop()) + bytes(data)
            self._arrived.append(memoryview(data))
        self._ended |= ended
        self._deliver()

    def resume_if_room(self) -> None:
        """There may be room again."""
        if self._paused and not self.gone and self.room():
            self._paused = False
            self._protocol.resume_writing()

    def lost(self, error: Exception | None = None) -> None:
        """The carrier is gone."""
        if not self.gone:
            self.gone = self._closing = True
            self._arrived.clear()
            self._loop.call_soon(self._protocol.connection_lost, error)

    # --- for the owner: asyncio's side -------------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        """Send."""
        if self._closing or not data:
            return
        self.carry(bytes(data))
        if not self._paused and not self.room():
            self._paused = True
            self._protocol.pause_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The carrier has its own."""

    def get_write_buffer_size(self) -> int:
        """What was written and has not left yet, as far as the carrier tells."""
        return 0

    def pause_reading(self) -> None:
        """Deliver nothing."""
        self._reading = False

    def resume_reading(self) -> None:
        """Deliver again."""
        if not self._reading:
            self._reading = True
            if self._arrived or self._ended:
                self._loop.call_soon(self._deliver)

    def is_reading(self) -> bool:
        """Whether what arrives is delivered."""
        return self._reading

    def is_closing(self) -> bool:
        """Whether it is over, or soon."""
        return self._closing

    def close(self) -> None:
        """End after what was written."""
        if not self._closing:
            self._closing = True
            self.end(at_once=False)

    def abort(self) -> None:
        """End at once."""
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
