"""Ports of a simulated router on loopback."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Callable
from functools import wraps
from random import Random
from typing import Any, Self

import pytest

from core.net.router import igd, nat_pmp, portmap
from core.net.router.nat_pmp import GatewayQueries, MappingRequest, NoMapping, OtherVersion
from core.net.router.portmap import Mapped, PortMap, known_searches
from tests.unit.net.gateway import OUTSIDE, Gateway, Router

PORT = 23_456
PMP_MAPPED = struct.Struct("!BBHIHHI")
"""A mapping response of NAT-PMP (RFC 6886, 3.3)."""
WISH = MappingRequest(transport="tcp", port=PORT, external_port=PORT, lifetime_s=60, nonce=bytes(12))


def in_loop(test: Callable[..., Any]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 20))

    return run


class Kept:
    """A PortMap that runs, and what it told."""

    def __init__(self, searches: Any, *, random: Random | None = None) -> None:
        self.told: list[Mapped | None] = []
        self.changed = asyncio.Event()
        self.map = PortMap(PORT, searches=searches, random=random or Random(1), tell=self._tell)

    def _tell(self, mapped: Mapped | None) -> None:
        self.told.append(mapped)
        self.changed.set()

    async def until(self, count: int) -> None:
        while len(self.told) < count:
            self.changed.clear()
            await self.changed.wait()

    async def __aenter__(self) -> Self:
        self.task = asyncio.create_task(self.map.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def datagram_searches(port: int) -> Any:
    return known_searches(gateway=lambda: "127.0.0.1", own_host=lambda: None, pcp_port=port)


@pytest.mark.parametrize("method", ["pcp", "nat-pmp"])
@in_loop
async def test_both_planes_are_mapped_on_one_number_and_given_back(method):
    gateway = Gateway(speaks=method)
    async with gateway.open() as port, Kept(datagram_searches(port)) as kept:
        await kept.until(1)
        assert kept.told == [Mapped(method=method, host=OUTSIDE, port=PORT, lifetime_s=120)]
        assert gateway.mappings == {("tcp", PORT): PORT, ("udp", PORT): PORT}
        kept.task.cancel()
        await asyncio.gather(kept.task, return_exceptions=True)
        assert gateway.mappings == {}
        assert kept.told[-1] is None


@in_loop
async def test_mapping_is_renewed_before_it_ends(monkeypatch):
    monkeypatch.setattr(portmap, "RENEW_S_MIN", 0.01)
    gateway = Gateway(lifetime_s=0)  # renewed at once, again and again
    async with gateway.open() as port, Kept(datagram_searches(port)) as kept:
        while len(gateway.asked) < 6:
            gateway.changed.clear()
            await gateway.changed.wait()
        assert gateway.asked[:6] == [("tcp", 3600), ("udp", 3600)] * 3
        assert len(kept.told) == 1


@pytest.mark.parametrize("taken", [{("tcp", PORT)}, {("udp", PORT)}, {("tcp", PORT), ("udp", PORT + 1)}])
@in_loop
async def test_another_number_is_found_when_ours_is_taken(taken):
    gateway = Gateway(taken=taken)
    async with gateway.open() as port, Kept(datagram_searches(port)) as kept:
        await kept.until(1)
        (mapped,) = kept.told
        assert mapped is not None
        assert mapped.port != PORT
        assert gateway.mappings == {("tcp", mapped.port): PORT, ("udp", mapped.port): PORT}


@in_loop
async def test_lost_request_is_repeated_and_a_refusal_ends_it():
    gateway = Gateway()
    async with gateway.open() as port:
        exchange = await GatewayQueries.open("127.0.0.1", port)
        gateway.deaf = 1
        request = nat_pmp.pcp_request(WISH, exchange.own_host)
        assert (await exchange.ask(request, lambda data: nat_pmp.pcp_answer(data, WISH))).external_port == PORT
        gateway.result = 2
        with pytest.raises(NoMapping, match="result 2"):
            await exchange.ask(request, lambda data: nat_pmp.pcp_answer(data, WISH))
        exchange.close()


@in_loop
async def test_search_repeats_when_the_network_changes():
    gateway = Gateway()
    async with gateway.open() as port:
        where: list[str | None] = [None]
        searches = known_searches(gateway=lambda: where[0], own_host=lambda: None, pcp_port=port)
        async with Kept(searches) as kept:
            await asyncio.sleep(0)
            assert kept.told == []
            where[0] = "127.0.0.1"
            kept.map.network_changed()
            await kept.until(1)
            where[0] = None
            kept.map.network_changed()
            await kept.until(2)
            assert kept.told[1] is None
            while gateway.mappings:
                gateway.changed.clear()
                await gateway.changed.wait()


def test_answers_to_others_are_none():
    mapped = PMP_MAPPED.pack(0, 130, 0, 5, PORT + 1, PORT, 60)
    assert nat_pmp.pmp_answer(mapped, WISH) is None
    assert nat_pmp.pmp_answer(b"", WISH) is None
    with pytest.raises(NoMapping):
        nat_pmp.pmp_answer(PMP_MAPPED.pack(0, 130, 0, 5, WISH.port, 0, 60), WISH)
    assert nat_pmp.pmp_answer(mapped[:9], WISH) is None
    assert nat_pmp.pcp_answer(b"\x02\x81", WISH) is None
    assert nat_pmp.pmp_address_answer(b"\x00") is None
    with pytest.raises(OtherVersion):
        nat_pmp.pcp_answer(b"\x00\x81\x00\x01", WISH)


def test_mapping_behind_a_second_router_is_not_public():
    assert not Mapped(method="pcp", host="100.64.0.7", port=1, lifetime_s=1).public
    assert Mapped(method="pcp", host="11.1.0.1", port=1, lifetime_s=1).public


# --- UPnP -------------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(igd, "SEARCH_S", 0.2)


@pytest.mark.parametrize("permanent_only", [False, True])
@in_loop
async def test_a_upnp_router_maps_tells_its_address_and_forgets(permanent_only):
    router = Router(permanent_only=permanent_only)
    async with router.open() as port:
        found = await igd.find_igd("127.0.0.1", target=("127.0.0.1", port))
        assert (await found.ask(WISH)).external_port == PORT
        assert router.mappings == {("tcp", PORT): ("127.0.0.1", PORT, 0 if permanent_only else 60)}
        assert await found.address() == OUTSIDE
        await found.ask(MappingRequest(transport="tcp", port=PORT, external_port=PORT, lifetime_s=0, nonce=bytes(12)))
        assert router.mappings == {}


@in_loop
async def test_a_upnp_router_that_refuses():
    router = Router(refuses=True)
    async with router.open() as port:
        found = await igd.find_igd("127.0.0.1", target=("127.0.0.1", port))
        with pytest.raises(NoMapping, match="refuses"):
            await found.ask(WISH)


def upnp_search(port: int) -> Any:
    @contextlib.asynccontextmanager
    async def search() -> AsyncIterator[Any]:
        found: Any = await igd.find_igd("127.0.0.1", target=("127.0.0.1", port))
        found.method = "upnp"
        yield found

    return search


@pytest.mark.parametrize("transport", ["tcp", "udp"])
@in_loop
async def test_port_given_to_another_computer_meanwhile_stays_there(transport, monkeypatch):
    """The router starts anew, and has forgotten all mappings, before this computer renews its own."""
    monkeypatch.setattr(portmap, "RENEW_S_MIN", 0.05)
    monkeypatch.setattr(portmap, "RENEW_SHARE", 0.0)
    router, other = Router(), ("127.0.0.9", PORT, 0)
    async with router.open() as port:
        async with Kept([upnp_search(port)]) as kept:
            await kept.until(1)
            router.mappings = {(transport, PORT): other}
            await kept.until(2)
            assert kept.told[1] is not None
        assert router.mappings == {(transport, PORT): other}


@in_loop
async def test_port_that_another_computer_has_is_left_to_it():
    router, other = Router(), ("127.0.0.9", PORT, 0)
    router.mappings["udp", PORT] = other
    async with router.open() as port:
        async with Kept([upnp_search(port)]) as kept:
            await kept.until(1)
            mapped = kept.told[0]
            assert mapped is not None
            assert mapped.port != PORT
            assert set(router.mappings) == {("udp", PORT), ("tcp", mapped.port), ("udp", mapped.port)}
        assert router.mappings == {("udp", PORT): other}


@pytest.mark.parametrize(
    "location",
    [
        "http://192.0.2.1/root.xml",
        "file:///etc/passwd",
        "http://127.0.0.1:1/x",
        "http://[",
        "http://127.0.0.1:PORT/elsewhere",
        "http://127.0.0.1:PORT/endless",
        "http://127.0.0.1:PORT/deep",
        "http://127.0.0.1:PORT/slow",
    ],
)
@in_loop
async def test_a_description_elsewhere_or_nowhere_is_no_router(location, monkeypatch):
    monkeypatch.setattr(igd, "DEVICE_S", 0.5, raising=False)
    async with Router().open(location=location) as port:
        with pytest.raises(NoMapping, match="no router"):
            await igd.find_igd("127.0.0.1", target=("127.0.0.1", port))


@in_loop
async def test_a_router_cannot_send_us_to_another_host():
    asked: list[str] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readline()).decode())
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    other = f"http://localhost:{server.sockets[0].getsockname()[1]}/control"
    async with server, Router(control=other).open() as port:
        with pytest.raises(NoMapping):
            await (await igd.find_igd("127.0.0.1", target=("127.0.0.1", port))).ask(WISH)
    assert not asked
