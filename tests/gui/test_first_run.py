"""The first-run pages: from a link to the choices, by keyboard too, and each link that leads nowhere."""

import json
import sys

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QRadioButton

from app.commands.joining import JoinCommand
from app.commands.line_command import LineCommand
from app.looks.choices import Choices
from app.looks.language import LANGUAGES
from app.shell.opening import Opening, opening
from app.views.first_run.wizard import JoinDialog
from app.words import link_look, text
from core.api.joined import KeptRefusal
from core.api.look import ComputerFacts, JoinEstimate, LinkLook
from core.api.snapshot import ProblemView
from tests.gui.test_join import LINK, PROGRAM, calls

WORDS = {
    "bad_input": ("This is not a Potluck link.", False),
    "link.expired": ("This invitation has expired.", False),
    "link.full": ("This invitation has been used as often as it may be.", False),
    "link.withdrawn": ("This invitation is not valid.", False),
    "link.newer": ("The collaboration uses a newer version of Potluck.", False),
    "link.ended": ("Poems has come to its end.", False),
    "not_trusted": ("The backbone offers another collaboration.", False),
    "link.unreachable": ("The backbone does not answer.", True),
    "link.closed": ("The backbone lets nobody in at present.", True),
}
REFUSES = """
import json, sys
from pathlib import Path
said = Path(sys.argv[sys.argv.index("--home") + 1], "said").read_text()
print(said)
"""


@pytest.fixture
def pages(parts, tmp_path):
    QGuiApplication.clipboard().clear()
    made = JoinDialog(JoinCommand(LineCommand(tmp_path, [sys.executable, "-c", PROGRAM])), parts.window)
    made.answers, made.chose_alone = [], []
    made.joined.connect(made.answers.append)
    made.alone.connect(lambda: made.chose_alone.append(1))
    yield made
    made.reject()


def press(widget, key=Qt.Key.Key_Return):
    QTest.keyClick(widget, key)


def test_keyboard_leads_from_link_to_start(pages, tmp_path, until):
    pages.begin()
    assert not pages.yes.isEnabled()
    QTest.keyClicks(pages.link, LINK)
    press(pages.link)
    until(lambda: pages.facts, 20_000)
    assert pages.facts["account"].startswith("None is needed")
    press(pages.yes, Qt.Key.Key_Space)
    assert pages.pages.currentWidget() is pages.habits
    assert pages.yes.text() == "&Start"
    QTest.keyClicks(pages.habits.name, "Ada")
    pages.habits.hours.setChecked(True)
    pages.habits.login.setChecked(True)
    press(pages.habits.name)
    until(lambda: pages.answers, 20_000)
    lines = [line for line, _ in calls(tmp_path)]
    words = [how for _, how in calls(tmp_path)]
    assert words == [
        ["join", "-", "--show"],
        ["startup", "links"],
        ["startup", "window"],
        ["settings", "-"],
        ["join", "-", "--yes"],
    ]
    assert json.loads(lines[3]) == {"name": "Ada", "hours": "mon-fri 20:00-07:00, sat sun"}
    assert (lines[0], lines[4]) == (LINK, LINK)
    assert not pages.isVisible()


def test_each_choice_is_one_wish(pages):
    habits = pages.habits
    wishes = []
    for button in habits.findChildren(QRadioButton):
        button.setChecked(True)
        wishes.append(habits.habits().wish)
    assert wishes == [{}, {"in_use": False}, {"hours": "mon-fri 20:00-07:00, sat sun"}, {"computing": "never"}]


def test_hours_that_cannot_be_read_are_told(pages):
    pages.habits.hours.setChecked(True)
    pages.habits.week.setText("blue")
    assert pages.habits.habits() is None
    assert "blue" in pages.habits.problem


def test_trying_alone_joins_nothing(pages, tmp_path, until):
    pages.begin()
    asked = []
    pages.found_asked.connect(lambda: asked.append(1))
    pages.links.alone.click()
    pages.links.found.click()  # it takes seconds, and two beginnings would be one too many
    until(lambda: pages.chose_alone, 20_000)
    assert not asked
    assert pages.links.found.isEnabled()
    assert [how for _, how in calls(tmp_path)] == [["startup", "links"]]
    assert not pages.answers


def test_no_key_starts_what_was_not_chosen(pages, tmp_path, until):
    """*Try again* goes while the link is looked at, and hands its focus to no other button."""
    pages.begin()
    QTest.keyClicks(pages.link, "hello")
    assert pages.yes.isEnabled(), "a text that is not a link is told to be none"
    pages.links.show_problem(ProblemView("link.unreachable", "It does not answer.", ""))
    assert pages.focusWidget() is pages.links.again
    press(pages.links.again, Qt.Key.Key_Space)
    assert pages.focusWidget() is pages.link
    assert not pages.chose_alone


def test_later_link_goes_without_habits(pages, tmp_path, until, parts):
    parts.window.show()
    pages.ask(LINK)
    until(lambda: pages.facts, 20_000)
    assert not pages.links.alone.isVisible()
    assert pages.yes.text() == "&Join"
    pages.back.click()
    assert pages.pages.currentWidget() is pages.links


@pytest.mark.parametrize("code", WORDS)
def test_link_that_leads_nowhere_has_a_button(parts, tmp_path, until, code):
    words, again = WORDS[code]
    (tmp_path / "said").write_text(json.dumps({"event": "problem", "code": code, "message": words, "hint": "Do so."}))
    pages = JoinDialog(JoinCommand(LineCommand(tmp_path, [sys.executable, "-c", REFUSES])), parts.window)
    pages.begin(LINK)
    until(lambda: pages.said == f"{words} Do so.", 20_000)
    assert pages.links.again.isVisible() == again
    assert pages.links.other.isVisible()
    assert pages.focusWidget() is (pages.links.again if again else pages.links.other)
    if again:
        (tmp_path / "said").write_text(json.dumps({"event": "problem", "code": code, "message": "Still not."}))
        press(pages.links.again, Qt.Key.Key_Space)
        until(lambda: pages.said.startswith("Still not."), 20_000)
    press(pages.links.other, Qt.Key.Key_Space)
    assert pages.link.text() == ""
    assert pages.said == ""
    pages.reject()


@pytest.mark.parametrize("language", LANGUAGES, indirect=True)
def test_every_control_of_all_pages_has_a_name(pages, until):
    pages.begin(LINK)
    until(lambda: pages.facts, 20_000)
    for kind in (QAbstractButton, QLineEdit):
        for widget in pages.findChildren(kind):
            assert widget.accessibleName() or widget.text(), widget
    for shown, goes_on in ((pages.links, "&Look at it"), (pages.look, "&Next"), (pages.habits, "&Start")):
        words = [each.text() for kind in (QAbstractButton, QLabel) for each in shown.findChildren(kind)]
        words += [pages.no.text(), pages.back.text(), text.tr(goes_on)]
        letters = [each[each.index("&") + 1].lower() for each in words if "&" in each]
        assert len(letters) == len(set(letters)), (shown, letters)


@pytest.mark.parametrize("language", LANGUAGES, indirect=True)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(480, 400), (1100, 720)])
def test_pages_fit_small_and_large(pages, parts, until, theme, size):
    from app.looks.choices import ThemeChoice

    parts.theme.choose(ThemeChoice(theme))
    pages.begin(LINK)
    until(lambda: pages.facts, 20_000)
    pages.resize(*size)
    for page in (pages.links, pages.look, pages.habits):
        pages.pages.setCurrentWidget(page)
        assert pages.minimumSizeHint().width() <= size[0]
        assert pages.size().height() <= max(size[1], pages.minimumSizeHint().height())
        assert pages.yes.geometry().right() <= pages.width()


def test_what_is_not_known_is_said_so():
    computer = ComputerFacts(cores=4, threads=3, memory_bytes=8 * 10**9, disk_free_bytes=10**9)
    look = LinkLook(
        id="ab", name="n", organiser="o", fingerprint="f", summary="", task="gpt", download_bytes=1, computer=computer
    )
    assert link_look.estimate(look.estimate) == "Known after the start only: share, power, traffic a day."
    rows = {name: words for name, _, words in link_look.here(look)}
    assert rows["memory"].startswith("Not known before the start")
    assert "experts" not in rows
    known = JoinEstimate(share=0.03, watts=45.0, day_bytes=1.2e9, memory_bytes=9 * 10**9, experts_bytes=4 * 10**8)
    more = {name: words for name, _, words in link_look.here(msgspec.structs.replace(look, estimate=known))}
    assert "here up to 400 MB of memory more" in more["experts"]
    assert (
        link_look.estimate(known)
        == "About 3 % of this collaboration, 45 W while it computes, 1.2 GB a day: an estimate."
    )


def test_refusal_of_the_last_time_is_told_before_joining_again():
    computer = ComputerFacts(cores=4, threads=3, memory_bytes=8 * 10**9, disk_free_bytes=10**9)
    look = LinkLook(
        id="ab", name="n", organiser="o", fingerprint="f", summary="", task="gpt", download_bytes=1, computer=computer
    )
    refusal = KeptRefusal("The organiser has shut this computer out of the collaboration.", "Ask\u202e for a link.")
    for refused in (None, refusal):
        rows = {name: words for name, _, words in link_look.facts(msgspec.structs.replace(look, refusal=refused))}
        assert ("refusal" in rows) is (refused is not None)
    assert rows["refusal"].startswith("The organiser has shut this computer out of the collaboration. Ask")
    assert rows["refusal"].endswith("It is asked again.")
    assert "\u202e" not in rows["refusal"]


def test_what_opens_follows_from_what_was_chosen(tmp_path):
    choices = Choices(tmp_path / "window.ini")
    assert opening(tmp_path, choices) is Opening.FIRST_RUN
    (tmp_path / "collaborations.json").write_text('{"links": []}')
    assert opening(tmp_path, choices) is Opening.FIRST_RUN
    choices.alone = True
    assert opening(tmp_path, choices) is Opening.ALONE
    (tmp_path / "collaborations.json").write_text('{"links": ["potluck://x"]}')
    assert opening(tmp_path, choices) is Opening.JOINED


def test_folder_that_is_wanted_is_told_before():
    computer = ComputerFacts(cores=4, threads=3, memory_bytes=8 * 10**9, disk_free_bytes=10**9)
    look = LinkLook(id="", name="n", organiser="o", fingerprint="f", summary="", task="gpt", download_bytes=1,
                    folder="/home/ada/\u202eletters", computer=computer)  # fmt: skip
    rows = {name: words for name, _, words in link_look.facts(look)}
    assert "letters of this computer" in rows["folder"]
    assert "\u202e" not in rows["folder"]
    assert "predecessor" not in rows


def test_collaboration_from_which_another_goes_on_is_named():
    computer = ComputerFacts(cores=4, threads=3, memory_bytes=8 * 10**9, disk_free_bytes=10**9)
    look = LinkLook(id="", name="n", organiser="o", fingerprint="f", summary="", task="gpt", download_bytes=1,
                    goes_on_from="Poems\n", computer=computer)  # fmt: skip
    assert {name: words for name, _, words in link_look.facts(look)}["predecessor"] == "Poems"
