"""Failures around a running program: each gets one clear sentence, exit code 2, and loses nothing."""

import asyncio
import contextlib
import json
import os
import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from core.api.snapshot import Activity, Snapshot
from core.backbone.link import parse_link
from core.control.client import ControlClient
from core.control.engine_file import read_engine_file
from core.storage.paths import Home
from core.storage.settings import Settings, save_settings
from tests.process.swarm import (
    CORE,
    ENVIRONMENT,
    LOOPBACK,
    Collaboration,
    Volunteer,
    collaboration,
    end,
    found,
    start,
)

pytestmark = pytest.mark.process
NOWHERE = f"potluck://127.0.0.1:1/{'0' * 64}#invitation"


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collaboration]:
    """A backbone that none of its guests can harm: they share it."""
    folder = tmp_path_factory.mktemp("backbone")
    running = Collaboration(folder, found(folder, target_samples=64))
    running.start_backbone()
    yield running
    running.close()


@pytest.fixture
def swarm(backbone: Collaboration, tmp_path: Path) -> Iterator[Collaboration]:
    """The collaboration of that backbone, whose volunteers end with the test."""
    guests = Collaboration(tmp_path, backbone.charter, backbone.link)
    yield guests
    guests.close()


def refused(*words: str | Path, code: int = 2) -> str:
    """Run a command that is refused; returns its one sentence."""
    done = subprocess.run(
        [*CORE, *map(str, words)],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=60,
    )
    said = [line for line in done.stderr.splitlines() if line.startswith("potluck: ")]
    assert (done.returncode, len(said)) == (code, 1), done.stderr
    assert "Traceback" not in done.stderr
    return said[0]


def trains(news: Snapshot) -> bool:
    return news.activity is Activity.TRAINING


@contextlib.contextmanager
def held(port: int = 0) -> Iterator[int]:
    """A port that somebody else uses."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        yield other.getsockname()[1]


# --- text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["missing", "file", "binary"])
def test_a_text_folder_that_cannot_be_used(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "text"
    match kind:
        case "file":
            folder.write_text("not a folder")
        case "binary":
            folder.mkdir()
            (folder / "noise.dat").write_bytes(Random(1).randbytes(50_000))
    said = refused("demo", "--headless", "--text", folder, "--epochs", 1, "--home", tmp_path / "home")
    assert str(folder) in said


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_text_folder(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    folder.mkdir(mode=0o000)
    assert "cannot be read" in refused("demo", "--headless", "--text", folder, "--home", tmp_path / "home")


# --- a backbone ------------------------------------------------------------------------------------------------------


def test_backbone_outlives_its_input_and_tells_its_reach(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)
    backbone = subprocess.Popen(
        [*CORE, "backbone", "--charter", str(charter.folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    try:
        assert backbone.stdout is not None
        assert "Hand out the link:            potluck://" in [backbone.stdout.readline() for _ in range(3)][2]
        with pytest.raises(subprocess.TimeoutExpired):
            backbone.wait(2)
    finally:
        backbone.terminate()
        _, said = backbone.communicate(timeout=30)
    assert "works on this computer only" in said
    if os.name != "nt":
        assert backbone.returncode == 0


def test_an_address_that_nobody_could_call(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)
    said = refused("backbone", "--charter", charter.folder, "--host", "192.0.2.1:99")
    assert "'192.0.2.1:99' is not an address" in said
    assert "IP address" in said


def test_a_second_backbone_on_one_charter_is_refused(backbone: Collaboration) -> None:
    assert "A backbone runs on this charter already" in refused(
        "backbone", "--charter", backbone.charter.folder, *LOOPBACK
    )


def test_a_backbone_at_chosen_ports_and_where_these_are_taken(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)
    words = ["backbone", "--charter", str(charter.folder), *LOOPBACK, "--with-parent", "--json"]

    def first_link(*more: str, log: str) -> int:
        process = start([*words, *more], tmp_path / log, stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            return int(parse_link(json.loads(process.stdout.readline())["link"]).port)
        finally:
            end(process)

    with held() as port:
        assert f"Port {port}" in refused(*words, "--desk-port", str(port))
    assert first_link("--desk-port", str(port), log="first.log") == port
    with held(port):
        assert first_link(log="second.log") != port
    assert f"Earlier links name port {port}" in (tmp_path / "second.log").read_text()


# --- what is in use already ------------------------------------------------------------------------------------------


def test_a_port_that_the_person_chose_is_taken(swarm: Collaboration) -> None:
    with held() as port:
        where = ["--home", swarm.folder / "ada", "--join", swarm.link, *swarm.allowed, *LOOPBACK]
        assert f"Port {port} is used by another program" in refused("engine", *where, "--port", port)


def test_usual_port_is_taken_and_name_is_made_usable(swarm: Collaboration) -> None:
    home = Home(swarm.folder / "ada")

    async def run() -> None:
        with held() as port:
            save_settings(home.settings_file, Settings(port=port))
            words = ["engine", "--home", str(home.directory), "--join", swarm.link, "--helper", "--with-parent"]
            words += ["--name", "a\x1b[31m\n🥘" + "c" * 100, *LOOPBACK]
            ada = Volunteer(home, start(words, swarm.folder / "ada.log"))
            swarm.volunteers.append(ada)
            news = await ada.until(lambda news: news.activity is Activity.HELPING)
            assert news.me.name == "a 31m 🥘" + "c" * 33
            async with ControlClient.connect(home) as client:
                assert any(f"Port {port} is used" in notice.text for notice in await client.notices())

    asyncio.run(run())


def test_clock_an_hour_off_is_told_to_the_person(swarm: Collaboration) -> None:
    """Its datagrams are refused (`test_net_attacks`), so this is what there is to help."""
    wrong, home = swarm.folder / "wrong", Home(swarm.folder / "ada")
    wrong.mkdir()
    (wrong / "sitecustomize.py").write_text("import time\nright = time.time\ntime.time = lambda: right() - 3600\n")
    home.create()

    async def run() -> None:
        where = ["--home", str(home.directory), "--join", swarm.link, "--helper", "--with-parent", *LOOPBACK]
        log, more = swarm.folder / "ada.log", {"PYTHONPATH": str(wrong)}
        swarm.volunteers.append(ada := Volunteer(home, start(["engine", *where, "--port", "0"], log, more=more)))
        await ada.until(lambda news: news.activity is not Activity.STARTING)
        async with asyncio.timeout(60), ControlClient.connect(home) as client:
            said = ""
            while not re.search(r"clock is (1 hour|\d\d minutes) behind the collaboration's time", said):
                await asyncio.sleep(0.1)
                said = " ".join([notice.text for notice in await client.notices()])
        assert "Let the system set the clock by itself" in said

    asyncio.run(run())


def test_a_second_start_on_one_home(tmp_path: Path) -> None:
    home = Home(tmp_path / "ada")
    home.create()
    words = ["engine", "--home", str(home.directory), "--join", NOWHERE, "--with-parent", *LOOPBACK]
    ada = Volunteer(home, start(words, tmp_path / "ada.log"))

    async def run() -> None:
        await ada.until(lambda news: "127.0.0.1:1 does not answer" in news.sentence)
        for again in (["demo", "--headless"], ["engine", "--join", NOWHERE]):
            said = await asyncio.to_thread(refused, *again, "--home", home.directory)
            assert "already running" in said
        async with ControlClient.connect(home) as client:
            await client.call("quit")
        assert await asyncio.to_thread(ada.process.wait, 5) == 0
        assert read_engine_file(home) is None

    try:
        asyncio.run(run())
    finally:
        ada.kill()


# --- files of ours ---------------------------------------------------------------------------------------------------


def test_damaged_files_are_kept_aside_and_work_goes_on(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada = swarm.join("ada")
            await ada.until(lambda news: news.epoch >= 2)
            ada.kill()
            ident = charter.manifest.id.hex()
            state = swarm.states(ada).parent
            newest = max(swarm.states(ada).glob("state-*.safetensors"), key=lambda path: path.name)
            (state / "memory.json").touch()
            files = [ada.home.settings_file, ada.home.board(ident), state / "memory.json", newest]
            for path in files[:-1]:
                path.write_bytes(b"\xff{")
            flipped = bytearray(newest.read_bytes())
            flipped[-9] ^= 0x10
            newest.write_bytes(flipped)
            (state / "manifest.json").write_bytes(b"garbage")
            ada.home.engine_file.write_bytes(b"garbage")
            before = int(newest.name.split("-")[1])
            again = swarm.join("ada")
            first = await again.until(trains)
            assert first.epoch in {before - 1, before}
            async with ControlClient.connect(again.home) as client:
                assert any("damaged checkpoint was set aside" in notice.text for notice in await client.notices())
            await again.until(lambda news: news.epoch > before)
            for path in files:
                assert list(path.parent.glob(f"{path.name}.damaged-*")), path

    asyncio.run(run())


def test_damaged_key_is_set_aside_and_replaced_at_next_start(tmp_path: Path) -> None:
    home = Home(tmp_path / "ada")
    home.create()
    home.identity_file.write_bytes(b"{garbage")
    assert "start again" in refused("engine", "--home", home.directory, "--join", NOWHERE)
    (aside,) = home.directory.glob("identity.json.damaged-*")
    assert aside.read_bytes() == b"{garbage"
    assert "not a Potluck link" in refused("engine", "--home", home.directory, "--join", "no link")


def test_a_backbone_that_comes_back_elsewhere_is_found_again(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)

    def sees_backbone(news: Snapshot) -> bool:
        return any(peer.role == "backbone" for peer in news.peers)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada = swarm.join("ada")
            await ada.until(lambda news: news.epoch >= 1 and sees_backbone(news))
            assert swarm.backbone is not None
            await asyncio.to_thread(end, swarm.backbone)
            reached = (await ada.snapshot()).epoch
            await ada.until(lambda news: news.epoch > reached)
            await asyncio.to_thread(end, ada.process)
            swarm.start_backbone()
            again = swarm.join("ada", "--helper")
            await again.until(sees_backbone, timeout_s=60.0)

    asyncio.run(run())


# --- strangers -------------------------------------------------------------------------------------------------------


def test_garbage_on_every_port_changes_nothing(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)
    noise = Random(7).randbytes(70_000)
    deep = b'{"invite":' + b"[" * 15_000

    def tcp(port: int, *pieces: bytes, tls: bool = False) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for piece in pieces:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", port), timeout=10) as raw,
                context.wrap_socket(raw) if tls else raw as connection,
            ):
                connection.sendall(piece)
                connection.recv(1000)

    def udp(port: int) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for size in (0, 1, 40, 300, 1200, 9000):
                sender.sendto(noise[:size], ("127.0.0.1", port))

    async def run() -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        async with collaboration(charter, tmp_path) as swarm:
            ada = swarm.join("ada", "--port", str(port))
            await ada.until(lambda news: news.epoch >= 1)
            file = read_engine_file(ada.home)
            assert file is not None
            post = b"POST /v1/pass HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(deep)
            desk = parse_link(swarm.link).port
            for door, tls in ((port, False), (file.port, False), (desk, False), (desk, True)):
                await asyncio.to_thread(tcp, door, noise, b"GET / HTTP/1.1\r\n\r\n", post + deep, tls=tls)
            await asyncio.to_thread(udp, port)
            reached = (await ada.snapshot()).epoch
            await ada.until(lambda news: news.epoch > reached)
            bob = swarm.join("bob", "--helper")
            await bob.until(lambda news: news.epoch > reached)
            assert ada.process.poll() is None
        assert "Traceback" not in (tmp_path / "ada.log").read_text() + (tmp_path / "backbone.log").read_text()

    asyncio.run(run())


def test_manifest_reads_only_folders_that_the_person_named(swarm: Collaboration) -> None:
    words = ["engine", "--home", swarm.folder / "ada", "--join", swarm.link, *LOOPBACK, "--port", 0]
    assert "wants to read the folder" in refused(*words)
