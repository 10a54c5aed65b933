"""Links made in other ways than by a call to a known address, and the change from one to a better one."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import core.net.links.links as links_module
import core.net.links.peer_links as peer_links_module
from core.base.ids import hashed_key
from core.net.carriers.carrier_transport import CarriedTransport
from core.net.carriers.punch import Rendezvous
from core.net.links.streams import PeerStream
from tests.process.net_people import Load, Peer, Say, acquainted, eventually, id_of, in_loop

pytestmark = pytest.mark.process
NONCE = hashed_key(b"nonce")[:16]


def ways(peer: Peer) -> list[str]:
    return [link.way for link in peer.host.stats.links]


def rendezvous(to: Peer, *, tcp: bool = False, udp: bool = False, **more: Any) -> Rendezvous:
    where = ("127.0.0.1", to.port)
    return Rendezvous(peer=to.id, nonce=NONCE, tcp=(where,) if tcp else (), udp=(where,) if udp else (), **more)


async def standstill(stream: PeerStream) -> None:
    """Until the stream sends nothing more, though something waits."""
    turns, before = 0, -1
    async with asyncio.timeout(60):
        while turns < 100 or not stream.sender.outbox:
            turns = turns + 1 if stream.sender.bytes_sent == before else 0
            before = stream.sender.bytes_sent
            await asyncio.sleep(0)


class Relay:
    """A circuit between two hosts of this process, which a test may hold, cut or spoil."""

    def __init__(self, caller: Peer, called: Peer) -> None:
        self.ends = (_End(), _End())
        self.transports = (
            CarriedTransport(self.ends[0], caller.host.links.new(called.id), way="relay"),
            CarriedTransport(self.ends[1], called.host.links.accept(), way="relay"),
        )
        for end, other, there in zip(self.ends, reversed(self.ends), reversed(self.transports), strict=True):
            end.other, end.there = other, there
        for transport in reversed(self.transports):
            transport.made()

    def cut(self) -> None:
        for transport in self.transports:
            transport.lost()


class _End:
    WINDOW = 1024 * 1024

    def __init__(self) -> None:
        self.there: CarriedTransport
        self.other: _End
        self.on_way = 0
        self.most = 0
        self.carried = 0
        self.spoil: Callable[[bytes], bytes] = bytes

    def carry(self, data: bytes) -> None:
        self.on_way += len(data)
        self.carried += len(data)
        self.most = max(self.most, self.on_way)
        asyncio.get_running_loop().call_soon(self.there.arrived, self.spoil(data))

    def room(self) -> bool:
        return self.on_way < self.WINDOW

    def unsent_bytes(self) -> int:
        return 0

    def consumed(self, count: int) -> None:
        self.other.on_way -= count
        asyncio.get_running_loop().call_soon(self.there.resume_if_room)

    def end(self, *, at_once: bool) -> None:
        if at_once:
            asyncio.get_running_loop().call_soon(self.there.lost)
        else:
            asyncio.get_running_loop().call_soon(lambda: self.there.arrived(b"", ended=True))


@in_loop
async def test_a_hole_for_udp_carries_quic():
    async with Peer("anna") as anna, Peer("ben") as ben:
        anna.host.links.punch(rendezvous(ben, udp=True))
        ben.host.links.punch(rendezvous(anna, udp=True))
        await eventually(lambda: ways(anna) == ways(ben) == ["quic"])
        loads = [bytes([n]) * 500_000 for n in range(10)]
        for load in loads:
            anna.say(ben, Load(memoryview(load)))
        await anna.ask(ben, "all?")
        await ben.book.until(lambda book: len(book.heard) == 10)
        assert [bytes(message.data) for _, message in ben.book.heard] == loads
        assert anna.trace["net.hole"] == ben.trace["net.hole"] == 1


@in_loop
async def test_peers_calling_each_other_at_once_have_a_link():
    async with Peer("anna") as anna, Peer("ben") as ben:
        anna.host.links.punch(rendezvous(ben, tcp=True))
        ben.host.links.punch(rendezvous(anna, tcp=True))
        await eventually(lambda: ways(anna) and ways(ben))
        assert set(ways(anna)) == set(ways(ben)) == {"tcp"}
        await anna.ask(ben, "hello?")


@in_loop
async def test_tcp_is_taken_where_both_ways_are_open():
    async with Peer("anna") as anna, Peer("ben") as ben:
        anna.host.links.punch(rendezvous(ben, tcp=True, udp=True))
        ben.host.links.punch(rendezvous(anna, tcp=True, udp=True))
        await eventually(lambda: "tcp" in ways(anna) and anna.trace["net.hole"])
        await anna.ask(ben, "hello?")


@in_loop
async def test_two_that_hear_different_sockets_first_still_meet(monkeypatch):
    many_name, guesser_name = sorted(("anna", "ben"), key=id_of, reverse=True)
    async with Peer(many_name) as many, Peer(guesser_name) as guesser:
        heard: dict[Any, bytes] = {}
        take = guesser.host.links.maker.punches.received
        monkeypatch.setattr(
            guesser.host.links.maker.punches, "received", lambda data, source: heard.update({source: data}) or True
        )
        many.host.links.punch(rendezvous(guesser, udp=True, sockets=2))
        await eventually(lambda: len(heard) == 2)
        slow, lost = heard
        guesser.host.links.punch(rendezvous(many, udp=True, ports=(lost[1],)))
        await eventually(lambda: many.trace["net.hole"])
        take(heard[slow], slow)  # sent before the other side heard anything, it arrives only now
        await eventually(lambda: ways(many) == ways(guesser) == ["quic"])


@pytest.mark.parametrize("order", [("anna", "ben"), ("ben", "anna")])
@in_loop
async def test_a_birthday_punch_finds_one_of_many_sockets(order):
    async with Peer(order[0]) as many, Peer(order[1]) as guesser:
        many.host.links.punch(rendezvous(guesser, udp=True, sockets=8))
        guesser.host.links.punch(rendezvous(many, udp=True, ports=tuple(range(40_000, 40_064))))
        await eventually(lambda: ways(many) == ways(guesser) == ["quic"])
        await eventually(lambda: len(many.host.links.maker.punches.own) == 1)
        many.say(guesser, Say("found?"))
        await many.book.until(lambda book: book.heard)


@pytest.mark.parametrize("order", [("anna", "ben"), ("ben", "anna")])
@in_loop
async def test_a_birthday_punch_is_not_answered_by_its_own_sender(order):
    async with Peer(order[0]) as many, Peer(order[1]) as guesser:
        guesser.host.links.punch(rendezvous(many, udp=True, ports=(guesser.port,) * 16))
        await eventually(lambda: guesser.trace["net.drop.punch"])
        many.host.links.punch(rendezvous(guesser, udp=True, sockets=8))
        await eventually(lambda: ways(many) == ways(guesser) == ["quic"])


@in_loop
async def test_punches_that_nobody_awaits_are_dropped():
    async with Peer("anna") as anna, Peer("ben") as ben:
        anna.host.links.punch(rendezvous(ben, udp=True))
        await eventually(lambda: ben.trace["net.drop.punch"])
        assert ways(ben) == []


@in_loop
async def test_a_peer_without_an_address_is_reached_by_other_ways():
    wanted: list[Any] = []
    async with Peer("anna", wanted=wanted.append) as anna, Peer("ben") as ben:
        anna.say(ben, Say("hello?"))
        await eventually(lambda: wanted)
        assert wanted == [ben.id]
        Relay(anna, ben)
        await anna.book.until(lambda book: book.heard)
        assert ways(anna) == ways(ben) == ["relay"]
        assert anna.book.lost == []


@in_loop
async def test_a_peer_that_no_way_leads_to_is_lost(monkeypatch):
    monkeypatch.setattr(peer_links_module, "OTHER_WAYS_S", 0.05)
    async with Peer("anna", wanted=lambda _: None) as anna:
        anna.say(id_of("ben"), Say("hello"))
        await anna.book.until(lambda book: book.lost)
        assert anna.book.lost[0].reason == "no address is known"


@in_loop
async def test_traffic_moves_from_relay_to_direct_link_without_loss(monkeypatch):
    monkeypatch.setattr(peer_links_module, "STEADY_S", 0.2)
    async with Peer("anna") as anna, Peer("ben") as ben:
        relay = Relay(anna, ben)
        await eventually(lambda: ways(anna) == ways(ben) == ["relay"])
        for number in range(60):
            anna.say(ben, Load(memoryview(bytes([number]) * 200_000)))
            ben.say(anna, Load(memoryview(bytes([number]) * 200_000)))
            if number == 20:
                anna.knows(ben)
                anna.host.links.to(ben.id).improve()
            await asyncio.sleep(0)
        for peer in (anna, ben):
            await peer.book.until(lambda book: len(book.heard) == 60)
            assert sorted(bytes(m.data)[0] for _, m in peer.book.heard) == list(range(60))
        await eventually(lambda: ways(anna) == ways(ben) == ["tcp"])
        assert max(end.most for end in relay.ends) <= 2 * _End.WINDOW
        assert anna.book.lost == ben.book.lost == []


@in_loop
async def test_a_relay_that_dies_is_noticed_on_both_sides():
    async with Peer("anna") as anna, Peer("ben") as ben:
        relay = Relay(anna, ben)
        await eventually(lambda: ways(anna) == ways(ben) == ["relay"])
        await anna.ask(ben, "hello?")
        relay.cut()
        for peer in (anna, ben):
            await peer.book.until(lambda book: book.lost)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: bytes([data[0] ^ 1]) + data[1:],
        lambda data: data[:-1] + b"x",
        lambda data: data + data,
        lambda data: data[len(data) // 2 :] + data[: len(data) // 2],
        lambda data: data[1:],
    ],
)
@in_loop
async def test_relay_that_corrupts_or_reorders_bytes_is_detected(spoil):
    async with Peer("anna") as anna, Peer("ben") as ben:
        relay = Relay(anna, ben)
        await eventually(lambda: ways(anna) == ways(ben) == ["relay"])
        relay.ends[0].spoil = spoil
        anna.say(ben, Say("x" * 500))
        await ben.book.until(lambda book: book.lost)
        assert ben.book.lost[0].reason.startswith("broke")
        assert all(message == Say("x" * 500) for _, message in ben.book.heard)


@in_loop
async def test_paused_reader_on_relay_stops_the_writer_without_loss():
    async with Peer("anna") as anna, Peer("ben") as ben:
        relay = Relay(anna, ben)
        await eventually(lambda: ways(anna) == ways(ben) == ["relay"])
        stream = ben.host.links.streams()[0]
        stream.receiver.hold()
        for number in range(40):
            anna.say(ben, Load(memoryview(bytes([number]) * 200_000)))
        await eventually(lambda: not relay.ends[0].room())
        assert relay.ends[0].on_way <= 2 * _End.WINDOW
        stream.receiver.release()
        await ben.book.until(lambda book: len(book.heard) == 40)


@in_loop
async def test_paused_reader_on_quic_stops_the_writer_without_loss():
    async with Peer("anna") as anna, Peer("ben") as ben:
        anna.host.links.punch(rendezvous(ben, udp=True))
        ben.host.links.punch(rendezvous(anna, udp=True))
        await eventually(lambda: ways(anna) == ways(ben) == ["quic"])
        stream, source = ben.host.links.streams()[0], anna.host.links.streams()[0]
        stream.receiver.hold()
        for number in range(60):
            anna.say(ben, Load(memoryview(bytes([number]) * 200_000)))
        await eventually(lambda: source.sender.bytes_sent > 4_000_000)
        await standstill(source)
        assert source.sender.bytes_sent < 4_800_000
        stream.receiver.release()
        await ben.book.until(lambda book: len(book.heard) == 60)


@in_loop
async def test_one_that_moved_and_comes_back_is_called_at_once():
    async with acquainted() as (anna, ben):
        await anna.ask(ben, "1?")
        for stream in anna.host.links.streams():
            stream.abort("cable pulled")
        await anna.book.until(lambda book: book.lost)
        anna.host.links.moved()
        anna.say(ben, Say("2?"))
        await anna.book.until(lambda book: len(book.heard) == 2)


@in_loop
async def test_links_on_addresses_that_still_exist_stay_and_others_end(monkeypatch):
    async with acquainted() as (anna, ben):
        await anna.ask(ben, "1?")
        (stream,) = anna.host.links.streams()
        anna.host.links.moved()
        assert anna.host.links.streams() == [stream]
        monkeypatch.setattr(links_module, "has_address", lambda host: host != stream.route.own_host)
        anna.host.links.moved()
        await anna.book.until(lambda book: book.lost)
        assert anna.book.lost[0].reason == "has another address now"
