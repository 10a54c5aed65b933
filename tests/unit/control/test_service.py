"""The control service over a real loopback socket: admitted clients, answers, and drops."""

import asyncio
import contextlib
import json
import stat
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest

from core.api.commands import MESSAGE_BYTES_MAX, EngineFile
from core.api.sentence import Sentence
from core.api.snapshot import PROTOCOL_VERSION, Notice, Snapshot
from core.base.problems import NoSpace, Problem
from core.control import server
from core.control.client import ControlClient, Shown
from core.control.connection import OUTBOX_MAX
from core.control.engine_file import NotRunning, read_engine_file
from core.control.notices import NoticeRing
from core.control.service import ControlService
from core.storage.paths import Home

pytestmark = pytest.mark.filterwarnings("error")


@contextlib.asynccontextmanager
async def opened(
    home: Home, engine, notices: NoticeRing | None = None, interval_s: float = 0.0
) -> AsyncIterator[ControlService]:
    notices = notices or NoticeRing(lambda: 1000.0)
    service = ControlService(home=home, intents=engine, notices=notices, interval_s=interval_s)
    await service.open()
    try:
        yield service
    finally:
        await service.close()


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 20))


def address(home: Home) -> tuple[str, dict[str, str], EngineFile]:
    file = read_engine_file(home)
    assert file is not None
    return f"http://127.0.0.1:{file.port}/control", {"Authorization": f"Bearer {file.token}"}, file


@contextlib.asynccontextmanager
async def raw(home: Home) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A WebSocket that has received its first snapshot."""
    url, headers, _ = address(home)
    async with aiohttp.ClientSession() as session, session.ws_connect(url, headers=headers) as socket:
        assert (await socket.receive_json())["method"] == "snapshot"
        yield socket


def test_engine_file_is_private_and_removed(home, engine):
    async def test() -> None:
        async with opened(home, engine):
            _, _, file = address(home)
            assert file.protocol == PROTOCOL_VERSION
            assert len(file.token) >= 40
            assert stat.S_IMODE(home.engine_file.stat().st_mode) == 0o600
            assert stat.S_IMODE(home.directory.stat().st_mode) == 0o700
        assert not home.engine_file.exists()

    run(test)


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({}, "/control", 401),
        ({"Authorization": "Bearer wrong"}, "/control", 401),
        ({"Authorization": "Bearer \u00e4"}, "/control", 401),
        ({"Origin": "http://127.0.0.1"}, "/control", 403),
        ({"Origin": "null"}, "/control", 403),
        ({"Host": "evil.example"}, "/control", 403),
        ({"Host": "127.0.0.1"}, "/control", 403),
        ({}, "/control?token={token}", 401),
        ({"Authorization": "right"}, "/other", 404),
        ({"Authorization": "right"}, "/control", 400),
    ],
)
def test_request_with_wrong_token_or_origin_is_refused(home, engine, headers, path, status):
    async def test() -> None:
        async with opened(home, engine), aiohttp.ClientSession() as session:
            url, right, file = address(home)
            given = {**right, **headers} if {"Origin", "Host"} & set(headers) else dict(headers)
            if given.get("Authorization") == "right":
                given = right
            where = url.removesuffix("/control") + path.replace("{token}", file.token)
            async with session.get(where, headers=given) as response:
                assert response.status == status
        assert engine.snapshots == 0

    run(test)


def test_two_tokens_are_refused(home, engine):
    async def test() -> None:
        async with opened(home, engine), aiohttp.ClientSession() as session:
            url, right, _ = address(home)
            headers = [("Authorization", "Bearer x"), *right.items()]
            async with session.get(url, headers=headers) as response:
                assert response.status in {400, 401}

    run(test)


def test_localhost_is_a_good_host(home, engine):
    async def test() -> None:
        async with opened(home, engine), aiohttp.ClientSession() as session:
            url, right, file = address(home)
            async with session.ws_connect(url, headers={**right, "Host": f"localhost:{file.port}"}) as socket:
                assert (await socket.receive_json())["method"] == "snapshot"

    run(test)


@pytest.mark.parametrize(
    ("text", "code", "request_id"),
    [
        ("{", -32700, None),
        ("\x00\xff", -32700, None),
        ("[" * 5000, -32700, None),
        ("[]", -32600, None),
        ('"hello"', -32600, None),
        ('{"jsonrpc": "1.0", "id": 7, "method": "pause"}', -32600, 7),
        ('{"jsonrpc": "2.0", "id": 7, "method": "pause", "extra": 1}', -32600, 7),
        ('{"jsonrpc": "2.0", "id": 7, "method": "pause", "params": [1]}', -32600, 7),
        ('{"jsonrpc": "2.0", "id": 7, "method": 5}', -32600, 7),
        ('{"jsonrpc": "2.0", "id": {"deep": 1}, "method": "pause"}', -32600, None),
        ('{"jsonrpc": "2.0", "id": 7, "method": "call"}', -32601, 7),
        ('{"jsonrpc": "2.0", "id": "x", "method": "__class__"}', -32601, "x"),
        ('{"jsonrpc": "2.0", "id": 7, "method": "pause", "params": {"now": true}}', -32602, 7),
        ('{"jsonrpc": "2.0", "id": 7, "method": "notices", "params": {"since": -1}}', -32602, 7),
        ('{"jsonrpc": "2.0", "id": 7, "method": "notices", "params": {"since": "x"}}', -32602, 7),
    ],
)
def test_garbage_is_answered(home, engine, text, code, request_id):
    async def test() -> None:
        async with opened(home, engine), raw(home) as socket:
            await socket.send_str(text)
            told = await socket.receive_json()
            assert told["error"]["code"] == code
            assert told["id"] == request_id
            assert told["error"]["message"]
            assert set(told["error"]["data"]) == {"code", "message", "hint", "said"}
            await socket.send_str('{"jsonrpc": "2.0", "id": 8, "method": "pause"}')
            assert await socket.receive_json() == {"jsonrpc": "2.0", "id": 8, "result": None}
        assert engine.asked == ["pause"]

    run(test)


def test_bytes_are_answered(home, engine):
    async def test() -> None:
        async with opened(home, engine), raw(home) as socket:
            await socket.send_bytes(b"\x00\x01")
            assert (await socket.receive_json())["error"]["code"] == -32700

    run(test)


def test_a_big_message_ends_the_connection_only(home, engine):
    async def test() -> None:
        async with opened(home, engine):
            async with raw(home) as socket:
                await socket.send_str("x" * (MESSAGE_BYTES_MAX + 1))
                told = await socket.receive()
                assert told.type in {aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED}
                assert socket.close_code == 1009
            async with raw(home):
                pass

    run(test)


def test_garbage_instead_of_http(home, engine):
    async def test() -> None:
        async with opened(home, engine):
            _, _, file = address(home)
            for garbage in (b"\x16\x03\x01\x02\x00\x01\x00" * 10, b"\x00" * 100_000, b"GET / HTTP/1.1\r\n\r\n"):
                reader, writer = await asyncio.open_connection("127.0.0.1", file.port)
                with contextlib.suppress(ConnectionError):
                    writer.write(garbage)
                    writer.write_eof()
                    await reader.read()
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()
            async with raw(home):
                pass

    run(test)


def test_a_notification_wants_no_answer(home, engine):
    async def test() -> None:
        async with opened(home, engine), raw(home) as socket:
            await socket.send_str('{"jsonrpc": "2.0", "method": "pause"}')
            await socket.send_str('{"jsonrpc": "2.0", "id": 1, "method": "resume"}')
            assert (await socket.receive_json())["id"] == 1
        assert engine.asked == ["pause", "resume"]

    run(test)


def test_clients_have_a_limit(home, engine):
    async def test() -> None:
        async with opened(home, engine), contextlib.AsyncExitStack() as stack:
            for _ in range(server.CLIENTS_MAX):
                await stack.enter_async_context(ControlClient.connect(home))
            with pytest.raises(Problem, match="Too many"):
                await stack.enter_async_context(ControlClient.connect(home))

    run(test)


def test_client_that_is_not_admitted_is_cut_off(home, engine, monkeypatch):
    monkeypatch.setattr(server, "ADMISSION_S", 0.05)

    async def test() -> None:
        async with opened(home, engine), raw(home) as socket:
            _, _, file = address(home)
            reader, writer = await asyncio.open_connection("127.0.0.1", file.port)
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            await socket.send_str('{"jsonrpc": "2.0", "id": 1, "method": "resume"}')
            assert (await socket.receive_json())["id"] == 1

    run(test)


def test_methods_through_the_client(home, engine):
    async def test() -> None:
        async with opened(home, engine), ControlClient.connect(home) as client:
            await client.call("pause")
            assert (await client.snapshot()).contributing is False
            await client.call("resume")
            assert (await client.call("evaluate"))["score"] == {"loss": 5.0, "right": None}
            assert await client.call("show") == {"clients": 1}
            await client.call("quit")
        assert engine.asked == ["pause", "resume", "evaluate", "quit"]

    run(test)


def test_a_problem_reaches_the_client(home, engine):
    engine.raises = NoSpace("The disk is full.", hint="Free some space.")

    async def test() -> None:
        async with opened(home, engine), ControlClient.connect(home) as client:
            with pytest.raises(Problem) as caught:
                await client.call("pause")
            assert (caught.value.code, caught.value.message, caught.value.hint) == (
                "no_space",
                "The disk is full.",
                "Free some space.",
            )

    run(test)


def test_a_mistake_of_ours_shows_no_traceback(home, engine, caplog):
    engine.raises = KeyError("secret detail")

    async def test() -> None:
        async with opened(home, engine), raw(home) as socket:
            await socket.send_str('{"jsonrpc": "2.0", "id": 1, "method": "pause"}')
            told = await socket.receive_json()
            assert told["error"]["code"] == -32603
            assert "secret" not in json.dumps(told)

    run(test)
    assert "secret detail" in caplog.text


def test_many_changes_make_few_snapshots(home, engine):
    async def test() -> None:
        async with opened(home, engine, interval_s=0.05) as service, ControlClient.connect(home) as client:
            loop = asyncio.get_running_loop()
            begin = loop.time()
            seen: list[int] = []
            async for told in client.notifications():
                assert isinstance(told, Snapshot)
                seen.append(told.epoch)
                if told.epoch >= 500:
                    break
                for _ in range(100):
                    engine.epoch += 1
                    service.announce()
            assert seen[0] == 0
            assert seen == sorted(seen)
            assert len(seen) - 1 <= (loop.time() - begin) / 0.05 + 1

    run(test)


def test_notices_reach_everybody_and_are_kept(home, engine):
    ring = NoticeRing(lambda: 1000.0)
    ring.add("info", Sentence("before"))

    async def test() -> None:
        async with opened(home, engine, ring), ControlClient.connect(home) as one, ControlClient.connect(home) as two:
            ring.add("warning", Sentence("during"))
            for client in (one, two):
                notices = [told async for told in first(client, Notice)]
                assert notices[0].text == "during"
                assert [notice.text for notice in await client.notices()] == ["before", "during"]
                assert [notice["number"] for notice in await client.call("notices", since=1)] == [2]

    run(test)


async def first(client: ControlClient, kind: type) -> AsyncIterator[object]:
    async for told in client.notifications():
        if isinstance(told, kind):
            yield told
            return


def test_show_reaches_the_other_client(home, engine):
    async def test() -> None:
        async with opened(home, engine), ControlClient.connect(home) as one, ControlClient.connect(home) as two:
            assert await one.call("show") == {"clients": 2}
            assert [told async for told in first(two, Shown)] == [Shown()]

    run(test)


def test_a_client_that_does_not_read_is_dropped(home, engine, monkeypatch):
    ring = NoticeRing(lambda: 1000.0)

    async def test() -> None:
        async with opened(home, engine, ring) as service, raw(home):
            (connection,) = service.connections
            monkeypatch.setattr(aiohttp.web.WebSocketResponse, "send_str", lambda _self, _text: asyncio.Event().wait())
            assert len([ring.add("info", Sentence("x" * 900)) for _ in range(2000)]) == 2000
            assert len(connection.waiting) <= OUTBOX_MAX
            async with asyncio.timeout(60):
                while service.connections:  # noqa: ASYNC110 - turns of the loop
                    await asyncio.sleep(0)

    run(test)


def test_a_client_with_too_many_requests_is_told(home, engine):
    blocked = asyncio.Event()

    async def turn(what, until, *, on) -> None:
        await blocked.wait()

    engine.turn = turn

    async def test() -> None:
        async with opened(home, engine), raw(home) as socket:
            for number in range(9):
                await socket.send_str(json.dumps({"jsonrpc": "2.0", "id": number, "method": "pause"}))
            told = await socket.receive_json()
            assert told["id"] == 8
            assert told["error"]["data"]["code"] == "busy"
            blocked.set()
            assert {(await socket.receive_json())["id"] for _ in range(8)} == set(range(8))

    run(test)


def test_clients_hear_the_goodbye(home, engine):
    async def test() -> None:
        async with opened(home, engine) as service:
            async with ControlClient.connect(home) as client:
                await service.close()
                async for _ in client.notifications():
                    pass
                with pytest.raises(NotRunning):
                    await client.call("pause")
            with pytest.raises(NotRunning):
                async with ControlClient.connect(home):
                    pass

    run(test)
