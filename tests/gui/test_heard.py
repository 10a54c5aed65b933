"""What a blind person hears: names, announcements and the way of the focus, each as a screen reader gets it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from core.api import verdict as verdicts
from core.api.snapshot import Notice, ProblemView
from tests.gui.heard import NEEDED
from tests.gui.test_access import show_first_run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def announced(monkeypatch):
    """What the window has a screen reader say."""
    from app.widgets import field

    words = []

    class Hearing(QAccessible):
        @staticmethod
        def updateAccessibility(event):
            words.append(event.message())

    monkeypatch.setattr(field, "QAccessible", Hearing)
    return words


@pytest.fixture
def window(parts, examples, until):
    """The window in front, at Home; the engine trains."""
    parts.window.show()
    parts.window.activateWindow()
    until(parts.window.isActiveWindow)
    parts.store.put(examples.snapshot())
    return parts.window


def press(key, *modifiers):
    QTest.keyClick(QApplication.focusWidget(), key, *modifiers)
    return QApplication.focusWidget()


def opened(window, name):
    number = list(window.pages).index(name)
    return press(Qt.Key(Qt.Key.Key_1 + number), Qt.KeyboardModifier.ControlModifier)


def test_page_that_a_key_opens_says_title_and_lead(window):
    window.home.header.switch.setFocus()
    for name, title, lead in (
        ("people", "People", "You are number 2 of 3."),
        ("gift", "My gift", "40 of the model's steps have your work in them"),
        ("model", "Model", "Step 40. 31 of 100 blanks right"),
        ("computer", "My computer", ""),
    ):
        page = opened(window, name)
        assert page is window.pages[name]
        assert page.accessibleName() == title
        assert page.accessibleDescription().startswith(lead)
        press(Qt.Key.Key_Tab)
        assert page.isAncestorOf(QApplication.focusWidget())
    assert opened(window, "home") is window.home.header.switch


def test_tab_comes_to_the_entry_of_the_open_page(window):
    window.home.header.switch.setFocus()
    opened(window, "people")
    reached = {press(Qt.Key.Key_Tab) for _ in range(8)}
    assert reached & set(window.rail.buttons) == {window.rail.buttons[2], window.rail.buttons[-1]}


def test_switch_that_has_the_focus_tells_no_progress(window, parts, examples):
    switch = window.home.header.switch
    switch.setFocus()
    before = switch.accessibleDescription()
    for samples in (1300, 1400):
        verdict = verdicts.contributing("training", others=2, samples=samples, target=2048, epoch=40)
        parts.store.put(examples.snapshot(verdict, samples=samples))
        assert switch.accessibleDescription() == before == "Training together with 2 others."
    parts.store.put(examples.STATES["paused"]())
    assert switch.accessibleDescription().startswith("Paused by you")


def test_change_of_state_is_announced_on_every_page(window, parts, examples, announced):
    opened(window, "people")
    for state, said in (("resting", "Resting. This is outside the hours"), ("problem", "Problem. The disk is full")):
        parts.store.put(examples.STATES[state]())
        assert announced.pop().startswith(said)
        parts.store.put(examples.STATES[state]())
        assert announced == [], "it is said once"
    parts.store.put(examples.snapshot())
    parts.intents.contribute(False)
    assert announced == ["Contributing. Training together with 2 others."], "what is only asked for is no state"


def test_answers_and_warnings_are_announced_but_no_routine(window, announced):
    window.status.tell("The settings are saved.")
    window.status.show_news(Notice(1, 0.0, "info", "Step 41 is done."))
    window.status.show_news(Notice(2, 0.0, "warning", "Slow line."))
    assert announced == ["The settings are saved.", "Slow line."]


def test_what_is_hidden_announces_nothing(window, parts, examples, announced):
    window.hide()
    parts.store.put(examples.STATES["resting"]())
    assert announced == []


def test_facts_are_reached_by_tab_and_named_with_their_values(window, parts, examples):
    opened(window, "about")
    parts.window.reports.put("trust", examples.reports()["trust"])
    names = set()
    for _ in range(20):
        names.add(press(Qt.Key.Key_Tab).accessibleName())
    assert "Fingerprint of its key: 0123 4567 89ab cdef 0123 4567 89ab cdef" in names
    assert "Who lets people in: this computer" in names


def test_curve_says_in_its_name_what_it_shows(window):
    opened(window, "model")
    heldout, training = window.model.heldout.accessibleName(), window.model.training.accessibleName()
    assert heldout.startswith("Mistakes on what it has never seen. Held-out loss: 7.70 nats at step 1")
    assert training == "Mistakes on what it learns from. Training loss: 8.24 nats at step 1, 5.35 nats at step 40."


def test_next_page_of_a_dialog_is_announced(parts, examples, until, tmp_path, announced):
    dialog = show_first_run("first-run-look", parts, examples, until, tmp_path)
    assert announced.count("Do you want to take part?") == 1
    assert not dialog.accessibleDescription(), "the title is a label, which is read where the dialog opens"
    assert announced[-1] == "Compare the fingerprint with the one that the organiser shows you."
    values = [one for one in dialog.look.findChildren(QLabel) if one.text() in dialog.facts.values()]
    assert values
    for value in values:
        assert value.focusPolicy() & Qt.FocusPolicy.TabFocus
        assert value.accessibleName().endswith(value.text())
    dialog.close()


def test_problem_with_habits_is_announced(parts, announced):
    habits = parts.window.join.habits
    habits.show_problem(ProblemView("setting.hours", "These hours cannot be read.", "Write them so."))
    assert announced == ["These hours cannot be read. Write them so."]


def test_asking_the_model_keeps_the_focus_and_is_announced(window, announced):
    trying = window.home.trying
    trying.line.clear()
    trying.button.setFocus()
    press(Qt.Key.Key_Space)
    assert announced == ["Write a sentence first, with ___ for a word that is missing."]
    trying.line.setText("Their ___ computers.")
    assert press(Qt.Key.Key_Space) is trying.line
    assert announced[1].startswith("The newest model on this computer is loaded")


def test_findings_of_a_check_are_announced(window, announced):
    from app.commands.doctor import Checked

    window.computer.show_findings([Checked(level="problem", sentence="The clock is wrong.", advice="Set it.")])
    assert announced == ["1 of 1 checks found something that has to be mended."]


def test_hour_that_space_turns_is_announced(parts, examples, announced):
    settings = parts.window.settings
    settings.hours.show_settings(examples.settings())
    settings.hours.grid.setCurrentIndex(settings.hours.table.index(0, 8))
    QTest.keyClick(settings.hours.grid, Qt.Key.Key_Space)
    assert announced == ["Monday, 08:00 to 09:00: Potluck may work"]


def test_choice_of_devices_says_what_is_chosen(parts):
    device = parts.window.settings.computer.device
    assert device.best.accessibleName().startswith("Training runs on: The best that there is")


@pytest.mark.long
def test_screen_reader_speaks_the_page_of_people(tmp_path):
    """The whole way: a key, the window, the accessibility bus, Orca, speech-dispatcher, a synthesiser."""
    lacking = [name for name in NEEDED if shutil.which(name) is None]
    if lacking:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    words = [sys.executable, "-m", "tests.gui.heard", str(tmp_path), "--languages", "en,de", "--only", "people"]
    subprocess.run(words, cwd=ROOT, check=True, timeout=300, stdout=subprocess.DEVNULL)
    english, german = (Path(tmp_path / f"heard-{code}.txt").read_text("utf-8") for code in ("en", "de"))
    assert "Leaderboard. | table with 3 rows 5 columns" in english
    assert "Name: Bee (you)" in english
    assert "Tabelle mit 3 Zeilen 5 Spalten" in german
    assert "(nothing)" not in english
