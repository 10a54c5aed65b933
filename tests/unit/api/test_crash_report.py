"""A mistake that nobody caught leaves a text: in real processes, of a command, a thread, a library, a slot of Qt."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.api.crash_report import KEPT_MAX, folder_of, read_report, reports, write_report

COMMAND = """
import sys
from core.cli.engine import devices
from core.__main__ import main

def found_devices():
    return {}[sys.argv[1], "potluck://ada@10.0.0.1:4000/secret"]

devices.found_devices = found_devices
main(["devices", "--home", sys.argv[1]])
"""
WATCHED = """
import sys
from pathlib import Path
from core.api.crash_report import watch
watch(Path(sys.argv[1]), "engine", main="slot" in sys.argv[2])
"""
THREAD = "import threading\nfor _ in range(9): threading.Thread(target=lambda: 1 / 0).start()"
LIBRARY = "import ctypes\nctypes.string_at(0)"
SLOT = """
from PySide6.QtCore import QCoreApplication, QTimer
qt = QCoreApplication([])
QTimer.singleShot(0, lambda: 1 / 0)
QTimer.singleShot(100, qt.quit)
qt.exec()
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


def run(program: str, home: Path, *words: str) -> int:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONFAULTHANDLER": ""}
    return subprocess.run([sys.executable, "-c", program, str(home), *words], env=environ, check=False).returncode


def test_command_that_fails_leaves_a_report_without_secrets(home: Path) -> None:
    assert run(COMMAND, home) == 1
    (report,) = reports(home)
    told = read_report(report)
    assert report.name.endswith("-devices.txt")
    assert "found_devices" in told
    assert "KeyError: ('HOME', 'potluck:…')" in told
    assert str(home) not in told
    assert "secret" not in told
    assert "nothing was sent" in told
    if os.name != "nt":
        assert folder_of(home).stat().st_mode & 0o077 == 0


def test_thread_that_fails_is_told_once(home: Path) -> None:
    run(WATCHED + THREAD, home, "thread")
    (report,) = reports(home)
    assert "ZeroDivisionError" in read_report(report)
    assert list(folder_of(home).iterdir()) == [report], "nothing is left of a process that ended by itself"


@pytest.mark.skipif(os.name == "nt", reason="Windows would ask its person")
def test_crash_in_a_library_is_told_at_the_next_start(home: Path) -> None:
    assert run(WATCHED + LIBRARY, home, "library") < 0
    assert reports(home) == []
    assert run(WATCHED, home, "again") == 0
    (report,) = reports(home)
    assert "Fatal Python error: Segmentation fault" in read_report(report)


def test_slot_that_fails_leaves_a_report(home: Path) -> None:
    pytest.importorskip("PySide6")
    assert run(WATCHED + SLOT, home, "slot") == 0, "the window goes on"
    (report,) = reports(home)
    assert "ZeroDivisionError" in read_report(report)


def test_oldest_reports_go(home: Path) -> None:
    written = [write_report(home, "engine", ValueError(str(number))) for number in range(KEPT_MAX + 3)]
    assert reports(home) == written[3:]
    assert "ValueError: 12" in read_report(written[-1])


def test_report_names_no_file_by_a_strangers_word(home: Path) -> None:
    path = write_report(home, "../../x", ValueError("y" * 10**6))
    assert path is not None
    assert path.parent == folder_of(home)
    assert path.stat().st_size < 50_000


def test_without_a_home_nothing_is_written(tmp_path: Path) -> None:
    assert write_report(tmp_path / "none", "engine", ValueError()) is None
    assert list(tmp_path.iterdir()) == []
