"""A single request to the control service, over a real loopback socket."""

import asyncio
import socket
import subprocess
import sys

import aiohttp
import msgspec
import psutil
import pytest

from core.api.commands import MESSAGE_BYTES_MAX, EngineFile
from core.api.snapshot import PROTOCOL_VERSION, Snapshot
from core.base.problems import Problem, UserProblem
from core.control.engine_file import NoAnswer, NotRunning
from core.control.one_call import call_once
from tests.unit.control.test_service import address, opened, run

pytestmark = pytest.mark.filterwarnings("error")


def said_at(port: int, process: psutil.Process | None = None) -> EngineFile:
    """What an engine has written down; None: this process is one."""
    engine = process or psutil.Process()
    return EngineFile(engine.pid, port, "token", PROTOCOL_VERSION, engine.create_time())


def test_single_request_is_answered(home, engine):
    async def test() -> None:
        async with opened(home, engine):
            snapshot = await asyncio.to_thread(call_once, home, "snapshot", kind=Snapshot)
            assert snapshot.protocol == PROTOCOL_VERSION
            with pytest.raises(Problem, match="no method"):
                await asyncio.to_thread(call_once, home, "nonsense")

    run(test)


def test_single_request_without_an_engine_says_so(home):
    with pytest.raises(NotRunning, match="not running"):
        call_once(home, "snapshot")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (b"", NotRunning),
        (b"SSH-2.0-OpenSSH\r\n\r\n", NotRunning),
        (b"HTTP/1.1 401 Unauthorized\r\n\r\n", NoAnswer),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", UserProblem),
        (b'HTTP/1.1 200 OK\r\n\r\n{"id": 1, "res', NotRunning),
    ],
)
def test_single_request_to_another_program_is_a_sentence(home, said, kind):
    async def test() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(said)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            home.create()
            file = said_at(server.sockets[0].getsockname()[1])
            home.engine_file.write_bytes(msgspec.json.encode(file))
            with pytest.raises(kind):
                await asyncio.to_thread(call_once, home, "snapshot")

    run(test)


def test_single_request_that_nobody_answers_ends(home):
    with socket.create_server(("127.0.0.1", 0)) as server:
        home.create()
        home.engine_file.write_bytes(msgspec.json.encode(said_at(server.getsockname()[1])))
        with pytest.raises(NoAnswer):
            call_once(home, "snapshot", timeout_s=0.05)


def test_port_of_a_killed_engine_is_told_no_token(home):
    """Another user of this computer may listen there since."""
    home.create()
    ended = [sys.executable, "-c", "input()"]
    with subprocess.Popen(ended, stdin=subprocess.PIPE) as engine, socket.create_server(("127.0.0.1", 0)) as stranger:
        file = said_at(stranger.getsockname()[1], psutil.Process(engine.pid))
        home.engine_file.write_bytes(msgspec.json.encode(file))
        engine.kill()
        engine.wait()
        with pytest.raises(NotRunning, match="not running"):
            call_once(home, "snapshot", timeout_s=0.2)
        stranger.settimeout(0.2)
        with pytest.raises(TimeoutError):
            stranger.accept()


def test_single_requests_have_the_same_guard(home, engine):
    async def test() -> None:
        async with opened(home, engine), aiohttp.ClientSession() as session:
            url, right, _ = address(home)
            data = '{"jsonrpc": "2.0", "id": 1, "method": "snapshot"}'
            for headers, status in (({}, 401), ({**right, "Origin": "null"}, 403), (right, 200)):
                async with session.post(url, headers=headers, data=data) as response:
                    assert response.status == status
            async with session.post(url, headers=right, data=" " * MESSAGE_BYTES_MAX + data) as response:
                assert response.status == 413

    run(test)
