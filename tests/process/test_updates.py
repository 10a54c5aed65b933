"""Versions are got, started and gone back from, by real programs; what is in the way gets a sentence, nothing half."""

import contextlib
import errno
import os
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.api.program_folder import PROGRAM, begin_again
from core.base.problems import BadInput, Busy, NoSpace, UserProblem
from core.cli.program import run
from core.net.clock import Clock
from core.updates.getting import Updating, viewed
from core.updates.source import UpdateSource
from tests.process.publishing import UpdateWorld, update_world
from tests.process.small_disk import small_disk
from tests.web_server import web_server

pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name == "nt", reason="versions are scripts of sh")]


@pytest.fixture
def world(tmp_path, monkeypatch):
    with update_world(tmp_path) as made:
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        yield made


def said(world: UpdateWorld, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """What the program prints that was installed."""
    environ = {**os.environ, **world.environment, "POTLUCK_HOME": str(world.folder / "home"), **more}
    command = [str(world.program.folder / "potluck"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ, timeout=60)


def test_command_checks_gets_and_the_next_start_is_newer(world):
    world.publish("0.2.0")
    checked = said(world, "update", "--check")
    assert checked.stdout == "Potluck 0.2.0 is there, and 0.1.0 runs.\n  - What is new in 0.2.0.\n"
    assert not world.kept
    got = said(world, "update")
    assert got.stdout.startswith("Potluck 0.2.0 is here: the next start takes it, and 0.1.0 runs until then.\n")
    assert world.kept == {"0.2.0"}
    assert said(world, "update", "--show").stdout == "Potluck 0.2.0 is the newest version for this computer.\n"
    off = said(world, "update", "--off").stdout
    assert off.endswith("Potluck does not look for newer versions by itself.\n")
    assert "look" not in said(world, "update", "--on").stdout


def test_system_package_does_not_update_itself(monkeypatch, capsys):
    monkeypatch.delenv(PROGRAM, raising=False)
    assert run(["update"]) == 2
    assert "apt upgrade" in capsys.readouterr().err
    assert run(["update", "--show"]) == 0
    assert "from the system's packages" in capsys.readouterr().out
    assert begin_again(["engine"]) is None


def test_share_is_kept_and_raised(world):
    world.publish("0.2.0", share=0.0)
    assert world.look().state == "current"
    world.publisher.share("0.2.0", 1.0)
    assert world.look().version == "0.2.0"


def test_download_goes_on_after_cuts_and_a_kill(world):
    archive = world.publish("0.2.0", size=3_000_000)
    size = archive.stat().st_size
    world.site.cut = size // 5
    world.site.chunk, world.site.pause_s = 4096, 0.02
    environ = {**os.environ, **world.environment}
    with subprocess.Popen(
        [str(world.program.folder / "potluck"), "update", "--get"], env=environ, stdout=subprocess.DEVNULL
    ) as getting:
        parts = world.program.room / "downloads"
        while not any(path.stat().st_size > 10_000 for path in parts.glob("*.part")):
            time.sleep(0.02)
        getting.kill()
    assert not world.kept
    world.site.pause_s = 0.0
    before = world.site.sent
    assert world.look().version == "0.2.0"
    assert any(path.endswith(archive.name) and asked for path, asked, _ in world.site.asked)
    assert world.site.sent - before < size + 100_000  # nothing twice
    assert list(parts.iterdir()) == [parts / "releases.json"]


def test_kill_while_unpacking_leaves_nothing(world, monkeypatch):
    world.publish("0.2.0")

    def torn(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("subprocess.run", torn)
        patch.setattr("shutil.rmtree", lambda *_, **__: None)
        with pytest.raises(KeyboardInterrupt):
            world.look()
    assert world.kept
    assert world.program.newest == "0.1.0"
    world.look()
    assert world.kept == {"0.2.0"}


def test_full_disk_gets_a_sentence(world, monkeypatch):
    world.publish("0.2.0", size=3_000_000)
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10))
        with pytest.raises(NoSpace, match=r"needs .* GB of the disk"):
            world.look()
    monkeypatch.setattr("core.updates.getting.SPARE_BYTES", -(10**10))
    with small_disk(world.program.versions, mib=1) as small:
        if not small:
            pytest.skip("this user may not mount a file system")
        with pytest.raises(NoSpace, match="disk is full"):
            world.look()
        assert world.program.newest == "0.1.0"
        assert not world.kept
    assert world.look().version == "0.2.0"


def test_folder_that_cannot_be_written_gets_a_sentence(world):
    world.publish("0.2.0")
    with small_disk(world.program.room, mib=1) as small:
        if not small:
            pytest.skip("this user may not mount a file system")
        subprocess.run(["mount", "-o", "remount,ro", str(world.program.room)], check=True)
        with pytest.raises(UserProblem, match=r"could not be written: Read-only file system.* belongs to you"):
            world.look()
    assert not world.kept


def test_clock_of_1970_gets_a_sentence(world):
    world.publish("0.2.0")
    with pytest.raises(BadInput, match=r"clock says 1970-01-01.*Set the clock"):
        world.look(now=lambda: 100.0)
    assert world.look().version == "0.2.0"


@pytest.mark.parametrize("lets_go", [True, False])
def test_antivirus_that_holds_a_file_is_waited_for(world, monkeypatch, lets_go):
    world.publish("0.2.0")
    replace, held = Path.replace, []

    def locked(self: Path, target: Path) -> Path:
        if self.name.startswith(".new-") and (len(held) < 3 or not lets_go):
            held.append(self.name)
            raise PermissionError(errno.EACCES, "in use")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", locked)
    with contextlib.nullcontext() if lets_go else pytest.raises(Busy, match="an antivirus for example"):
        world.look()
    assert world.kept == ({"0.2.0"} if lets_go else set())
    assert world.waits


def test_no_internet_gets_a_sentence(world, monkeypatch):
    monkeypatch.setattr("core.updates.source.WAIT_S", 0.0)
    world.publish("0.2.0")
    world.site.status = 503
    with pytest.raises(UserProblem, match="does not answer"):
        world.look()
    world.site.status = 0
    assert world.look().version == "0.2.0"


def test_proxy_is_used_and_may_ask_who(world, monkeypatch):
    world.publish("0.2.0")
    with web_server({}) as proxy:
        monkeypatch.setenv("http_proxy", f"http://ada:word@{proxy.url.removeprefix('http://')}")
        monkeypatch.setenv("no_proxy", "")
        proxy.answer = lambda path: (407, b"")
        with pytest.raises(UserProblem, match="proxy wants to know who asks"):
            world.look()

        def pass_on(path: str) -> tuple[int, bytes]:
            place = path.removeprefix(world.site.url)
            return (200, world.served[place]) if place in world.served else (404, b"")

        proxy.answer = pass_on
        assert world.look().version == "0.2.0"
        assert proxy.asked
        assert not world.site.asked


def test_two_programs_do_not_update_at_once(world):
    world.publish("0.2.0", size=1_000_000)
    world.site.chunk, world.site.pause_s = 1000, 0.05
    environ = {**os.environ, **world.environment}
    command = [str(world.program.folder / "potluck"), "update", "--get"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as getting:
        while not list(world.program.room.glob("downloads/*.part")):
            time.sleep(0.02)
        with pytest.raises(Busy, match="updated already"):
            world.look()
        getting.kill()


def test_version_that_does_not_start_is_not_installed(world):
    world.publish("0.2.0", more="raise SystemExit(3)\n")
    with pytest.raises(UserProblem, match="does not start on this computer"):
        world.look()
    assert not world.kept


def test_archive_that_leads_elsewhere_is_refused(world):
    folder = world.lay_out(world.folder / "evil", "0.2.0")
    (folder / "out").symlink_to("/etc")
    archive = world.pack(folder, "0.2.0")
    world.publisher.add([archive], share=1.0, news=[])
    with pytest.raises(UserProblem, match="cannot be unpacked"):
        world.look()
    assert not world.kept


def test_what_is_left_of_another_version_goes(world, monkeypatch):
    monkeypatch.setattr("core.updates.source.WAIT_S", 0.0)
    archive = world.publish("0.2.0", size=300_000)

    def cut(path: str) -> None:
        world.site.cut = 10_000 if archive.name in path else 0
        world.site.status = 503 if archive.name in path and len(world.site.asked) > 15 else 0

    world.site.answer = cut
    with pytest.raises(UserProblem):
        world.look()
    parts = world.program.room / "downloads"
    assert list(parts.glob("*.part"))
    world.site.answer = lambda _: None
    world.site.cut = world.site.status = 0
    world.publish("0.3.0")
    assert world.look().version == "0.3.0"
    assert list(parts.iterdir()) == [parts / "releases.json"]


def test_proxy_of_another_kind_gets_a_sentence(world, monkeypatch):
    world.publish("0.2.0")
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(UserProblem, match="does not answer"):
        world.look()


def test_choice_during_a_look_is_kept(world):
    world.publish("0.2.0")
    updating = Updating(world.program, source=UpdateSource, now=Clock().wall)

    def choose(path: str) -> None:
        if "releases.json" in path:
            updating.choose(on=False)

    world.site.answer = choose
    assert world.look().version == "0.2.0"
    assert not viewed(world.program).on


def test_version_is_on_the_disk_before_it_is_seen(world, monkeypatch):
    world.publish("0.2.0")
    replace, sync, done = Path.replace, os.sync, []
    monkeypatch.setattr(os, "sync", lambda: (done.append("synced"), sync()))

    def moved(self: Path, target: Path) -> Path:
        if self.name.startswith(".new-"):
            done.append("moved")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", moved)
    world.look()
    assert done == ["synced", "moved"]
