"""The first page's ways: a list to look around in, and the four pages that found a collaboration."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.words import text
from core.api.hosting import Router, WhereView
from tests.gui.answering import LINK
from tests.gui.test_collaborations import WAIT_MS, press


def test_list_is_opened_only_when_it_is_named(answering, until, tmp_path):
    join = answering.join
    join.begin()
    press(join.links.around)
    until(lambda: ["directory"] in answering.calls(), WAIT_MS)  # the one that came along, which there is not
    assert join.around.said == ""
    QTest.keyClicks(join.around.where, "list.json")
    press(join.around.where, Qt.Key.Key_Return)
    until(lambda: join.around.said == "It cannot be. Do another thing.", WAIT_MS)
    entry = {"id": "ab" * 32, "name": "Poems", "summary": "It writes <i>poems</i>.", "link": LINK}
    known = {"event": "directory", "name": "Open ones", "fingerprint": "0123 4567", "made": 1.7e9}
    (tmp_path / "directory").write_text(json.dumps(known | {"entries": [entry], "left_out": 2}))
    press(join.around.open)
    until(lambda: join.around.entries, WAIT_MS)
    assert "signed" in join.around.said
    assert "0123 4567" in join.around.said
    assert "2 entries cannot be used" in join.around.said
    press(join.around.entries[0])
    assert join.link.text() == LINK
    until(lambda: ["join", "-", "--show"] in answering.calls(), WAIT_MS)
    join.reject()


def found_by_keyboard(dialog, until):
    """From the first page to the third."""
    press(dialog.yes, Qt.Key.Key_Return)
    QTest.keyClicks(dialog.who.name, "Kitchen words")
    press(dialog.who.name, Qt.Key.Key_Return)
    until(lambda: dialog.where.looked, WAIT_MS)


def test_four_pages_lead_to_a_link(answering, until, tmp_path):
    (tmp_path / "link").write_text(LINK)
    answering.join.ask()
    press(answering.join.links.found)
    dialog = answering.founding
    assert dialog.isVisible()
    dialog.what.own.setChecked(True)
    press(dialog.yes)
    assert "Folder of texts" in dialog.said, "it has to be named first"
    dialog.what.folder.setText(str(tmp_path))
    dialog.what.licence.setText("CC0")
    dialog.what.recipes["small-gpt"].setChecked(True)
    found_by_keyboard(dialog, until)
    assert dialog.where.said.startswith("Only computers in your home can come in")
    QTest.keyClicks(dialog.where.also, "pot.example.org")
    press(dialog.where.also, Qt.Key.Key_Return)
    until(dialog.ready.link.isVisible, WAIT_MS)
    assert dialog.ready.link.field.text() == LINK
    assert str(tmp_path / "founded") in dialog.ready.charter.text()
    assert "4001 (TCP), 4002 (TCP and UDP)" in dialog.ready.charter.text(), "the router opens none"
    (words,) = [words for words in answering.calls() if words[0] == "found"]
    assert words == [
        "found", "small-gpt", f"--text={tmp_path}", "--licence=CC0", "--name=Kitchen words", "--uses=20", "--days=14",
        "--host=pot.example.org", "--host=192.168.1.7", "--with-engine", "--progress",
    ]  # fmt: skip
    press(dialog.yes)
    assert not dialog.isVisible()
    assert not answering.join.isVisible()
    assert "Kitchen words" in answering.status.news


def test_founding_is_stopped_only_after_a_question(answering, until, tmp_path):
    (tmp_path / "slow").touch()
    answering.join.ask()
    dialog = answering.founding
    dialog.ask()
    found_by_keyboard(dialog, until)
    press(dialog.yes)
    until(lambda: dialog.bar.value() == 600, WAIT_MS)
    assert dialog.said == "Reading text"
    press(dialog, Qt.Key.Key_Escape)
    press(dialog.box.focusWidget())  # Go on
    assert dialog.isVisible()
    (tmp_path / "slow").unlink()
    until(lambda: dialog.ready.said.text() == "It cannot be. Do another thing.", WAIT_MS)
    press(dialog.back)
    assert dialog.pages.currentWidget() is dialog.where
    dialog.reject()
    answering.join.reject()


def test_founder_says_at_the_first_time_how_it_computes(answering, until, tmp_path):
    (tmp_path / "link").write_text(LINK)
    answers = []
    answering.join.joined.connect(answers.append)
    answering.join.begin()
    press(answering.join.links.found)
    found_by_keyboard(answering.founding, until)
    press(answering.founding.yes)
    until(answering.founding.ready.link.isVisible, WAIT_MS)
    press(answering.founding.yes)
    assert answering.join.pages.currentWidget() is answering.join.habits
    assert not answers
    answering.join.habits.unused.setChecked(True)
    press(answering.join.yes)
    until(lambda: answers, WAIT_MS)
    assert ["settings", "-"] in answering.calls()
    assert not any(words[0] == "join" for words in answering.calls())


@pytest.mark.parametrize("router", Router)
def test_each_answer_of_the_router_is_a_sentence(router):
    view = WhereView(home="192.168.1.7", router=router, outside="203.0.113.1" if router is Router.OPENS else "")
    assert text.tr(view.sentence).endswith(".")
    assert "network" in WhereView().sentence
