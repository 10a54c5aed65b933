"""QUIC streams and relayed circuits as transports of asyncio, so that a link over them is a link like any other."""

import asyncio
from collections import deque
from typing import Any, Protocol

from core.net.addresses.address_book import Address

SLICE_BYTES = 64 * 1024
JOINED_BYTES_MAX = 4096
"""Pieces up to this joint size are kept as one: each costs 500 bytes besides its own."""


class Carrier(Protocol):
    """One end of a reliable byte stream, as its transport drives it.

    The carrier tells the transport: `made` when the stream stands, `arrived` for bytes in order, `resume_if_room` when
    it may have room again, `lost` when the stream is over.
    """

    def carry(self, data: bytes) -> None:
        """Send bytes, after all earlier ones."""

    def room(self) -> bool:
        """Whether the carrier takes more bytes now."""

    def unsent_bytes(self) -> int:
        """Number of bytes taken that have not left yet, as far as the carrier can tell."""

    def consumed(self, count: int) -> None:
        """Grant the other end as many bytes as have been read at this one."""

    def end(self, *, at_once: bool) -> None:
        """Send nothing more; earlier bytes still arrive, unless `at_once`, which also ends the carrier."""


class CarriedTransport(asyncio.Transport):
    """Moves bytes between a `BufferedProtocol` and a carrier.

    The owner keeps `set_write_buffer_limits(0, 0)`: it is paused as soon as the carrier has no room, and resumed when
    it has.  Bytes that arrive while reading is paused are kept; the carrier grants no more until they have been read.

    Args:
        carrier: The stream's end.
        protocol: The owner.
        way: Kind of connection, as `core.net.links.streams.Way` has it.
        other: Address of the other end; None: it has none of its own.
    """

    def __init__(self, carrier: Carrier, protocol: Any, *, way: str, other: Address | None = None) -> None:
        super().__init__({"way": way, "peername": other})
        self._carrier = carrier
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

    # --- for the carrier ---------------------------------------------------------------------------------------------

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
        if self._paused and not self.gone and self._carrier.room():
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
        self._carrier.carry(bytes(data))
        if not self._paused and not self._carrier.room():
            self._paused = True
            self._protocol.pause_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: the carrier has limits of its own."""

    def get_write_buffer_size(self) -> int:
        """Number of written bytes that have not left yet, as far as the carrier tells."""
        return self._carrier.unsent_bytes()

    def pause_reading(self) -> None:
        """Deliver nothing until reading is resumed."""
        self._reading = False

    def resume_reading(self) -> None:
        """Deliver again, beginning with the bytes that were kept."""
        if not self._reading:
            self._reading = True
            if self._arrived or self._ended:
                self._loop.call_soon(self._deliver)

    def is_closing(self) -> bool:
        """Whether the transport has ended, or is about to."""
        return self._closing

    def close(self) -> None:
        """End after all written bytes have left."""
        if not self._closing:
            self._closing = True
            self._carrier.end(at_once=False)

    def abort(self) -> None:
        """End at once, and drop what was written."""
        self._closing = True
        if not self.gone:
            self._carrier.end(at_once=True)
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
                self._carrier.consumed(count)
            if self._ended and not self._arrived and self._reading and not self.gone:
                self._ended = False
                self._protocol.eof_received()
        finally:
            self._delivering = False
