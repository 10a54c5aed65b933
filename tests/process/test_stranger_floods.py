"""Strangers that connect and say nothing, or say it slowly, keep nobody out of a port and take little memory."""

import asyncio
import ssl
from pathlib import Path

import psutil
import pytest

import core.net.links.links as links_module
from core.backbone import welcome
from core.base.connection_limit import ConnectionLimit
from core.base.machine import Trace
from core.base.signing import KeyPair
from core.net.limits.guarded_server import CONNECTIONS_OF_ONE_MAX
from tests.process.flood import flooded
from tests.process.net_people import Peer, eventually, in_loop
from tests.process.test_joining import NOW, desk, found, joining

pytestmark = pytest.mark.process
MANY = 4 * CONNECTIONS_OF_ONE_MAX
"""Connections of one address that are open at a time where nobody counts them."""
IN_S = 5.0
"""Seconds in which a member gets in, whatever strangers do."""
MIB = 1024 * 1024


@pytest.mark.parametrize("defended", [True, False])
@in_loop
async def test_member_gets_in_while_silent_connections_flood_the_port(monkeypatch, defended):
    """311 in a second, from the member's own address, shut it out for more than ten seconds."""
    if not defended:
        monkeypatch.setattr(ConnectionLimit, "enter", lambda *_: None)
    async with Peer("ben") as ben:
        with flooded(ben.port, rate=400):
            if not defended:
                await eventually(lambda: len(ben.host.links.connections) > MANY)
                return
            await eventually(lambda: ben.trace["net.drop.crowded"] > 100)
            for number in range(5):
                async with Peer(f"anna{number}") as anna:
                    anna.knows(ben)
                    async with asyncio.timeout(IN_S):
                        await anna.ask(ben, "room?")
            assert len(ben.host.links.connections) < MANY
        assert len(ben.host.links.handshaking) <= links_module.HANDSHAKES_OF_ONE_MAX


@pytest.mark.parametrize("defended", [True, False])
def test_newcomer_gets_in_while_silent_connections_flood_the_desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, defended: bool
) -> None:
    """1,200 connections that never began TLS took 359 MiB."""
    charter, program = found(tmp_path), psutil.Process()
    if not defended:
        monkeypatch.setattr(ConnectionLimit, "enter", lambda *_: None)

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            await joining(link, tmp_path, KeyPair.generate()).try_once(username="Ada", device="", now=lambda: NOW)
            before, files = program.memory_info().rss, program.num_fds()
            with flooded(link.port, rate=311, held=1200):
                if not defended:
                    await eventually(lambda: program.num_fds() - files > MANY)
                    return
                await asyncio.sleep(4.0)
                for number in range(3):
                    newcomer = joining(link, tmp_path, KeyPair.generate())
                    await newcomer.try_once(username=f"Bob {number}", device="", now=lambda: NOW)
                assert program.num_fds() - files <= CONNECTIONS_OF_ONE_MAX + 16
            assert program.memory_info().rss - before < 60 * MIB

    asyncio.run(run())


def test_slow_bodies_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """300 that sent a byte now and then were all alive after 20 s."""
    monkeypatch.setattr(welcome, "REQUEST_S", 0.5)
    charter = found(tmp_path)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    async def slow(port: int, head: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        answer = asyncio.ensure_future(reader.read(1000))
        writer.write(head)
        while not (await asyncio.wait({answer}, timeout=0.05))[0]:
            writer.write(b"x")
        writer.transport.abort()
        return b"" if answer.exception() else answer.result()

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            body = b"POST /v1/pass HTTP/1.1\r\nHost: x\r\nContent-Length: 16000\r\n\r\n"
            answers = await asyncio.gather(*(slow(link.port, body) for _ in range(20)))
            assert all(b" 408 " in answer for answer in answers)
            assert not any(b"Server:" in answer for answer in answers)
            heads = await asyncio.gather(*(slow(link.port, b"POST /v1/pass HTTP/1.1\r\nX-") for _ in range(20)))
            assert heads == [b""] * 20
            _, aborted = await asyncio.open_connection("127.0.0.1", link.port, ssl=context)
            aborted.write(body + b"half")
            await asyncio.sleep(0.1)
            aborted.transport.abort()
            await joining(link, tmp_path, KeyPair.generate()).try_once(username="Ada", device="", now=lambda: NOW)

    asyncio.run(run())
    assert not caplog.records
