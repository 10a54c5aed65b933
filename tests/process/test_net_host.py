"""Hosts on this computer's loopback, with real sockets."""

import asyncio
import socket

import pytest

from core.backbone.authority import LIFETIME_S, Authority
from core.base.ids import hashed_key
from core.base.machine import Send, Transfer
from core.base.problems import BadInput, Busy
from core.base.signing import KeyPair
from core.nat.events import SendDatagramTo
from core.nat.messages import Address
from core.net.links.peer_links import LINKS_PER_PEER_MAX
from core.net.links.streams import PeerStream
from tests.process.net_people import (
    RUN,
    Answer,
    Ask,
    Beside,
    Load,
    Peer,
    Say,
    acquainted,
    eventually,
    id_of,
    in_loop,
    keys,
)

pytestmark = pytest.mark.process
PIECES, PIECE_BYTES, PACED_S = 40, 50_000, 2.0


@in_loop
async def test_messages_travel_both_ways_on_both_planes():
    async with acquainted() as (anna, ben):
        anna.say(ben, Say("hello?"))
        anna.say(ben, Ask("who?"))
        await anna.book.until(lambda book: len(book.heard) == 2)
        assert sorted(anna.texts()) == ["hello!", "who?"]
        assert {sender for sender, _ in anna.book.heard} == {ben.id}
        stats = anna.host.stats
        assert [(link.peer, link.username, link.initiated) for link in stats.links] == [(ben.id, "ben", True)]
        assert stats.bytes_sent > 0
        assert stats.bytes_received > 0


@in_loop
async def test_small_messages_leave_at_once():
    async with acquainted() as (anna, ben):
        await anna.ask(ben, "hello?")
        for peer in (anna, ben):
            [stream] = peer.host.links.streams()
            assert stream.transport is not None
            own = stream.transport.get_extra_info("socket")
            assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@in_loop
async def test_datagram_source_is_observed_before_its_message_and_on_change():
    async with Peer("ben") as ben:
        ports = []
        for _ in range(2):
            async with Peer("anna") as anna:
                ports.append(anna.port)
                anna.knows(ben)
                anna.say(ben, Ask("1"))
                anna.say(ben, Ask("2"))
                await anna.book.until(lambda book: len(book.heard) == 2)
        assert [(seen.peer, seen.host, seen.port) for seen in ben.book.observed] == [
            (id_of("anna"), "127.0.0.1", port) for port in ports
        ]


@in_loop
async def test_a_pass_that_was_forgotten_is_asked_for():
    async with Peer("anna") as anna:
        async with Peer("ben") as ben:
            anna.knows(ben)
            anna.say(ben, Ask("before"))
            await anna.book.until(lambda book: len(book.heard) == 1)
            port = ben.port
        again = Peer("ben")
        await again.host.start(bind="127.0.0.1", port=port)
        anna.say(again, Ask("after"))
        await anna.book.until(lambda book: len(book.heard) == 2)
        assert anna.texts() == ["before", "after"]
        await again.host.close()


@in_loop
async def test_bulk_arrives_whole_and_in_order():
    async with acquainted() as (anna, ben):
        loads = [bytes([n]) * 1_000_000 for n in range(30)]
        for load in loads:
            anna.say(ben, Load(memoryview(load)))
        anna.say(ben, Say("overtakes"))
        await ben.book.until(lambda book: len(book.heard) == 31)
        arrived = [bytes(m.data) for _, m in ben.book.heard if isinstance(m, Load)]
        assert arrived == loads
        assert ben.book.heard[-1][1] != Say("overtakes")


@in_loop
async def test_bulk_of_a_round_leaves_over_its_seconds():
    async with acquainted() as (anna, ben):
        anna.say(ben, Say("hello"))
        await ben.book.until(lambda book: len(book.heard) == 1)
        began = asyncio.get_running_loop().time()
        transfer = Transfer(PIECES * PIECE_BYTES, PACED_S)
        loads = [Load(memoryview(bytes(PIECE_BYTES))) for _ in range(PIECES)]
        anna.host.perform([Send(ben.id, load, transfer) for load in loads])
        anna.say(ben, Beside(memoryview(b"of something else")))
        await ben.book.until(lambda book: len(book.heard) == 2 + PIECES)
        took_s = asyncio.get_running_loop().time() - began
        assert took_s >= 0.7 * PACED_S


@in_loop
async def test_garbage_on_both_ports_is_dropped_and_counted():
    async with Peer("anna") as anna, Peer("ben") as ben:
        _, writer = await asyncio.open_connection("127.0.0.1", ben.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: ben\r\n\r\n" * 10)
        await eventually(lambda: ben.trace["net.drop.handshake"] == 1)
        writer.close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            for garbage in (b"", b"x", b"\x01" * 100, b"\x02" * 9, bytes(1400)):
                udp.sendto(garbage, ("127.0.0.1", ben.port))
        dropped = {"garbage": 3, "quic": 1, "unasked": 1}
        await eventually(lambda: all(ben.trace[f"net.drop.{what}"] == count for what, count in dropped.items()))
        anna.knows(ben)
        await anna.ask(ben, "still here?")


@in_loop
async def test_strangers_that_do_nothing_make_way_for_others(monkeypatch):
    monkeypatch.setattr("core.net.links.links.HANDSHAKES_OF_ONE_MAX", 3)
    async with Peer("anna") as anna, Peer("ben") as ben:
        writers = [(await asyncio.open_connection("127.0.0.1", ben.port))[1] for _ in range(5)]
        await eventually(lambda: ben.trace["net.drop.crowded"] == 2)
        assert len(ben.host.links.handshaking) == 3
        anna.knows(ben)
        await anna.ask(ben, "room?")
        assert ben.trace["net.drop.crowded"] == 3
        for writer in writers:
            writer.close()


@pytest.mark.parametrize("host", ["a..b", "a\0b", "x" * 64, "\u00df.\u202e", "fe80::1%a\0", ""])
@in_loop
async def test_an_address_that_is_none_harms_nobody(host):
    async with Peer("anna") as anna, Peer("ben") as ben:
        anna.host.learn(id_of("eve"), host, 9)
        anna.say(id_of("eve"), Say("hello"))
        anna.say(id_of("eve"), Ask("hello"))
        await anna.book.until(lambda book: book.lost)
        anna.host.address_book.learn(id_of("eve"), (host, 9))  # even if it came in another way
        anna.say(id_of("eve"), Say("hello"))
        anna.say(id_of("eve"), Ask("hello"))
        await anna.book.until(lambda book: len(book.lost) == 2)
        anna.knows(ben)
        anna.say(ben, Ask("still here?"))
        anna.say(ben, Say("still here?"))
        await anna.book.until(lambda book: len(book.heard) == 2)


@in_loop
async def test_a_name_is_looked_up_for_both_planes():
    async with Peer("anna") as anna, Peer("ben") as ben:
        anna.host.learn(ben.id, "localhost", ben.port)
        await eventually(lambda: ("127.0.0.1", ben.port) in anna.host.address_book.addresses(ben.id))
        anna.say(ben, Ask("1"))
        anna.say(ben, Say("2?"))
        await anna.book.until(lambda book: len(book.heard) == 2)


@in_loop
async def test_one_peer_cannot_have_many_links():
    async with Peer("ben") as ben:
        crowd = [Peer("eve") for _ in range(8)]
        for eve in crowd:
            await eve.host.start(bind="127.0.0.1")
            eve.knows(ben)
            eve.say(ben, Say("hello"))
        await eventually(lambda: ben.trace["net.drop.crowded"] >= 8 - LINKS_PER_PEER_MAX)
        assert len(ben.host.stats.links) <= LINKS_PER_PEER_MAX
        for eve in crowd:
            await eve.host.close()


@in_loop
async def test_second_computer_with_the_same_key_gets_no_link():
    async with Peer("anna") as anna, Peer("anna") as twin, Peer("ben") as ben:
        twin.host.address_book.learn(anna.id, ("127.0.0.1", anna.port))
        stream = twin.host.links.new(anna.id)
        await asyncio.get_running_loop().create_connection(lambda: stream, "127.0.0.1", anna.port)
        await eventually(lambda: anna.trace["net.drop.crowded"] == 1)
        anna.knows(ben)
        await anna.ask(ben, "still here?")


@pytest.mark.parametrize(
    "not_ours",
    [
        {"authority": Authority(keys("authority"), hashed_key(b"other"))},
        {"authority": Authority(keys("x"), RUN)},
        {"age_s": LIFETIME_S + 3_600},
    ],
)
@in_loop
async def test_peers_without_a_valid_pass_of_ours_are_not_heard(not_ours):
    async with Peer("ben") as ben, Peer("eve", **not_ours) as eve:
        eve.knows(ben)
        eve.say(ben, Ask("hello"))
        eve.say(ben, Say("hello"))
        await eve.book.until(lambda book: book.lost)
        await eventually(lambda: ben.trace["net.drop.proof"] and ben.trace["net.drop.handshake"])
        eve.say(ben, Say("again"))
        await eve.book.until(lambda book: len(book.lost) >= 2)
        assert ben.book.heard == ben.book.observed == []
        assert eve.trace["net.drop.queue"] == 0


@in_loop
async def test_peer_without_address_or_with_closed_port_is_lost():
    async with Peer("anna") as anna:
        anna.say(id_of("nobody"), Say("hello"))
        await anna.book.until(lambda book: book.lost)
        assert anna.book.lost[0].reason == "no address is known"
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            anna.host.learn(id_of("ben"), "127.0.0.1", taken.getsockname()[1])
            anna.say(id_of("ben"), Say("hello"))
            await anna.book.until(lambda book: len(book.lost) == 2)
        anna.say(id_of("nobody"), Ask("hello"))
        assert anna.trace["net.drop.no_address"] == 1


@in_loop
async def test_both_sides_may_call_at_once(monkeypatch):
    monkeypatch.setattr("core.net.links.peer_links.STEADY_S", 1.0)
    async with acquainted() as (anna, ben):
        ben.knows(anna)
        for n in range(20):
            anna.say(ben, Say(f"{n}"))
            ben.say(anna, Say(f"{n}"))
        for peer in (anna, ben):
            await peer.book.until(lambda book: len(book.heard) == 20)
            assert sorted(peer.texts(), key=int) == [str(n) for n in range(20)]
        await eventually(lambda: len(anna.host.stats.links) == len(ben.host.stats.links) == 2)
        choices = [one.host.links.to(other.id).preferred for one, other in ((anna, ben), (ben, anna))]
        assert [stream and stream.initiated for stream in choices] == [anna.id < ben.id, ben.id < anna.id]
        await eventually(lambda: len(anna.host.stats.links) == len(ben.host.stats.links) == 1)
        anna.say(ben, Say("still?"))
        await anna.book.until(lambda book: len(book.heard) == 21)
        assert anna.book.lost == ben.book.lost == []


@in_loop
async def test_a_message_that_nobody_knows_ends_the_link():
    async with acquainted() as (anna, ben):
        await anna.ask(ben, "hello?")
        (stream,) = anna.host.links.streams()
        assert isinstance(stream, PeerStream)
        stream.send(b"\xc1 not a message", bulk=False)
        await anna.book.until(lambda book: book.lost)
        assert ben.trace["net.drop.message"] == 1


@in_loop
async def test_a_stream_message_in_a_datagram_is_dropped():
    async with acquainted() as (anna, ben):
        where = Address("127.0.0.1", ben.port)
        anna.host.send_at(SendDatagramTo(ben.id, where, Say("sneaky"), fresh=False))
        await eventually(lambda: ben.trace["net.drop.plane"] == 1)
        assert ben.book.heard == []


@in_loop
async def test_the_machine_is_woken_at_its_deadline():
    async with Peer("anna") as anna:
        anna.book.deadline = anna.clock.now() + 1000
        anna.host.perform([])
        wanted = anna.book.deadline = anna.clock.now() + 0.05
        anna.host.perform(["an event"])
        await anna.book.until(lambda book: book.ticks)
        assert wanted <= anna.book.ticks[0] < wanted + 1.0
        assert anna.events == ["an event"]


@in_loop
async def test_a_port_that_is_taken_is_said_so():
    async with Peer("anna") as anna:
        with pytest.raises(Busy, match=f"Port {anna.port} is used"):
            await Peer("ben").host.start(bind="127.0.0.1", port=anna.port)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.bind(("127.0.0.1", 0))
            with pytest.raises(Busy):
                await Peer("ben").host.start(bind="127.0.0.1", port=udp.getsockname()[1])
        with pytest.raises(BadInput):
            await Peer("ben").host.start(bind="192.0.2.1")


@in_loop
async def test_nothing_outlives_close():
    before = asyncio.all_tasks()
    anna, ben = Peer("anna"), Peer("ben")
    async with anna, ben:
        anna.knows(ben)
        anna.say(ben, Say("hello?"))
        anna.host.learn(id_of("nobody"), "192.0.2.1", 9)
        anna.say(id_of("nobody"), Say("hello"))
        await anna.book.until(lambda book: book.heard)
    assert asyncio.all_tasks() == before
    anna.host.perform([Send(ben.id, Say("too late"))])
    anna.host.deliver("nothing happens")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", anna.port)


@in_loop
async def test_a_renewed_pass_is_used_for_new_links():
    async with Peer("anna") as anna, Peer("ben") as ben:
        from core.net.identity.passes import pass_request
        from tests.process.net_people import AUTHORITY

        own: KeyPair = keys("anna")
        anna.host.renew(AUTHORITY.issue(pass_request(own), username="anna2", device="", now=anna.clock.now()))
        anna.knows(ben)
        await anna.ask(ben, "hello?")
        assert [link.username for link in ben.host.stats.links] == ["anna2"]
        anna.say(ben, Ask("hello"))
        await anna.book.until(lambda book: any(isinstance(m, Answer) for _, m in book.heard))
