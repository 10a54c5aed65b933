"""`engine.json`: one engine a home."""

import asyncio
import os
import socket
import subprocess
import sys

import msgspec
import psutil
import pytest

from core.api.commands import EngineFile
from core.api.snapshot import PROTOCOL_VERSION
from core.control import claim as claim_module
from core.control import server
from core.control.claim import AlreadyRunning, claim, new_token, release
from core.control.client import ControlClient
from core.control.engine_file import read_engine_file
from core.control.notices import NoticeRing
from core.control.one_call import call_once
from core.control.service import ControlService
from core.storage.paths import Home


def file_of(pid: int, port: int, started: float = 0.0, *, protocol: int = PROTOCOL_VERSION) -> EngineFile:
    if not started and psutil.pid_exists(pid):
        started = psutil.Process(pid).create_time()
    return EngineFile(pid=pid, port=port, token=new_token(), protocol=protocol, started=started)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def a_dead_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def write(home, file: EngineFile) -> None:
    home.create()
    home.engine_file.write_bytes(msgspec.json.encode(file))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"x" * 10_000])
def test_a_damaged_file_is_replaced(home, content):
    home.create()
    home.engine_file.write_bytes(content)
    mine = file_of(os.getpid(), 1)
    asyncio.run(claim(home, mine))
    assert read_engine_file(home) == mine


def test_the_file_of_a_dead_process_is_replaced(home):
    write(home, file_of(a_dead_pid(), free_port()))
    mine = file_of(os.getpid(), 1)
    asyncio.run(claim(home, mine))
    assert read_engine_file(home) == mine


def test_claim_replaces_the_file_of_a_reused_process_id(home, monkeypatch):
    monkeypatch.setattr(claim_module, "PROBE_TIMEOUT_S", 0.1)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        write(home, file_of(os.getppid(), listener.getsockname()[1], started=1000.0))
        asyncio.run(claim(home, file_of(os.getpid(), 1)))


def test_the_file_of_another_version_binds_only_its_own_process(home):
    write(home, file_of(os.getppid(), free_port(), protocol=PROTOCOL_VERSION + 1))
    with pytest.raises(AlreadyRunning, match="another version"):
        asyncio.run(claim(home, file_of(os.getpid(), 1)))
    write(home, file_of(os.getppid(), free_port(), started=1000.0, protocol=PROTOCOL_VERSION - 1))
    asyncio.run(claim(home, file_of(os.getpid(), 1)))


def test_engine_of_another_sandbox_is_asked_and_keeps_its_home(home, engine):
    """Flatpak gives each start of a program numbers of processes of its own, and the network of all."""

    async def test() -> None:
        service = ControlService(home=home, intents=engine, notices=NoticeRing(lambda: 1.0))
        await service.open()
        inside = msgspec.structs.replace(read_engine_file(home), pid=a_dead_pid(), sandbox="pid:[1]")
        home.engine_file.write_bytes(msgspec.json.encode(inside))
        assert await asyncio.to_thread(call_once, home, "snapshot")
        with pytest.raises(AlreadyRunning):
            await claim(home, file_of(os.getpid(), 1))
        await service.close()
        await claim(home, file_of(os.getpid(), 1))

    asyncio.run(test())


def test_the_door_of_another_home_is_no_sign_of_life(home, engine, tmp_path):
    async def test() -> None:
        other = Home.find(tmp_path / "other")
        service = ControlService(home=other, intents=engine, notices=NoticeRing(lambda: 1.0))
        await service.open()
        there = read_engine_file(other)
        write(home, file_of(os.getpid(), there.port))
        await claim(home, file_of(os.getpid(), 1))
        await service.close()

    asyncio.run(test())


def test_an_engine_with_all_places_taken_is_alive(home, engine, monkeypatch):
    monkeypatch.setattr(server, "CLIENTS_MAX", 0)

    async def test() -> None:
        first, second = (ControlService(home=home, intents=engine, notices=NoticeRing(lambda: 1.0)) for _ in range(2))
        await first.open()
        with pytest.raises(AlreadyRunning):
            await second.open()
        await first.close()

    asyncio.run(test())


def test_claim_replaces_the_file_of_a_silent_process(home):
    write(home, file_of(os.getppid(), free_port()))
    asyncio.run(claim(home, file_of(os.getpid(), 1)))


def test_a_silent_process_is_not_robbed(home, monkeypatch):
    monkeypatch.setattr(claim_module, "PROBE_TIMEOUT_S", 0.1)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        theirs = file_of(os.getppid(), listener.getsockname()[1])
        write(home, theirs)
        with pytest.raises(AlreadyRunning, match="does not answer"):
            asyncio.run(claim(home, file_of(os.getpid(), 1)))
    assert read_engine_file(home) == theirs


def test_running_engine_keeps_its_home_and_can_be_shown(home, engine):
    def service() -> ControlService:
        return ControlService(home=home, intents=engine, notices=NoticeRing(lambda: 1.0))

    async def test() -> None:
        first, second = service(), service()
        await first.open()
        theirs = read_engine_file(home)
        with pytest.raises(AlreadyRunning) as caught:
            await second.open()
        assert caught.value.code == "already_running"
        await second.close()
        assert read_engine_file(home) == theirs
        async with ControlClient.connect(home) as client:
            assert await client.call("show") == {"clients": 1}
        await first.close()
        third = service()
        await third.open()
        await third.close()

    asyncio.run(test())


def test_of_many_that_start_at_once_one_wins(home, engine):
    home.create()
    write(home, file_of(a_dead_pid(), free_port()))

    async def test() -> None:
        services = [ControlService(home=home, intents=engine, notices=NoticeRing(lambda: 1.0)) for _ in range(6)]
        ends = await asyncio.gather(*(service.open() for service in services), return_exceptions=True)
        assert sum(end is None for end in ends) == 1
        assert all(isinstance(end, AlreadyRunning) for end in ends if end is not None)
        for service in services:
            await service.close()
        assert not home.engine_file.exists()

    asyncio.run(test())


def test_only_ones_own_file_is_removed(home):
    write(home, file_of(1, 1))
    release(home, file_of(2, 2))
    assert home.engine_file.exists()
    release(home, read_engine_file(home))
    assert not home.engine_file.exists()
    release(home, file_of(2, 2))
