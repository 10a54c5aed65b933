"""Another user of this computer, who knows no token, does not keep the owner out."""

import asyncio
import contextlib
from pathlib import Path

import aiohttp
import pytest

from core.base.connection_limit import ConnectionLimit
from core.control.client import ControlClient
from core.control.engine_file import NoAnswer, NotRunning
from core.storage.paths import Home
from tests.process.flood import flooded
from tests.unit.control.conftest import CardboardEngine
from tests.unit.control.test_service import opened, raw

pytestmark = pytest.mark.process
STRANGERS = 3


@pytest.mark.parametrize("defended", [True, False])
def test_stranger_that_waits_longest_makes_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, defended: bool
) -> None:
    """Where a full house turns away who comes last, the owner does not get in."""
    monkeypatch.setattr("core.control.server.STRANGERS_MAX", STRANGERS)
    if not defended:
        enter = ConnectionLimit.enter
        monkeypatch.setattr(
            ConnectionLimit, "enter", lambda all_, one, of: one if len(all_) >= STRANGERS else enter(all_, one, of)
        )

    async def turned_away() -> None:
        home = Home(tmp_path / "home")
        async with opened(home, CardboardEngine()) as service:
            pairs = [await asyncio.open_connection("127.0.0.1", service._server.port) for _ in range(STRANGERS)]
            with pytest.raises((aiohttp.ClientError, NotRunning, NoAnswer)):
                async with raw(home):
                    pass
            for _, writer in pairs:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()

    async def run() -> None:
        home = Home(tmp_path / "home")
        async with opened(home, CardboardEngine()) as service, raw(home) as socket:
            pairs = [await asyncio.open_connection("127.0.0.1", service._server.port) for _ in range(4)]
            with contextlib.suppress(ConnectionError):
                assert await pairs[0][0].read() == b""
            await socket.send_str('{"jsonrpc": "2.0", "id": 1, "method": "resume"}')
            assert (await socket.receive_json())["id"] == 1
            for _, writer in pairs:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()

    asyncio.run(run() if defended else turned_away())


@pytest.mark.parametrize("held", [400, 1])
def test_owner_gets_in_while_a_stranger_keeps_connecting(tmp_path: Path, held: int) -> None:
    async def run() -> None:
        home = Home(tmp_path / "home")
        async with opened(home, CardboardEngine()) as service:
            with flooded(service._server.port, rate=400, held=held):
                await asyncio.sleep(1.0)
                for _ in range(27):
                    async with ControlClient.connect(home) as client:
                        await client.call("pause")
            await asyncio.sleep(0.5)  # what the stranger has begun ends

    asyncio.run(run())
