"""Versions beside each other: the launcher takes the newest, and goes back from one that does not come up."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from core.system import atomic_files
from core.updates import launcher
from tests.process.publishing import update_world

pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name == "nt", reason="versions are scripts of sh")]
DIES = "import os, sys\nif 'engine' in sys.orig_argv: os._exit(1)\n"
LACKS = "import sys\nif 'engine' in sys.orig_argv: sys.modules['cryptography'] = None\n"
"""An engine finds a library missing, as in an incomplete package; a program that only says its version does not."""
SLOW = "import os, sys, time\nif 'engine' in sys.orig_argv: time.sleep(1), os._exit(0)\n"
HANGS = "import sys, time\nif 'engine' in sys.orig_argv: time.sleep(600)\n"


@pytest.fixture
def world(tmp_path, monkeypatch):
    with update_world(tmp_path) as made:
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        yield made


@pytest.mark.parametrize("how", [DIES, HANGS])
def test_version_that_does_not_come_up_is_not_taken_again(world, monkeypatch, capfd, how):
    monkeypatch.setattr(launcher, "UP_S", 1.0)
    world.publish("0.2.0", more=how)
    world.look()
    folder = world.program.folder
    assert launcher.launched(folder, "potluck", ["engine", "--home", str(world.folder / "home")]) is None
    assert "Version 0.2.0 did not start, so the one before it runs." in capfd.readouterr().err
    assert world.program.newest == "0.1.0"
    view = world.look()
    assert (view.state, view.back_from) == ("current", "0.2.0")
    assert "0.2.0" not in world.kept
    world.publish("0.3.0")
    assert world.look().version == "0.3.0"


def test_sleep_while_a_version_comes_up_is_not_its_fault(world, monkeypatch):
    """On Windows the clock that only goes forward goes on while the computer sleeps."""
    world.publish("0.2.0", more=SLOW)
    world.look()
    slept = iter(range(0, 10**9, 3600))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(slept)))
    words = ["engine", "--home", str(world.folder / "home")]
    assert launcher.launched(world.program.folder, "potluck", words) == 0
    assert not world.program.is_bad("0.2.0")


def test_version_that_lacks_a_library_is_not_taken_again(world, capfd):
    world.publish("0.2.0", more=LACKS)
    world.look()
    words = ["engine", "--home", str(world.folder / "home")]
    assert launcher.launched(world.program.folder, "potluck", words) is None
    assert "This command needs cryptography" in capfd.readouterr().err
    assert world.program.is_bad("0.2.0")


def test_version_that_a_person_ends_is_not_bad(world):
    world.publish("0.2.0", more=HANGS)
    world.look()
    command = [str(world.program.folder / "potluck"), "engine", "--home", str(world.folder / "home")]
    with subprocess.Popen(command, env={**os.environ, **world.environment}) as started:
        while not (world.program.versions / "0.2.0.trying").exists():
            time.sleep(0.02)
        time.sleep(0.3)
        started.send_signal(signal.SIGTERM)
        started.wait(10)
    assert world.program.newest == "0.2.0"


@pytest.mark.parametrize("harm", ["gone", "torn"])
def test_program_goes_back_from_a_version_whose_program_is_lost(world, capfd, harm):
    world.publish("0.2.0")
    world.look()
    (world.program.versions / "0.2.0.up").touch()
    program = world.program.path("0.2.0") / "potluck"
    program.write_bytes(b"")  # as a power cut leaves it
    if harm == "gone":
        program.unlink()
    assert launcher.launched(world.program.folder, "potluck", ["status"]) is None
    assert "Version 0.2.0 did not start" in capfd.readouterr().err
    assert world.program.newest == "0.1.0"


@pytest.mark.parametrize("number", [errno.ENOMEM, 1455])
def test_lack_of_memory_blames_no_new_version(world, monkeypatch, number):
    """Windows tells by 1455 that the paging file is too small, and Python knows no errno for that."""

    def lacks(*_: object) -> None:
        error = OSError(errno.EINVAL if number == 1455 else number, "too little memory")
        error.winerror = number
        raise error

    world.publish("0.2.0")
    world.look()
    monkeypatch.setattr(subprocess, "Popen", lacks)
    with pytest.raises(OSError, match="too little memory"):
        launcher.launched(world.program.folder, "potluck", ["engine", "--home", str(world.folder / "home")])
    assert world.program.newest == "0.2.0"


def test_version_of_which_a_program_runs_stays(world):
    for number in (2, 3):
        world.publish(f"0.{number}.0")
        world.look()
    runs = world.program.path("0.2.0") / "runs"
    shutil.copy(shutil.which("sleep"), runs)
    with subprocess.Popen([str(runs), "60"]) as engine:
        world.publish("0.4.0")
        world.look()
        assert world.kept == {"0.4.0", "0.3.0", "0.2.0"}
        engine.kill()
    world.look()
    assert world.kept == {"0.4.0", "0.3.0"}


def test_unpacked_files_are_private_and_old_versions_go(world):
    for number in range(2, 6):
        world.publish(f"0.{number}.0")
        world.look()
    assert world.kept == {"0.5.0", "0.4.0"}
    assert (world.program.path("0.5.0") / "potluck").stat().st_mode & 0o777 == 0o755
    assert atomic_files.read_bounded(world.program.room / "memory.json", 10_000)
    assert sys.executable in (world.program.path("0.5.0") / "potluck").read_text()
