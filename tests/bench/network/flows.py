"""One end of plain TCP flows that carry what a round would carry: the limit against which a round is held.

All flows run at once, nothing is encrypted or computed.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from core.net.clock import Clock
from tests.bench.children import say, told

PORT = 7777
BLOCK = bytes(64 * 1024)


class Listen(msgspec.Struct, frozen=True, kw_only=True, tag="listen"):
    """Take what comes to this address."""

    address: str


class SendBytes(msgspec.Struct, frozen=True, kw_only=True, tag="flow"):
    """Order to send bytes to each of these addresses, beginning at `at` (Unix seconds)."""

    at: float
    to: dict[str, int]


class FlowsListening(msgspec.Struct, frozen=True, kw_only=True):
    """The process listens at this port."""


class Flown(msgspec.Struct, frozen=True, kw_only=True):
    """All bytes of the flows have arrived."""

    seconds: float
    """From the common start until the last receiver had everything."""


async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read to the end, then say so."""
    while await reader.read(1 << 20):
        pass
    writer.close()
    await writer.wait_closed()


async def send(address: str, size: int) -> None:
    """Send bytes over TCP; returns when the other side has them all.

    Args:
        address: The other side.
        size: Number of bytes.
    """
    reader, writer = await asyncio.open_connection(address, PORT)
    left = size
    while left > 0:
        writer.write(BLOCK[: min(left, len(BLOCK))])
        left -= len(BLOCK)
        await writer.drain()
    writer.write_eof()
    await reader.read()
    writer.close()
    await writer.wait_closed()


async def send_all(flow: SendBytes, clock: Clock) -> Flown:
    """Run all flows of an order at once."""
    await asyncio.sleep(max(0.0, flow.at - clock.now()))
    await asyncio.gather(*(send(address, size) for address, size in flow.to.items() if size > 0))
    return Flown(seconds=clock.now() - flow.at)


def sizes(part_bytes: Sequence[Sequence[float]], addresses: Sequence[str], index: int) -> dict[str, int]:
    """Bytes that process `index` sends to each address: row `index` of a matrix from each to each."""
    row = part_bytes[index]
    return {address: int(row[other]) for other, address in enumerate(addresses) if other != index}


async def main() -> None:
    """Do as told until stdin ends."""
    listen, clock = await told(Listen), Clock()
    if listen is None:
        return
    server = await asyncio.start_server(take, listen.address, PORT)
    say(FlowsListening())
    while (flow := await told(SendBytes)) is not None:
        say(await send_all(flow, clock))
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
