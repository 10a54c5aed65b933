"""Hosts among real sockets whose clocks differ: a wrong one is put right by those that refuse its datagrams."""

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from core.base.machine import Send
from core.net.clock import Clock
from tests.process.net_people import Answer, Ask, Peer, eventually, in_loop

pytestmark = pytest.mark.process
NOW = 1_800_000_000.0


class Times:
    """The clocks of one computer."""

    def __init__(self) -> None:
        self.ahead_s = 0.0
        """By how much they have gone on beyond the others'."""

    def steady(self) -> float:
        return time.monotonic() + self.ahead_s

    def clock(self) -> Clock:
        return Clock(wall=lambda: NOW + self.steady(), steady=self.steady)


@asynccontextmanager
async def three(*times: Times) -> AsyncIterator[list[Peer]]:
    """Anna, ben and eve with these clocks; anna knows the others' addresses."""
    async with AsyncExitStack() as stack:
        peers = [
            await stack.enter_async_context(Peer(name, clock=own.clock()))
            for name, own in zip(("anna", "ben", "eve"), times, strict=True)
        ]
        for other in peers[1:]:
            peers[0].knows(other)
        yield peers


async def asks(peer: Peer, *others: Peer) -> None:
    for other in others:
        peer.host.perform([Send(other.id, Ask(f"{peer.name} asks {other.name}"))])


@pytest.mark.parametrize("paused_s", [90.0, 600.0])
@in_loop
async def test_a_clock_that_stood_still_follows_the_others(paused_s):
    others = Times()
    async with three(Times(), others, others) as (anna, ben, eve):
        await asks(anna, ben, eve)
        await eventually(lambda: len(anna.texts()) == 2)
        others.ahead_s = paused_s
        await asks(anna, ben, eve)
        await eventually(lambda: abs(anna.clock.now() - ben.clock.now()) < 5)
        await asks(anna, ben, eve)
        await eventually(lambda: len(anna.texts()) == 4)
        assert ben.trace["net.drop.time"] == eve.trace["net.drop.time"] == 1


@in_loop
async def test_one_peer_with_another_time_moves_nobody():
    liar = Times()
    async with three(Times(), Times(), liar) as (anna, ben, eve):
        liar.ahead_s = 600.0
        for count in range(1, 6):
            await asks(anna, ben, eve)
            await eventually(lambda count=count: len(anna.texts()) == count)
        await eventually(lambda: eve.trace["net.drop.time"] == 1)
        assert abs(anna.clock.now() - ben.clock.now()) < 5
        assert all(isinstance(message, Answer) for _, message in anna.book.heard)
