"""What happened is offered at the next start, as a text; nothing is sent."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.looks.choices import Choices
from app.views.crash_offer import CrashDialog, CrashOffer
from core.api.crash_report import write_report


@pytest.fixture
def made(qt, tmp_path):
    """A window with the offer in it, and its home with a report."""
    tmp_path.joinpath("home").mkdir()
    write_report(tmp_path / "home", "engine", ZeroDivisionError("a strange mistake"))
    window = QWidget()
    offer = CrashOffer(tmp_path / "home", Choices(tmp_path / "window.ini"))
    offer.setParent(window)
    window.show()
    yield window, offer
    window.hide()
    window.deleteLater()


def test_report_is_shown_copied_and_offered_no_more(made):
    window, offer = made
    offer.look()
    assert offer.isVisible()
    QTest.mouseClick(offer.show_it, Qt.MouseButton.LeftButton)
    (dialog,) = window.findChildren(CrashDialog)
    assert "ZeroDivisionError: a strange mistake" in dialog.text.toPlainText()
    assert dialog.text.isReadOnly()
    QTest.keyClick(dialog.copy, Qt.Key.Key_Space)
    assert QGuiApplication.clipboard().text() == dialog.text.toPlainText()
    dialog.reject()
    offer.look()
    assert not offer.isVisible()


def test_offer_that_was_put_away_comes_with_the_next_report(made, tmp_path):
    _, offer = made
    offer.look()
    QTest.mouseClick(offer.dismiss, Qt.MouseButton.LeftButton)
    offer.look()
    assert not offer.isVisible()
    write_report(tmp_path / "home", "window", ValueError())
    offer.look()
    assert offer.isVisible()


def test_window_offers_what_its_engine_left(application_of, tmp_path, until):
    tmp_path.joinpath("home").mkdir()
    write_report(tmp_path / "home", "engine", ZeroDivisionError("a strange mistake"))
    application = application_of(tmp_path / "home", ["false"])
    application.start()
    until(application.crashes.isVisible)
