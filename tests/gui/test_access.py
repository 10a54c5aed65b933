"""Every control of every page and dialog has a name, a role and a way by the keyboard: the tree is walked."""

import re
import sys

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QFont
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QScrollArea, QTableView, QTabWidget, QWidget

from app.looks.language import LANGUAGES
from tests.gui.answering import joined
from tests.gui.test_join import LINK, PROGRAM

TAB_STOPS_MAX = 80
PAGES = ("home", "model", "people", "gift", "collaborations", "computer", "activity", "about")
SETTINGS = (0, 1, 2, 3)
FIRST_RUN = ("link", "refused", "look", "habits", "around")
FOUNDING = ("what", "who", "where")
SCENES = [*PAGES, *(f"settings-{place}" for place in SETTINGS), *(f"first-run-{name}" for name in FIRST_RUN),
          *(f"found-{name}" for name in FOUNDING), "closing", "invite"]  # fmt: skip


def show_page(name, parts, examples, *_):
    parts.window.actions_.pages[name].trigger()
    if name == "collaborations":
        parts.window.collaborations.show_views(joined())
    return parts.window


def show_settings(name, parts, examples, *_):
    shown = parts.window.settings
    shown.ask()
    shown.show_answer("settings", examples.settings())
    shown.pages.setCurrentIndex(int(name[-1]))
    return shown


def show_question(name, parts, examples, *_):
    from app.views.closing import ClosingQuestion

    made = ClosingQuestion(parts.window, "Somewhere.")
    made.ask()
    return made.box


def show_invitation(name, parts, examples, *_):
    shown = parts.window.collaborations.keeping.inviting
    shown.ask(joined()[0])
    return shown


def show_founding(name, parts, examples, *_):
    shown = parts.window.founding
    shown.ask()
    shown.turn_to(getattr(shown, name.partition("-")[2]))
    return shown


def show_first_run(name, parts, examples, until, tmp_path):
    from app.commands.joining import JoinCommand
    from app.commands.line_command import LineCommand
    from app.views.first_run.wizard import JoinDialog

    shown = JoinDialog(JoinCommand(LineCommand(tmp_path, [sys.executable, "-c", PROGRAM])), parts.window)
    shown.begin()
    if name == "first-run-refused":
        shown.link.setText(f"{LINK}refused")
        shown.yes.click()
        until(lambda: shown.links.problem, 20_000)
    elif name == "first-run-around":
        shown.links.around.click()
    elif name != "first-run-link":
        shown.link.setText(LINK)
        shown.yes.click()
        until(lambda: shown.facts, 20_000)
        if name == "first-run-habits":
            shown.yes.click()
    return shown


SHOWN = {
    "first-run": show_first_run,
    "found-": show_founding,
    "settings": show_settings,
    "closing": show_question,
    "invite": show_invitation,
    "": show_page,
}
"""By what is in the name of a scene."""


@pytest.fixture
def scene(request, shared_parts, examples, tmp_path, until):
    """One page or dialog, as the person has it in front."""
    name, parts = request.param, shared_parts
    parts.window.show()
    parts.store.put(examples.snapshot())
    for method, answer in examples.reports().items():
        parts.window.reports.put(method, answer)
    shown = next(show for part, show in SHOWN.items() if part in name)(name, parts, examples, until, tmp_path)
    shown.activateWindow()
    until(shown.isActiveWindow)
    yield shown
    if shown is not parts.window:
        shown.close()


def seen(shown, kind):
    return [one for one in [shown, *shown.findChildren(kind)] if isinstance(one, kind) and one.isVisibleTo(shown)]


@pytest.mark.parametrize("shared_parts", LANGUAGES, indirect=True)
@pytest.mark.parametrize("scene", SCENES, indirect=True)
def test_each_control_has_name_role_letter_and_way(scene):
    assert_names_and_roles(scene)
    assert_letters(scene)
    assert_way_by_tab(scene)


def assert_names_and_roles(scene):
    """Whatever takes the focus has a name and a role."""
    checked = 0
    for widget in seen(scene, QWidget):
        inner = isinstance(widget.parent(), QTableView) or widget.objectName().startswith("qt_spinbox")
        if widget is scene or inner or widget.focusProxy() or not widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            continue
        told = QAccessible.queryAccessibleInterface(widget)
        assert told.text(QAccessible.Text.Name), (widget, widget.parent())
        assert told.role() is not QAccessible.Role.NoRole, widget
        assert told.role() is not QAccessible.Role.Client or isinstance(widget, QScrollArea), widget
        checked += 1
    assert checked >= 2


def assert_way_by_tab(scene):
    """The key comes to every control."""
    start, reached = QApplication.focusWidget(), set()
    assert start is not None
    for _ in range(TAB_STOPS_MAX):
        reached.add(QApplication.focusWidget())
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        if QApplication.focusWidget() is start:
            break
    groups = {one.group() for one in reached if isinstance(one, QAbstractButton) and one.group() is not None}
    for widget in seen(scene, QWidget):
        if not widget.focusPolicy() & Qt.FocusPolicy.TabFocus or not widget.isEnabled() or widget.focusProxy():
            continue
        if isinstance(widget, QAbstractButton) and widget.group() in groups:
            continue  # arrow keys go from one to the next
        if widget.objectName().startswith("qt_") or widget is scene:
            continue
        assert widget in reached, (widget, widget.accessibleName(), widget.parent())


def assert_letters(scene):
    """None stands for two controls."""
    letters = []
    buddies = {one.buddy() for one in seen(scene, QLabel) if "&" in one.text()}
    for widget in [*seen(scene, QLabel), *seen(scene, QAbstractButton)]:
        if widget in buddies:
            continue  # its label has the letter
        said = widget.text() if not isinstance(widget, QLabel) or widget.buddy() is not None else ""
        letters += [mark.lower() for mark in re.findall("&([^&])", said)]
    for tabs in seen(scene, QTabWidget):
        titles = [tabs.tabText(place) for place in range(tabs.count())]
        letters += [mark.lower() for title in titles for mark in re.findall("&([^&])", title)]
    if hasattr(scene, "menuBar"):
        titles = [action.text() for action in scene.menuBar().actions()]
        letters += [mark.lower() for title in titles for mark in re.findall("&([^&])", title)]
    assert len(letters) == len(set(letters)), "".join(sorted(letters))


def test_figures_have_one_width(parts, examples):
    """A number that changes moves nothing, and numbers stand below each other."""
    assert QFont.Tag("tnum") in QApplication.font().featureTags()
    parts.store.put(examples.snapshot())
    for label in parts.window.findChildren(QLabel):
        metrics = label.fontMetrics()
        assert len({metrics.horizontalAdvance(digit * 8) for digit in "0123456789"}) == 1
