"""The settings: limits, hours, port, with the mouse and with the keyboard."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QApplication, QLabel, QLineEdit

from app.looks.choices import ThemeChoice
from app.looks.language import LANGUAGES
from app.widgets.limit_box import LimitBox
from core.api.settings import PortTest
from core.api.snapshot import ProblemView
from core.api.week import read_week, week_text

SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def asked(parts, examples, qt):
    """The settings, open, with what the engine said."""
    parts.window.show()
    parts.store.put(examples.snapshot())
    parts.window.actions_.settings.trigger()
    parts.settings = parts.window.settings
    parts.settings.show_answer("settings", examples.settings())
    qt.processEvents()
    parts.calls.clear()
    return parts


def words(widget):
    return "\n".join(label.text() for label in widget.findChildren(QLabel) if label.isVisibleTo(widget))


def drag(grid, first, last):
    def middle(cell):
        return grid.visualRect(grid.model().index(*cell)).center()

    QTest.mousePress(grid.viewport(), Qt.MouseButton.LeftButton, pos=middle(first))
    QTest.mouseMove(grid.viewport(), middle(last))
    QTest.mouseRelease(grid.viewport(), Qt.MouseButton.LeftButton, pos=middle(last))


def test_it_asks_the_engine_and_waits_for_it(parts, examples):
    parts.window.show()
    parts.store.put(examples.snapshot())
    parts.window.actions_.settings.trigger()
    assert parts.calls == ["settings"]
    assert not parts.window.settings.save.isEnabled()
    assert "Asking the engine" in parts.window.settings.words
    assert parts.window.settings.pages.isHidden(), "a screen reader is told of each control that is greyed out"
    parts.window.settings.show_failure("settings", ProblemView("away", "Nobody is there.", "Wait."))
    assert parts.window.settings.words == "Nobody is there. Wait."
    assert not parts.window.settings.save.isEnabled()


def test_the_engines_settings_are_shown_and_only_changes_go_back(asked):
    network = asked.settings.network
    assert asked.settings.pages.isVisible()
    assert network.upload.text().replace(",", ".") == "2.00 Mbit/s"
    assert network.download.text() == "No limit"
    asked.settings.pages.setCurrentWidget(network)
    assert "1.2 GB used so far" in words(asked.settings)
    assert asked.settings.hours.words.text() == "mon-fri 20:30-07:00, sat sun"
    network.download.setValue(8)
    network.month.setValue(0)
    network.relay.click()
    QTest.keyClick(asked.settings.save, Qt.Key.Key_Space)
    assert asked.calls == [
        ("configure", {"download_bytes_s": 1_000_000, "month_bytes": None, "relay": False}),
    ]
    assert not asked.settings.save.isEnabled()


def test_the_keyboard_begins_at_the_first_choice_of_each_page(asked):
    assert asked.settings.network.focusProxy() is asked.settings.network.upload
    assert asked.settings.hours.focusProxy() is asked.settings.hours.grid


def test_a_port_may_be_left_to_chance(asked):
    asked.settings.network.port.setValue(0)
    assert asked.settings.network.port.text() == "Any"
    asked.settings.save.click()
    assert asked.calls == [("configure", {"port": 0})]


def test_unchanged_settings_are_not_sent(asked):
    asked.settings.hours.words.setText("sat, sun, mon-fri 20:30-7")  # other words for the same
    asked.settings.save.click()
    assert asked.calls == []
    assert not asked.settings.isVisible()


def test_limits_finer_than_the_box_shows_are_kept(asked, examples):
    box = LimitBox(unit="Mbit/s", scale=125_000.0, first=0.1, most=1000.0)
    for limit in (5001.0, 123_456.7, None):
        box.show_limit(limit)
        assert box.limit == limit
        assert (box.value() == 0) == (limit is None)
    box.setValue(1)
    box.setValue(0)
    assert box.limit is None


def test_arrow_keys_go_by_useful_steps():
    box = LimitBox(unit="GB", scale=1e9, first=1, most=100)
    seen = []
    for key in [Qt.Key.Key_Up] * 8 + [Qt.Key.Key_Down] * 9:
        QTest.keyClick(box, key)
        seen.append(box.value())
    assert seen == [1, 2, 5, 10, 20, 50, 100, 100, 50, 20, 10, 5, 2, 1, 0, 0, 0]
    box.setValue(7)
    QTest.keyClick(box, Qt.Key.Key_Up)
    assert box.value() == 10


def test_an_engine_that_refuses_is_quoted_beside_the_field(asked):
    asked.settings.network.upload.setValue(0.02)
    asked.settings.save.click()
    asked.settings.show_failure(
        "configure", ProblemView("setting.upload_bytes_s", "That is too little.", "Allow at least 40 kbit/s.")
    )
    assert asked.settings.network.fields["upload_bytes_s"].problem == "That is too little. Allow at least 40 kbit/s."
    assert "too little" in words(asked.settings)
    assert "too little" in asked.settings.network.upload.accessibleDescription()
    assert asked.settings.save.isEnabled()
    asked.settings.network.upload.setValue(1)
    asked.settings.save.click()
    assert "too little" not in words(asked.settings)
    asked.settings.show_failure("configure", ProblemView("no_space", "The disk is full.", "Free some."))
    assert asked.settings.words == "The disk is full. Free some."


def test_a_problem_on_the_other_page_brings_that_page(asked):
    asked.settings.show_failure("configure", ProblemView("setting.hours", "No hour is left.", "Leave one."))
    assert asked.settings.hours.isVisibleTo(asked.settings)
    assert "No hour is left." in words(asked.settings)


def test_saving_closes_the_window_and_names_what_takes_effect_later(asked, examples):
    import msgspec

    asked.settings.show_answer("configure", msgspec.structs.replace(examples.settings(), note="Port 5 counts later."))
    assert not asked.settings.isVisible()
    assert asked.window.status.news == "The settings are saved. Port 5 counts later."


def test_the_port_is_tested_on_request(asked, examples):
    network = asked.settings.network
    network.test.click()
    assert asked.calls == ["test_port"]
    assert not network.test.isEnabled()
    assert "some seconds" in network.tested
    asked.settings.show_answer("test_port", PortTest(port=5, sentence="Nobody got through.", advice="Use UPnP."))
    assert network.tested == "Nobody got through. Use UPnP."
    assert network.test.isEnabled()
    network.test.click()
    asked.settings.show_failure("test_port", ProblemView("x", "Not joined yet.", ""))
    assert network.tested == "Not joined yet."
    assert asked.settings.save.isEnabled()


def test_the_mouse_paints(asked, qt):
    hours = asked.settings.hours
    asked.settings.pages.setCurrentWidget(hours)
    qt.processEvents()
    hours.show_settings(asked.settings.view)
    hours.always.click()
    assert hours.words.text() == "always"
    drag(hours.grid, (0, 8), (0, 16))
    assert hours.words.text() == "mon 00:00-08:00 17:00-24:00, tue-sun"
    drag(hours.grid, (0, 12), (2, 12))
    assert hours.table.is_open(1, 12)
    assert hours.table.is_open(0, 12)
    assert not hours.table.is_open(0, 11)
    asked.settings.save.click()
    ((method, wish),) = asked.calls
    assert method == "configure"
    assert read_week(wish["hours"]) == hours.table.week


def test_the_keyboard_paints(asked, qt):
    hours = asked.settings.hours
    asked.settings.pages.setCurrentWidget(hours)
    hours.each_night.click()
    assert hours.words.text() == "20:00-07:00"
    hours.nights.click()
    grid = hours.grid
    grid.setCurrentIndex(hours.table.index(0, 8))
    grid.clearSelection()
    QTest.keyClick(grid, Qt.Key.Key_Space)
    assert hours.table.is_open(0, 8)
    QTest.keyClick(grid, Qt.Key.Key_Right)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down):
        QTest.keyClick(grid, key, SHIFT)
    QTest.keyClick(grid, Qt.Key.Key_Space)
    assert [hours.table.is_open(*cell) for cell in ((0, 9), (0, 10), (1, 9), (1, 10), (1, 8))] == [True] * 4 + [False]
    QTest.keyClick(grid, Qt.Key.Key_Space)
    assert not hours.table.is_open(1, 10)
    QTest.keyClick(grid, Qt.Key.Key_Return)
    assert len(asked.calls) == 1  # Enter saves, as everywhere in a dialog


def test_days_and_hours_are_turned_by_their_names(asked, qt):
    hours = asked.settings.hours
    asked.settings.pages.setCurrentWidget(hours)
    hours.always.click()
    qt.processEvents()
    header = hours.grid.verticalHeader()
    spot = QPoint(5, header.sectionViewportPosition(2) + 5)
    QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    assert hours.words.text() == "mon tue thu-sun"
    header = hours.grid.horizontalHeader()
    spot = QPoint(header.sectionViewportPosition(3) + 5, 5)
    QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    assert hours.table.is_open(2, 3)


def test_words_and_picture_follow_each_other(asked):
    hours = asked.settings.hours
    hours.words.clear()
    QTest.keyClicks(hours.words, "tue 8-10")
    assert week_text(hours.table.week) == "tue 08:00-10:00"
    QTest.keyClicks(hours.words, " and so on")
    assert week_text(hours.table.week) == "tue 08:00-10:00"
    assert hours.field.problem == ""
    hours.words.editingFinished.emit()
    assert "'and' is neither a day nor times" in hours.field.problem
    hours.grid.setCurrentIndex(hours.table.index(0, 0))
    QTest.keyClick(hours.grid, Qt.Key.Key_Space)
    assert hours.field.problem == ""
    assert hours.words.text() == "mon 00:00-01:00, tue 08:00-10:00"


def test_minutes_stay_until_their_hour_is_painted(asked):
    hours = asked.settings.hours
    hours.table.paint([(0, 3)], is_open=True)
    assert "20:30-07:00" in hours.words.text()
    hours.table.paint([(0, 20)], is_open=False)
    assert hours.words.text().startswith("mon 03:00-04:00 21:00-07:00")


def test_every_hour_has_words_for_screen_readers(asked):
    table = asked.settings.hours.table

    def said(day, hour):
        return table.index(day, hour).data(Qt.ItemDataRole.AccessibleTextRole)

    assert said(0, 8) == "Monday, 08:00 to 09:00: Potluck rests"
    assert said(0, 20) == "Monday, 20:00 to 21:00: Potluck may work for a part of it"
    assert said(6, 23) == "Sunday, 23:00 to 24:00: Potluck may work"
    assert not table.index(0, 0).data(Qt.ItemDataRole.AccessibleDescriptionRole), "the grid says once what Space does"
    reader = QAccessible.queryAccessibleInterface(asked.settings.hours.grid)
    assert reader.text(QAccessible.Text.Name) == "Hours of the week"
    assert "Space" in reader.text(QAccessible.Text.Description)
    assert reader.childCount() == (7 + 1) * (24 + 1)  # with the names of days and hours
    assert reader.child(25 + 1 + 8).text(QAccessible.Text.Name) == "Monday, 08:00 to 09:00: Potluck rests"


def test_tab_reaches_every_control(asked, until):
    settings = asked.settings
    settings.activateWindow()
    until(settings.isActiveWindow)
    for page, wanted in (
        (
            settings.network,
            ["upload", "download", "month", "metered", "relay", "port", "test"],
        ),
        (settings.hours, ["always", "each_night", "nights", "grid", "words"]),
    ):
        settings.pages.setCurrentWidget(page)
        controls = {getattr(page, name): name for name in wanted}
        controls[settings.save] = "save"
        next(iter(controls)).setFocus()
        seen = []
        for _ in range(20):
            widget = QApplication.focusWidget()
            seen.append(controls.get(widget))
            QTest.keyClick(widget, Qt.Key.Key_Tab)
        assert [name for name in seen if name][: len(controls)] == [*wanted, "save"]


def test_controls_have_names(asked):
    for page in (asked.settings.network, asked.settings.hours):
        asked.settings.pages.setCurrentWidget(page)
        for kind in (QAbstractButton, QAbstractSpinBox, QLineEdit):
            for widget in page.findChildren(kind):
                inner = widget.objectName().startswith("qt_") or widget.parent() is asked.settings.hours.grid
                if widget.isVisibleTo(page) and not inner:
                    assert QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name), widget


@pytest.mark.parametrize("language", LANGUAGES, indirect=True)
@pytest.mark.parametrize("choice", [ThemeChoice.LIGHT, ThemeChoice.DARK])
def test_settings_fit_the_smallest_window_with_every_message_shown(asked, qt, choice):
    asked.theme.choose(choice)
    settings = asked.settings
    long = "Others have called port 24000 of this computer, and nobody got through. " * 4
    settings.show_answer("test_port", PortTest(port=5, sentence=long, advice="Turn on UPnP."))
    settings.show_failure("configure", ProblemView("setting.upload_bytes_s", "That is too little for it. " * 4, ""))
    for page in (settings.pages.widget(place) for place in range(settings.pages.count())):
        settings.pages.setCurrentWidget(page)
        qt.processEvents()
        assert settings.width() <= 800
        assert settings.height() <= 560
        for label in page.findChildren(QLabel):
            if label.isVisibleTo(page) and label.wordWrap():
                assert label.height() >= label.heightForWidth(label.width()), label.text()
    drawn = settings.grab().toImage()
    edges = {drawn.pixelColor(x, 200).name() for x in range(drawn.width())}
    assert len(edges) > 1
    asked.theme.choose(ThemeChoice.LIGHT)


def test_name_is_sent_and_its_problem_shown_at_it(asked):
    asked.settings.computer.name.setText("  Ada's   laptop ")
    asked.settings.save.click()
    assert asked.calls == [("configure", {"name": "Ada's laptop"})]
    asked.settings.show_failure("configure", ProblemView("setting.name", "This is no name.", "Choose one."))
    assert asked.settings.fields["name"].problem == "This is no name. Choose one."
