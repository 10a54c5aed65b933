"""Signing in from the window, and the person's own account in About and trust."""

import json
import sys

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.commands.account import AccountCommand
from app.commands.joining import JoinCommand
from app.commands.line_command import LineCommand
from app.looks.language import LANGUAGES
from app.views.account import AccountBox
from app.views.first_run.wizard import JoinDialog
from app.words import text
from core.api.account import WAYS_OUT, AccountAct
from core.joining.refused import REFUSALS, SignInProblem

LINK = f"potluck://pot.example:4000/{'ab' * 32}"
SITE = "https://pot.example"
PROGRAM = """
import json, sys, time
from pathlib import Path
home = Path(sys.argv[sys.argv.index("--home") + 1])
words = sys.argv[1:sys.argv.index("--json")]
with (home / "calls").open("a") as calls:
    calls.write(json.dumps(words) + "\\n")
if words[0] == "account":
    print((home / words[1]).read_text())
elif "--show" in words:
    print(json.dumps({"event": "collaboration", "name": "Poems", "organiser": "Ada", "fingerprint": "0123 4567",
        "summary": "", "download_bytes": 1, "id": "ab", "task": "gpt", "site": "https://pot.example",
        "computer": {"cores": 8, "threads": 7, "memory_bytes": 16_000_000_000, "disk_free_bytes": 50_000_000_000}}))
elif words[0] == "join":
    at = "https://pot.example/in/device"
    print(json.dumps({"event": "sign_in", "address": at, "complete": at + "?code=WDJB-MJHT",
        "user_code": "WDJB-MJHT", "seconds": 900}), flush=True)
    answer = home / "answer"
    while not (answer.exists() and answer.read_text()):
        time.sleep(0.02)
    print(answer.read_text())
else:
    print(json.dumps({"event": "kept"}))
"""
DEVICES = [
    {"name": "desk", "key": "ab" * 32, "at": 1.7e9, "is_me": True, "ended": False},
    {"name": "laptop <b>", "key": "cd" * 32, "at": 1.7e9, "is_me": False, "ended": False},
    {"name": "", "key": "ef" * 32, "at": 1.7e9, "is_me": False, "ended": True},
]


def view(**more):
    return json.dumps({"event": "account", "name": "Ada", "devices": DEVICES, **more})


def calls(folder):
    path = folder / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def words(widget):
    return [label.text() for label in widget.findChildren(QLabel) if label.isVisibleTo(widget)]


@pytest.fixture
def dialog(parts, tmp_path):
    QGuiApplication.clipboard().clear()
    made = JoinDialog(JoinCommand(LineCommand(tmp_path, [sys.executable, "-c", PROGRAM])), parts.window)
    made.answers = []
    made.joined.connect(made.answers.append)
    yield made
    made.reject()


@pytest.fixture
def signing(dialog, until):
    """A dialog that waits until the person has signed in."""
    dialog.ask(LINK)
    until(lambda: dialog.facts, 20_000)
    assert dialog.facts["account"] == f"You sign in at {SITE}, in your browser."
    dialog.yes.click()
    until(lambda: dialog.pages.currentWidget() is dialog.sign_in, 20_000)
    return dialog


def test_person_sees_where_to_sign_in_and_the_code(signing, tmp_path, until, monkeypatch):
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url) or True)
    page = signing.sign_in
    assert page.where.text() == f"Sign in at {SITE}/in/device with this code:"
    assert page.code.text() == "WDJB-MJHT"
    assert page.code.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByKeyboard
    assert page.open.hasFocus() or not signing.isActiveWindow()
    assert signing.bar.isVisibleTo(signing)
    assert "15 min" in signing.said
    QTest.keyClick(page.open, Qt.Key.Key_Space)
    assert opened == [QUrl(f"{SITE}/in/device?code=WDJB-MJHT")]
    QTest.keyClick(page.copy, Qt.Key.Key_Space)
    assert QGuiApplication.clipboard().text() == "WDJB-MJHT"
    assert not any("WDJB" in word or "#" in word for call in calls(tmp_path) for word in call)
    (tmp_path / "answer").write_text(json.dumps({"event": "joined", "running": True, "name": "Poems"}))
    until(lambda: signing.answers, 20_000)
    assert not signing.isVisible()


def test_refused_person_reads_why_and_may_try_again(signing, tmp_path, until):
    problem = SignInProblem("denied", words="A class of 30.")
    said = {"code": problem.code, "message": problem.message, "hint": problem.hint}
    (tmp_path / "answer").write_text(json.dumps({"event": "problem", **said}))
    until(lambda: signing.links.problem, 20_000)
    assert "A class of 30." in signing.links.problem
    assert signing.links.again.isVisibleTo(signing)
    assert not signing.bar.isVisibleTo(signing)
    signing.links.again.click()
    until(lambda: signing.facts, 20_000)


def test_back_and_cancel_end_the_waiting(signing):
    signing.back.click()
    assert signing.pages.currentWidget() is signing.look
    assert not signing.bar.isVisibleTo(signing)
    assert signing.yes.isVisibleTo(signing)
    signing.yes.click()
    signing.no.click()
    assert not signing.isVisible()


@pytest.mark.parametrize("language", LANGUAGES, indirect=True)
def test_every_refusal_is_told_in_every_language(language):
    for why in REFUSALS:
        problem = SignInProblem(why, words="So it is.", until=1.8e9)
        told = problem.whole.told(text.tr)
        assert "So it is." in told
        assert (told == str(problem)) == (language == "en")


@pytest.fixture
def box(parts, tmp_path, until):
    (tmp_path / "list").write_text(view())
    made = AccountBox(AccountCommand(LineCommand(tmp_path, [sys.executable, "-c", PROGRAM])))
    made.left = []
    made.gone.connect(lambda: made.left.append(1))
    made.show()
    made.refresh()
    until(lambda: made.ends, 20_000)
    yield made
    made.close()


def test_account_lists_computers_and_ends_one(box, tmp_path, until):
    until(lambda: {"desk", "this computer", "laptop <b>", "a computer", "ended"} <= set(words(box)))
    assert list(box.ends) == ["cd" * 32]
    assert box.ends["cd" * 32].accessibleName() == "End laptop <b>"
    (tmp_path / "end").write_text(view(told=False))
    box.ends["cd" * 32].click()
    assert len(calls(tmp_path)) == 1, "nothing is done before the person has said yes"
    box.question.yes.click()
    until(lambda: "4 days" in box.said, 20_000)
    assert calls(tmp_path)[-1] == ["account", "end", "cd" * 32, "--yes"]


def test_account_shows_the_link_for_one_more_computer(box, tmp_path, until):
    (tmp_path / "add").write_text(view(link=f"{LINK}#secret", until=1.8e9))
    box.add.click()
    until(box.link.isVisible, 20_000)
    assert box.link.field.text() == f"{LINK}#secret"
    assert "Send it to nobody" in box.said


@pytest.mark.parametrize("act", WAYS_OUT)
def test_person_goes_only_after_a_question(box, tmp_path, until, act):
    (tmp_path / act).write_text(view())
    button = box.sign_out if act is AccountAct.SIGN_OUT else box.take_out
    button.click()
    assert box.question.informativeText() == WAYS_OUT[act][0]
    box.question.close()
    assert not box.left
    button.click()
    box.question.yes.click()
    until(lambda: box.left, 20_000)
    assert box.said == WAYS_OUT[act][1]
    assert not box.add.isEnabled()


def test_backbone_that_is_away_leaves_the_account_as_it_was(box, tmp_path, until):
    (tmp_path / "sign-out").write_text(json.dumps({"event": "problem", "code": "problem", "message": "No backbone."}))
    box.sign_out.click()
    box.question.yes.click()
    until(lambda: "No backbone." in box.said, 20_000)
    assert not box.left
    assert list(box.ends) == ["cd" * 32]
