"""The content of the window, and its keyboard."""

import re

import msgspec
import pytest
from PySide6.QtCore import QDateTime, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QMessageBox, QProgressBar

from app.looks.choices import Closing, ThemeChoice
from app.looks.theme import DARK
from app.views import status_line
from app.views.removal import CHECKOUT, how_to_remove
from app.words import page_text, text
from core.api import verdict as verdicts
from core.api.snapshot import Notice


def words(window) -> str:
    return "\n".join(label.text() for label in window.findChildren(QLabel) if label.isVisibleTo(window))


def test_starting_shows_the_engines_sentence(parts, examples):
    parts.window.show()
    assert not parts.window.shows_page
    parts.store.put(examples.starting("Reading the text."))
    assert not parts.window.shows_page
    assert "Reading the text." in words(parts.window)
    parts.store.put(examples.empty())
    assert parts.window.shows_page
    assert "0 of 2 048 samples for the model's next step" in words(parts.window)


def test_switch_flips_on_space_and_waits_for_the_engine(parts, examples):
    switch = parts.home.header.switch
    parts.window.show()
    parts.store.put(examples.snapshot())
    assert switch.isChecked()
    assert parts.home.header.words[0] == "Contributing"
    QTest.keyClick(switch, Qt.Key.Key_Space)
    assert parts.calls == ["pause"]
    parts.store.put(examples.snapshot())  # taken before the engine heard of it
    assert not switch.isChecked()
    assert "Pausing…" in words(parts.window)
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
    assert parts.home.header.words == ("Resuming…", "Potluck was asked to contribute, and has not confirmed it yet.")
    parts.store.put(examples.snapshot())
    assert "Training together" in words(parts.window)
    parts.intents.contribute(False)
    assert parts.home.header.words[0] == "Pausing…"
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
    assert "The pot is full" in words(parts.window)
    assert parts.home.pot.shares[0] == 1


def test_a_failed_wish_puts_the_switch_back(parts, examples):
    parts.store.put(examples.snapshot())
    parts.intents.contribute(False)
    assert not parts.home.header.switch.isChecked()
    parts.intents.forget()
    assert parts.home.header.switch.isChecked()


def test_without_an_engine_nothing_stale_is_shown(parts, examples):
    parts.window.show()
    parts.store.put(examples.snapshot())
    parts.store.miss(verdicts.not_connected("again", seconds=4))
    assert not parts.window.shows_page
    assert not parts.window.actions_.toggle.isEnabled()
    assert parts.window.status.words == "Not connected"
    said = words(parts.window)
    assert "started again in 4 s" in said
    assert "Contributing" not in said
    parts.store.put(examples.snapshot())
    assert parts.home.header.switch.isEnabled()
    assert parts.window.shows_page


def test_problems_have_a_banner_where_home_is_not_seen(parts, examples):
    parts.window.show()
    parts.store.put(examples.STATES["problem"]())
    assert parts.home.header.words[0] == "Problem"
    assert "Free at least 200 MB" in parts.home.header.words[1]
    assert not parts.window.banner.isVisibleTo(parts.window)
    assert parts.home.offers[0].text() == "See what happened"
    parts.home.offers[0].click()
    assert parts.window.open_page == "activity"
    assert parts.window.banner.isVisibleTo(parts.window)
    assert "Free at least 200 MB" in words(parts.window)
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


def test_start_page_says_whose_computer_does_not_answer(parts):
    names = {"collaboration": "Kitchen words", "organiser": "Ada Lovelace", "where": "10.0.0.7:4001"}
    away = verdicts.not_connected("backbone", stage="{whose} does not answer.", **names)
    page = parts.window.start_page
    parts.window.show()
    parts.store.miss(msgspec.structs.replace(away, until=QDateTime.currentSecsSinceEpoch() + 20.0))
    assert page.title == "Not connected"
    said = "Ada Lovelace's computer (10.0.0.7:4001) does not answer. Kitchen words goes on by itself when it does."
    assert page.words == said == str(verdicts.sentence(parts.store.verdict))
    assert re.fullmatch(r"Next try in (19|20) s\.", page.next_try)
    page.try_now.click()
    assert parts.calls == ["try_now"]
    page.check.click()
    assert parts.window.open_page == "computer"


@pytest.mark.parametrize(("reason", "said"), [("offline", "for the model's next step"), ("backbone", "wait until")])
def test_samples_wait_only_where_no_step_is_taken(examples, reason, said):
    assert said in page_text.pot(examples.snapshot(verdicts.not_connected(reason), samples=96))


def test_home_offers_to_look_for_the_others_or_the_cause(parts, examples):
    parts.window.show()
    parts.store.put(examples.snapshot(verdicts.not_connected("offline", organiser="Ada Lovelace")))
    assert parts.home.header.words[1].startswith("Ada Lovelace's computer does not answer, nor does any other:")
    again, check = parts.home.offers
    assert (again.text(), check.text()) == ("Try now", "Check this computer")
    QTest.mouseClick(again, Qt.MouseButton.LeftButton)
    assert parts.calls == ["try_now"]
    assert parts.window.status.news == "Trying now…"
    parts.store.put(examples.snapshot(verdicts.not_connected("no_network")))
    assert parts.home.header.words[1].startswith("This computer has no network:")
    assert not check.isVisibleTo(parts.window)
    QTest.mouseClick(again, Qt.MouseButton.LeftButton)
    assert parts.window.open_page == "computer"
    assert parts.calls == ["try_now"]


def test_bar_of_a_start_tells_only_what_is_known(parts):
    page = parts.window.start_page
    bar = page.findChild(QProgressBar)
    parts.store.miss(verdicts.starting("preparing", stage="Reading text", percent=3))
    assert (bar.value(), bar.maximum()) == (3, 100)
    parts.store.miss(verdicts.starting("preparing", stage="Reading text"))
    assert bar.maximum() == 0  # it runs to and fro


def test_icon_of_the_last_line_follows_the_verdict(parts, examples):
    icon = parts.window.status.icon
    for verdict, name in (
        (examples.TRAINING, "connected"),
        (verdicts.not_connected("offline"), "disconnected"),
        (verdicts.problem("x", "A problem."), "problem"),
    ):
        parts.store.put(examples.snapshot(verdict))
        assert icon.name == name


def test_why_an_engine_refused_is_said(parts):
    parts.window.show()
    parts.store.miss(verdicts.not_connected("refused", why="The port 4001 is in use."))
    assert "The port 4001 is in use." in words(parts.window)


def test_menus_remember(parts):
    menus = parts.window.menus
    menus.closing_actions[Closing.HIDE].trigger()
    menus.theme_actions[ThemeChoice.DARK].trigger()
    assert parts.choices.closing is Closing.HIDE
    assert parts.choices.theme is ThemeChoice.DARK
    assert parts.theme.colours is DARK
    menus.theme_actions[ThemeChoice.LIGHT].trigger()


@pytest.mark.parametrize(
    ("environ", "platform", "said"),
    [
        ({"POTLUCK_LAUNCHER": "/usr/bin/potluck"}, "linux", "sudo apt purge potluck"),
        (
            {"POTLUCK_PROGRAM": "/opt/pot\nluck", "POTLUCK_LAUNCHER": "/opt/x"},
            "linux",
            "delete /opt/pot luck.",
        ),
        ({"POTLUCK_LAUNCHER": "/home/ada/potluck.AppImage"}, "linux", "delete /home/ada/potluck.AppImage."),
        ({"POTLUCK_PROGRAM": "C:/Potluck"}, "win32", "Windows removes it"),
        ({"POTLUCK_PROGRAM": "/Applications/Potluck.app"}, "darwin", "to the Bin."),
        ({}, "linux", "pip uninstall potluck"),
    ],
)
def test_removal_is_told_by_how_it_came(environ, platform, said, tmp_path):
    assert said in how_to_remove(environ, platform, tmp_path)


def test_removal_from_the_menu_names_what_stays(parts, examples):
    parts.window.show()
    parts.window.reports.put("machine", examples.reports()["machine"])
    parts.window.menus.removal.trigger()
    (box,) = parts.window.findChildren(QMessageBox)
    assert str(CHECKOUT) in box.text()
    assert "stay in /home/bee/.local/share/potluck" in box.informativeText()
    box.reject()


def test_odd_snapshots_do_not_hurt(parts, examples):
    parts.window.show()
    whole = examples.snapshot()
    me = msgspec.structs.replace(whole.me, samples_per_s=float("nan"), samples=10**15)
    parts.store.put(msgspec.structs.replace(whole, me=me, epoch_samples=10**9, samples_per_s=float("inf"), curve=[]))
    parts.store.put(msgspec.structs.replace(whole, collaboration=None, peers=[], leaderboard=[]))
    parts.store.put(msgspec.structs.replace(whole, verdict=verdicts.problem("x", "<b>Bold</b>")))
    assert "<b>Bold</b>" in words(parts.window)


def test_page_that_a_key_opens_takes_the_rails_focus_along(parts, qt):
    """Without an engine nothing else moves it: the frame would stay on the entry that was marked before."""
    parts.window.show()
    home, model = parts.window.rail.buttons[:2]
    home.setFocus()
    parts.window.actions_.pages["model"].trigger()
    qt.processEvents()
    assert parts.window.focusWidget() is model
