"""Looks, keyboard and names of everything in the window."""

import re

import pytest
from PySide6.QtCore import QAbstractAnimation, Qt
from PySide6.QtGui import QAccessible, QAction, QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFrame,
    QLabel,
    QProgressBar,
    QPushButton,
    QTableView,
    QWidget,
)

from app.looks.choices import ThemeChoice
from app.looks.language import LANGUAGES
from app.looks.theme import CONTRAST, DARK, LIGHT
from app.widgets.curve import Curve, nice_step
from app.widgets.pot_fill import MINE, OTHERS
from app.widgets.switch import SLIDE_MS
from core.api import verdict as verdicts
from tests.gui.cut import cut

TAB_STOPS_MAX = 40
LAYOUTS = 5
"""Rounds of Qt's loop in which layouts within layouts settle."""
PAGES = ("home", "model", "people", "gift", "collaborations", "computer", "activity", "about")


def tell(parts, examples):
    """All that an engine can tell."""
    for method, answer in examples.reports().items():
        parts.window.reports.put(method, answer)


def open_page(parts, name):
    parts.window.actions_.pages[name].trigger()
    return parts.window.pages[name]


def test_shortcuts_open_pages(parts, examples, until):
    parts.window.show()
    parts.window.activateWindow()
    until(parts.window.isActiveWindow)
    parts.store.put(examples.snapshot())
    for number, name in enumerate(parts.window.pages, 1):
        QTest.keyClick(parts.window, Qt.Key(Qt.Key.Key_0 + number), Qt.KeyboardModifier.ControlModifier)
        assert parts.window.open_page == name


@pytest.mark.parametrize("language", LANGUAGES, indirect=True)
@pytest.mark.parametrize("name", ["model", "gift"])
def test_tables_of_a_small_window_show_all_columns(parts, examples, qt, name):
    parts.window.resize(800, 560)
    parts.window.show()
    page = open_page(parts, name)
    parts.store.put(examples.snapshot())
    tell(parts, examples)
    qt.processEvents()
    tables = [table for table in page.findChildren(QTableView) if table.isVisibleTo(page)]
    hidden = [table for table in tables for place in range(4) if table.isColumnHidden(place)]
    assert tables
    assert not hidden
    outcomes = tables[-1].model().index(3, 2)
    if name == "gift":
        assert tables[-1].columnWidth(2) > tables[-1].fontMetrics().horizontalAdvance(outcomes.data())


@pytest.mark.parametrize("language", LANGUAGES, indirect=True)
def test_no_two_shortcuts_clash(parts, examples):
    """On each page: all actions and buttons with their shortcuts and mnemonics."""
    parts.window.show()
    parts.store.put(examples.snapshot())
    menus = {action.text()[action.text().index("&") + 1].lower() for action in parts.window.menuBar().actions()}
    shortcuts = [
        key.toString() for action in parts.window.findChildren(QAction) for key in action.shortcuts() if key.toString()
    ]
    assert len(shortcuts) == len(set(shortcuts))
    for name in parts.window.pages:
        page = open_page(parts, name)
        letters = list(menus)
        for widget in [*page.findChildren(QLabel), *page.findChildren(QAbstractButton)]:
            said = widget.text() if not isinstance(widget, QLabel) or widget.buddy() is not None else ""
            mark = re.search("&([^&])", said)
            if mark and widget.isVisibleTo(page) and widget is not parts.home.header.switch:
                letters.append(mark[1].lower())
        assert len(letters) == len(set(letters)), (name, letters)


@pytest.mark.parametrize("name", PAGES)
def test_tab_reaches_every_control(parts, examples, until, name):
    parts.window.show()
    parts.window.activateWindow()
    until(parts.window.isActiveWindow)
    parts.store.put(examples.snapshot())
    page = open_page(parts, name)
    first = parts.window.rail.buttons[0]
    first.setFocus()
    seen = []
    for _ in range(TAB_STOPS_MAX):
        seen.append(QApplication.focusWidget())
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        if QApplication.focusWidget() is first:
            break
    wanted = [
        widget
        for widget in [page, *page.findChildren(QWidget)]
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible() and widget.isEnabled()
    ]
    assert set(wanted) <= set(seen)


def test_controls_have_names(parts, examples):
    parts.window.show()
    parts.store.put(examples.STATES["problem"]())
    kinds = (QAbstractButton, QProgressBar, QPushButton, QTableView, Curve)
    for name in parts.window.pages:
        open_page(parts, name)
        for kind in kinds:
            for widget in parts.window.findChildren(kind):
                if widget.isVisibleTo(parts.window) and not isinstance(widget.parent(), QTableView):
                    assert widget.accessibleName() or widget.text(), widget
                    role = QAccessible.queryAccessibleInterface(widget).role()
                    assert role is not QAccessible.Role.NoRole
    switch = QAccessible.queryAccessibleInterface(parts.home.header.switch)
    assert switch.text(QAccessible.Text.Name) == "Contribute"
    assert switch.state().checked


def test_first_size_fits_the_screen(parts):
    room = parts.window.screen().availableSize()
    assert parts.window.width() <= room.width()
    assert parts.window.height() <= room.height()
    least = parts.window.minimumSizeHint()
    assert least.width() <= 800
    assert least.height() <= 500


@pytest.mark.parametrize(("rough", "nice"), [(0.9, 1), (1.0, 1), (1.1, 2), (3, 5), (7, 10), (0.03, 0.05), (60, 100)])
def test_steps_of_an_axis_are_round(rough, nice):
    assert nice_step(rough) == pytest.approx(nice)


@pytest.mark.parametrize(("size", "theme"), [((800, 560), ThemeChoice.CONTRAST), ((1100, 720), ThemeChoice.LIGHT)])
@pytest.mark.parametrize("language", LANGUAGES, indirect=True)
def test_no_label_is_cut(parts, examples, qt, size, theme):
    """`python -m tests.gui.pictures --all` asks it of every look."""
    parts.theme.choose(theme)
    parts.store.put(examples.snapshot(verdicts.not_connected("backbone", stage="It does not answer. " * 8)))
    tell(parts, examples)
    parts.window.resize(*size)
    parts.window.show()
    for name in PAGES:
        page = open_page(parts, name)
        for _ in range(LAYOUTS):
            qt.processEvents()
        assert not cut(parts.window), name
        for table in page.findChildren(QTableView):
            assert table.columnWidth(table.model().letters.index(0)) >= 8 * table.fontMetrics().horizontalAdvance("0")
            assert table.horizontalHeader().length() <= table.viewport().width(), name
        assert (parts.window.width(), parts.window.height()) == size, name


def test_what_is_cut_is_noticed(qt):
    shown = QWidget()
    label, button = QLabel("a label with some words", shown), QPushButton("a button", shown)
    shown.resize(600, 300)
    label.setFixedSize(label.sizeHint())
    button.setGeometry(0, 50, *button.sizeHint().toTuple())
    shown.show()
    assert not cut(shown)
    label.setFixedWidth(label.width() - 10)
    button.setGeometry(0, 50, button.width(), button.height() - 5)
    assert [words.partition(":")[0] for words in cut(shown)] == ["'a label with some words'", "'a button'"]
    button.setGeometry(590, 50, *button.sizeHint().toTuple())
    assert "beyond the edge" in cut(shown)[1]
    shown.close()


CHOICES = ((ThemeChoice.DARK, DARK), (ThemeChoice.CONTRAST, CONTRAST), (ThemeChoice.LIGHT, LIGHT))


def test_dialogs_have_no_stock_icons(parts):
    for button in parts.window.settings.findChildren(QPushButton):
        assert button.icon().isNull()


def test_themes(parts, examples, qt):
    parts.store.put(examples.snapshot())
    parts.window.resize(1100, 720)
    parts.window.show()
    for choice, colours in CHOICES:
        parts.theme.choose(choice)
        qt.processEvents()
        picture = parts.window.grab().toImage()
        assert picture.pixelColor(3, picture.height() - 3) == QColor(colours.window)
        assert picture.pixelColor(100, 400) == QColor(colours.card)
        assert picture.pixelColor(1060, 60) == QColor(colours.card)


def _on_pale_disc(ground):
    """What the pot's face is drawn on: white, as opaque as in `app.widgets.pot_fill`."""
    share, under = 120 / 255, QColor(ground)
    return QColor.fromRgbF(*(share + (1 - share) * part for part in under.getRgbF()[:3])).name()


def test_nothing_moves_for_longer_than_150_ms(parts):
    moving = parts.window.findChildren(QAbstractAnimation)
    assert moving
    assert SLIDE_MS <= 150


def test_content_is_at_most_1280_wide(parts, examples, qt):
    parts.window.resize(1920, 1080)
    parts.window.show()
    parts.store.put(examples.snapshot())
    for name in PAGES:
        page = open_page(parts, name)
        qt.processEvents()
        for frame in page.findChildren(QFrame, "card"):
            assert frame.width() <= 1280


@pytest.mark.parametrize("colours", [LIGHT, DARK, CONTRAST])
def test_contrast(colours):
    def luminance(name):
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in QColor(name).getRgbF()[:3]]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    def contrast(one, two):
        low, high = sorted((luminance(one), luminance(two)))
        return (high + 0.05) / (low + 0.05)

    for ground in (colours.window, colours.card, colours.mine, colours.selected):
        assert contrast(colours.text, ground) >= 7
        assert contrast(colours.accent, ground) >= 3
    for ground in (colours.window, colours.card):
        assert contrast(colours.muted, ground) >= 4.5
    assert contrast(colours.on_accent, colours.accent) >= 4.5
    for ground in (colours.problem_ground, colours.card, colours.window):
        assert contrast(colours.problem, ground) >= 4.5
    for ground in (MINE, OTHERS):
        assert contrast("#4A2114", _on_pale_disc(ground)) >= 4.5, "the pot's face"
    assert contrast(colours.off, colours.card) >= 3
