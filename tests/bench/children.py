"""Processes of a measurement: they are told what to do by lines of JSON on stdin, and answer on stdout."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import msgspec

from core.base.problems import Problem

T = TypeVar("T")

LINE_BYTES_MAX = 1024 * 1024
END_S = 5.0


class Child:
    """One process of a measurement, spoken to by its pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """The system's number of the process."""
        return self._process.pid

    def tell(self, words: msgspec.Struct) -> None:
        """Send a message to the process."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(words) + b"\n")

    async def hear(self, kind: type[T], *, timeout_s: float) -> T:
        """The next thing that it says.

        Raises:
            Problem: it ended, or says nothing for too long.
        """
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(timeout_s):
                line = await self._process.stdout.readline()
        except TimeoutError as error:
            raise Problem(f"A process of the measurement says nothing for {timeout_s:.0f} seconds.") from error
        if not line:
            raise Problem("A process of the measurement ended.", hint="What it wrote above says why.")
        return msgspec.json.decode(line, type=kind)

    def kill(self) -> None:
        """End it at once, whatever it is doing; `end` then sees it off."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def end(self) -> None:
        """Let it go; kill it if it does not."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(END_S):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def children(
    module: str, count: int, *, inside: Callable[[int, Sequence[str]], Sequence[str]] = lambda _, order: order
) -> Any:
    """Start `count` processes that run `python -m module`.

    Ctrl-C in the terminal does not reach them: they end when their stdin is closed.  Where the block is left by an
    exception they are killed: a process amid a round does not look at its stdin, and nobody wants its figures any more.

    Args:
        module: The module that they run.
        count: Number of processes.
        inside: Turns a process's number and command line into one that runs in the right place.
    """
    started: list[Child] = []
    try:
        for index in range(count):
            process = await asyncio.create_subprocess_exec(
                *inside(index, [sys.executable, "-m", module]),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LINE_BYTES_MAX,
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
            started.append(Child(process))
        yield started
    except BaseException:
        for child in started:
            child.kill()
        raise
    finally:
        await asyncio.gather(*(child.end() for child in started))


async def hear_all(group: Sequence[Child], kind: type[T], *, timeout_s: float) -> list[T]:
    """Wait for the next message of each process.

    Args:
        group: The processes.
        kind: Class of the message.
        timeout_s: Patience, seconds.
    """
    return list(await asyncio.gather(*(child.hear(kind, timeout_s=timeout_s) for child in group)))


async def told(kind: Any) -> Any:
    """In a child: the next thing that it is told, or None at the end."""
    line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.readline)
    return msgspec.json.decode(line, type=kind) if line else None


def say(words: msgspec.Struct) -> None:
    """In a child: answer; if nobody listens any more, that is the end."""
    try:
        sys.stdout.buffer.write(msgspec.json.encode(words) + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        with suppress(OSError):  # or Python complains once more when it closes stdout
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
