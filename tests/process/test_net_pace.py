"""Limits on real connections."""

import asyncio
import socket

import pytest

from core.net.limits.pace import Limits, Pace
from tests.process.net_people import Load, Peer, Say, eventually, in_loop

pytestmark = pytest.mark.process
RATE = 250_000.0
"""2 Mbit/s."""
LOAD = 25_000


@pytest.mark.parametrize("direction", ["upload", "download"])
@in_loop
async def test_a_limit_of_two_megabits_is_kept_and_control_overtakes(direction):
    pace = Pace(now=lambda: 1.8e9)
    limits = Limits(upload_bytes_s=RATE) if direction == "upload" else Limits(download_bytes_s=RATE)
    more = [{"pace": pace}, {}] if direction == "upload" else [{}, {"pace": pace}]
    async with Peer("anna", **more[0]) as anna, Peer("ben", **more[1]) as ben:
        pace.limit(limits)
        anna.knows(ben)
        anna.say(ben, Say("first"))
        await ben.book.until(lambda book: book.heard)
        began = asyncio.get_running_loop().time()
        for _ in range(40):
            anna.say(ben, Load(memoryview(bytes(LOAD))))
        anna.say(ben, Say("overtakes"))
        await ben.book.until(lambda book: len(book.heard) == 42)
        spent_s = asyncio.get_running_loop().time() - began
        assert 40 * LOAD / spent_s <= 1.05 * RATE + 0.2 * RATE / spent_s  # a bound on bytes, whatever the machine
        assert ben.book.heard[-1][1] != Say("overtakes")
        assert pace.used.used_bytes >= 40 * LOAD


@in_loop
async def test_a_forbidden_network_carries_control_only():
    pace = Pace(now=lambda: 1.8e9)
    async with Peer("anna", pace=pace) as anna, Peer("ben") as ben:
        anna.knows(ben)
        pace.forbid("metered")
        anna.say(ben, Load(memoryview(bytes(LOAD))))
        anna.say(ben, Say("leaving"))
        await ben.book.until(lambda book: book.heard)
        assert ben.texts() == ["leaving"]
        pace.forbid(None)
        await ben.book.until(lambda book: len(book.heard) == 2)


@in_loop
async def test_flood_of_strangers_leaves_no_debt_to_links():
    pace = Pace(now=lambda: 1.8e9)
    async with Peer("anna", pace=pace) as anna, Peer("ben") as ben:
        pace.limit(Limits(upload_bytes_s=RATE, download_bytes_s=RATE))
        anna.knows(ben)
        await anna.ask(ben, "before?")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for number in range(1, 21):
                for _ in range(500):
                    stranger.sendto(bytes((3,)) * 1200, ("127.0.0.1", anna.port))
                await eventually(lambda sent=500 * number: anna.trace["net.drop.garbage"] >= sent)
        began = asyncio.get_running_loop().time()
        for text in ("after?", "again?"):  # the first is read before a limit is asked
            await anna.ask(ben, text)
        assert asyncio.get_running_loop().time() - began < 12e6 / RATE / 10
        assert pace.used.used_bytes > 12e6
