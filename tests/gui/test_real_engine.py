"""A window on a real engine: killed, paused, told to quit."""

import subprocess
import sys

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

NOWHERE = f"potluck://127.0.0.1:1/{'ab' * 32}#invitation"
TOLD_MS = 5_000
GONE_MS = 8_000
CAPTURED = {"capture_output": True, "text": True, "timeout": 60}
WAIT_MS = 90_000
"""Only bounds a failure: other tests compute on the same cores at the same time."""

pytestmark = pytest.mark.process


@pytest.fixture
def window(tmp_path, monkeypatch, application_of):
    monkeypatch.setenv("POTLUCK_KEYRING", "off")
    monkeypatch.setenv("POTLUCK_SENSES", "off")
    words = ["engine", "--home", str(tmp_path), "--join", NOWHERE, "--stay", "--bind", "127.0.0.1", "--port", "0"]
    application = application_of(tmp_path, [sys.executable, "-m", "core", *words])
    application.start()
    return application


def potluck(home, *words):
    command = [sys.executable, "-m", "core", *words, "--home", str(home)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def runs(process):
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def hung(window):
    """The engine's processes; from now on it says nothing."""
    engine = psutil.Process(window.process.child.pid)
    processes = [engine, *engine.children(recursive=True)]
    engine.suspend()
    return processes


def test_killed_engine_is_started_again_and_says_so(window, until):
    until(lambda: window.store.verdict.reason == "backbone", WAIT_MS)
    first = window.process.child.pid
    window.process.child.kill()
    until(lambda: window.store.verdict.reason == "again", WAIT_MS)
    assert window.tray.shown == "not_connected"
    until(lambda: window.store.verdict.reason == "backbone", WAIT_MS)
    assert window.process.child.pid != first


def test_pause_is_kept_over_a_crash_and_told_everywhere(window, tmp_path, until):
    until(lambda: window.store.verdict.reason == "backbone", WAIT_MS)
    until(lambda: "does not answer." in potluck(tmp_path, "log", "--all"), WAIT_MS)  # it tells what lasts
    potluck(tmp_path, "pause")
    until(lambda: window.store.verdict.code == "paused")
    assert window.window.home.header.words[0] == "Paused"
    window.process.child.kill()
    until(lambda: window.store.verdict.code == "not_connected", WAIT_MS)
    until(lambda: window.store.verdict.code == "paused", WAIT_MS)
    assert "Paused by you" in potluck(tmp_path, "log", "--all")


def test_quit_leaves_no_process(window, until):
    until(lambda: window.store.verdict.reason == "backbone", WAIT_MS)
    engine = psutil.Process(window.process.child.pid)
    window.window.actions_.quit.trigger()
    until(lambda: window.gone, WAIT_MS)
    assert not runs(engine)


def test_engine_that_is_told_to_quit_stays_away(window, tmp_path, until):
    until(lambda: window.store.verdict.reason == "backbone", WAIT_MS)
    potluck(tmp_path, "quit")
    until(lambda: window.store.verdict.reason == "stopped", WAIT_MS)
    assert window.window.start_page.start.isVisibleTo(window.window)
    assert window.window.banner.problem is None
    assert not window.process.running


@pytest.mark.skipif(sys.platform == "win32", reason="a suspended process is known by its threads there")
def test_hung_engine_is_told_everywhere_and_heard_again(window, tmp_path, until):
    until(lambda: window.store.verdict.reason == "backbone", WAIT_MS)
    engine, *_ = hung(window)
    until(lambda: window.store.verdict.code == "no_answer", TOLD_MS)
    assert window.tray.shown == "no_answer"
    assert "Potluck does not answer" in window.window.status.words
    assert window.window.start_page.stop.isVisibleTo(window.window)
    said = subprocess.run([sys.executable, "-m", "core", "status", "--home", str(tmp_path)], check=False, **CAPTURED)
    assert (said.returncode, said.stdout.startswith("Potluck does not answer. It runs")) == (5, True)
    engine.resume()
    until(lambda: window.store.verdict.reason == "backbone", WAIT_MS)


@pytest.mark.skipif(sys.platform == "win32", reason="as above")
def test_hung_engine_is_stopped_and_stays_away(window, tmp_path, until):
    until(lambda: window.store.verdict.reason == "backbone", WAIT_MS)
    processes = hung(window)
    window.window.actions_.toggle.trigger()
    assert window.window.home.header.words[0] == "Pausing…"
    until(lambda: window.store.verdict.code == "no_answer", TOLD_MS)
    assert not window.window.home.isVisibleTo(window.window), "nothing says that it contributes, or is paused"
    QTest.mouseClick(window.window.start_page.stop, Qt.MouseButton.LeftButton)
    until(lambda: not any(map(runs, processes)))
    until(lambda: window.store.verdict.reason == "stopped")
    QTest.qWait(1500)  # longer than after a crash
    assert (window.store.verdict.reason, window.process.running) == ("stopped", False)
    assert window.window.start_page.start.isVisibleTo(window.window)


@pytest.mark.skipif(sys.platform == "win32", reason="as above")
@pytest.mark.parametrize("code", ["not_connected", "no_answer"], ids=["at once", "once it is told"])
def test_quit_leaves_no_process_of_a_hung_engine(window, until, code):
    until(lambda: window.store.verdict.reason == "backbone", WAIT_MS)
    processes = hung(window)
    until(lambda: window.store.verdict.code == code, TOLD_MS)
    window.window.actions_.quit.trigger()
    until(lambda: window.gone, GONE_MS)
    until(lambda: not any(map(runs, processes)))
