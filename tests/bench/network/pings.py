"""What a round costs another program on the same line: one computer pings through the line while rounds run on it."""

import asyncio
import statistics
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, cast

import msgspec

from core.net.clock import Clock
from tests.bench.children import Child, children, hear_all, say, told
from tests.bench.network.lines import Lines

PORT: Final = 7778
EVERY_S: Final = 0.05
PATIENCE_S: Final = 1.0
"""Time after which a ping is lost."""
IDLE_S: Final = 3.0
"""How long the idle lines are pinged for comparison."""
ANSWER_S: Final = 30.0
"""How long a process may take to answer."""


class Echo(msgspec.Struct, frozen=True, kw_only=True, tag="echo"):
    """Send everything back that comes to this address."""

    address: str


class Ping(msgspec.Struct, frozen=True, kw_only=True, tag="ping"):
    """Ping this address from now on."""

    address: str


class Tell(msgspec.Struct, frozen=True, kw_only=True, tag="tell"):
    """Say what came back since the last time."""


class Pings(msgspec.Struct, frozen=True, kw_only=True):
    """Round trips of the pings that came back, in order, and how many did not."""

    seconds: list[float]
    lost: int = 0


class PingReport(msgspec.Struct, frozen=True, kw_only=True):
    """Round trips through the lines, milliseconds; each figure is that of the computer with the greatest difference."""

    idle_ms: float
    """Median while nothing else is on the line."""
    median_ms: float
    """Median while rounds run."""
    p95_ms: float
    """95 % of the pings beside rounds took no longer."""
    lost: float
    """Share of the pings beside rounds that were lost, over all computers."""

    @property
    def sentence(self) -> str:
        """The report in words."""
        return (
            f"ping on the line that suffers most: {self.idle_ms:.1f} ms idle, beside rounds {self.median_ms:.1f} ms "
            f"(95 %: {self.p95_ms:.1f} ms); {100 * self.lost:.1f} % of all pings lost."
        )


class _Pinger(asyncio.DatagramProtocol):
    """Sends the time, and reads it from what comes back; or, as an echo, sends everything back."""

    def __init__(self, clock: Clock, *, echo: bool) -> None:
        self._clock = clock
        self._echo = echo
        self._transport: asyncio.DatagramTransport | None = None
        self._waiting: dict[bytes, float] = {}
        self._number = 0
        self._seconds: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open."""
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """A ping, or what came back of one."""
        if self._echo:
            assert self._transport is not None
            self._transport.sendto(data, addr)
        elif data in self._waiting:
            self._seconds.append(self._clock.now() - self._waiting.pop(data))

    async def ping(self, address: str) -> None:
        """Ping without end."""
        assert self._transport is not None
        while True:
            self._number += 1
            name = self._number.to_bytes(56, "big")
            self._waiting[name] = self._clock.now()
            self._transport.sendto(name, (address, PORT))
            await asyncio.sleep(EVERY_S)

    def take(self) -> Pings:
        """Return what came back since the last call, and how many pings are given up."""
        before = self._clock.now() - PATIENCE_S
        lost = [name for name, at in self._waiting.items() if at < before]
        for name in lost:
            del self._waiting[name]
        seconds, self._seconds = self._seconds, []
        return Pings(seconds=seconds, lost=len(lost))


async def main() -> None:
    """Echo or ping, as the parent says, until it says no more."""
    clock, loop = Clock(), asyncio.get_running_loop()
    pinger: _Pinger | None = None
    pinging: asyncio.Task[None] | None = None
    while (words := await told(Echo | Ping | Tell)) is not None:
        match words:
            case Echo(address=address):
                await loop.create_datagram_endpoint(lambda: _Pinger(clock, echo=True), local_addr=(address, PORT))
                say(Pings(seconds=[]))
            case Ping(address=address):
                _, pinger = await loop.create_datagram_endpoint(
                    lambda: _Pinger(clock, echo=False),
                    local_addr=("0.0.0.0", 0),
                )
                pinging = asyncio.create_task(pinger.ping(address))
            case Tell():
                say(Pings(seconds=[]) if pinger is None else pinger.take())
    if pinging is not None:
        pinging.cancel()


@asynccontextmanager
async def pinging(lines: Lines, count: int) -> AsyncIterator[Sequence[Child]]:
    """Ping the middle of the network from each of `count` computers while the block runs; yields the processes."""
    async with children("tests.bench.network.pings", count + 1, inside=lines.inside) as group:
        *pingers, echo = group
        echo.tell(Echo(address=lines.address(count)))
        await echo.hear(Pings, timeout_s=ANSWER_S)
        for child in pingers:
            child.tell(Ping(address=lines.address(count)))
        await asyncio.sleep(IDLE_S)
        yield pingers


async def pings_of(pingers: Sequence[Child]) -> list[Pings]:
    """Return what came back to each computer since the last call."""
    for child in pingers:
        child.tell(Tell())
    return await hear_all(pingers, Pings, timeout_s=ANSWER_S)


def ping_report(idle: Sequence[Pings], beside: Sequence[Pings]) -> PingReport:
    """Compare pings beside rounds with those on idle lines; a computer whose pings never came back is the worst."""
    rows = []
    for before, during in zip(idle, beside, strict=True):
        quiet = 1000 * statistics.median(before.seconds or [PATIENCE_S])
        times = sorted(1000 * second for second in during.seconds or [PATIENCE_S])
        rows.append((times[int(0.95 * (len(times) - 1))] - quiet, quiet, statistics.median(times), times))
    _, quiet, median, times = max(rows)
    sent = sum(len(one.seconds) + one.lost for one in beside)
    return PingReport(
        idle_ms=round(quiet, 2),
        median_ms=round(median, 2),
        p95_ms=round(times[int(0.95 * (len(times) - 1))], 2),
        lost=round(sum(one.lost for one in beside) / max(sent, 1), 4),
    )


if __name__ == "__main__":
    asyncio.run(main())
