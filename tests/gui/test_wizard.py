"""From a link to the first contribution: the real window and engine, and a real backbone on loopback."""

import os
import sys
import time

import psutil
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from app.engine.engine_process import engine_command
from app.looks.choices import Choices
from app.shell.opening import Opening, opening
from core.api.modes import ALWAYS
from core.engine.remembered.collaborations import Collaborations
from core.storage.paths import Home
from core.storage.settings import Settings, load_settings, save_settings
from tests.process.swarm import LOOPBACK, SHARE, Collaboration, found

WAIT_MS = 120_000
"""Only bounds a failure: other tests compute on the same cores at the same time."""
FIRST_S = 60.0
IDLE_S = 1.0

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def swarm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("swarm")
    running = Collaboration(folder, found(folder, target_samples=64))
    running.start_backbone()
    yield running
    running.close()


@pytest.fixture
def person(tmp_path, monkeypatch):
    """A person's home directory, in which autostart files would go."""
    for name, value in (("KEYRING", "off"), ("SENSES", "off")):
        monkeypatch.setenv(f"POTLUCK_{name}", value)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def opened(person, swarm, application_of):
    """Makes the window of one home, as `potluck` does."""
    home = person / ".potluck"
    Home(home).create()
    save_settings(Home(home).settings_file, Settings(share=SHARE))
    words = [*engine_command(home), *swarm.allowed, *LOOPBACK, "--port", "0"]
    return lambda: application_of(home, words)


def computing(swarm) -> list[str]:
    """Command lines of engines, workers and trainers among all descendants but the backbone."""
    busy = []
    for child in psutil.Process().children(recursive=True):
        try:
            words = child.cmdline()
        except psutil.Error:
            continue
        if child.pid != swarm.backbone.pid and ("engine" in words or any("core.training" in word for word in words)):
            busy.append(" ".join(words))
    return busy


def descendants_cpu_s(swarm) -> float:
    """Processor time of all descendants but the backbone."""
    total = 0.0
    for child in psutil.Process().children(recursive=True):
        try:
            total += 0.0 if child.pid == swarm.backbone.pid else sum(child.cpu_times()[:2])
        except psutil.Error:
            continue
    return total


def photograph(widget, folder, name):
    picture = widget.grab().toImage()
    colours = {picture.pixel(QPoint(x, y)) for x in range(0, picture.width(), 3) for y in range(0, picture.height(), 3)}
    assert len(colours) > 3, f"{name} is blank"
    keep = os.environ.get("POTLUCK_PICTURES")
    assert picture.save(str((folder if keep is None else type(folder)(keep)) / f"{name}.png"))


def test_wizard_from_link_to_first_contribution(opened, person, swarm, until):
    QGuiApplication.clipboard().clear()
    application = opened()
    pages = application.window.join
    began = time.monotonic()
    application.welcome()
    photograph(pages, person, "1-link")
    QTest.keyClicks(pages.link, swarm.link)
    QTest.keyClick(pages.link, Qt.Key.Key_Return)
    until(lambda: pages.facts or pages.links.problem, WAIT_MS)
    assert pages.links.problem == ""
    assert pages.facts["name"] == "A test"
    assert "0 computers" in pages.facts["computers"]
    photograph(pages, person, "2-look")
    QTest.keyClick(pages.yes, Qt.Key.Key_Space)
    QTest.keyClicks(pages.habits.name, "Ada's laptop")
    photograph(pages, person, "3-habits")
    assert not (person / ".potluck" / "collaborations.json").exists()
    assert computing(swarm) == []
    before, quiet_since = descendants_cpu_s(swarm), time.monotonic()
    until(lambda: time.monotonic() - quiet_since > IDLE_S)
    assert descendants_cpu_s(swarm) - before < 0.1 * IDLE_S
    assert not application.window.isVisible()
    QTest.keyClick(pages.habits.name, Qt.Key.Key_Return)
    until(lambda: (seen := application.store.snapshot) is not None and seen.epoch >= 1 and seen.me.samples > 0, WAIT_MS)
    took = time.monotonic() - began - IDLE_S
    photograph(application.window, person, "4-contributed")
    snapshot = application.store.snapshot
    assert computing(swarm)
    assert snapshot.me.name == "Ada's laptop"
    assert 0 < snapshot.today.seconds < took + 1, "counted up to this moment"
    assert snapshot.collaboration.name == "A test"
    assert any((row.name, row.is_me) == ("Ada's laptop", True) for row in snapshot.leaderboard)
    assert (person / ".potluck" / "collaborations.json").stat().st_mode & 0o077 == 0
    assert (person / ".local/share/applications").is_dir() or sys.platform != "linux"
    assert took < FIRST_S, f"{took:.0f} s"


def test_restart_goes_back_to_the_collaboration(opened, person, swarm, until):
    from core.backbone.link import parse_link

    home = Home(person / ".potluck")
    home.create()
    Collaborations(home).keep(parse_link(swarm.link))
    assert opening(home.directory, Choices(home.directory / "window.ini")) is Opening.JOINED
    application = opened()
    application.start()
    until(lambda: (seen := application.store.snapshot) is not None and seen.collaboration is not None, WAIT_MS)
    assert application.store.snapshot.collaboration.name == "A test"
    application.window.join.ask(swarm.link)  # as a link that is clicked now
    until(lambda: application.window.join.facts, WAIT_MS)
    assert application.window.join.yes.text() == "&Join"


def test_closed_pages_leave_nothing_behind(opened, person, swarm, until):
    application = opened()
    application.welcome()
    QTest.keyClick(application.window.join, Qt.Key.Key_Escape)
    until(lambda: application.gone)
    assert computing(swarm) == []
    home = person / ".potluck"
    assert opening(home, Choices(home / "window.ini")) is Opening.FIRST_RUN


def test_start_paused_computes_nothing(opened, person, swarm, until):
    application = opened()
    pages = application.window.join
    application.welcome(swarm.link)
    until(lambda: pages.facts, WAIT_MS)
    pages.yes.click()
    pages.habits.paused.setChecked(True)
    pages.yes.click()
    until(lambda: application.store.verdict.code == "paused", WAIT_MS)
    assert not any("core.training" in line for line in computing(swarm))
    assert load_settings(Home(person / ".potluck").settings_file).settings.computing != ALWAYS


def test_hidden_opens_in_the_tray_only(opened, until):
    application = opened()
    application.process.start = lambda: ""  # only where the window goes is looked at
    application.start(hidden=True)
    shown = application.window.isVisible() and not application.window.isMinimized()
    assert not shown
