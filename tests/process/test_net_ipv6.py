"""Hosts that listen on both families, on this computer's loopback."""

import asyncio
import errno
import socket
from typing import Any

import pytest

import core.net.listening as listening_module
from core.base.machine import Trace
from core.base.problems import BadInput, Busy
from core.nat.events import Dial, DialBackTried, LinkUp, SendDatagramTo, TryDialBack, Way
from core.nat.messages import Address, Mirror, Mirrored
from core.net.addresses.address_book import AddressBook
from core.net.carriers.punch import Rendezvous
from core.net.datagrams.datagrams import DatagramPort
from core.net.limits.pace import Pace
from core.net.listening import ANY, ANY6, refusal
from core.net.planes import Planes
from tests.process.net_people import CODEC, Answer, Ask, Peer, Say, eventually, id_of, in_loop
from tests.process.test_net_attacks import envelopes
from tests.process.test_net_traverse import peers

LOOPBACK, LOOPBACK6 = "127.0.0.1", "::1"
NONCE = bytes(range(16))


def _absence() -> str | None:
    """Why there is no IPv6 here."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind((LOOPBACK6, 0))
    except OSError as error:
        return f"This computer has no IPv6 loopback: {error.strerror}."
    return None


ABSENCE = _absence()
pytestmark = [pytest.mark.process, pytest.mark.skipif(ABSENCE is not None, reason=str(ABSENCE))]


@pytest.mark.parametrize("at", [LOOPBACK, LOOPBACK6])
@in_loop
async def test_both_planes_work_over_both_families_on_one_port(at: str) -> None:
    async with Peer("anna", bind=ANY) as anna, Peer("ben", bind=ANY) as ben:
        anna.knows(ben, at=at)
        anna.say(ben, Say("hello?"))
        anna.say(ben, Ask("who?"))
        await anna.book.until(lambda book: len(book.heard) == 2)
        assert sorted(anna.texts()) == ["hello!", "who?"]
        assert [(seen.host, seen.port) for seen in ben.book.observed] == [(at, anna.port)]
        ben.say(anna, Ask("and back"))
        await ben.book.until(lambda book: (anna.id, Answer("and back")) in book.heard)


@in_loop
async def test_ipv6_call_leaves_from_the_listening_port() -> None:
    addresses: list[Any] = []
    ben = Peer("ben", bind=ANY, opened=lambda stream: addresses.append(stream.route.other_address))
    async with Peer("anna", bind=ANY) as anna, ben:
        anna.knows(ben, at=LOOPBACK6)
        anna.say(ben, Say("hello?"))
        await eventually(lambda: addresses)
        assert addresses == [(LOOPBACK6, anna.port)]


@in_loop
async def test_answer_returns_to_its_source_and_ipv4_stays_preferred() -> None:
    async with Peer("anna", bind=ANY) as anna, Peer("ben", bind=ANY) as ben:
        anna.knows(ben)
        anna.say(ben, Ask("over four"))
        await anna.book.until(lambda book: len(book.heard) == 1)
        anna.host.send_at(SendDatagramTo(ben.id, Address(LOOPBACK6, ben.port), Ask("over six"), fresh=False))
        await anna.book.until(lambda book: len(book.heard) == 2)
        assert [(seen.host, seen.port) for seen in ben.book.observed] == [
            (LOOPBACK, anna.port),
            (LOOPBACK6, anna.port),
        ]
        assert [seen.host for seen in anna.book.observed] == [LOOPBACK, LOOPBACK6]
        assert ben.host.address_book.addresses(anna.id) == ((LOOPBACK, anna.port), (LOOPBACK6, anna.port))


@in_loop
async def test_garbage_on_the_ipv6_port_is_dropped_and_counted() -> None:
    async with Peer("anna", bind=ANY) as anna, Peer("ben", bind=ANY) as ben:
        _, writer = await asyncio.open_connection(LOOPBACK6, ben.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: ben\r\n\r\n" * 10)
        await eventually(lambda: ben.trace["net.drop.handshake"] == 1)
        writer.close()
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as udp:
            for garbage in (b"", b"x", b"\x01" * 100, b"\x02" * 9, bytes(1400)):
                udp.sendto(garbage, (LOOPBACK6, ben.port))
        dropped = {"garbage": 3, "quic": 1, "unasked": 1}
        await eventually(lambda: all(ben.trace[f"net.drop.{what}"] == count for what, count in dropped.items()))
        anna.knows(ben, at=LOOPBACK6)
        await anna.ask(ben, "still here?")


@in_loop
async def test_datagrams_from_a_scoped_address_are_dropped() -> None:
    trace = Trace()
    port = DatagramPort(
        envelopes=envelopes("anna", now=0.0),
        book=AddressBook(),
        now=lambda: 0.0,
        trace=trace,
        pace=Pace(now=lambda: 0.0),
        owner=Planes(id_of("anna"), codec=CODEC, trace=trace, deliver=lambda _: None),
    )
    port.datagram_received(b"\x01", ("fe80::1%eth0", 5, 0, 2))
    port.datagram_received(b"\x01", ("fe80::1", 5, 0, 2))
    assert trace["net.drop.scope"] == 2
    assert not trace["net.drop.garbage"]


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
@in_loop
async def test_a_port_that_is_taken_on_ipv6_only_is_taken(kind: socket.SocketKind) -> None:
    with socket.socket(socket.AF_INET6, kind) as other:
        other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        other.bind((ANY6, 0))
        if kind == socket.SOCK_STREAM:
            other.listen()
        port = other.getsockname()[1]
        assert refusal(ANY, port, kind) is not None
        assert refusal(LOOPBACK, port, kind) is None
        anna = Peer("anna")
        with pytest.raises(Busy, match=str(port)):
            await anna.host.start(bind=ANY, port=port)
        assert await anna.host.start(bind=ANY) != port  # and nothing is left of the first attempt
        await anna.host.close()
    assert refusal(ANY, port, kind) is None


@in_loop
async def test_a_number_is_drawn_that_is_free_on_all_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first number drawn is taken, on IPv6 and for UDP only."""
    bound, refused = listening_module.bound_socket, list[int]()

    def first_is_taken(place: Any, kind: socket.SocketKind, port: int) -> socket.socket:
        if place.family == socket.AF_INET6 and kind == socket.SOCK_DGRAM and not refused:
            refused.append(port)
            raise OSError(errno.EADDRINUSE, "in use")
        return bound(place, kind, port)

    monkeypatch.setattr(listening_module, "bound_socket", first_is_taken)
    async with Peer("anna", bind=ANY) as anna, Peer("ben", bind=ANY) as ben:
        assert refused
        anna.knows(ben, at=LOOPBACK6)
        anna.say(ben, Ask("here?"))
        await anna.book.until(lambda book: book.heard)


@pytest.mark.parametrize("where", ["socket", "bind"])
@in_loop
async def test_a_computer_without_ipv6_has_ipv4(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    bound = listening_module.bound_socket

    def absent(place: Any, kind: socket.SocketKind, port: int) -> socket.socket:
        if place.family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT if where == "socket" else errno.EADDRNOTAVAIL, "no such thing")
        return bound(place, kind, port)

    monkeypatch.setattr(listening_module, "bound_socket", absent)
    async with Peer("anna", bind=ANY) as anna, Peer("ben", bind=ANY) as ben:
        eve = id_of("eve")
        anna.host.learn(eve, LOOPBACK6, 9)
        anna.say(eve, Ask("anybody?"))
        assert anna.trace["net.datagram.undelivered"] == 1
        anna.say(eve, Say("anybody?"))
        await anna.book.until(lambda book: book.lost)
        anna.host.send_at(SendDatagramTo(eve, Address("2a00::1", 9), Mirror(NONCE), fresh=True))
        anna.knows(ben)
        anna.say(ben, Ask("here?"))
        await anna.book.until(lambda book: book.heard)
        assert refusal(ANY, anna.port, socket.SOCK_DGRAM) is not None
    with pytest.raises(BadInput, match="no such thing"):
        await Peer("carl").host.start(bind=ANY6)


@in_loop
async def test_only_ipv6_when_that_is_asked_for() -> None:
    async with Peer("anna", bind=ANY6) as anna, Peer("ben", bind=LOOPBACK6) as ben:
        anna.knows(ben, at=LOOPBACK6)
        anna.say(ben, Say("hello?"))
        anna.say(ben, Ask("who?"))
        await anna.book.until(lambda book: len(book.heard) == 2)
        assert refusal(LOOPBACK, anna.port, socket.SOCK_STREAM) is None
        second = await anna.host.open_second(ANY6)
        assert second not in {0, anna.port}
        ben.host.send_at(SendDatagramTo(anna.id, Address(LOOPBACK6, second), Mirror(NONCE), fresh=False))
        await ben.book.until(lambda book: len(book.heard) == 2)
        assert ben.book.heard[1:] == [(anna.id, Mirrored(NONCE, Address(LOOPBACK6, ben.port), 0, 0))]


@in_loop
async def test_quic_and_punches_take_the_socket_of_the_address() -> None:
    async with Peer("anna", bind=ANY) as anna, Peer("ben", bind=ANY) as ben:
        for peer, other in ((anna, ben), (ben, anna)):
            peer.host.links.punch(Rendezvous(peer=other.id, nonce=NONCE, udp=((LOOPBACK6, other.port),)))
        await eventually(lambda: anna.host.links.best(ben.id) == "quic")
        await eventually(lambda: ben.host.links.best(anna.id) == "quic")
        await anna.ask(ben, "through?")
        (stream,) = anna.host.links.streams()
        assert stream.route.other_address == (LOOPBACK6, ben.port)


@in_loop
async def test_tcp_is_punched_over_ipv6() -> None:
    async with Peer("anna", bind=ANY) as anna, Peer("ben", bind=ANY) as ben:
        for peer, other in ((anna, ben), (ben, anna)):
            peer.host.links.punch(Rendezvous(peer=other.id, nonce=NONCE, tcp=((LOOPBACK6, other.port),)))
        await eventually(lambda: anna.host.links.best(ben.id) == ben.host.links.best(anna.id) == "tcp")


@in_loop
async def test_dial_back_uses_ipv6_and_dial_reports_its_way() -> None:
    (anna, ear), (ben, _) = peers("anna", "ben")
    anna.bind = ben.bind = ANY
    async with anna, ben:
        there = Address(LOOPBACK6, ben.port)
        ear.traverser.perform(TryDialBack(NONCE, there))
        await eventually(lambda: ear.of(DialBackTried))
        assert ear.of(DialBackTried) == [DialBackTried(NONCE, tcp=True)]
        ear.traverser.perform(Dial(7, ben.id, there, Way.IPV6))
        await eventually(lambda: ear.of(LinkUp))
        (up,) = ear.of(LinkUp)
        assert (up.way, up.address, up.attempt) == (Way.IPV6, there, 7)
