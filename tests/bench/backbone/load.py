"""Visitors and members who come at a rate, whether or not the ones before have been answered.

An answer's time begins when its question was due: what waits in a queue counts, which clients in a
closed loop would hide.
"""

import asyncio
import ssl
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from core.net.addresses.interfaces import LOOPBACK

ASK_S: Final = 20.0
OPEN_MAX: Final = 200
"""Questions at a time; the server takes 256 connections."""


@dataclass(slots=True)
class Answers:
    """What became of the questions of one stretch."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    """Number of answers by HTTP's status; 0: none came."""

    @property
    def p99_ms(self) -> float:
        """Time within which 99 of 100 answers came, milliseconds."""
        return 1000 * statistics.quantiles(self.seconds, n=100)[98]

    @property
    def failed(self) -> Counter[int]:
        """Numbers of answers by HTTP's status, without those of 200."""
        return Counter({status: count for status, count in self.statuses.items() if status != 200})


async def at_rate(rate_per_s: float, count: int, ask: Callable[[int], Awaitable[int]]) -> Answers:
    """Ask `count` times.

    Args:
        rate_per_s: Questions that begin in a second.
        count: Number of questions.
        ask: Asks the question of that number; returns HTTP's status.
    """
    answers, begun, turns = Answers(), time.monotonic(), asyncio.Semaphore(OPEN_MAX)

    async def one(number: int) -> None:
        due = begun + number / rate_per_s
        await asyncio.sleep(due - time.monotonic())
        async with turns:
            try:
                async with asyncio.timeout(ASK_S):
                    status = await ask(number)
            except (OSError, TimeoutError, EOFError):
                status = 0
        answers.statuses[status] += 1
        answers.seconds.append(time.monotonic() - due)

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(one(number))
    return answers


def household(number: int) -> str:
    """An address of this computer that the desk takes for another household's."""
    number += 2
    return f"127.{1 + number // 62_500}.{number // 250 % 250}.{1 + number % 250}"


def request(path: str, body: bytes = b"", *, kind: str = "application/json", more: str = "") -> bytes:
    """A question in HTTP 1.1; one without a body is a GET, and leaves its connection open."""
    head = f"Host: {LOOPBACK}\r\n{more}"
    if not body:
        return f"GET {path} HTTP/1.1\r\n{head}\r\n".encode()
    head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body


async def asked_once(port: int, question: bytes, *, tls: ssl.SSLContext | None = None, source: str = LOOPBACK) -> int:
    """Ask over a connection of its own.

    Args:
        port: Of this computer.
        question: As `request` makes it.
        tls: For HTTPS.
        source: The address that asks.

    Returns:
        HTTP's status.

    Raises:
        OSError: there is no connection; EOFError: it ended before the answer.
    """
    reader, writer = await asyncio.open_connection(LOOPBACK, port, ssl=tls, local_addr=(source, 0))
    try:
        writer.write(question)
        return await answered(reader)
    finally:
        writer.close()


async def answered(reader: asyncio.StreamReader) -> int:
    """Read one answer to its end; returns its status.

    Raises:
        EOFError: the connection ended before.
    """
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    await reader.readexactly(int(lengths[0].split(b":")[1]) if lengths else 0)
    return status


class Readers:
    """Visitors that keep their connections open, as browsers do; a connection that has ended is opened again.

    Args:
        port: Of the page.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, path: str) -> int:
        """Read a page; returns HTTP's status.

        Raises:
            OSError: there is no connection; EOFError: it ended before the answer.
        """
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof():
                break
            writer.close()
        else:
            reader, writer = await asyncio.open_connection(LOOPBACK, self._port)
        try:
            writer.write(request(path))
            status = await answered(reader)
        except BaseException:
            writer.close()
            raise
        self._idle.append((reader, writer))
        return status

    def close(self) -> None:
        """Close what is open."""
        for _, writer in self._idle:
            writer.close()
