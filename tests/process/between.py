"""An attacker between two hosts that sees, drops and changes each datagram and TLS record."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

RECORD_HEAD_BYTES = 5
Change = Callable[[bytes, bool], list[bytes]]
"""Changes a datagram or record; True: it goes from the caller to the called."""


def unchanged(data: bytes, outward: bool) -> list[bytes]:  # noqa: FBT001 - as a Change is called
    del outward
    return [data]


class Datagrams(asyncio.DatagramProtocol):
    """Stands between the callers of `port` and the port `to`."""

    def __init__(self, to: int, change: Change) -> None:
        self._to, self._change = ("127.0.0.1", to), change
        self._caller: tuple[str, int] | None = None
        self._transport: Any = None
        self.seen: list[tuple[bytes, bool]] = []
        self.port = 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: Any) -> None:
        outward = addr != self._to
        if outward:
            self._caller = addr
        self.seen.append((data, outward))
        for packet in self._change(data, outward):
            self.put(packet, outward=outward)

    def put(self, packet: bytes, *, outward: bool) -> None:
        self._transport.sendto(packet, self._to if outward else self._caller)


class Records:
    """Stands between the callers of `port` and the port `to`, and takes TLS records apart."""

    def __init__(self, to: int, change: Change) -> None:
        self._to, self.change = to, change
        self.plugged = True
        """False: nothing comes through any more, and nothing ends."""
        self._until_pulled = 0
        self.seen: list[tuple[bytes, bool]] = []
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []

    async def joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)
        self._writers += [writer, far_writer]
        for source, target, outward in ((reader, far_writer, True), (far_reader, writer, False)):
            task = asyncio.create_task(self._pass_on(source, target, outward=outward))
            self._tasks.add(task)

    def pull_after(self, records: int) -> None:
        """The cable is pulled after this number of further records."""
        self._until_pulled = records + 1

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, outward: bool) -> None:
        try:
            while True:
                head = await source.readexactly(RECORD_HEAD_BYTES)
                record = head + await source.readexactly(int.from_bytes(head[3:], "big"))
                self._until_pulled -= 1
                if self._until_pulled == 0:
                    self.plugged = False
                if not self.plugged:
                    await asyncio.Event().wait()
                self.seen.append((record, outward))
                for changed in self.change(record, outward):
                    target.write(changed)
        except (asyncio.IncompleteReadError, ConnectionError):
            if self.plugged:
                target.close()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def datagrams(to: int, change: Change = unchanged) -> AsyncIterator[Datagrams]:
    """Between two hosts' datagrams; let the caller believe that the called is at `.port`."""
    loop = asyncio.get_running_loop()
    transport, tap = await loop.create_datagram_endpoint(lambda: Datagrams(to, change), local_addr=("127.0.0.1", 0))
    try:
        yield tap
    finally:
        transport.close()


@asynccontextmanager
async def records(to: int, change: Change = unchanged) -> AsyncIterator[Records]:
    """Between two hosts' streams; let the caller believe that the called is at `.port`."""
    tap = Records(to, change)
    server = await asyncio.start_server(tap.joined, "127.0.0.1", 0)
    tap.port = server.sockets[0].getsockname()[1]
    try:
        yield tap
    finally:
        server.close()
        await tap.close()
        await server.wait_closed()
