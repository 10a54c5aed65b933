"""Neighbours by mDNS, on loopback."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import wraps
from typing import Any

import pytest
from zeroconf import ServiceStateChange

from core.base.ids import hashed_key
from core.base.machine import Trace
from core.net.router import lan
from core.net.router.lan import LanDiscovery, group_tag, is_near, own_addresses, peer_tag
from tests.unit.net.people import keys

RUN, OTHER = hashed_key(b"lan test"), hashed_key(b"another")
ANNA, BEN = keys("anna").peer_id, keys("ben").peer_id


def in_loop(test: Callable[..., Any]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 20))

    return run


class Ear:
    def __init__(self, me: Any, *, manifest_id: bytes = RUN, port: int = 1) -> None:
        self.event, self.trace = asyncio.Event(), Trace()
        self.lan = LanDiscovery(
            me=me,
            manifest_id=manifest_id,
            port=port,
            changed=self.event.set,
            trace=self.trace,
            interfaces=["127.0.0.1"],
        )

    async def until(self, condition: Callable[[], Any]) -> None:
        while not condition():
            self.event.clear()
            await self.event.wait()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Ear"]:
        task = asyncio.create_task(self.lan.run())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@in_loop
async def test_neighbours_find_each_other_and_miss_each_other():
    async with Ear(ANNA, port=20_001).running() as anna:
        async with Ear(BEN, port=20_002).running() as ben, Ear(BEN, manifest_id=OTHER, port=20_003).running() as other:
            await anna.until(lambda: anna.lan.addresses(BEN))
            await ben.until(lambda: ben.lan.addresses(ANNA))
            assert anna.lan.addresses(BEN) == (("127.0.0.1", 20_002),)
            assert ben.lan.addresses(ANNA) == (("127.0.0.1", 20_001),)
            assert other.lan.addresses(ANNA) == ()
        await anna.until(lambda: not anna.lan.addresses(BEN))


@in_loop
async def test_another_network_is_another_life():
    async with Ear(ANNA, port=20_004).running() as anna, Ear(BEN, port=20_005).running() as ben:
        await anna.until(lambda: anna.lan.addresses(BEN))
        anna.lan.network_changed()
        await anna.until(lambda: not anna.lan.addresses(BEN))
        await anna.until(lambda: anna.lan.addresses(BEN))
        assert ben.trace["net.lan.none"] == 0


@in_loop
async def test_a_crowd_is_bounded(monkeypatch):
    asked = []

    async def request(self: Any, zeroconf: Any, timeout_ms: int) -> bool:
        asked.append(self.name)
        return await asyncio.Event().wait()

    monkeypatch.setattr("zeroconf.asyncio.AsyncServiceInfo.async_request", request)
    ear = Ear(ANNA)
    for number in range(100):
        ear.lan.heard(None, lan.SERVICE, f"{number:032}.{lan.SERVICE}", ServiceStateChange.Added)
    ear.lan.heard(None, lan.SERVICE, f"short.{lan.SERVICE}", ServiceStateChange.Added)
    await asyncio.sleep(0)
    assert len(asked) == lan.ASKING_MAX
    assert ear.trace["net.drop.neighbour"] == 100 - lan.ASKING_MAX
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


@in_loop
async def test_without_a_network_it_waits_for_one(monkeypatch):
    lives = []

    def no_network(**_: Any) -> None:
        lives.append(1)
        raise OSError

    monkeypatch.setattr("zeroconf.asyncio.AsyncZeroconf", no_network)
    async with Ear(ANNA).running() as ear:
        for count in (1, 2):
            while len(lives) < count:  # noqa: ASYNC110 - turns of the loop
                await asyncio.sleep(0)
            ear.lan.network_changed()
        assert ear.trace["net.lan.none"] >= 2


def test_a_tag_is_of_one_peer_in_one_collaboration():
    tags = {peer_tag(run, peer) for run in (RUN, OTHER) for peer in (ANNA, BEN)} | {group_tag(RUN), group_tag(OTHER)}
    assert len(tags) == 6
    assert {len(tag) for tag in tags} == {lan.TAG_LETTERS}


@pytest.mark.parametrize(
    ("host", "near"), [
        ("10.0.0.1", True), ("169.254.1.1", True), ("11.1.0.1", False), ("0.0.0.0", False), ("fd00::7", True),
        ("fe80::1", False), ("2a00::1", False), ("::1", False), ("::ffff:10.0.0.1", False),
    ]
)  # fmt: skip
def test_only_addresses_of_own_networks_are_near(host, near):
    assert is_near(host) is near


def test_own_addresses_are_no_loopback():
    assert all(not host.startswith("127.") for host in own_addresses())
