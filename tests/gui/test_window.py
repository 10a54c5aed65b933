"""The content of the window, and its keyboard."""

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QProgressBar, QTableView

from app import text
from app.choices import Closing, ThemeChoice
from app.theme import DARK, LIGHT
from app.views import status_line
from core.api import verdict as verdicts
from core.api.snapshot import Notice

TAB_STOPS_MAX = 30


def words(window) -> str:
    return "\n".join(label.text() for label in window.findChildren(QLabel) if label.isVisibleTo(window))


def test_a_snapshot_is_on_the_window(parts, examples):
    parts.window.show()
    parts.store.put(examples.snapshot())
    said = words(parts.window)
    for part in (
        "Training together with 2 others",
        "Contributing",
        "175",
        "62",
        "28 836",
        "2 of 3",
        "Towards epoch 41",
    ):
        assert part in said
    assert "1 264 of 2 048 samples" in said
    assert "3 volunteers here, 1 always on" in said
    assert parts.window.windowTitle().startswith("A small ALBERT")
    assert "5.35 nats at epoch 40" in parts.dashboard.curve.accessibleDescription()
    assert "6.31" in parts.dashboard.curve.accessibleDescription()
    shown = [line.text() for line in parts.dashboard.guesses.findChildren(QLabel) if line.isVisibleTo(parts.dashboard)]
    assert (
        shown[0]
        == "31 of 100 blanks right at epoch 40; word frequencies alone 6 of 100; the word before alone 19 of 100"
    )
    assert shown[1] == "If the file does not [exist], an error is raised and the [file, not: stream] is closed."
    assert len(shown) == 4


def test_starting_shows_the_engines_sentence(parts, examples):
    parts.window.show()
    assert not parts.window.shows_dashboard
    parts.store.put(examples.starting("Reading the text."))
    assert not parts.window.shows_dashboard
    assert "Reading the text." in words(parts.window)
    parts.store.put(examples.empty())
    assert parts.window.shows_dashboard
    assert "The curve begins with the first epoch." in words(parts.window)


def test_switch_flips_on_space_and_waits_for_the_engine(parts, examples):
    switch = parts.dashboard.header.switch
    parts.window.show()
    parts.store.put(examples.snapshot())
    assert switch.isChecked()
    assert parts.dashboard.header.words[0] == "Contributing"
    QTest.keyClick(switch, Qt.Key.Key_Space)
    assert parts.calls == ["pause"]
    parts.store.put(examples.snapshot())  # taken before the engine heard of it
    assert not switch.isChecked()
    assert "Paused" in words(parts.window)
    parts.store.put(examples.STATES["paused"]())
    assert not switch.isChecked()
    QTest.keyClick(switch, Qt.Key.Key_Return)
    assert parts.calls == ["pause", "resume"]
    assert switch.isChecked()


def test_the_sentence_follows_the_switch_at_once(parts, examples):
    parts.window.show()
    parts.store.put(examples.STATES["paused"]())
    assert "Paused by you" in words(parts.window)
    parts.intents.contribute(True)
    assert parts.dashboard.header.words == ("Starting", "Beginning to contribute again…")
    parts.store.put(examples.snapshot())
    assert "Training together" in words(parts.window)
    parts.intents.contribute(False)
    assert parts.dashboard.header.words[0] == "Paused"
    assert "Training together" not in words(parts.window)


def test_news_goes_after_a_while(parts, examples, until, monkeypatch):
    monkeypatch.setattr(status_line, "NEWS_MS", 1)
    parts.store.put(examples.snapshot())
    parts.window.status.show_news(Notice(1, 0.0, "info", "Contributing again."))
    assert parts.window.status.news == "Contributing again."
    until(lambda: not parts.window.status.news)
    parts.window.status.show_news(Notice(2, 0.0, "warning", "Slow line."))
    assert parts.window.status.fade.remainingTime() > 1000
    assert parts.window.status.news == "Slow line."


def test_status_news_omits_what_its_sentence_says(parts, examples):
    parts.store.put(examples.snapshot())
    parts.window.status.show_news(Notice(1, 0.0, "info", "Paused by you."))  # comes before the snapshot
    parts.store.put(examples.STATES["paused"]())
    assert parts.window.status.news == ""
    parts.window.status.show_news(Notice(2, 0.0, "info", "Paused by you."))
    assert parts.window.status.news == ""


def test_status_news_omits_what_its_headline_says(parts, examples):
    parts.store.put(examples.snapshot())
    parts.window.status.show_news(Notice(1, 0.0, "info", "Contributing."))
    assert parts.window.status.news == ""
    assert parts.window.status.words.startswith("Contributing  ·  3 volunteers here")


def test_more_than_enough_samples(parts, examples):
    parts.window.show()
    parts.store.put(examples.snapshot(samples=5472))
    assert "2 048 of 2 048 samples gathered, averaging" in words(parts.window)


def test_a_failed_wish_puts_the_switch_back(parts, examples):
    parts.store.put(examples.snapshot())
    parts.intents.contribute(False)
    assert not parts.dashboard.header.switch.isChecked()
    parts.intents.forget()
    assert parts.dashboard.header.switch.isChecked()


def test_without_an_engine_nothing_stale_is_shown(parts, examples):
    parts.window.show()
    parts.store.put(examples.snapshot())
    parts.store.miss(verdicts.not_connected("again", seconds=4))
    assert not parts.window.shows_dashboard
    assert not parts.window.actions_.toggle.isEnabled()
    assert parts.window.status.words == "Not connected"
    said = words(parts.window)
    assert "started again in 4 s" in said
    assert "Contributing" not in said
    parts.store.put(examples.snapshot())
    assert parts.dashboard.header.switch.isEnabled()
    assert parts.window.shows_dashboard


def test_tab_reaches_every_control(parts, examples, until):
    parts.window.show()
    parts.window.activateWindow()
    until(parts.window.isActiveWindow)
    parts.store.put(examples.snapshot())
    switch, (peers, leaderboard) = parts.dashboard.header.switch, parts.dashboard.people.tables
    switch.setFocus()
    seen = []
    for _ in range(TAB_STOPS_MAX):
        seen.append(QApplication.focusWidget())
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        if QApplication.focusWidget() is switch:
            break
    assert [widget for widget in seen if widget in {switch, parts.dashboard.curve, peers, leaderboard}] == [
        switch,
        parts.dashboard.curve,
        peers,
        leaderboard,
    ]


def test_controls_have_names(parts, examples):
    parts.window.show()
    parts.store.put(examples.STATES["problem"]())
    kinds = (QAbstractButton, QProgressBar, QTableView)
    for kind in kinds:
        for widget in parts.window.findChildren(kind):
            if widget.isVisibleTo(parts.window) and not isinstance(widget.parent(), QTableView):
                assert widget.accessibleName() or widget.text(), widget
    switch = QAccessible.queryAccessibleInterface(parts.dashboard.header.switch)
    assert switch.text(QAccessible.Text.Name) == "Contribute"
    assert switch.state().checked


def test_problems_have_a_banner(parts, examples):
    parts.window.show()
    parts.store.put(examples.STATES["problem"]())
    assert parts.window.banner.isVisibleTo(parts.window)
    assert "Free at least 200 MB" in words(parts.window)
    assert parts.dashboard.header.words[0] == "Problem"
    parts.store.put(examples.snapshot())
    assert not parts.window.banner.isVisibleTo(parts.window)


def test_a_failure_can_be_dismissed(parts, examples):
    parts.window.show()
    parts.store.put(examples.snapshot())
    parts.window.show_failure(text.engine_away())
    assert parts.window.banner.problem == text.engine_away()
    parts.window.banner.closed.emit()
    assert parts.window.banner.problem is None


@pytest.mark.parametrize(("reason", "can_start"), [("stopped", True), ("again", True), ("full", False)])
def test_an_engine_can_be_started_where_that_helps(parts, reason, can_start):
    asked, page = [], parts.window.start_page
    parts.window.start_asked.connect(lambda: asked.append(1))
    parts.window.show()
    parts.store.miss(verdicts.not_connected(reason, seconds=1))
    assert page.start.isVisibleTo(parts.window) is can_start
    assert page.join.isVisibleTo(parts.window)
    if can_start:
        QTest.keyClick(page.start, Qt.Key.Key_Space)
        assert asked == [1]


def test_why_an_engine_refused_is_said(parts):
    parts.window.show()
    parts.store.miss(verdicts.not_connected("refused", why="The port 4001 is in use."))
    assert "The port 4001 is in use." in words(parts.window)


def test_low_windows_have_tabs(parts, examples, qt):
    parts.store.put(examples.snapshot())
    parts.window.resize(1100, 720)
    parts.window.show()
    qt.processEvents()
    assert [table.isVisibleTo(parts.window) for table in parts.dashboard.people.tables] == [True, True]
    parts.window.resize(800, 560)
    qt.processEvents()
    assert [table.isVisibleTo(parts.window) for table in parts.dashboard.people.tables] == [True, False]


def test_how_others_reach_this_computer_stands_below_them(parts, examples):
    whole = examples.snapshot()
    parts.store.put(whole)
    assert whole.reach.sentence in words(parts.window)
    assert whole.reach.advice in words(parts.window)
    parts.store.put(msgspec.structs.replace(whole, reach=None))
    assert parts.dashboard.people.reach == ""


@pytest.mark.parametrize("size", [(800, 560), (1100, 720)])
def test_no_label_is_cut(parts, examples, qt, size):
    parts.store.put(examples.snapshot(verdicts.not_connected("backbone", stage="It does not answer. " * 8)))
    parts.window.resize(*size)
    parts.window.show()
    qt.processEvents()
    for label in parts.window.findChildren(QLabel):
        if not label.isVisibleTo(parts.window) or type(label) is not QLabel:
            continue
        needed = label.heightForWidth(label.width()) if label.wordWrap() else label.sizeHint().height()
        assert label.height() >= needed, label.text()
        assert label.wordWrap() or label.width() >= label.minimumSizeHint().width(), label.text()
    assert (parts.window.width(), parts.window.height()) == size


def test_themes(parts, examples, qt):
    parts.store.put(examples.snapshot())
    parts.window.resize(1100, 720)
    parts.window.show()
    for choice, colours in ((ThemeChoice.DARK, DARK), (ThemeChoice.LIGHT, LIGHT)):
        parts.theme.choose(choice)
        qt.processEvents()
        picture = parts.window.grab().toImage()
        assert picture.pixelColor(3, picture.height() - 3) == QColor(colours.window)
        assert picture.pixelColor(700, 640) == QColor(colours.card)
        assert picture.pixelColor(500, 350) == QColor(colours.card)


@pytest.mark.parametrize("colours", [LIGHT, DARK])
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
    assert contrast(colours.problem, colours.problem_ground) >= 4.5
    assert contrast(colours.off, colours.card) >= 3


def test_menus_remember(parts):
    menus = parts.window.menus
    menus.closing_actions[Closing.HIDE].trigger()
    menus.theme_actions[ThemeChoice.DARK].trigger()
    assert parts.choices.closing is Closing.HIDE
    assert parts.choices.theme is ThemeChoice.DARK
    assert parts.theme.colours is DARK
    menus.theme_actions[ThemeChoice.LIGHT].trigger()


def test_odd_snapshots_do_not_hurt(parts, examples):
    parts.window.show()
    whole = examples.snapshot()
    me = msgspec.structs.replace(whole.me, samples_per_s=float("nan"), samples=10**15)
    parts.store.put(msgspec.structs.replace(whole, me=me, epoch_samples=10**9, samples_per_s=float("inf"), curve=[]))
    parts.store.put(msgspec.structs.replace(whole, collaboration=None, peers=[], leaderboard=[]))
    parts.store.put(msgspec.structs.replace(whole, verdict=verdicts.problem("x", "<b>Bold</b>")))
    assert "<b>Bold</b>" in words(parts.window)
