"""Bandwidth that a host measures on real connections."""

import asyncio
from collections.abc import Sequence

import pytest

from core.base.meter import Glance, Meter, Sighting
from core.net.limits.pace import Limits, Pace
from tests.process.net_people import Load, Peer, Say, in_loop

pytestmark = pytest.mark.process
RATE = 4_000_000.0
LOAD = 100_000


async def moved(sender: Peer, receivers: list[Peer], *, loads: int) -> None:
    for receiver in receivers:
        sender.knows(receiver)
        sender.say(receiver, Say("first"))
        await receiver.book.until(lambda book: book.heard)
    for _ in range(loads):
        for receiver in receivers:
            sender.say(receiver, Load(memoryview(bytes(LOAD))))
    for receiver in receivers:
        await receiver.book.until(lambda book: len(book.heard) == 1 + loads)


@in_loop
async def test_both_ends_see_what_a_limited_line_carries():
    pace = Pace(now=lambda: 1.8e9)
    one, two = Meter(), Meter()
    async with Peer("anna", pace=pace, meter=one) as anna, Peer("ben", meter=two) as ben:
        pace.limit(Limits(upload_bytes_s=RATE))
        await moved(anna, [ben], loads=60)
        sent, came = one.harvest(), two.harvest()
    assert 0.8 * RATE <= sent.up <= RATE
    assert sent.pressed
    assert 0.8 * RATE <= came.down <= 1.3 * RATE, "not limited here: this is what really came"
    assert came.up == 0.0


@in_loop
async def test_slow_reader_is_not_measured_as_a_slow_line():
    """Ben takes as little as he may; what goes to Cleo is not slowed by him."""
    slow = Pace(now=lambda: 1.8e9)
    meter = Meter()
    async with Peer("anna", meter=meter) as anna, Peer("ben", pace=slow) as ben, Peer("cleo") as cleo:
        slow.limit(Limits(download_bytes_s=1_000_000.0))
        for other in (ben, cleo):
            anna.knows(other)
            anna.say(other, Say("first"))
            await other.book.until(lambda book: book.heard)
        for _ in range(200):
            anna.say(ben, Load(memoryview(bytes(LOAD))))
        for _ in range(20):
            for _ in range(8):
                anna.say(cleo, Load(memoryview(bytes(LOAD))))
            await asyncio.sleep(0.15)
        seen = meter.harvest()
        anna_to_ben = seen.held.get(ben.id, 0.0)
    assert seen.up > 3_000_000
    assert 0 < anna_to_ben < 3_000_000
    assert cleo.id not in seen.held


@in_loop
async def test_nobody_looks_when_nothing_moves():
    class Looked(Meter):
        looks = 0

        def look(self, now: float, glances: Sequence[Glance]) -> None:
            self.looks += 1
            super().look(now, glances)

    meter = Looked()
    async with Peer("anna", meter=meter) as anna, Peer("ben") as ben:
        anna.knows(ben)
        anna.say(ben, Say("only a word"))
        await ben.book.until(lambda book: book.heard)
    assert meter.looks == 0
    assert meter.harvest() == Sighting()
