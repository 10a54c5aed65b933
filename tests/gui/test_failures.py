"""What breaks is seen in the window: a sentence on what is the matter, and a next step."""

import os
import random
import shutil
import subprocess
import sys

import msgspec
import pytest
from PySide6.QtCore import QDateTime, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.commands.joining import JoinCommand
from app.commands.line_command import LineCommand
from app.shell.application import Application
from app.views.first_run.wizard import JoinDialog
from core.api.commands import EngineFile
from core.api.places import engine_file
from core.api.snapshot import PROTOCOL_VERSION
from core.storage.identity import IdentityFile
from core.storage.paths import Home
from tests.process.small_disk import fill, small_disk

CORE = [sys.executable, "-m", "core"]
NOWHERE = f"potluck://127.0.0.1:1/{'ab' * 32}#invitation"
WAIT_MS = 90_000
"""Only bounds a failure: other tests compute on the same cores at the same time."""

pytestmark = pytest.mark.process


@pytest.fixture
def engines(monkeypatch):
    """Surroundings of the engines that a test starts."""
    monkeypatch.setenv("POTLUCK_KEYRING", "off")
    monkeypatch.setenv("POTLUCK_SENSES", "off")


@pytest.fixture
def opened(engines, application_of):
    """Opens a window on a home, with a real engine that waits for a backbone where there is none."""

    def open_one(home):
        words = ["engine", "--home", str(home), "--join", NOWHERE, "--stay", "--bind", "127.0.0.1", "--port", "0"]
        application = application_of(home, [*CORE, *words])
        application.start()
        return application

    return open_one


def said(application):
    window = application.window
    return " ".join(label.text() for label in window.findChildren(QLabel) if label.isVisibleTo(window))


def test_killed_engine_is_told_with_a_way_to_start_it(opened, tmp_path, until):
    application = opened(tmp_path)
    until(lambda: application.store.verdict.reason == "backbone", WAIT_MS)
    page = application.window.start_page
    assert page.title == "Not connected"
    assert "The computer at 127.0.0.1:1 does not answer." in said(application)
    until(lambda: "Next try in" in page.next_try, WAIT_MS)
    application.process.child.kill()
    until(lambda: application.store.verdict.reason == "again", WAIT_MS)
    assert "Potluck ended unexpectedly: nothing is computed. It is started again in 1 s." in said(application)
    assert application.window.start_page.start.isVisibleTo(application.window)


def test_try_now_asks_the_backbone_before_its_turn(opened, tmp_path, until):
    application = opened(tmp_path)
    until(lambda: (application.store.verdict.until or 0) - QDateTime.currentMSecsSinceEpoch() / 1000 > 3, WAIT_MS)
    planned = application.store.verdict.until
    QTest.mouseClick(application.window.start_page.try_now, Qt.MouseButton.LeftButton)
    until(lambda: application.store.verdict.until != planned, WAIT_MS)
    assert QDateTime.currentMSecsSinceEpoch() / 1000 < planned


def test_leaving_the_last_one_is_told_calmly_and_starts_nothing(opened, tmp_path, until):
    application = opened(tmp_path)
    until(lambda: application.store.verdict.reason == "backbone", WAIT_MS)
    page = application.window.start_page
    collaborations = application.window.collaborations
    application.window.actions_.pages["collaborations"].trigger()
    until(lambda: len(collaborations.cards) == 1, WAIT_MS)
    (card,) = collaborations.cards.values()
    card.leave.click()
    collaborations.keeping.leaving.box.yes.click()
    until(lambda: application.store.verdict.reason == "left", WAIT_MS)
    until(lambda: not collaborations.cards and collaborations.alone.isEnabled(), WAIT_MS)
    application.window.actions_.pages["home"].trigger()
    assert "You have left" in page.words
    assert "What you gave stays in its model." in page.words
    assert "potluck" not in page.words
    assert page.alone.isVisibleTo(application.window)
    assert page.join.isVisibleTo(application.window)
    until(lambda: not application.process.running, WAIT_MS)


def test_cut_socket_shows_nothing_old_and_heals(qt, delete, fake_engine, tmp_path, until):
    with fake_engine.FakeService(tmp_path) as service:
        application = Application(tmp_path, qt, engine=None, chance=random.Random(1))
        application.start()
        until(lambda: service.clients)
        until(lambda: application.window.shows_page)
        seen = []
        application.store.changed.connect(lambda: seen.append((application.store.verdict.reason, said(application))))
        service.drop_clients()
        until(lambda: application.store.snapshot is None or seen)
        until(lambda: application.store.snapshot is not None)
    (reason, words), *_ = seen
    assert reason == "connecting"
    assert "this window connects to it in a moment" in words
    assert "Contributing" not in words
    application.finish()
    delete(application.window, application.theme, application)


def test_wrong_token_leads_to_an_engine_of_ones_own(opened, fake_engine, tmp_path, until):
    """The port in the file is another program's by now."""
    with fake_engine.FakeService(tmp_path / "other") as other:
        theirs = msgspec.json.decode(engine_file(other.home).read_bytes(), type=EngineFile)
        home = Home(tmp_path / "mine")
        home.create()
        home.engine_file.write_bytes(msgspec.json.encode(msgspec.structs.replace(theirs, token="wrong", pid=2**22 - 7)))
        application = opened(home.directory)
        until(lambda: application.store.verdict.reason == "backbone", WAIT_MS)
        assert application.store.snapshot.pid == application.process.child.pid
        assert other.headers == []


def test_older_engine_is_replaced_on_request(opened, tmp_path, until):
    """A real engine of another version: its file says so, and the window's button ends it."""
    Home(tmp_path).create()
    words = ["engine", "--home", str(tmp_path), "--join", NOWHERE, "--stay", "--bind", "127.0.0.1", "--port", "0"]
    older = subprocess.Popen([*CORE, *words], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(engine_file(tmp_path).exists, WAIT_MS)
        file = msgspec.json.decode(engine_file(tmp_path).read_bytes(), type=EngineFile)
        changed = msgspec.json.encode(msgspec.structs.replace(file, protocol=PROTOCOL_VERSION - 1))
        engine_file(tmp_path).write_bytes(changed)
        application = opened(tmp_path)
        until(lambda: application.store.verdict.reason == "version", WAIT_MS)
        page = application.window.start_page
        assert "is of another version. Restart it" in said(application)
        assert page.start.text() == "Re&start Potluck"
        QTest.keyClick(page.start, Qt.Key.Key_Space)
        engine_file(tmp_path).write_bytes(msgspec.json.encode(file))  # it removes no file but its own
        until(lambda: older.poll() is not None, WAIT_MS)
        until(lambda: application.store.verdict.reason == "backbone", WAIT_MS)
        assert application.store.snapshot.pid != older.pid
    finally:
        older.kill()
        older.wait(20)


def test_full_disk_is_told_with_what_to_do(opened, tmp_path, until):
    with small_disk(tmp_path / "disk", mib=4) as mounted:
        if not mounted:
            pytest.skip("needs the right to mount a file system")
        fill(tmp_path / "disk" / "ballast")
        application = opened(tmp_path / "disk" / "home")
        until(lambda: application.store.verdict.reason == "refused", WAIT_MS)
        assert "The disk is full" in said(application)
        assert application.window.start_page.start.isVisibleTo(application.window)
        (tmp_path / "disk" / "ballast").unlink()
        application.window.start_page.start.click()
        until(lambda: application.store.verdict.reason == "backbone", WAIT_MS)
        application.leave()
        if application.process.child is not None:
            application.process.child.wait(30)


def test_keyring_that_does_not_open_is_told(opened, tmp_path, until):
    home = Home(tmp_path)
    home.create()
    home.identity_file.write_bytes(msgspec.json.encode(IdentityFile(peer="ab" * 32, entry="potluck-1")))
    home.identity_file.chmod(0o600)
    application = opened(tmp_path)
    until(lambda: application.store.verdict.reason == "refused", WAIT_MS)
    assert "the keyring does not open" in said(application)
    assert "Unlock the keyring" in said(application)
    assert application.window.start_page.start.isVisibleTo(application.window)


def test_without_keyring_the_log_says_where_the_key_is(opened, tmp_path, until):
    application = opened(tmp_path)
    until(lambda: application.store.verdict.reason == "backbone", WAIT_MS)
    application.window.actions_.pages["activity"].trigger()
    until(lambda: application.window.reports.activity, WAIT_MS)
    (told,) = [one for one in application.window.reports.activity if "keyring" in one.text]
    assert str(tmp_path) in told.text
    assert Home(tmp_path).identity_file.stat().st_mode & 0o077 == 0 or os.name == "nt"


def test_no_network_at_first_run_is_told(parts, engines, tmp_path, until):
    """In a network of its own that has not even a loopback interface that is up."""
    apart = ["unshare", "--net", "--map-root-user"]
    if shutil.which("unshare") is None or subprocess.run([*apart, "true"], check=False).returncode:
        pytest.skip("needs the right to make a network namespace")
    QGuiApplication.clipboard().clear()
    dialog = JoinDialog(JoinCommand(LineCommand(tmp_path / "home", [*apart, *CORE])), parts.window)
    dialog.begin()
    dialog.link.setText(NOWHERE)
    dialog.yes.click()
    until(lambda: dialog.links.problem, WAIT_MS)
    assert "No backbone answers" in dialog.links.problem or "network" in dialog.links.problem, dialog.links.problem
    assert dialog.links.again.isVisibleTo(dialog)
    dialog.reject()
