"""The life of the window: starting an engine, closing, the second start."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest

from app import ending
from app.engine import starting
from app.engine.engine_process import EngineProcess, engine_command
from app.looks.choices import Closing
from app.shell.application import Application
from app.words import text
from core.api.commands import EngineFile
from core.api.joined import KeptLinks, KeptRefusal
from core.api.places import engine_file
from core.api.snapshot import PROTOCOL_VERSION

FAKE = str(Path(__file__).with_name("fake_engine.py"))


@pytest.fixture
def open_window(qt, delete, tmp_path):
    """Opens windows on one home, and puts them away."""
    opened = []

    def open_one(engine=None):
        application = Application(tmp_path, qt, engine=engine, chance=random.Random(1))
        application.left_count = 0
        application.left.connect(lambda: setattr(application, "left_count", application.left_count + 1))
        opened.append(application)
        application.start()
        return application

    yield open_one
    for application in opened:
        application.leave(stop=False)
        application.finish()
        delete(application.window, application.theme, application)


@pytest.fixture
def connected(open_window, fake_engine, tmp_path, until):
    """A window on a control service."""
    with fake_engine.FakeService(tmp_path) as service:
        application = open_window()
        until(lambda: application.window.shows_page and service.clients)
        yield application, service


def test_it_starts_an_engine_and_stops_it(open_window, monkeypatch, tmp_path, until):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    application = open_window([sys.executable, FAKE, "engine", "--home", str(tmp_path), "--embedded"])
    process = application.process
    until(lambda: application.window.shows_page, 10_000)
    assert process.running
    child = process.child
    application.window.actions_.quit.trigger()
    until(lambda: application.left_count)
    assert child.wait(10) == 0


ANOTHER = """
import socket, time
door = socket.create_server(("127.0.0.1", 0))
print(door.getsockname()[1], flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="This system stops no process.")
@pytest.mark.parametrize("file", ["is gone", "names another engine"])
def test_hung_engine_ends_with_the_window_without_its_file(open_window, monkeypatch, tmp_path, until, file):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setattr(ending, "PATIENCE_MS", 300)
    application = open_window([sys.executable, FAKE, "engine", "--home", str(tmp_path), "--embedded"])
    until(lambda: application.window.shows_page, 10_000)
    child = application.process.child
    with subprocess.Popen([sys.executable, "-c", ANOTHER], stdout=subprocess.PIPE) as other:
        port = int(other.stdout.readline())
        child.send_signal(signal.SIGSTOP)
        engine_file(tmp_path).unlink()
        if file == "names another engine":
            said = EngineFile(other.pid, port, "token", PROTOCOL_VERSION, psutil.Process(other.pid).create_time())
            engine_file(tmp_path).write_bytes(msgspec.json.encode(said))
        try:
            application.window.actions_.quit.trigger()
            until(lambda: application.left_count)
            child.wait(1)  # it stands still: force alone ends it, whoever is told of that first
            assert other.poll() is None
        finally:
            child.kill()
            other.kill()


def test_the_window_stays_where_the_engine_cannot_be_ended(open_window, fake_engine, monkeypatch, tmp_path, until):
    monkeypatch.setattr(ending, "PATIENCE_MS", 300)
    service = fake_engine.FakeService(tmp_path)
    service.pid = os.getpid()  # a process does not end itself by force
    with service:
        application = open_window()
        until(lambda: application.window.shows_page and service.clients)
        application.window.actions_.quit.trigger()
        until(lambda: application.window.banner.problem == text.not_ended())
        assert application.window.isVisible()
        assert application.left_count == 0
        application.window.actions_.quit.trigger()
        until(lambda: application.left_count)


def test_a_clicked_link_is_asked_about_before_an_engine_starts(qt, delete, tmp_path, until):
    command = [sys.executable, FAKE, "engine", "--home", str(tmp_path), "--embedded"]
    application = Application(tmp_path, qt, engine=command, chance=random.Random(1))
    application.start("potluck:no link at all")
    assert application.window.join.isVisible()
    until(lambda: application.window.join.said.startswith("This is not a Potluck link."), 60_000)
    assert not application.process.running
    application.window.join.reject()
    until(lambda: application.process.running)
    application.leave()
    until(lambda: not application.process.running, 20_000)
    application.finish()
    delete(application.window, application.theme, application)


def test_an_engine_that_refuses_says_why(open_window, tmp_path, until):
    application = open_window([sys.executable, "-c", "import sys; sys.exit(print('No room.', file=sys.stderr) or 2)"])
    until(lambda: application.store.verdict.reason == "refused", 10_000)
    assert application.store.verdict.args["why"] == "No room."
    assert "No room." in (tmp_path / "engine.log").read_text()


def test_an_engine_that_cannot_be_run(open_window, tmp_path, until):
    application = open_window([str(tmp_path / "nothing")])
    until(lambda: application.store.verdict.reason == "refused")
    assert "could not be started" in application.store.verdict.args["why"]


def test_attached_it_starts_none(open_window, until):
    application = open_window()
    until(lambda: application.store.verdict.reason == "absent")


def test_attached_it_tells_why_the_engine_has_ended(open_window, tmp_path, until):
    kept = KeptLinks(["potluck:one"], {"potluck:one": KeptRefusal("Shut out.", "Ask the organiser.")})
    (tmp_path / "collaborations.json").write_bytes(msgspec.json.encode(kept))
    application = open_window()
    until(lambda: application.store.verdict.reason == "refused")
    assert application.store.verdict.args["why"] == "Shut out. Ask the organiser."


def test_an_engine_that_crashes_is_started_again_with_growing_waits(open_window, tmp_path, until, monkeypatch):
    monkeypatch.setattr(starting, "AGAIN_FIRST_S", 0)
    log = tmp_path / "engine.log"
    application = open_window([sys.executable, "-c", "print('Here.', flush=True); import os; os.kill(os.getpid(), 9)"])
    application.starter._wait_s = 0  # the first wait; later ones stay at 0 when doubled
    until(lambda: log.exists() and log.read_text().count("Here.") >= 3, 20_000)
    application.starter._wait_s = 7
    until(lambda: application.store.verdict.args.get("seconds") == 7, 10_000)
    assert application.starter._wait_s == 14


def test_the_log_is_bounded(qt, tmp_path):
    log = tmp_path / "engine.log"
    log.write_bytes(b"x" * 2_000_000)
    process = EngineProcess(tmp_path, [sys.executable, "-c", "pass"])
    assert process.start() == ""
    child = process.child
    child.wait(10)
    process.let_go()
    assert log.stat().st_size == 0
    assert (tmp_path / "engine.log.old").stat().st_size == 2_000_000


def test_closing_asks_once_and_contributes_on(connected, until):
    application, service = connected
    application.window.close()
    question = application.question
    assert question.box.isVisible()
    question.box.reject()
    assert application.choices.closing is Closing.ASK
    assert application.left_count == 0
    application.window.close()
    question.hide.click()
    assert application.choices.closing is Closing.HIDE
    until(lambda: not application.window.isVisible() or application.window.isMinimized())
    assert application.left_count == 0
    assert "quit" not in service.calls


@pytest.mark.parametrize("choice", list(Closing))
def test_quit_ends_the_engine_whatever_closing_means(connected, until, choice):
    application, service = connected
    application.choices.closing = choice
    application.window.actions_.quit.trigger()
    until(lambda: application.left_count)
    assert service.quit_asked.is_set()


def test_closing_may_mean_to_quit(connected, until):
    application, service = connected
    application.choices.closing = Closing.QUIT
    application.window.close()
    until(lambda: application.left_count)
    assert service.quit_asked.is_set()


def test_show_brings_the_window_up(connected, until):
    application, service = connected
    application.window.hide()
    service.tell("show", {})
    until(application.window.isVisible)


def test_engine_that_quits_is_no_error_and_stays_away(connected, until):
    application, service = connected
    service.__exit__()
    until(lambda: application.store.verdict.code == "not_connected")
    until(lambda: application.store.verdict.reason == "absent")  # it only attaches
    assert application.window.banner.problem is None
    assert not application.process.running


def test_the_answer_to_a_look_is_told(connected, until):
    application, _service = connected
    application.window.actions_.evaluate.trigger()
    until(lambda: "4.81" in application.window.status.news)


def test_pausing_through_the_door(connected, until):
    application, service = connected
    QTest.mouseClick(application.window.home.header.switch, _left())
    until(lambda: application.store.snapshot.contributing is False)
    assert service.calls == ["pause"]


def _left():
    from PySide6.QtCore import Qt

    return Qt.MouseButton.LeftButton


def test_commands(monkeypatch, tmp_path):
    words = ["engine", "--home", str(tmp_path), "--stay", "--json"]
    assert engine_command(tmp_path) == [sys.executable, "-m", "core", *words]
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert engine_command(tmp_path)[:2] == [sys.executable, "engine"]
    monkeypatch.setenv("POTLUCK_LAUNCHER", "/home/ada/potluck.AppImage")
    assert engine_command(tmp_path)[:2] == [sys.executable, "engine"]
    monkeypatch.setenv("APPIMAGE", "/home/ada/potluck.AppImage")
    assert engine_command(tmp_path)[:2] == ["/home/ada/potluck.AppImage", "engine"]


def test_settings_are_asked_for_changed_and_refused(connected, until):
    from core.api.snapshot import ProblemView

    application, service = connected
    dialog, news = application.window.settings, application.window.status
    application.window.actions_.settings.trigger()
    until(dialog.save.isEnabled)
    dialog.network.relay.setChecked(False)
    service.refuse = ProblemView("setting.relay", "This cannot be.", "Choose again.")
    dialog.save.click()
    until(lambda: dialog.network.fields["relay"].problem)
    assert dialog.isVisible()
    assert application.window.banner.problem is None
    service.refuse = None
    dialog.save.click()
    until(lambda: not dialog.isVisible())
    assert service.settings.relay is False
    assert news.news == "The settings are saved."
    application.window.actions_.settings.trigger()
    until(dialog.save.isEnabled)
    dialog.network.test.click()
    until(lambda: "got through" in dialog.network.tested)


def test_a_home_that_takes_nothing_is_named(qt, tmp_path):
    (tmp_path / "engine.log").mkdir()
    why = EngineProcess(tmp_path, [sys.executable, "-c", "pass"]).start()
    assert why.startswith(f"{tmp_path / 'engine.log'} could not be written: ")
    assert why.endswith("Check that the folder belongs to you and is not read-only.")


@pytest.mark.parametrize(
    ("address", "opens"), [("https://potluck.example.org/m/in?code=x", True), ("file:///etc/passwd", False)]
)
def test_pages_of_moderators_open_in_the_browser_alone(connected, monkeypatch, until, address, opens):
    application, service = connected
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    service.page = {"address": address}
    answers = []
    application.client.answered.connect(lambda method, _: answers.append(method))
    application.window.pages["about"].tending.open.click()
    until(lambda: "page" in answers)
    assert opened == [address] * opens
