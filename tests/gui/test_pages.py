"""What the pages show, and when they do nothing."""

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from core.api import verdict as verdicts
from core.api.reports import DayGift, TeamView
from core.api.snapshot import HostingView, LossView


def words(window) -> str:
    return "\n".join(label.text() for label in window.findChildren(QLabel) if label.isVisibleTo(window))


def open_page(parts, name):
    parts.window.actions_.pages[name].trigger()
    return parts.window.pages[name]


def test_a_snapshot_is_on_home(parts, examples):
    parts.window.show()
    parts.store.put(examples.snapshot())
    said = words(parts.window)
    for part in (
        "Contributing",
        "Training together with 2 others.",
        "1 264 of 2 048 samples for the model's next step, 600 from this computer",
        "It gets 31 of 100 blanks right",
        "3 volunteers here, 1 always on",
    ):
        assert part in said
    assert "epoch" not in said.lower()
    assert parts.home.pot.shares == (round(1264 / 2048, 3), round(600 / 2048, 3))
    assert parts.window.windowTitle().startswith("A small ALBERT")


def test_nothing_is_said_to_be_undone_before_the_first_look(parts, examples):
    """Four steps were taken, and the first look at unseen text comes with the fifth."""
    early = examples.snapshot(epoch=4)
    curve = [msgspec.structs.replace(point, loss_heldout=None) for point in early.curve]
    known = msgspec.structs.replace(early.collaboration, loss=LossView())
    parts.window.show()
    parts.store.put(msgspec.structs.replace(early, curve=curve, collaboration=known))
    told = "What it can do is measured every few steps; that is still to come."
    assert told in words(parts.window)
    page = open_page(parts, "model")
    assert told in words(parts.window)
    assert page.heldout.said_instead == "It is measured every few steps."
    assert not page.training.said_instead


def test_model_page_shows_curves_speed_and_peers(parts, examples):
    parts.window.show()
    page = open_page(parts, "model")
    parts.store.put(examples.snapshot())
    assert "5.35 nats at step 40" in page.training.accessibleName()
    assert "6.31" in page.heldout.accessibleName()
    said = words(page)
    assert "31 of 100 blanks right at step 40; word frequencies alone 6 of 100" in said
    assert "175 samples a second together, 62 of them on this computer" in said
    assert page.sentences.words[0] == (
        "If the file does not [exist], an error is raised and the [file, not: stream] is closed."
    )
    assert len(page.sentences.words) == 3
    assert page.peers.table.model().rowCount() == 4
    assert "nats" not in said, "which stand behind a button"
    QTest.mouseClick(page.details.button, Qt.MouseButton.LeftButton)
    assert "The curves show the loss (nats)" in page.details.words
    assert "Held-out loss: " in page.details.words


def test_model_with_experts_is_saved_and_not_tried(parts, examples):
    """They live on many computers, so no program here has the whole model."""
    parts.window.show()
    parts.store.put(examples.snapshot())
    page = open_page(parts, "model")
    assert page.trying.isVisibleTo(page)
    gift = DayGift(day="2026-11-24", seconds=60.0, answered=12_400)
    parts.store.put(msgspec.structs.replace(examples.snapshot(), hosting=HostingView(6, answered=40_000), today=gift))
    assert not page.trying.isVisibleTo(page)
    assert "all parts of the model, which live on many computers" in words(page)
    open_page(parts, "home")
    assert not parts.home.trying.isVisibleTo(parts.home)
    assert "Hosting 6 experts: 12 400 requests answered today." in words(parts.home)
    parts.store.put(msgspec.structs.replace(examples.snapshot(), hosting=HostingView(0), today=gift))
    assert "Experts that lived here answered 12 400 requests today." in words(parts.home)


def test_people_page_says_my_place(parts, examples):
    parts.window.show()
    page = open_page(parts, "people")
    parts.store.put(examples.snapshot())
    said = words(page)
    assert "You are number 2 of 3." in said
    assert "The bars show who gave how much since Mon 6 Oct 2025, when this computer first saw" in said
    week = msgspec.structs.replace(examples.snapshot(), week_since="2025-10-02")
    parts.store.put(week)
    assert "The bars show who gave how much in the last 7 days." in words(page)
    assert "19 824 samples more to reach Ada's laptop. Kitchen PC is 24 412 behind." in said


def test_people_page_opens_at_my_row(parts, examples, qt):
    whole = examples.snapshot()
    row = whole.leaderboard[0]
    rows = [
        msgspec.structs.replace(row, rank=place + 1, peer=f"p{place}", name=f"Nr {place}", is_me=place == 150)
        for place in range(200)
    ]
    parts.window.resize(800, 560)
    parts.window.show()
    parts.store.put(msgspec.structs.replace(whole, leaderboard=rows))
    page = open_page(parts, "people")
    qt.processEvents()
    table = page.leaderboard.table
    top, bottom = table.rowAt(0), table.rowAt(table.viewport().height() - 1)
    assert top < 150 < bottom


def test_people_page_says_where_the_team_stands(parts, examples):
    people = parts.window.people
    parts.window.show()
    parts.store.put(examples.snapshot())
    parts.window.actions_.pages["people"].trigger()
    assert "team" in parts.asked
    parts.window.reports.put("team", examples.reports()["team"])
    assert "Your team Night readers is number 2 of 5. 12 400 samples more to reach Early birds." in words(people)
    parts.window.reports.put("team", TeamView(name="Night readers", rank=1, teams=5, next_name="Night readers"))
    assert "Your team Night readers is number 1 of 5." in words(people)
    assert "more to reach Night" not in words(people)
    parts.window.reports.put("team", TeamView())
    assert "Your team" not in words(people)


def test_people_page_leads_to_the_page_for_everybody(parts, examples, monkeypatch):
    opened, whole = [], examples.snapshot()
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    parts.window.show()
    parts.store.put(whole)
    page = open_page(parts, "people")
    QTest.keyClick(page.web, Qt.Key.Key_Space)
    assert opened == ["https://pot.example"]
    none = msgspec.structs.replace(whole.collaboration, page="")
    parts.store.put(msgspec.structs.replace(whole, collaboration=none))
    assert not page.web.isVisible()


def test_about_page_needs_no_engine(parts, examples):
    parts.window.show()
    page = open_page(parts, "about")
    assert parts.window.shows_page
    assert "What leaves this computer" in words(page)
    parts.store.put(examples.snapshot())
    assert "Masked words and sentence order." in words(page)


def test_hidden_pages_do_nothing(parts, examples):
    parts.window.show()
    seen = []
    parts.window.model.show_snapshot = seen.append
    parts.store.put(examples.snapshot())
    assert seen == []
    open_page(parts, "model")
    assert len(seen) == 1
    parts.store.put(examples.snapshot(samples=1300))
    assert len(seen) == 2
    parts.window.hide()
    parts.store.put(examples.snapshot(samples=1400))
    assert len(seen) == 2


def test_views_sleep_while_only_counters_run(parts, examples):
    changes = []
    parts.store.changed.connect(lambda: changes.append(1))
    first = examples.snapshot()
    parts.store.put(first)
    me = msgspec.structs.replace(
        first.me, bytes_sent=first.me.bytes_sent + 1000, contributing_s=first.me.contributing_s + 1
    )
    later = msgspec.structs.replace(first, me=me, time=first.time + 1)
    parts.store.put(later)
    assert len(changes) == 1
    assert parts.store.snapshot is later
    parts.store.put(msgspec.structs.replace(later, time=first.time + 10))
    assert len(changes) == 2
    parts.store.put(msgspec.structs.replace(later, epoch_samples=1300, time=first.time + 11))
    assert len(changes) == 3


def test_what_is_stale_is_paler(parts, examples):
    parts.window.show()
    page = open_page(parts, "people")
    parts.store.put(examples.snapshot())
    assert "Not connected" not in words(page)
    parts.store.miss(verdicts.not_connected("again", seconds=4))
    assert parts.window.shows_page
    assert "Not connected: this is what was known at" in words(page)
    parts.store.put(examples.snapshot())
    assert "Not connected" not in words(page)


def test_how_others_reach_this_computer_stands_with_people(parts, examples):
    parts.window.show()
    page = open_page(parts, "people")
    whole = examples.snapshot()
    parts.store.put(whole)
    assert whole.reach.sentence in words(page)
    assert whole.reach.advice in words(page)
    parts.store.put(msgspec.structs.replace(whole, reach=None))
    assert page.reach == ""
