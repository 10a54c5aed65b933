"""The dialog in which a person joins: what is shown before, and what comes of yes and no."""

import sys

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit

from app.commands.joining import JoinCommand
from app.commands.line_command import LineCommand
from app.commands.own_commands import OwnCommands
from app.shell.main_window import MainWindow
from app.views.first_run.wizard import JoinDialog
from app.words import page_text
from core.api import verdict as verdicts
from core.api.snapshot import LossView
from core.backbone.revocations import shut_out

LINK = f"potluck://pot.example:4000/{'ab' * 32}#invitation"
PROGRAM = """
import json, sys
from pathlib import Path
link = sys.stdin.readline().strip()
with Path(sys.argv[sys.argv.index("--home") + 1], "calls").open("a") as calls:
    words = [word for word in sys.argv[1:sys.argv.index("--json")]]
    calls.write(json.dumps([link, words]) + "\\n")
if "refused" in link:
    said = {"event": "problem", "code": "user", "message": "The backbone does not answer.", "hint": "Try later."}
elif "--show" in sys.argv:
    said = {"event": "collaboration", "name": "Poems", "organiser": "Ada\\u202e", "fingerprint": "0123 4567",
            "summary": "A model that writes <b>poems</b>.", "download_bytes": 1_234_567, "id": "ab", "task": "gpt",
            "computers": 31, "estimate": {"memory_bytes": 900_000_000, "share": 1 / 32, "watts": 45.0},
            "computer": {"cores": 8, "threads": 7, "memory_bytes": 16_000_000_000, "disk_free_bytes": 50_000_000_000}}
elif "collaborations" in sys.argv:
    left = "leave" in Path(sys.argv[sys.argv.index("--home") + 1], "calls").read_text()
    why = None if left else "ended"
    print(json.dumps({"id": "ab", "name": "Poems", "current": True, "served": left, "why_not": why}))
    if not left:
        print(json.dumps({"id": "cd", "name": "Maps", "current": False, "served": True, "why_not": None}))
    sys.exit()
elif "leave" in sys.argv:
    said = {"event": "left"}
else:
    said = {"event": "joined", "running": True, "name": "Poems"}
print(json.dumps(said))
"""


@pytest.fixture
def dialog(parts, tmp_path):
    command = JoinCommand(LineCommand(tmp_path, [sys.executable, "-c", PROGRAM]))
    made = JoinDialog(command, parts.window)
    made.answers = []
    made.joined.connect(made.answers.append)
    parts.window.show()
    yield made
    made.reject()


def calls(folder):
    import json

    path = folder / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def shown(dialog):
    return {name: words for name, words in dialog.facts.items() if words}


def test_nothing_is_joined_before_it_was_shown(dialog, tmp_path, until):
    dialog.ask()
    assert not dialog.yes.isEnabled()
    QTest.keyClicks(dialog.link, LINK)
    QTest.keyClick(dialog.link, Qt.Key.Key_Return)
    until(lambda: dialog.facts, 20_000)
    facts = shown(dialog)
    assert (facts["name"], facts["organiser"], facts["fingerprint"]) == ("Poems", "Ada", "0123 4567")
    assert facts["summary"] == "A model that writes <b>poems</b>."
    assert "1.2 MB of files" in facts["download"]
    assert calls(tmp_path) == [[LINK, ["join", "-", "--show"]]]
    assert dialog.yes.text() == "&Join"
    QTest.keyClick(dialog.yes, Qt.Key.Key_Space)
    until(lambda: dialog.answers, 20_000)
    assert calls(tmp_path)[1] == [LINK, ["join", "-", "--yes"]]
    assert not dialog.isVisible()


def test_no_joins_nothing(dialog, tmp_path, until):
    dialog.ask(LINK)
    until(lambda: dialog.facts, 20_000)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    assert [how for _, (*_, how) in calls(tmp_path)] == ["--show"]
    assert not dialog.answers


def test_another_link_is_looked_at_first(dialog, until):
    dialog.ask(LINK)
    until(lambda: dialog.facts, 20_000)
    dialog.link.setText(f"{LINK}x")
    assert not dialog.facts
    assert dialog.yes.text() == "&Look at it"


def test_what_is_wrong_is_a_sentence(dialog, until):
    dialog.ask(f"{LINK}refused")
    until(lambda: "does not answer" in dialog.said, 20_000)
    assert dialog.yes.isEnabled()
    assert "Try later." in dialog.said
    assert not dialog.facts


def test_a_copied_link_is_offered(dialog):
    QGuiApplication.clipboard().setText(f" {LINK}\n")
    dialog.ask()
    assert dialog.link.text().strip() == LINK
    QGuiApplication.clipboard().setText("something else")
    dialog.ask()
    assert dialog.link.text() == ""


def test_every_part_has_a_name(dialog, until):
    dialog.ask(LINK)
    until(lambda: dialog.facts, 20_000)
    for kind in (QAbstractButton, QLineEdit):
        for widget in dialog.findChildren(kind):
            assert widget.accessibleName() or widget.text(), widget
    assert all(value.accessibleName() for value in dialog.findChildren(QLabel) if value.text() in dialog.facts.values())


def test_a_program_that_cannot_be_run_is_told(parts, tmp_path, until):
    answers = []
    JoinCommand(LineCommand(tmp_path, [str(tmp_path / "nothing")], parts.window)).look(LINK, answers.append)
    until(lambda: answers)
    assert answers[0].problem.code == "join"


def test_menu_and_start_page_open_it(parts):
    parts.window.show()
    parts.window.start_page.join.click()
    assert parts.window.join.isVisible()
    parts.window.join.reject()
    parts.window.actions_.join.trigger()
    assert parts.window.join.isVisible()
    parts.window.join.reject()


def test_who_is_shut_out_is_offered_to_leave(parts, examples, delete, tmp_path, until):
    commands = OwnCommands.of(tmp_path, [sys.executable, "-c", PROGRAM])
    window = MainWindow(parts.store, parts.intents, commands, theme=parts.theme, choices=parts.choices)
    window.show()
    problem = shut_out()
    shown = examples.snapshot(verdicts.problem(problem.code, problem.message, problem.hint))
    unmeasured = msgspec.structs.replace(shown.collaboration, loss=LossView())
    home, leaving = window.home, window.served.leaving
    parts.store.put(msgspec.structs.replace(shown, collaboration=None))
    QTest.mouseClick(home.offers[0], Qt.MouseButton.LeftButton)
    assert window.open_page == "collaborations", "no session tells which one it was: the list of all does"
    window.actions_.pages["home"].trigger()
    parts.store.put(msgspec.structs.replace(shown, collaboration=unmeasured))
    assert home.header.words == ("Problem", str(problem))
    assert not home.header.switch.isEnabled()
    assert not home.header.switch.isChecked()
    assert not window.actions_.toggle.isEnabled()
    assert window.status.words == "Problem"
    assert home.pot.shares == (0, 0)
    assert page_text.unmeasured() not in [one.text() for one in home.findChildren(QLabel)]
    leave, again = home.offers
    QTest.mouseClick(again, Qt.MouseButton.LeftButton)
    assert parts.calls == ["try_now"]
    QTest.mouseClick(leave, Qt.MouseButton.LeftButton)
    assert leaving.box.text() == "Leave A small ALBERT on Python's documentation?"
    QTest.mouseClick(leaving.box.yes, Qt.MouseButton.LeftButton)
    until(lambda: window.status.news.startswith("You have left A small ALBERT"), 20_000)
    assert ["leave", "ab" * 32] in [words for _, words in calls(tmp_path)]
    delete(window)
