"""A window on a real engine: killed, paused, told to quit."""

import subprocess
import sys

import psutil
import pytest

NOWHERE = f"potluck://127.0.0.1:1/{'ab' * 32}#invitation"
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
    until(lambda: "Waiting for the backbone" in potluck(tmp_path, "log", "--all"), WAIT_MS)  # it tells what lasts
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
    psutil.wait_procs([engine], timeout=60)
    assert not engine.is_running() or engine.status() == psutil.STATUS_ZOMBIE


def test_engine_that_is_told_to_quit_stays_away(window, tmp_path, until):
    until(lambda: window.store.verdict.reason == "backbone", WAIT_MS)
    potluck(tmp_path, "quit")
    until(lambda: window.store.verdict.reason == "stopped", WAIT_MS)
    assert window.window.start_page.start.isVisibleTo(window.window)
    assert window.window.banner.problem is None
    assert not window.process.running
