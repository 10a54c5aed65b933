import asyncio
import socket
from typing import Any

import pytest

import core.net.addresses.name_resolver as module
from core.base.machine import Trace
from core.net.addresses.address_book import Address
from core.net.addresses.name_resolver import LOOKUPS_MAX, NameResolver


class Resolver:
    """In place of the loop's: answers when it is released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.free = asyncio.Event()
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", self._answer)

    async def _answer(self, host: str, port: int, **_: Any) -> list[Any]:
        self.asked.append(host)
        await self.free.wait()
        if host.startswith("no"):
            raise socket.gaierror(-2, "Name or service not known")
        six = (socket.AF_INET6, socket.SOCK_DGRAM, 17, "", ("2a00::1", port, 0, 0))
        scoped = (socket.AF_INET6, socket.SOCK_DGRAM, 17, "", ("fe80::1%eth0", port, 0, 2))
        if host.startswith("scoped"):
            return [scoped]
        four = (socket.AF_INET, socket.SOCK_DGRAM, 17, "", ("192.0.2.1", port))
        return [scoped, six] if host.startswith("six") else [six, four]


def test_names_are_resolved_once_and_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        trace, found, tasks = Trace(), list[Address](), list[asyncio.Task[None]]()
        resolver = Resolver(monkeypatch)
        names = NameResolver(lambda coroutine: tasks.append(asyncio.ensure_future(coroutine)), trace)
        for number in range(LOOKUPS_MAX + 2):
            names.find((f"host{number}", 5), found.append)
            names.find((f"host{number}", 5), found.append)
        assert trace["net.drop.name"] == 4
        resolver.free.set()
        await asyncio.gather(*tasks)
        assert found == [("192.0.2.1", 5)] * LOOKUPS_MAX
        names.find(("host0", 6), found.append)
        assert found[-1] == ("192.0.2.1", 6)
        assert len(resolver.asked) == LOOKUPS_MAX

    asyncio.run(run())


def test_unknown_name_is_counted_and_may_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        trace, found, tasks = Trace(), list[Address](), list[asyncio.Task[None]]()
        resolver = Resolver(monkeypatch)
        resolver.free.set()
        names = NameResolver(lambda coroutine: tasks.append(asyncio.ensure_future(coroutine)), trace)
        for _ in range(2):
            names.find(("nowhere", 5), found.append)
            await asyncio.gather(*tasks)
        assert (found, trace["net.name.unknown"], len(resolver.asked)) == ([], 2, 2)

    asyncio.run(run())


def test_a_name_that_leads_elsewhere_by_now_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        found, tasks = list[Address](), list[asyncio.Task[None]]()
        resolver = Resolver(monkeypatch)
        resolver.free.set()
        names = NameResolver(lambda coroutine: tasks.append(asyncio.ensure_future(coroutine)), Trace())
        for again_s in (300.0, 0.0):
            monkeypatch.setattr(module, "AGAIN_S", again_s)
            names.find(("host", 5), found.append)
            await asyncio.gather(*tasks)
        assert resolver.asked == ["host", "host"]
        assert found == [("192.0.2.1", 5)] * 3

    asyncio.run(run())


def test_a_name_that_has_only_ipv6_is_found_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        trace, found, tasks = Trace(), list[Address](), list[asyncio.Task[None]]()
        Resolver(monkeypatch).free.set()
        names = NameResolver(lambda coroutine: tasks.append(asyncio.ensure_future(coroutine)), trace)
        names.find(("six.example", 5), found.append)
        names.find(("scoped.example", 5), found.append)
        await asyncio.gather(*tasks)
        assert found == [("2a00::1", 5)]
        assert trace["net.name.unknown"] == 1

    asyncio.run(run())
