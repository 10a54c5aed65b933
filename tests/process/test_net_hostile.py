"""Attacks of strangers, and of hostile members, on the sockets."""

import asyncio
import os
import socket
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import core.net.carriers.punch as punch_module
import core.net.links.link_maker as link_maker_module
import core.net.links.peer_links as peer_links_module
from core.base.ids import PeerId
from core.net.carriers import quic
from core.net.carriers.carrier_transport import CarriedTransport
from core.net.carriers.punch import Rendezvous
from tests.process.net_people import CODEC, Ask, Peer, Say, acquainted, eventually, id_of, in_loop
from tests.process.quic_attack import THERE, Attack, Reader, initials
from tests.process.test_net_ways import NONCE, Relay

pytestmark = pytest.mark.process


# --- QUIC: before there is a connection -------------------------------------------------------------------------------


@in_loop
async def test_connection_from_an_unmet_address_is_refused():
    async with Peer("ben") as ben:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.setblocking(False)
            packets = initials() * 3
            for packet in packets:
                udp.sendto(packet, ("127.0.0.1", ben.port))
            await eventually(lambda: ben.trace["net.drop.quic"] == len(packets))
            with pytest.raises(BlockingIOError):
                udp.recv(2000)
        endpoint = ben.host.links.maker.endpoint
        assert endpoint is not None
        assert endpoint.empty
        assert not ben.host.links.handshaking


@in_loop
async def test_unreadable_first_packets_hold_no_place_for_long(monkeypatch):
    monkeypatch.setattr(quic, "HANDSHAKE_S", 0.05)
    attack = Attack()
    long_id = bytes((0xC0,)) + quic.VERSION_1 + bytes((200,)) + bytes(1300)
    no_length = bytes((0xC0,)) + quic.VERSION_1 + bytes((8,)) + bytes(1300)
    for _ in range(quic.CONNECTIONS_MAX):
        attack.endpoint.received(long_id, THERE)
        attack.endpoint.received(no_length[:6] + os.urandom(8) + no_length[14:], THERE)
    assert attack.connections
    await eventually(lambda: not attack.connections)
    assert not attack.endpoint.ids
    assert not attack.escaped


@in_loop
async def test_a_handshake_that_is_never_finished_is_given_up(monkeypatch):
    monkeypatch.setattr(quic, "HANDSHAKE_S", 0.05)
    attack = Attack()
    attack.depart()
    assert attack.connections == 1
    await eventually(lambda: attack.readers[0].lost)
    assert not attack.connections


def at(place: int, changed: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data[:place] + changed + data[place + len(changed) :]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.replace(b"potluck", b"potl\xfcck"),
        lambda data: at(1, (len(data) - 8).to_bytes(3, "big"))(data),
        lambda data: bytes((1,)) + (40).to_bytes(3, "big") + bytes(40),
        lambda data: bytes((11,)) + data[1:],
        lambda data: data[:40] + bytes(len(data) - 40),
        lambda data: data[: len(data) // 2] + bytes((255,)) * (len(data) - len(data) // 2),
    ],
)
@in_loop
async def test_handshake_that_breaks_the_library_ends_only_its_connection(spoil, monkeypatch):
    monkeypatch.setattr(quic, "HANDSHAKE_S", 0.05)
    attack = Attack(spoil)
    attack.depart()
    await eventually(lambda: not attack.connections)
    assert not attack.escaped


# --- QUIC: on a connection --------------------------------------------------------------------------------------------


@in_loop
async def test_transport_raises_nothing_after_the_other_side_left():
    attack = await Attack().connected()
    attack.client.close()
    attack.depart()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    attack.transport.write(b"x" * 1000)
    attack.transport.close()
    await eventually(lambda: attack.readers[0].lost)
    assert not attack.connections
    assert not attack.escaped


@pytest.mark.parametrize(
    "misuse",
    [
        lambda client: client.stop_stream(0, 7),
        lambda client: client.reset_stream(0, 7),
        lambda client: client.send_stream_data(4, b"another stream"),
        lambda client: client.send_stream_data(6, b"", end_stream=True),
    ],
)
@in_loop
async def test_streams_are_neither_refused_nor_added(misuse):
    attack = await Attack().connected()
    misuse(attack.client)
    await attack.turns(4)
    attack.transport.write(b"x" * 1000)
    attack.transport.close()
    await eventually(lambda: attack.readers[0].lost)
    assert not attack.connections
    assert not attack.escaped


@in_loop
async def test_connection_ids_that_come_and_go_are_forgotten():
    attack = await Attack().connected()
    names = len(attack.endpoint.ids)
    for number in range(50):
        attack.client.change_connection_id()
        attack.client.send_ping(number)
        await attack.turns(3)
    assert attack.connections == 1
    assert len(attack.endpoint.ids) <= names


@in_loop
async def test_one_that_makes_us_answer_and_acknowledges_nothing_is_left():
    attack = await Attack().connected()
    challenges = b"".join(bytes((0x1A,)) + os.urandom(8) for _ in range(100))
    for _ in range(1000):
        if not attack.connections:
            break
        attack.endpoint.received(attack.forged(challenges), THERE)
        await attack.turns(answered=False)
    assert not attack.connections
    assert not attack.escaped


@in_loop
async def test_more_than_the_window_ends_the_connection():
    attack = await Attack().connected()
    attack.transport.pause_reading()
    offset = 2
    while attack.connections:
        assert offset < 2 * (quic.WINDOW_BYTES + quic.EXCESS_BYTES)
        head = bytes((0x0E, 0)) + (offset | 0x80000000).to_bytes(4, "big") + (1200 | 0x4000).to_bytes(2, "big")
        attack.endpoint.received(attack.forged(head + bytes(1200)), THERE)
        offset += 1200
        await attack.turns(answered=False)
    assert not attack.escaped


# --- links ------------------------------------------------------------------------------------------------------------


@in_loop
async def test_many_small_pieces_that_nobody_reads_take_little_memory():
    transport = CarriedTransport(_Carrier(), reader := Reader(), way="relay")
    transport.made()
    transport.pause_reading()
    tracemalloc.start()
    for number in range(100_000):
        transport.arrived(bytes((number % 256,)))
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept_bytes < 300_000
    transport.resume_reading()
    await eventually(lambda: reader.read == 100_000)
    assert reader.last == bytes((99_999 % 256,))


class _Carrier:
    def carry(self, data: bytes) -> None:
        """Nowhere."""

    def room(self) -> bool:
        return True

    def unsent_bytes(self) -> int:
        return 0

    def consumed(self, count: int) -> None:
        """Nobody waits for it."""

    def end(self, *, at_once: bool) -> None:
        """There is nothing to end."""


@in_loop
async def test_birthday_punch_releases_its_socket_when_nobody_calls(monkeypatch):
    monkeypatch.setattr(punch_module, "UNUSED_S", 0.1)
    async with Peer("anna") as anna:
        punches = anna.host.links.maker.punches
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
            there.bind(("127.0.0.1", 0))
            there.setblocking(False)
            where = there.getsockname()
            stranger = PeerId(bytes(32))
            anna.host.links.punch(Rendezvous(peer=stranger, nonce=NONCE, udp=(where,), sockets=4))
            await eventually(lambda: anna.host.tasks.running)
            _, source = await asyncio.get_running_loop().sock_recvfrom(there, 100)
            there.sendto(punch_module.punch_packet(NONCE, sender=stranger, receiver=anna.id), source)
            await eventually(lambda: anna.trace["net.hole"])
            await eventually(lambda: not punches.own)


@in_loop
async def test_messages_sent_while_a_duplicate_link_closes_are_reported():
    async with acquainted() as (anna, ben):
        anna.say(ben, Say("first"))
        await ben.book.until(lambda book: book.heard)
        Relay(anna, ben)
        await eventually(lambda: len(anna.host.links.streams()) == len(ben.host.links.streams()) == 2)
        here = next(stream for stream in anna.host.links.streams() if stream.route.way == "relay")
        there = next(stream for stream in ben.host.links.streams() if stream.route.way == "relay")
        here.close("one link is enough")
        there.send(CODEC.encode(Say("on its way")), bulk=False)
        await ben.book.until(lambda book: book.lost)
        assert "on its way" not in anna.texts()
        assert [stream.route.way for stream in ben.host.links.streams()] == ["tcp"]


@in_loop
async def test_punch_calls_each_named_address_a_limited_number_of_times(monkeypatch):
    monkeypatch.setattr(link_maker_module, "RETRY_S", 0.0)
    monkeypatch.setattr(link_maker_module, "PUNCH_CALLS_MAX", 5)
    calls: list[Any] = []

    async def refused(address: Any, **_: Any) -> socket.socket:
        calls.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(link_maker_module, "call", refused)
    async with Peer("anna") as anna:
        await anna.host.links.maker.punch(Rendezvous(peer=id_of("ben"), nonce=NONCE, tcp=(("192.0.2.1", 80),)))
    assert len(calls) == 5


@in_loop
async def test_birthday_punches_share_the_sockets_and_leave_none_behind(monkeypatch):
    monkeypatch.setattr(punch_module, "SOCKETS_MAX", 8)
    async with Peer("anna") as anna:
        punches = anna.host.links.maker.punches
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
            there.bind(("127.0.0.1", 0))
            meetings = [
                asyncio.create_task(
                    punches.punch(
                        Rendezvous(peer=id_of("ben"), nonce=bytes((n,)) * 16, udp=(there.getsockname(),), sockets=6)
                    )
                )
                for n in range(3)
            ]
            await eventually(lambda: len(punches.own) >= 8)
            assert len(punches.own) <= 10
            for rendezvous in meetings:
                rendezvous.cancel()
            await asyncio.wait(meetings)
        assert not punches.own


@in_loop
async def test_cancelled_birthday_punch_leaves_no_sockets_behind(monkeypatch):
    opened: list[Any] = []

    class Noted(punch_module.OwnSocket):
        def connection_made(self, transport: Any) -> None:
            opened.append(transport)
            super().connection_made(transport)

    monkeypatch.setattr(punch_module, "OwnSocket", Noted)
    async with Peer("anna") as anna:
        rendezvous = Rendezvous(peer=id_of("ben"), nonce=NONCE, udp=(("127.0.0.1", anna.port),), sockets=200)
        task = asyncio.create_task(anna.host.links.maker.punches.punch(rendezvous))
        await eventually(lambda: len(opened) > 5)
        task.cancel()
        await asyncio.wait([task])
        assert len(opened) < 200
        assert all(transport.is_closing() for transport in opened)


@in_loop
async def test_met_peer_may_begin_only_a_few_connections():
    async with Peer("anna") as anna:
        maker = anna.host.links.maker
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
            there.bind(("127.0.0.1", 0))
            stranger = PeerId(bytes(32))
            anna.host.links.punch(Rendezvous(peer=stranger, nonce=NONCE, udp=(there.getsockname(),)))
            punch = punch_module.punch_packet(NONCE, sender=stranger, receiver=anna.id)
            await eventually(lambda: maker.punches.awaited)
            for _ in range(10):
                there.sendto(punch, ("127.0.0.1", anna.port))
                for packet in initials():
                    there.sendto(packet, ("127.0.0.1", anna.port))
            await eventually(lambda: anna.trace["net.drop.quic"])
        assert maker.endpoint is not None
        assert len(maker.endpoint.connections) == punch_module.ADMITTED_CONNECTIONS_MAX


@pytest.mark.parametrize("host", ["8.8.8.8%..a", "8.8.8.8%\0", "8.8.8.8%é..b", "a.name", "", "2606::1%..a"])
@in_loop
async def test_invalid_address_ends_neither_host_nor_port(host):
    async with acquainted() as (anna, ben):
        anna.host.links.punch(Rendezvous(peer=ben.id, nonce=NONCE, tcp=((host, 80),), udp=((host, 80),), lasts_s=0.1))
        await eventually(lambda: not anna.host.tasks.running)
        anna.say(ben, Ask("still there?"))
        await ben.book.until(lambda book: book.heard)


@in_loop
async def test_links_made_and_ended_leave_no_timers(monkeypatch):
    looks: list[Any] = []
    async with acquainted() as (anna, ben):
        anna.say(ben, Say("first"))
        await ben.book.until(lambda book: book.heard)
        Relay(anna, ben)
        await eventually(lambda: len(ben.host.links.streams()) == 2)
        loop = asyncio.get_running_loop()
        later = loop.call_later
        monkeypatch.setattr(
            loop, "call_later", lambda delay_s, call, *more: looks.append(delay_s) or later(delay_s, call, *more)
        )
        for _ in range(20):
            extra = Relay(anna, ben)
            await eventually(lambda: len(ben.host.links.streams()) == 3)
            extra.cut()
            await eventually(lambda: len(ben.host.links.streams()) == 2)
        assert looks.count(peer_links_module.STEADY_S) == 0
