"""A peer in the lab: the real host with a machine that answers, driven by lines of JSON on stdin.

    python -m tests.lab.peer NAME BIND      prints {"event": "ready", "port": ...}, ends when stdin closes

Times are CLOCK_MONOTONIC, which all namespaces of a machine share.
"""

import asyncio
import sys
import time
from typing import Any, ClassVar

import msgspec

from core.base.machine import Received, Send
from core.base.wire import Message
from tests.lab.stack import Stack
from tests.process.net_people import id_of

CHUNK_BYTES = 256 * 1024
WINDOW = 16
"""Chunks on their way: 4 MiB, more than a line of the lab holds."""
WATCH_S = 0.005


class Hello(Message, frozen=True, tag="lab.hello"):
    """The first word of a caller."""


class Welcome(Message, frozen=True, tag="lab.welcome"):
    """Answers a Hello."""

    at: float
    """When it arrived."""


class Chunk(Message, frozen=True, tag="lab.chunk"):
    bulk: ClassVar[bool] = True

    data: memoryview


class Thanks(Message, frozen=True, tag="lab.thanks"):
    """Answers a Chunk."""

    at: float
    cpu_s: float
    """Resources that the receiving process has used so far."""


class Ping(Message, frozen=True, tag="lab.ping"):
    sent: float


class Pong(Message, frozen=True, tag="lab.pong"):
    sent: float


MESSAGES = (Hello, Welcome, Chunk, Thanks, Ping, Pong)


def tell(event: str, **facts: Any) -> None:
    """One line on stdout."""
    sys.stdout.buffer.write(msgspec.json.encode({"event": event, **facts}) + b"\n")
    sys.stdout.buffer.flush()


class Answering:
    """Answers Hello, Chunk and Ping; puts what answers us into a queue."""

    deadline: float | None = None

    def __init__(self) -> None:
        self.answers: asyncio.Queue[Message] = asyncio.Queue()
        self.pongs: asyncio.Queue[float] = asyncio.Queue()

    def handle(self, event: Any, now: float) -> list[Any]:
        del now
        match event:
            case Received(sender=sender, message=Hello()):
                return [Send(sender, Welcome(time.monotonic()))]
            case Received(sender=sender, message=Chunk()):
                return [Send(sender, Thanks(time.monotonic(), time.process_time()))]
            case Received(sender=sender, message=Ping(sent=sent)):
                return [Send(sender, Pong(sent))]
            case Received(message=Pong(sent=sent)):
                self.pongs.put_nowait(time.monotonic() - sent)
            case Received(message=Welcome() | Thanks() as answer):
                self.answers.put_nowait(answer)
        return []


class Driver:
    """Does what the lines on stdin say, one after the other."""

    def __init__(self, stack: Stack, answering: Answering) -> None:
        self._stack, self._answering = stack, answering
        self._task: asyncio.Task[None] | None = None

    async def obey(self, order: dict[str, Any]) -> None:
        """One line."""
        match order.pop("do"):
            case "volunteer":
                self._stack.volunteer(id_of(order["peer"]), order["host"], order["port"])
            case "meet":
                self._stack.meet(id_of(order["peer"]), bytes.fromhex(order["peer_record"]))
            case "dial":
                await self._dial(**order)
            case "load":
                await self._load(**order)
            case "ping":
                await self._ping(**order)
            case "fill":
                self._task = asyncio.create_task(self._load(peer=order["peer"], seconds=order["seconds"]))
            case "await_lost":
                await self._await_lost(**order)
            case "carries":
                tell("carries", circuits=self._stack.bridge.traversal.relay.circuits)
            case "know":
                tell("self", **await self._stack.know_self(order["timeout_s"]))

    async def _dial(self, *, peer: str, patience_s: float, watch_s: float) -> None:
        """Say Hello; tell when it arrived and by which way, then which way was settled on."""
        to, began = id_of(peer), time.monotonic()
        self._stack.say(to, Hello())
        try:
            async with asyncio.timeout(patience_s):
                welcome = await self._answering.answers.get()
        except TimeoutError:
            tell("failed", seconds=patience_s, reason=self._stack.reason(to))
            return
        assert isinstance(welcome, Welcome)
        first = self._stack.way(to)
        answered_s, direct_s = time.monotonic() - began, None
        while direct_s is None and time.monotonic() - began < watch_s:
            if self._stack.way(to) not in {None, "relay"}:
                direct_s = time.monotonic() - began
            else:
                await asyncio.sleep(WATCH_S)
        tell(
            "answered",
            first_byte_s=welcome.at - began,
            answered_s=answered_s,
            first_way=first,
            direct_s=direct_s,
            way=self._stack.way(to),
            place=self._stack.place(to),
        )

    async def _load(self, *, peer: str, seconds: float) -> None:
        """Send chunks for so long; the first quarter, in which connections gain speed, does not count."""
        to, chunk = id_of(peer), Chunk(memoryview(bytes(CHUNK_BYTES)))
        began = time.monotonic()
        counted: list[Thanks] = []
        pause_s, heard = 0.0, began
        own_cpu_s = 0.0
        self._stack.say(to, *[chunk] * WINDOW)
        open_chunks = WINDOW
        while open_chunks:
            thanks = await self._answering.answers.get()
            assert isinstance(thanks, Thanks)
            open_chunks -= 1
            pause_s, heard = max(pause_s, thanks.at - heard), thanks.at
            if thanks.at - began >= seconds:
                continue
            if thanks.at - began >= seconds / 4:
                own_cpu_s = own_cpu_s or time.process_time()
                counted.append(thanks)
            self._stack.say(to, chunk)
            open_chunks += 1
        first, last = counted[0], counted[-1]
        megabytes = (len(counted) - 1) * CHUNK_BYTES / 1e6
        tell(
            "loaded",
            megabytes_per_s=megabytes / (last.at - first.at),
            pause_s=pause_s,
            cpu_s_per_gigabyte=(last.cpu_s - first.cpu_s + time.process_time() - own_cpu_s) / megabytes * 1000,
            way=self._stack.way(to),
        )

    async def _await_lost(self, *, peer: str, patience_s: float) -> None:
        """Tell when the link to a peer was given up."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(patience_s):
                await self._stack.lost(id_of(peer))
        except TimeoutError:
            tell("kept")
        else:
            tell("lost", seconds=time.monotonic() - began)

    async def _ping(self, *, peer: str, count: int, every_s: float, busy: bool) -> None:
        """Round trips of small messages, beside a bulk transfer if `busy`."""
        to, times = id_of(peer), []
        load = asyncio.create_task(self._load(peer=peer, seconds=count * every_s + 2)) if busy else None
        if busy:
            await asyncio.sleep(1)  # until the line is full
        for _ in range(count):
            self._stack.say(to, Ping(time.monotonic()))
            await asyncio.sleep(every_s)
        for _ in range(count):
            async with asyncio.timeout(20):
                times.append(await self._answering.pongs.get())
        tell("pinged", seconds=times)
        if load is not None:
            await load


async def _lines() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


async def main(name: str, bind: str) -> None:
    answering = Answering()
    stack = Stack(name, answering, messages=MESSAGES)
    port = await stack.start(bind)
    tell("ready", port=port)
    driver = Driver(stack, answering)
    async for line in await _lines():
        await driver.obey(msgspec.json.decode(line))
    await stack.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
