"""A simulated TCP connection between two streams of one loop, with a kernel buffer of its own."""

import asyncio
from typing import Any

from core.base.machine import Trace
from core.net.identity.passes import Pass
from core.net.identity.tls import Credentials, SecureChannel
from core.net.limits.pace import Pace
from core.net.links.stream_terms import StreamTerms
from core.net.links.streams import PeerStream
from tests.unit.net.people import NOW, verifier


class Wire(asyncio.Transport):
    """One end; what is written waits in `kernel` until the test, or `auto`, moves it to the other end."""

    def __init__(self, protocol: "PeerStream | RawCaller", *, kernel_bytes: int, auto: bool) -> None:
        super().__init__()
        self.protocol = protocol
        self.kernel_bytes = kernel_bytes
        self.auto = auto
        self.kernel = bytearray()
        self.buffer = bytearray()
        self.other: Wire
        self.reading = True
        self.closed = False
        self.finished = False
        self.paused_protocol = False
        self.planned = False
        self.buffer_most = 0

    def write(self, data: Any) -> None:
        if self.closed or not data:
            return
        self.buffer += data
        self._fill_kernel()
        self.buffer_most = max(self.buffer_most, len(self.buffer))
        if self.buffer and not self.paused_protocol:
            self.paused_protocol = True
            self.protocol.pause_writing()
        if self.auto:
            self.plan()

    def plan(self) -> None:
        if not self.planned:
            self.planned = True
            asyncio.get_running_loop().call_soon(self._planned)

    def _planned(self) -> None:
        self.planned = False
        if self.auto and self.move():
            self.plan()

    def move(self, count: int = 65536) -> int:
        """Carry up to `count` bytes to the other end; returns how many."""
        if not self.other.reading or self.other.finished:
            return 0
        view = self.other.protocol.get_buffer(count)
        moved = min(count, len(view), len(self.kernel))
        if not moved:
            return 0
        view[:moved] = self.kernel[:moved]
        del self.kernel[:moved]
        self._fill_kernel()
        self.other.protocol.buffer_updated(moved)
        if not self.buffer and self.paused_protocol:
            self.paused_protocol = False
            self.protocol.resume_writing()
        if self.closed and not self.kernel and not self.buffer:
            self._finish()
        return moved

    def _fill_kernel(self) -> None:
        room = self.kernel_bytes - len(self.kernel)
        self.kernel += self.buffer[:room]
        del self.buffer[:room]

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True
        if self.other.auto:
            self.other.plan()

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True
        if not self.kernel and not self.buffer:
            self._finish()

    def abort(self) -> None:
        self.closed = True
        self.kernel.clear()
        self.buffer.clear()
        self._finish()

    def _finish(self) -> None:
        if not self.finished:
            self.finished = True
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)
            if not self.other.closed:
                asyncio.get_running_loop().call_soon(self.other.protocol.eof_received)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high == low == 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


class Ear:
    """Notes what a stream says."""

    def __init__(self) -> None:
        self.opened: list[Pass] = []
        self.received: list[bytes] = []
        self.closed: list[str] = []
        self.changed = asyncio.Event()

    def stream_connected(self, stream: PeerStream) -> None:
        """There is room for every stream."""

    def stream_heard(self, stream: PeerStream) -> None:
        """It has begun its handshake."""

    def stream_opened(self, stream: PeerStream) -> None:
        assert stream.proven is not None
        self.opened.append(stream.proven)
        self.changed.set()

    def stream_received(self, stream: PeerStream, data: bytearray) -> None:
        self.received.append(bytes(data))
        self.changed.set()

    def stream_closed(self, stream: PeerStream, reason: str) -> None:
        self.closed.append(reason)
        self.changed.set()

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(60):
            while not condition(self):
                self.changed.clear()
                await self.changed.wait()


class MovableLoop(asyncio.SelectorEventLoop):
    """A loop whose clock a test moves forward."""

    ahead_s = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_s


class RawCaller(asyncio.BufferedProtocol):
    """Calls with a valid pass, and sends what a test likes under TLS."""

    def __init__(self, own: Credentials) -> None:
        self.channel = SecureChannel(own, server_side=False)
        self.room = bytearray(65536)
        self.transport: Any = None
        self.lost = False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._handshake()

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self.room)[:sizehint]

    def buffer_updated(self, nbytes: int) -> None:
        self.channel.feed(self.room[:nbytes])
        self._handshake()

    def eof_received(self) -> bool:
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True

    def send(self, data: bytes) -> None:
        self.channel.write(data)
        self.transport.write(self.channel.take())

    def _handshake(self) -> None:
        self.channel.handshake()
        self.transport.write(self.channel.take())


class RawSide:
    """A raw caller at one end of a wire."""

    def __init__(self, own: Credentials) -> None:
        self.stream = RawCaller(own)
        self.wire: Wire


class Side:
    """A stream with its owner."""

    def __init__(self, credentials: Credentials, *, expected: Any, now: float = NOW) -> None:
        self.ear, self.trace, self.now = Ear(), Trace(), now
        terms = StreamTerms(
            credentials=credentials,
            passes=verifier(),
            now=lambda: self.now,
            trace=self.trace,
            pace=Pace(now=lambda: self.now),
        )
        self.stream = PeerStream(terms, self.ear, expected=expected)
        self.wire: Wire


def connect(caller: Side | RawSide, called: Side, *, kernel_bytes: int = 10**9, auto: bool = True) -> None:
    """Join two sides by a wire and let both begin."""
    for side in (caller, called):
        side.wire = Wire(side.stream, kernel_bytes=kernel_bytes, auto=auto)
    caller.wire.other, called.wire.other = called.wire, caller.wire
    called.stream.connection_made(called.wire)
    caller.stream.connection_made(caller.wire)
