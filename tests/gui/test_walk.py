"""What a newcomer looks for first is found from Home with at most one click, and seen without scrolling.

The times are those of the keystroke-level model (Card, Moran and Newell 1980), see docs/newcomer.md.
"""

import re

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from app.looks.language import LANGUAGES
from app.views.settings.hours import NIGHTS
from app.words import page_text
from core.api import verdict as verdicts
from core.api.week import read_week, week_text

FOUND_S = 20.0
LOOK_S, POINT_S, CLICK_S, KEY_S = 1.35, 1.1, 0.2, 0.28
READ_S = 0.4
"""For a word that is read on the way (230 ms on average, with room)."""
LETTER = re.compile(r"\(&?.\)")
"""A key's letter after words of a script that has none."""
LEAST, USUAL = (800, 560), (1100, 720)

pytestmark = [
    pytest.mark.parametrize("language", LANGUAGES, indirect=True),
    pytest.mark.parametrize("size", [LEAST, USUAL]),
]


@pytest.fixture
def opened(parts, examples, qt, size):
    """The window as it opens, in a size."""
    parts.window.resize(*size)
    parts.window.show()
    parts.store.put(examples.snapshot())
    qt.processEvents()
    return parts


def seen_at_once(widget, window) -> bool:
    """Whether all of it lies in the window, and no scrolling hides it."""
    corner = widget.mapTo(window, QPoint())
    inside = window.rect().contains(corner) and window.rect().contains(corner + QPoint(widget.width(), widget.height()))
    return inside and widget.visibleRegion().boundingRect().height() >= widget.height()


def words_before(window, found) -> int:
    """Words that somebody reads who reads the window from the top left until what is looked for."""
    place = found.mapTo(window, QPoint())
    labels = [one for one in window.findChildren(QLabel) if one.isVisibleTo(window)]
    before = [one for one in labels if one.mapTo(window, QPoint()).y() <= place.y()]
    rail = [button.text() for button in window.rail.buttons] + [one.text() for one in window.menuBar().actions()]
    said = [*(one.text() for one in before), *(LETTER.sub("", words) for words in rail)]
    return sum(len(words.split()) for words in said)


def test_rank_is_found(opened, qt):
    people = opened.window.rail.buttons[list(opened.window.pages).index("people")]
    assert seen_at_once(people, opened.window)
    QTest.mouseClick(people, Qt.MouseButton.LeftButton)
    qt.processEvents()
    rank = page_text.place(opened.store.snapshot.leaderboard)
    (label,) = [one for one in opened.window.findChildren(QLabel) if one.text() == rank]
    assert seen_at_once(label, opened.window)
    takes = 2 * LOOK_S + POINT_S + CLICK_S + READ_S * words_before(opened.window, label)
    assert takes <= FOUND_S


def test_reason_is_found(opened, examples, qt):
    opened.store.put(examples.snapshot(verdicts.resting("schedule", clock="20:30")))
    for _ in range(10):  # heights follow widths, each a turn later
        qt.processEvents()
    said = page_text.reason(opened.store.verdict)
    (label,) = [one for one in opened.home.findChildren(QLabel) if one.text() == said]
    for widget in (label, *opened.home.offers):
        assert seen_at_once(widget, opened.window)
    assert LOOK_S + READ_S * words_before(opened.window, label) <= FOUND_S


def test_off_switch_is_found(opened):
    switch = opened.home.header.switch
    assert seen_at_once(switch, opened.window)
    assert QApplication.focusWidget() in {switch, None}, "Space turns it, as the tooltip says"
    takes = LOOK_S + POINT_S + CLICK_S + READ_S * words_before(opened.window, switch)
    assert takes <= FOUND_S
    QTest.mouseClick(switch, Qt.MouseButton.LeftButton)
    assert opened.calls == ["pause"]
    assert opened.store.verdict.code == "changing", "seen at once"


def menu_s(window, action):
    """Seconds until an entry of the menu bar's menus is clicked, where all titles and entries before it are read."""
    before = []
    for title in window.menuBar().actions():
        before.append(title.text())
        if action in (entries := title.menu().actions()):
            before += [entry.text() for entry in entries[: entries.index(action) + 1]]
            break
    else:
        raise AssertionError(action.text())
    words = sum(len(LETTER.sub("", one).split()) for one in before)
    return 2 * (LOOK_S + POINT_S + CLICK_S) + READ_S * words


def test_what_is_done_once_is_in_a_menu(opened):
    actions = opened.window.actions_
    for once in (actions.save, actions.invite, actions.leave, opened.window.menus.removal):
        assert menu_s(opened.window, once) <= FOUND_S, once.text()


def test_nights_only_are_found(opened, examples, qt):
    """Settings in the rail, Hours above the dialog's pages, the button, Save."""
    window = opened.window
    (rail,) = [button for button in window.rail.buttons if button.defaultAction() is window.actions_.settings]
    assert seen_at_once(rail, window)
    rail.click()
    dialog = window.settings
    dialog.show_answer("settings", examples.settings())
    qt.processEvents()
    tabs = dialog.pages.tabBar()
    hours = dialog.pages.indexOf(dialog.hours)
    QTest.mouseClick(tabs, Qt.MouseButton.LeftButton, pos=tabs.tabRect(hours).center())
    qt.processEvents()
    assert dialog.pages.currentWidget() is dialog.hours
    assert seen_at_once(dialog.hours.each_night, dialog)
    read = [one.text() for one in window.rail.buttons] + [tabs.tabText(place) for place in range(hours + 1)]
    above = [one for one in dialog.hours.findChildren(QLabel) if one.isVisibleTo(dialog)]
    night = dialog.hours.each_night.mapTo(dialog, QPoint()).y()
    read += [one.text() for one in above if one.mapTo(dialog, QPoint()).y() <= night]
    words = sum(len(LETTER.sub("", one).split()) for one in read)
    assert 3 * (LOOK_S + POINT_S + CLICK_S) + READ_S * words <= FOUND_S
    QTest.mouseClick(dialog.hours.each_night, Qt.MouseButton.LeftButton)
    QTest.mouseClick(dialog.save, Qt.MouseButton.LeftButton)
    assert ("configure", {"hours": week_text(read_week(NIGHTS))}) in opened.calls
