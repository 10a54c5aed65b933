"""Connections that come while the server closes."""

import asyncio
import gc
import socket
import ssl

import pytest

from core.net.limits.guarded_server import GuardedServer, listening_sockets


@pytest.mark.parametrize("turns", range(5))
def test_who_connects_while_it_closes_is_closed_too(turns: int) -> None:
    async def run() -> None:
        listening = listening_sockets("127.0.0.1", 0)
        server = GuardedServer(listening, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), asyncio.Protocol)
        await asyncio.sleep(0)
        with socket.create_connection(listening[0].getsockname()) as client:
            for _ in range(turns):
                await asyncio.sleep(0)
            await server.close()
            assert await asyncio.get_running_loop().run_in_executor(None, _ended, client)

    asyncio.run(run())
    gc.collect()  # an unclosed connection is a warning, which fails the test


def _ended(client: socket.socket) -> bool:
    client.settimeout(60.0)
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True
