"""The lab's peers as processes, each at its place."""

import asyncio
import contextlib
import secrets
import sys
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from tests.lab.ground import HOMES, PUBLIC, ROOT, Ground

BIRTH_S = 30.0


class Member:
    """One peer's process."""

    def __init__(self, name: str, place: str, process: asyncio.subprocess.Process) -> None:
        self.name, self.place, self.process, self.port = name, place, process, 0
        self.known: dict[str, Any] = {}
        """Its findings about its own reachability."""

    def order(self, do: str, **facts: Any) -> None:
        """Tell it what to do."""
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode({"do": do, **facts}) + b"\n")

    async def hear(self, *, timeout_s: float) -> dict[str, Any]:
        """The next thing that it tells.

        Raises:
            TimeoutError: it tells nothing.
            RuntimeError: it has ended.
        """
        assert self.process.stdout is not None
        async with asyncio.timeout(timeout_s):
            line = await self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"peer {self.name} ended")
        told: dict[str, Any] = msgspec.json.decode(line)
        return told

    async def end(self) -> None:
        """Let it go, and wait."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            async with asyncio.timeout(5):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


@contextlib.asynccontextmanager
async def member(ground: Ground, place: str) -> AsyncIterator[Member]:
    """A peer at a place, a stranger to all others: what they remember of earlier ones does not count for it."""
    name = f"{place} {secrets.token_hex(4)}"
    process = await asyncio.create_subprocess_exec(
        *ground.inside(place, [sys.executable, "-m", "tests.lab.peer", name, "0.0.0.0"]),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    made = Member(name, place, process)
    try:
        made.port = (await made.hear(timeout_s=BIRTH_S))["port"]
        yield made
    finally:
        await made.end()


@contextlib.asynccontextmanager
async def public_hosts(ground: Ground) -> AsyncIterator[list[Member]]:
    """The three public peers, which know each other."""
    async with contextlib.AsyncExitStack() as stack:
        made = await asyncio.gather(*(stack.enter_async_context(member(ground, place)) for place in PUBLIC))
        introduce(ground, made, made)
        yield made


@contextlib.asynccontextmanager
async def two_homes(ground: Ground, hosts: list[Member], *, settle_s: float) -> AsyncIterator[tuple[Member, Member]]:
    """The two peers at home, which know the public ones and have had time to learn about themselves."""
    async with contextlib.AsyncExitStack() as stack:
        a, b = await asyncio.gather(*(stack.enter_async_context(member(ground, place)) for place in HOMES))
        introduce(ground, [a, b], hosts)
        for home in (a, b):
            home.order("know", timeout_s=settle_s)
        for home, other in ((a, b), (b, a)):
            home.known = await home.hear(timeout_s=settle_s + 5)
            other.order("meet", peer=home.name, peer_record=home.known["peer_record"])
        yield a, b


def introduce(ground: Ground, learners: list[Member], known: list[Member]) -> None:
    """Tell peers where public ones are."""
    for learner in learners:
        for other in known:
            if other is not learner:
                for host in (ground.address(other.place), ground.ipv6.get(other.place)):
                    if host is not None:
                        learner.order("volunteer", peer=other.name, host=host, port=other.port)
