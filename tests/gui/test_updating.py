"""A newer version in the window: one line, what is new, and the buttons that get it and take it."""

import sys
from types import SimpleNamespace

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.commands.line_command import LineCommand
from app.pages.verdict_actions import offers_of
from app.renewal import Renewal
from app.views.updating import UpdateDialog
from core.api import verdict as verdicts
from core.api.program_folder import LAUNCHER, PROGRAM
from core.api.snapshot import ProblemView
from core.api.updates import NEWER, UpdateState, UpdateView
from core.api.version import VERSION

PROGRAM_TEXT = """
import json, sys
from pathlib import Path
word = sys.argv[2]
home = Path(sys.argv[sys.argv.index("--home") + 1])
(home / "calls").open("a").write(word + "\\n")
kept = home / "state"
state, on = kept.read_text().split() if kept.exists() else ("current", "True")
if word == "--get":
    print(json.dumps({"event": "progress", "done_bytes": 10**6, "total_bytes": 2 * 10**6}), flush=True)
    if (home / "broken").exists():
        print(json.dumps({"event": "problem", "code": "not_trusted", "message": "Not signed.", "hint": "Try later."}))
        sys.exit(2)
state = {"--check": "offered", "--get": "ready"}.get(word, state)
on = {"--off": "False", "--on": "True"}.get(word, on)
kept.write_text(f"{state} {on}")
newer = state != "current"
print(json.dumps({"event": "update", "state": state, "version": "9.0" if newer else "", "on": on == "True",
                  "news": ["It is faster."] if newer else []}))
"""


@pytest.fixture
def dialog(parts, tmp_path, until):
    made = UpdateDialog(LineCommand(tmp_path, [sys.executable, "-S", "-c", PROGRAM_TEXT]), parts.window)
    parts.window.show()
    made.ask()
    until(made.act.isEnabled)
    yield made
    made.close()


def test_person_looks_gets_and_restarts(dialog, tmp_path, until):
    asked = []
    dialog.restart_asked.connect(lambda: asked.append(1))
    assert dialog.state.text() == f"Potluck {VERSION} is the newest version for this computer."
    for words, state in (("&Look now", "9.0 is there"), ("&Get 9.0", "9.0 is here")):
        assert dialog.act.text() == words
        dialog.act.click()
        until(lambda state=state: state in dialog.state.text())
    assert dialog.news.text() == "• It is faster."
    assert dialog.act.text() == "&Restart with 9.0"
    dialog.act.click()
    assert asked == [1]
    assert "after the present step" in dialog.said.text()
    assert (tmp_path / "calls").read_text().split() == ["--show", "--check", "--get"]


def test_daily_look_is_switched_off(dialog, tmp_path, until):
    assert dialog.daily.isChecked()
    dialog.daily.click()
    until(lambda: "by itself" in dialog.state.text())
    assert not dialog.daily.isChecked()
    assert (tmp_path / "calls").read_text().split() == ["--show", "--off"]


def test_failure_says_what_to_do(dialog, tmp_path, until):
    (tmp_path / "broken").touch()
    dialog.act.click()
    until(lambda: dialog.act.text() == "&Get 9.0")
    dialog.act.click()
    until(lambda: dialog.said.text() == "Not signed. Try later.")
    assert dialog.act.isEnabled()


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (UpdateView(state=UpdateState.READY, version="9.0"), "Potluck 9.0 is here"),
        (UpdateView(state=UpdateState.CURRENT, back_from="9.0"), "Version 9.0 did not start on this computer"),
        (UpdateView(state=UpdateState.CURRENT), ""),
        (None, ""),
    ],
)
def test_one_line_while_there_is_news(parts, examples, view, words):
    parts.window.show()
    parts.store.put(msgspec.structs.replace(examples.snapshot(), update=view))
    line = parts.window.update_line
    assert line.isVisible() == bool(words)
    assert line.words.text().startswith(words)
    if words:
        QTest.mouseClick(line.look, Qt.MouseButton.LeftButton)
        assert line.dialog.isVisible()
        line.dialog.reject()


def test_collaboration_of_a_newer_protocol_offers_the_update(parts, examples):
    verdict = verdicts.problem(NEWER, "The collaboration uses a newer version of Potluck.", "Update Potluck.")
    assert [offer.words for offer in offers_of(verdict)] == ["Update Potluck…"]
    parts.window.show()
    parts.store.put(examples.snapshot(verdict))
    QTest.mouseClick(parts.window.home.offers[0], Qt.MouseButton.LeftButton)
    assert parts.window.update_line.dialog.isVisible()
    parts.window.update_line.dialog.reject()
    links = parts.window.join.links
    links.show_problem(ProblemView("link.newer", "The collaboration uses a newer version of Potluck.", "Update it."))
    assert not links.newer.isHidden()
    links.show_problem(ProblemView("link.full", "It is full."))
    assert links.newer.isHidden()


def test_window_follows_an_engine_that_is_newer(parts, examples, tmp_path, monkeypatch):
    left = []
    renewal = Renewal(tmp_path, parts.store, parts.intents, parts.window, lambda: left.append(1))
    newer = msgspec.structs.replace(examples.snapshot(), version="9.0")
    parts.store.put(newer)
    assert not left  # nothing newer lies here
    (tmp_path / "versions" / "9.0").mkdir(parents=True)
    (tmp_path / "installed.json").write_text('{"version": "0.1.0"}')
    monkeypatch.setenv(PROGRAM, str(tmp_path))
    monkeypatch.setenv(LAUNCHER, "/opt/potluck")
    parts.store.put(examples.snapshot())
    assert not left
    renewal.ask()
    assert parts.calls == ["update"]
    parts.store.put(newer)
    parts.store.put(newer)
    assert left == [1]
    assert renewal.command == ["/opt/potluck", "--hidden", "--home", str(tmp_path)]


def test_person_without_an_engine_restarts_the_window(parts, tmp_path, monkeypatch):
    left = []
    renewal = Renewal(tmp_path, parts.store, parts.intents, parts.window, lambda: left.append(1))
    found = SimpleNamespace(command=["potluck"])
    monkeypatch.setattr("app.renewal.begin_again", lambda _: found.command)
    renewal.ask()
    assert (left, renewal.command, parts.calls) == ([1], ["potluck"], [])
    renewal.follow("version")
    assert left == [1]
