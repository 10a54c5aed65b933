"""Strangers and broken peers can do little to a host."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import tracemalloc
from asyncio.subprocess import PIPE
from typing import Any

import pytest

import core.net.links.links as links_module
import core.net.links.liveness as rhythm_module
import core.net.links.streams as streams_module
from core.base.content import digest
from core.base.machine import Send
from tests.process.between import records
from tests.process.net_people import CODEC, Ask, Load, Peer, Say, acquainted, eventually, id_of, in_loop

pytestmark = pytest.mark.process


@in_loop
async def test_a_thousand_quick_connects_leave_nothing_behind():
    async with Peer("anna") as anna, Peer("ben") as ben:
        for _ in range(1000):
            with socket.socket() as quick:
                quick.setblocking(False)
                await asyncio.get_running_loop().sock_connect(quick, ("127.0.0.1", ben.port))
        anna.knows(ben)
        await anna.ask(ben, "still here?")
        await eventually(lambda: not ben.host.links.handshaking)
        assert len(ben.host.links.connections) == 1


@in_loop
async def test_half_open_connections_make_way():
    async with Peer("anna") as anna, Peer("ben") as ben:
        writers = [(await asyncio.open_connection("127.0.0.1", ben.port))[1] for _ in range(150)]
        await eventually(lambda: ben.trace["net.drop.crowded"] == 150 - links_module.HANDSHAKES_OF_ONE_MAX)
        anna.knows(ben)
        await anna.ask(ben, "still here?")
        for writer in writers:
            writer.close()


@in_loop
async def test_handshake_sent_byte_by_byte_times_out(monkeypatch):
    monkeypatch.setattr(streams_module, "HANDSHAKE_S", 0.3)
    async with Peer("ben") as ben:
        _, writer = await asyncio.open_connection("127.0.0.1", ben.port)
        sent = 0
        while ben.host.links.handshaking or not sent:
            writer.write(bytes((22, 3, 1, 2, 0, 1))[sent % 6 : sent % 6 + 1] if sent < 6 else b"\x00")
            sent += 1
            await asyncio.sleep(0.02)
        assert sent < 512, "it was given up for being slow, not because the greeting was complete and made no sense"
        assert ben.host.links.connections == set()
        writer.close()


@in_loop
async def test_garbage_that_looks_like_quic_costs_no_connection():
    async with Peer("ben") as ben:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            for garbage in (b"\x40" * 30, b"\xc0" * 1200, b"\xff" * 1400, b"\xc0\x00\x00\x00\x01" + bytes(1300)):
                udp.sendto(garbage, ("127.0.0.1", ben.port))
            await eventually(lambda: ben.trace["net.drop.quic"] >= 3)
        assert ben.host.stats.links == ()
        endpoint = ben.host.links.maker.endpoint
        assert endpoint is not None
        assert len(endpoint.connections) <= 1


@pytest.mark.long
@in_loop
async def test_two_hundred_idle_links_take_little_memory():
    count = 200
    async with Peer("ben") as ben:
        crowd = [Peer(f"idle {number}") for number in range(count)]
        for peer in crowd:
            await peer.host.start(bind="127.0.0.1")
            peer.knows(ben)
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for peer in crowd:
                peer.say(ben, Say("hello"))
                await ben.book.until(lambda book, wanted=peer.id: any(sender == wanted for sender, _ in book.heard))
            both_ends = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        assert len(ben.host.stats.links) == count
        assert both_ends / count <= 2 * 100_000
        for peer in crowd:
            await peer.host.close()


@in_loop
async def test_a_peer_that_is_frozen_is_noticed(monkeypatch):
    monkeypatch.setattr(rhythm_module, "HEARTBEAT_S", 0.25)
    monkeypatch.setattr(streams_module, "HEARTBEAT_S", 0.25)
    monkeypatch.setattr(rhythm_module, "SILENCE_S", 0.6)
    async with Peer("anna") as anna:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.process.net_people", "ben",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            port = int(await process.stdout.readline())
            anna.host.learn(id_of("ben"), "127.0.0.1", port)
            anna.say(id_of("ben"), Say("hello?"))
            await anna.book.until(lambda book: book.heard)
            os.kill(process.pid, signal.SIGSTOP)
            await anna.book.until(lambda book: book.lost)
            assert anna.book.lost[0].reason == "silent"
        finally:
            os.kill(process.pid, signal.SIGCONT)
            process.kill()
            await process.wait()


@in_loop
async def test_a_reader_that_pauses_longer_than_silence_loses_no_link(monkeypatch):
    monkeypatch.setattr(rhythm_module, "HEARTBEAT_S", 0.1)
    monkeypatch.setattr(streams_module, "HEARTBEAT_S", 0.1)
    monkeypatch.setattr(rhythm_module, "SILENCE_S", 0.3)
    async with acquainted() as (anna, ben):
        await anna.ask(ben, "hello?")
        stream = ben.host.links.streams()[0]
        stream.receiver.hold()
        for number in range(30):
            anna.say(ben, Load(memoryview(bytes([number]) * 500_000)))
        await asyncio.sleep(1.5)
        assert anna.book.lost == ben.book.lost == []
        stream.receiver.release()
        await ben.book.until(lambda book: len(book.heard) == 30)


@in_loop
async def test_an_hour_without_network_ends_by_itself(monkeypatch):
    """A peer that was gone comes back at another port, and is talked to as soon as it is heard of."""
    async with Peer("anna") as anna:
        async with Peer("ben") as ben:
            anna.knows(ben)
            await anna.ask(ben, "1?")
        await anna.book.until(lambda book: book.lost)
        anna.say(id_of("ben"), Say("nobody there"))
        await anna.book.until(lambda book: len(book.lost) == 2)
        async with Peer("ben") as ben:
            ben.knows(anna)
            ben.say(anna, Ask("here I am"))
            await anna.book.until(lambda book: len(book.heard) == 2)
            anna.host.links.moved()
            anna.say(ben, Say("2?"))
            await anna.book.until(lambda book: len(book.heard) == 3)


@in_loop
async def test_unplugged_cable_is_noticed_and_half_a_chunk_dropped(monkeypatch):
    """Nothing is said any more, and no socket ends: both sides find out by themselves.  Then the cable is back."""
    monkeypatch.setattr(rhythm_module, "HEARTBEAT_S", 0.25)
    monkeypatch.setattr(streams_module, "HEARTBEAT_S", 0.25)
    monkeypatch.setattr(rhythm_module, "SILENCE_S", 0.6)
    chunk = Load(memoryview(os.urandom(2_000_000)))
    async with Peer("anna") as anna, Peer("ben") as ben, records(ben.port) as wire:
        anna.host.learn(ben.id, "127.0.0.1", wire.port)
        await anna.ask(ben, "hello?")
        wire.pull_after(30)
        anna.say(ben, chunk)
        for peer in (anna, ben):
            await peer.book.until(lambda book: book.lost)
            assert [lost.reason for lost in peer.book.lost] == ["silent"]
        assert not wire.plugged
        assert ben.book.heard == []
        wire.plugged = True
        anna.say(ben, chunk)
        await ben.book.until(lambda book: book.heard)
        ((_, arrived),) = ben.book.heard
        assert isinstance(arrived, Load)
        assert bytes(arrived.data) == bytes(chunk.data)


@in_loop
async def test_a_peer_that_comes_back_is_reached_again():
    async with Peer("anna") as anna:
        async with Peer("ben") as ben:
            anna.knows(ben)
            await anna.ask(ben, "one?")
        await anna.book.until(lambda book: book.lost)
        assert anna.book.lost[0].peer == id_of("ben")
        async with Peer("ben") as ben:
            anna.knows(ben)
            anna.say(ben, Say("two?"))
            await anna.book.until(lambda book: len(book.heard) == 2)
        assert anna.texts() == ["one!", "two!"]


@in_loop
async def test_a_killed_process_is_noticed_at_once():
    async with Peer("anna") as anna:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.process.net_people", "ben"), stdin=PIPE, stdout=PIPE
        )
        assert process.stdout is not None
        port = int(await process.stdout.readline())
        anna.host.learn(id_of("ben"), "127.0.0.1", port)
        anna.say(id_of("ben"), Say("alive?"))
        await anna.book.until(lambda book: book.heard)
        process.kill()
        await process.communicate()
        killed_at = anna.clock.now()
        await anna.book.until(lambda book: book.lost)
        assert anna.clock.now() - killed_at < 2.0
        assert anna.book.lost[0].peer == id_of("ben")


def _dropped(peer: Peer) -> int:
    return peer.trace["net.drop.failed"] + peer.trace["net.drop.excluded"]


def _fails(*_: Any) -> list[Any]:
    raise ZeroDivisionError("our own mistake")


@in_loop
async def test_a_mistake_of_ours_is_loud():
    loop = asyncio.get_running_loop()
    complaints: list[Any] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context["exception"]))
    async with acquainted() as (anna, ben):
        ben.book.handle = _fails  # type: ignore[method-assign]
        ben.host.deliver("an event of our own")
        with pytest.raises(ExceptionGroup) as caught:
            await ben.host.run()
        assert caught.group_contains(ZeroDivisionError)
        assert isinstance(complaints[0], ZeroDivisionError)
        with pytest.raises(ValueError, match="ourselves"):
            anna.say(anna, Say("echo"))


@pytest.mark.parametrize("message", [Say("fail"), Ask("fail")])
@in_loop
async def test_message_at_which_a_machine_fails_ends_its_conversation(message, caplog):
    async with acquainted() as (anna, ben), Peer("cleo") as cleo:
        cleo.knows(ben)
        await cleo.ask(ben, "hello?")
        await anna.ask(ben, "hello?")
        anna.say(ben, message)
        await eventually(lambda: ben.trace["net.drop.failed"])
        await anna.book.until(lambda book: book.lost)
        anna.say(ben, Say("again?"))
        anna.say(ben, Ask("again?"))
        await eventually(lambda: ben.trace["net.drop.excluded"] >= 2)
        await cleo.ask(ben, "still here?")
        assert not cleo.book.lost
        assert anna.texts() == ["hello!"]
        [told] = [record for record in caplog.records if record.name == "core.net.runner"]
        assert digest(CODEC.encode(message)).hex() in told.getMessage()
        assert type(message).__name__ in told.getMessage()
        assert told.exc_info[0] is ZeroDivisionError


@in_loop
async def test_one_member_ends_no_host_from_several_addresses():
    async with Peer("ben") as ben, Peer("cleo") as cleo:
        for count in range(1, 6):
            async with Peer("anna") as anna:
                anna.knows(ben)
                anna.say(ben, Say("fail"))
                await eventually(lambda: _dropped(ben) >= count)  # noqa: B023 - awaited in its turn
        cleo.knows(ben)
        await cleo.ask(ben, "still here?")


@in_loop
async def test_failures_at_most_peers_end_the_host():
    names = ["anna", "cleo", "dora", "emil", "fred"]
    async with contextlib.AsyncExitStack() as open_peers:
        ben, *others = [await open_peers.enter_async_context(Peer(name)) for name in ["ben", *names]]
        for other in others:
            other.knows(ben)
            await other.ask(ben, "hello?")
        for number, other in enumerate(others[:3]):
            assert ben.trace["net.drop.failed"] == number
            await others[-1].ask(ben, "still here?")
            other.say(ben, Say("fail"))
            await eventually(lambda: ben.trace["net.drop.failed"] > number)  # noqa: B023 - awaited in its turn
        with pytest.raises(ExceptionGroup) as caught:
            await ben.host.run()
        assert caught.group_contains(ZeroDivisionError)


@in_loop
async def test_report_that_fails_keeps_no_other_output_back():
    def told(event: Any, _: float) -> None:
        if event == "fails":
            raise ZeroDivisionError("our own mistake")
        heard.append(event)

    heard: list[Any] = []
    async with acquainted() as (anna, ben):
        ben.book.handle = lambda *_: ["fails", Send(anna.id, Say("hello")), "told"]  # type: ignore[method-assign]
        ben.host._runner._report = told
        anna.say(ben, Say("anything"))
        await eventually(lambda: ben.trace["net.drop.failed"])
        assert heard == ["told"]
        await anna.book.until(lambda book: book.heard)


@in_loop
async def test_the_machine_hears_nothing_while_a_mistake_ends_the_host():
    heard: list[object] = []

    async def mistaken() -> None:
        raise ValueError("a mistake of ours")

    async def slow(anna: Peer) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            anna.book.handle = lambda event, _: heard.append(event) or []  # type: ignore[func-returns-value]
            anna.host.deliver("too late")

    anna = Peer("anna")
    await anna.host.start(bind="127.0.0.1")
    anna.host.tasks.spawn(slow(anna))
    await asyncio.sleep(0)
    anna.host.tasks.spawn(mistaken())
    with pytest.raises(ExceptionGroup):
        await anna.host.run()
    assert heard == []
