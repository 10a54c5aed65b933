"""A provider gives one customer 256 to 65,536 networks of 64 bits, and as many addresses as anybody wants."""

import asyncio
import socket
import ssl
from itertools import count
from pathlib import Path

import pytest
from aiohttp import web

from core.base.signing import KeyPair
from core.base.site.ways import Admit
from core.net.limits.guarded_server import CONNECTIONS_OF_ONE_MAX, GuardedServer, listening_sockets
from core.site.accounts import waiting
from core.site.ways import passphrase
from tests.attacks.test_desk import MORE, come, run
from tests.process.site_sign_in import Signing, walk
from tests.process.test_joining import found
from tests.process.test_site_sign_in import open_to

pytestmark = pytest.mark.process


def test_one_line_of_ipv6_buries_no_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passphrase, "NEW_BURST", 3)

    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            for number in range(8):
                browser.client.headers["X-Forwarded-For"] = f"2001:db8:1:{number}::1"
                await browser.new(f"Eve {number}")
            assert "Try again in ten minutes" in browser.text
            assert len(await here.entrance.database.do(waiting)) == 3
            here.now[0] += passphrase.NEW_S
            await browser.new("Ada")
        assert len(await here.entrance.database.do(waiting)) == 4, "ten minutes later there is room for one"

    walk(tmp_path, open_to(Admit.ASKED), test)


def test_one_line_of_ipv6_invents_few_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charter, networks = found(tmp_path), count()
    monkeypatch.setattr("core.backbone.welcome.ADMITTED_BURST", 3)
    monkeypatch.setattr(web.Request, "remote", property(lambda _: f"2001:db8:1:{next(networks):x}::1"))

    async def ask(link) -> None:
        let_in = [await come(link, tmp_path, f"Eve {number}", KeyPair.generate()) for number in range(MORE)]
        assert sum(map(bool, let_in)) == 3

    run(charter, ask)


class FromNetworks(socket.socket):
    """Accepts each connection as if it came from a network of its own."""

    networks = count()

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        connection, _ = super().accept()
        return connection, (f"2001:db8:1:{next(self.networks):x}::1", 1)


def test_one_line_of_ipv6_leaves_a_desk_room_for_others() -> None:
    async def test() -> None:
        listening = [FromNetworks(fileno=one.detach()) for one in listening_sockets("127.0.0.1", 0)]
        server = GuardedServer(listening, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), asyncio.Protocol)
        address = listening[0].getsockname()
        opened = [await asyncio.open_connection(*address) for _ in range(CONNECTIONS_OF_ONE_MAX + MORE)]
        ended = [asyncio.create_task(reader.read()) for reader, _ in opened]
        async with asyncio.timeout(4):
            await asyncio.wait(ended[:MORE])
        assert len(server) == CONNECTIONS_OF_ONE_MAX
        await server.close()
        await asyncio.gather(*ended, return_exceptions=True)
        for _, writer in opened:
            writer.close()

    asyncio.run(test())
