"""A disk that fills up while the program runs, on a small file system of its own."""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from core.backbone.remembered import Ports
from core.backbone.serve import Backbone
from core.net.clock import Clock
from core.net.host import Host
from core.net.identity.issuers import Issuers
from core.session import session as session_module
from core.storage.paths import Home
from tests.process.net_people import AUTHORITY, Peer, Say, admission_of, eventually, in_loop
from tests.process.small_disk import fill, small_disk
from tests.process.swarm import LOOPBACK, Collaboration, Volunteer, collaboration, found, start
from tests.process.test_bad_input import refused, trains

pytestmark = pytest.mark.process


def engine(home: Home, swarm: Collaboration) -> list[str]:
    where = ["--home", str(home.directory), "--join", swarm.link]
    return ["engine", *where, *swarm.allowed, *LOOPBACK, "--port", "0"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MiB."""
    with small_disk(tmp_path / "disk", mib=3) as mounted:
        if not mounted:
            pytest.skip("needs the right to mount a file system")
        yield tmp_path / "disk"


def test_backbone_goes_on_where_no_pass_can_be_written(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its welcome desk shows the new pass as well, and did so first."""
    monkeypatch.setattr(session_module, "PASS_RENEW_S", 0.05)
    charter, shown, renew = found(tmp_path, target_samples=64), list[bytes](), Host.renew
    monkeypatch.setattr(Host, "renew", lambda host, pass_der: (renew(host, pass_der), shown.append(pass_der)))

    @in_loop
    async def run() -> None:
        clock = Clock(authority=True)
        backbone = Backbone(charter=charter, bind="127.0.0.1", ports=Ports(host="127.0.0.1"), clock=clock)
        await backbone.open()
        stop = asyncio.Event()
        serving = asyncio.create_task(backbone.serve(stop))
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        fill(disk / "ballast")
        await asyncio.sleep(1)
        shown.clear()
        await asyncio.sleep(1)
        assert not serving.done()
        assert not shown
        (disk / "ballast").unlink()
        await eventually(lambda: shown)
        stop.set()
        await serving

    run()


def test_host_goes_on_where_no_pass_can_be_written(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @in_loop
    async def run() -> None:
        async with Peer("anna") as anna, Peer("ben") as ben:
            anna.knows(ben)
            before, now = anna.host.pass_der, anna.clock.now()
            issuers = anna.host.passes.issuers
            monkeypatch.setattr(tempfile, "tempdir", str(disk))
            fill(disk / "ballast")
            with pytest.raises(OSError, match="No space"):
                anna.host.renew(admission_of("anna", now=now + 60).pass_der)
            assert anna.host.pass_der == before
            anna.host.passes.issuers = Issuers(AUTHORITY.id, issuers.manifest_id, {ben.id: now + 60})
            anna.say(ben, Say("hello"))
            await ben.book.until(lambda book: book.heard)
            (disk / "ballast").unlink()
            anna.host.renew(admission_of("anna", now=now + 60).pass_der)
            assert anna.host.pass_der != before

    run()


FULL_S = 300.0 if os.environ.get("POTLUCK_LONG") else 15.0
"""How long the disk stays full."""


async def starts_within(seconds: float, engine: int) -> int:
    """Number of trainers that an engine has in this time."""
    loop, seen = asyncio.get_running_loop(), set[int]()
    until = loop.time() + seconds
    while loop.time() < until:
        for child in psutil.Process(engine).children():
            with contextlib.suppress(psutil.Error):
                if "core.training" in child.cmdline():
                    seen.add(child.pid)
        await asyncio.sleep(0.2)
    return len(seen)


@pytest.mark.long
def test_engine_ends_on_full_disk_and_resumes_with_space(tmp_path: Path, disk: Path) -> None:
    charter = found(tmp_path, target_samples=64)
    ballast = disk / "ballast"

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            home = Home(disk / "ada")
            ledger = home.board(charter.manifest.id.hex())
            words = [*engine(home, swarm), "--with-parent"]
            ada = Volunteer(home, start(words, tmp_path / "ada.log"))
            swarm.volunteers.append(ada)
            before = await ada.until(lambda news: news.epoch >= 2 and ledger.exists())
            fill(ballast)
            assert await asyncio.to_thread(ada.process.wait, 60) == 2
            assert "The disk is full" in (tmp_path / "ada.log").read_text().splitlines()[-1]
            assert "Traceback" not in (tmp_path / "ada.log").read_text()
            assert "The disk is full" in await asyncio.to_thread(refused, *words[:-1])
            ballast.unlink()
            again = Volunteer(home, start(words, tmp_path / "again.log"))
            swarm.volunteers.append(again)
            after = await again.until(trains)
            assert after.epoch >= before.epoch
            assert after.me.peer == before.me.peer
            assert after.me.samples > 0
            await again.until(lambda news: news.epoch > after.epoch)

    asyncio.run(run())


@pytest.mark.long
def test_engine_that_stays_trains_again_when_there_is_space(tmp_path: Path, disk: Path) -> None:
    charter = found(tmp_path, target_samples=64)
    ballast = disk / "ballast"

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            home = Home(disk / "ada")
            words = [*engine(home, swarm), "--stay", "--with-parent"]
            ada = Volunteer(home, start(words, tmp_path / "ada.log"))
            swarm.volunteers.append(ada)
            before = await ada.until(lambda news: news.epoch >= 2)
            fill(ballast)
            full = await ada.until(lambda news: news.problem is not None)
            assert full.problem is not None
            assert full.problem.message == "The disk is full."
            assert await starts_within(FULL_S, ada.process.pid) <= 4
            said = [line for line in home.notices_file.read_text().splitlines() if "The disk is full" in line]
            assert len(said) <= 2  # the engine's own file, and the trainer's: once each
            ballast.unlink()
            await ada.until(lambda news: news.problem is None and news.epoch > before.epoch and trains(news))
            assert ada.process.poll() is None

    asyncio.run(run())
