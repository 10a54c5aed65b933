"""`python -m tests.bench streams`: one encrypted stream between two processes, on this computer's loopback.

Run as a program it is the process at the other end: `python -m tests.bench.network.streams`.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from core.base.machine import Received, Send
from core.base.wire import Message
from core.net.clock import Clock
from tests.bench.children import children, say, told
from tests.bench.stage import make_host, peer_id

CHUNK_BYTES = 256 * 1024
WINDOW = 16
"""Chunks on their way."""
TIME_S = 600.0


class Chunk(Message, frozen=True, tag="bench.chunk"):
    """Bulk with arbitrary content, of a fixed size."""

    bulk: ClassVar[bool] = True

    data: memoryview


class Thanks(Message, frozen=True, tag="bench.thanks"):
    """Acknowledges the receipt of one chunk."""

    number: int


class SendChunks(msgspec.Struct, frozen=True, kw_only=True):
    """To the child: send `chunks` chunks to this port."""

    port: int
    chunks: int


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """From the child: CPU time of sending."""

    cpu_s: float


class StreamsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of the stream between two processes."""

    bench: str = "streams"
    megabytes: float
    seconds: float
    megabytes_per_s: float
    cpu_s_per_gigabyte: float
    """Processor time of both processes together."""


class _Source:
    """Keeps a window of chunks on the way."""

    deadline = None

    def __init__(self, chunks: int, done: asyncio.Event) -> None:
        self._left, self._open, self._done = chunks, 0, done
        self._chunk = Chunk(memoryview(bytes(CHUNK_BYTES)))

    def fill(self) -> list[Send[Chunk]]:
        """Chunks until the window is full."""
        count = min(self._left, WINDOW - self._open)
        self._left -= count
        self._open += count
        return [Send(peer_id(0), self._chunk)] * count

    def handle(self, event: Any, now: float) -> Sequence[Send[Chunk]]:
        """A thank-you makes room for one more chunk."""
        del now
        if not isinstance(event, Received):
            return []
        self._open -= 1
        if not self._left and not self._open:
            self._done.set()
        return self.fill()


class _Sink:
    """The receiving machine: counts chunks and acknowledges them."""

    deadline = None

    def __init__(self, chunks: int) -> None:
        self._left = chunks
        self.began_at = self.began_cpu_s = 0.0
        self.done: asyncio.Future[tuple[float, float]] = asyncio.get_running_loop().create_future()

    def handle(self, event: Any, now: float) -> Sequence[Send[Thanks]]:
        """Note the first and the last chunk."""
        if not isinstance(event, Received):
            return []
        if not self.began_at:
            self.began_at, self.began_cpu_s = now, time.process_time()
        self._left -= 1
        if not self._left:
            self.done.set_result((now - self.began_at, time.process_time() - self.began_cpu_s))
        return [Send(event.sender, Thanks(self._left))]


def run(args: argparse.Namespace) -> int:
    """Measure the stream, and print the figures."""
    report = asyncio.run(measure(chunks=max(1, args.mebibytes * 1024 * 1024 // CHUNK_BYTES)))
    text = (
        msgspec.json.encode(report).decode()
        if args.json
        else f"{report.megabytes:.0f} MB in {report.seconds:.2f} s: {report.megabytes_per_s:.0f} MB/s, "
        f"{report.cpu_s_per_gigabyte:.2f} CPU seconds a gigabyte in both processes together."
    )
    sys.stdout.write(text + "\n")
    return 0


async def measure(*, chunks: int) -> StreamsReport:
    """Let a child process send `chunks` chunks to this one."""
    sink = _Sink(chunks)
    host = make_host(0, sink, messages=(Chunk, Thanks), clock=Clock(), on_event=lambda *_: None)
    port = await host.start(bind="127.0.0.1")
    try:
        async with children("tests.bench.network.streams", 1) as (child,), asyncio.timeout(TIME_S):
            child.tell(SendChunks(port=port, chunks=chunks))
            seconds, cpu_s = await sink.done
            spent = await child.hear(Spent, timeout_s=TIME_S)
    finally:
        await host.close()
    megabytes = chunks * CHUNK_BYTES / 1e6
    return StreamsReport(
        megabytes=megabytes,
        seconds=round(seconds, 4),
        megabytes_per_s=round(megabytes / seconds, 1) if seconds else 0.0,
        cpu_s_per_gigabyte=round((cpu_s + spent.cpu_s) / megabytes * 1000, 3),
    )


async def main() -> None:
    """The process at the other end."""
    call = await told(SendChunks)
    if call is None:
        return
    done = asyncio.Event()
    source = _Source(call.chunks, done)
    clock = Clock()
    host = make_host(1, source, messages=(Chunk, Thanks), clock=clock, on_event=lambda *_: None)
    await host.start(bind="127.0.0.1")
    host.learn(peer_id(0), "127.0.0.1", call.port)
    began = time.process_time()
    host.perform(source.fill())
    await done.wait()
    say(Spent(cpu_s=time.process_time() - began))
    await host.close()


if __name__ == "__main__":
    asyncio.run(main())
