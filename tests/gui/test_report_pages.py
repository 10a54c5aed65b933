"""Pages that ask the engine: my gift, my computer, activity, about."""

import sys
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.commands.doctor import Checked, DoctorCommand
from app.commands.line_command import LineCommand
from app.licences import bundled
from app.pages import asking
from app.pages.verdict_actions import RULES, offers_of
from app.words import text
from app.words.page_text import notice
from app.words.text import count
from core.api import verdict as verdicts
from core.api.hints import Hint
from core.api.moderation import ALL_PAUSED, ENDINGS, MOVED
from core.api.numbers import amount
from core.api.reports import DayGift, GiftHistory
from core.api.snapshot import Notice
from core.api.turns import PassedOver, WhyNot
from core.api.verdict import SENTENCES, VerdictCode


def words(window):
    return "\n".join(label.text() for label in window.findChildren(QLabel) if label.isVisibleTo(window))


@pytest.fixture
def told(parts, examples):
    """A window that knows all that an engine can tell."""
    parts.window.show()
    parts.store.put(examples.snapshot())
    for method, answer in examples.reports().items():
        parts.window.reports.put(method, answer)
    return parts


def open_page(parts, name):
    parts.window.actions_.pages[name].trigger()
    return parts.window.pages[name]


def column(panel, place):
    model = panel.table.model()
    return [model.index(row, place).data() for row in range(model.rowCount())]


def test_home_shows_todays_gift_and_fourteen_days(told):
    said = words(told.home)
    assert "2 h 10 min" in said
    assert "samples went into steps of the model. 89 MB sent, 85 MB received." in said
    assert "2 d 9 h on 11 of 14 days" in said
    assert "11 of 14 days" in told.home.days.accessibleName()


def test_home_of_a_newcomer_shows_no_gift_yet(told, examples):
    told.window.reports.put("history", GiftHistory(today="2026-11-24"))
    told.store.put(examples.empty())
    assert "Nothing went into a step of the model yet today." in words(told.home)
    assert "No contribution in the last 14 days yet." in words(told.home)


def test_gift_page_says_what_became_of_each_round(told):
    page = open_page(told, "gift")
    assert "7 days in a row" in words(page)
    assert "600 more are computed" in words(page)
    assert "About 2.58 kWh, 0.83 in your money" in words(page)
    assert column(page.days, 0)[0] == "Tue 24 Nov"
    assert [one.strip() for one in column(page.receipts, 2)][2:7] == [
        "Averaged",
        "Did not arrive in time",
        "Averaged",
        "Helped to average",
        "Signed by nobody else",
    ]
    why = page.receipts.table.model().index(3, 2).data(Qt.ItemDataRole.ToolTipRole)
    assert "the round went on without it" in why


def test_gift_page_tells_averaged_samples_from_counted_ones(told, examples):
    page = open_page(told, "gift")
    mine, receipts = told.store.last.me.samples, examples.reports()["receipts"]
    assert f"have your work in them: {count(mine)} samples" in words(page)
    for more in (0, 700):
        told.window.reports.put("receipts", msgspec.structs.replace(receipts, samples=mine + more))
        assert (f"By their receipts, {count(mine + 700)} samples were averaged" in words(page)) is bool(more)


def test_computer_page_shows_what_is_used(told):
    page = open_page(told, "computer")
    assert page.facts.values["threads"] == "7 of 16"
    assert page.facts.values["memory"] == "1.2 GB used by Potluck; 9.1 GB of 16 GB free"


def test_computer_page_shows_problems_first(told, qt):
    page = open_page(told, "computer")
    page.show_findings(
        [Checked("clock", "fine", "The clock is right."), Checked("disk", "problem", "Full.", "Free it.")]
    )
    qt.processEvents()
    said = words(page)
    assert said.index("Full.") < said.index("The clock is right.")
    assert "1 of 2 checks found something that has to be mended." in said
    page.show_findings([])
    assert "could not be run" in words(page)


def test_doctor_command_passes_on_its_lines(qt, tmp_path, until):
    lines = ['{"name": "disk", "level": "fine", "sentence": "Room."}']
    command = DoctorCommand(LineCommand(tmp_path, [sys.executable, "-c", f"print({lines[0]!r})"]))
    found = []
    command.found.connect(found.append)
    command.start()
    assert command.runs
    until(lambda: found)
    assert found == [[Checked("disk", "fine", "Room.")]]


def test_doctor_command_that_cannot_be_run_finds_nothing(qt, tmp_path, until):
    command = DoctorCommand(LineCommand(tmp_path, [str(Path(tmp_path, "nothing"))]))
    found = []
    command.found.connect(found.append)
    command.start()
    until(lambda: found)
    assert found == [[]]


def test_doctor_command_can_be_stopped(qt, tmp_path):
    command = DoctorCommand(LineCommand(tmp_path, [sys.executable, "-c", "import time; time.sleep(60)"]))
    command.found.connect(pytest.fail)
    command.start()
    command.stop()
    assert not command.runs


def test_activity_page_filters(told):
    page = open_page(told, "activity")
    assert len(column(page.log, 1)) == 7
    assert column(page.log, 1)[0].startswith("The disk is full")
    page.filter.setCurrentIndex(1)
    assert column(page.log, 1)[-1] == "Potluck starts."
    page.filter.setCurrentIndex(2)
    assert column(page.log, 1) == [
        "For 60 s the computers have not managed to put their work together (9 attempts). They go on trying."
    ]
    page.filter.setCurrentIndex(3)
    assert len(column(page.log, 1)) == 2
    page.log.table.selectRow(0)
    assert page.words.startswith("The disk is full")


def test_home_follows_the_snapshot_at_once(told, examples):
    told.asked.clear()
    shown = examples.snapshot(samples=1024)
    more = msgspec.structs.replace(shown.today, seconds=3 * 3600.0 + 60, samples=10**7)
    mine = msgspec.structs.replace(shown.me, samples_pending=512)
    told.store.put(msgspec.structs.replace(shown, today=more, me=mine))
    said = words(told.home)
    assert "3 h 01 min" in said
    assert "10.0 M samples went into steps of the model." in said
    assert "1 024 of 2 048 samples for the model's next step, 512 from this computer" in said
    assert "2 d 10 h on 11 of 14 days" in said
    assert told.asked == []


def test_home_asks_again_on_another_day_and_of_another_engine(told, examples):
    told.asked.clear()
    tomorrow = DayGift(day="2026-11-25", seconds=60.0)
    told.store.put(msgspec.structs.replace(examples.snapshot(), today=tomorrow))
    assert told.asked == ["history"]
    assert "2 d 6 h on 11 of 14 days" in words(told.home)
    told.store.put(msgspec.structs.replace(examples.snapshot(), today=tomorrow, pid=7))
    assert told.asked == ["history", "history"]


def test_home_says_why_the_first_choice_is_not_served(told, examples):
    assert "cannot be reached" not in words(told.home)
    passed = (PassedOver("ab", "Poems\n", WhyNot.UNREACHABLE), PassedOver("cd", "Maps", WhyNot.ENDED))
    told.store.put(msgspec.structs.replace(examples.snapshot(), passed_over=passed))
    said = "Poems cannot be reached; Potluck looks for it from time to time. Maps has come to its end."
    assert said in words(told.home)


def test_home_says_whom_an_upload_limit_holds_up(told, examples):
    hint = Hint("upload", {"limit": 125_000, "longer": 50, "shorter": 10})
    told.store.put(msgspec.structs.replace(examples.snapshot(), hint=hint))
    assert "upload limit of 1 Mbit/s makes everybody's steps longer" in words(told.home)
    told.store.put(examples.snapshot())
    assert "upload limit" not in words(told.home)


def test_gift_page_asks_when_a_round_has_ended(told, examples):
    open_page(told, "gift")
    told.asked.clear()
    told.store.put(examples.snapshot(samples=1300))
    assert told.asked == []
    told.store.put(examples.snapshot(epoch=41))
    assert told.asked == ["history", "receipts"]


def test_activity_asks_when_something_happened(told, examples):
    open_page(told, "activity")
    told.asked.clear()
    told.store.put(examples.snapshot(samples=1300))
    assert told.asked == []
    told.store.put(msgspec.structs.replace(examples.snapshot(samples=1300), notice_last=8))
    assert told.asked == ["activity"]


def test_hidden_pages_ask_nothing(told, until, monkeypatch):
    page = open_page(told, "gift")
    assert {"history", "receipts"} <= set(told.asked)
    page.again.setInterval(1)
    told.asked.clear()
    until(lambda: told.asked)
    open_page(told, "people")
    told.asked.clear()
    QTest.qWait(20)
    assert told.asked == []
    assert asking.AGAIN_MS >= 10_000


def test_about_page_shows_fingerprints_and_licences(told):
    page = open_page(told, "about")
    assert page.facts.values["my_key"].startswith("0123 4567")
    assert page.facts.values["organiser_key"].startswith("89ab cdef")
    assert "PySide6-Essentials (LGPL-3.0-only" in words(page)
    assert dict(bundled())["msgspec"] == "BSD-3-Clause"


def test_notice_of_a_verdict_is_worded_by_its_code():
    rests = verdicts.Verdict(code=VerdictCode.RESTING, reason="in_use", args={"minutes": 3})
    row = Notice(1, 0.0, "info", str(verdicts.sentence(rests)), "verdict.resting.in_use", {"minutes": 3})
    assert notice(row).startswith("This computer is in use.")
    row = msgspec.structs.replace(row, text="English.")  # an earlier version said it otherwise
    assert notice(row) == "English."
    assert notice(msgspec.structs.replace(row, code="verdict.dancing.")) == "English."


@pytest.mark.parametrize(("code", "reason"), SENTENCES)
def test_rests_and_lost_connections_offer_an_action(code, reason):
    offers = offers_of(verdicts.Verdict(code=code, reason=reason))
    rests = code is VerdictCode.RESTING and reason not in {"finished", "ended", "left", ALL_PAUSED}
    lost = code is VerdictCode.NOT_CONNECTED and reason in {"offline", "no_network", "pass_ended"}
    assert bool(offers) == (rests or lost or code is VerdictCode.PROBLEM or reason == "no_part")


def test_reason_of_a_rest_leads_to_its_setting(told, examples):
    led = []
    for reason in [reason for code, reason in SENTENCES if code is VerdictCode.RESTING and reason not in ENDINGS]:
        told.store.put(examples.snapshot(verdicts.resting(reason, percent=5, minutes=3, celsius=80, watts=9, epoch=7)))
        shown = [one for one in told.home.offers if one.isVisibleTo(told.home)]
        assert len(shown) == {"metered": 1, "month": 1, "finished": 0, "ended": 0, "left": 0}.get(reason, 2), reason
        if not shown:
            continue
        shown[-1].click()
        told.window.settings.show_answer("settings", examples.settings())
        field = told.window.settings.fields[RULES[reason]].control
        if field.isEnabled():  # else another rule of these settings makes it of no account, and it takes no focus
            assert told.window.settings.focusWidget() in {field, field.focusProxy()} - {None}, reason
            led.append(reason)
        told.window.settings.hide()
    assert {"battery", "in_use", "schedule", "program", "month"} <= {*led}


def test_overruling_a_rule_asks_the_engine(told, examples):
    told.store.put(examples.snapshot(verdicts.resting("full_screen")))
    assert told.home.offers[0].text() == "Contribute now for 1 hour"
    told.home.offers[0].click()
    ((method, wish),) = told.calls
    assert method == "resume"
    assert wish["until"] > 0


def test_collaboration_that_has_moved_is_looked_at_first(told, examples):
    link, asked = f"potluck://one.example:1/{'ab' * 32}#later", []
    moved = verdicts.resting(MOVED, collaboration="Ours", words="It was good.", link=link)
    told.store.put(examples.snapshot(moved))
    told.window.actions_.link_asked.disconnect()  # the page that asks has its own tests
    told.window.actions_.link_asked.connect(asked.append)
    assert told.home.offers[0].text() == "Look at the one that goes on…"
    told.home.offers[0].click()
    assert asked == [link]


def test_about_says_who_decides_and_signs_what_waits(told, until):
    page = open_page(told, "about")
    until(lambda: "Signed by Bob" in words(page))
    said = words(page)
    assert "Ada, Bob (you), Cleo: 2 of them have to agree." in said
    epoch = f"{amount(1200)}, root ab12cd34"
    assert f"Ada proposes: shut out Eve; go back to the model of step {epoch}. Why: Noise since Sunday." in said
    assert "Mallory is held until" in said
    assert "Nobody new is let in at present." in said
    assert [*page.moderators.buttons] == ["6c844cc1"], "what is signed here needs no button"
    assert "Ada asked on" in said
    assert "Bob, Cleo have not for 7 days" in said
    assert "They have paused the collaboration: The server moves on Monday." in said
    answered = []
    page.moderators.drilled.connect(lambda: answered.append(1))
    QTest.keyClick(page.moderators.answer, Qt.Key.Key_Space)
    assert answered == [1]
    signed = []
    page.moderators.signing.connect(signed.append)
    QTest.keyClick(page.moderators.buttons["6c844cc1"], Qt.Key.Key_Space)
    assert signed == ["6c844cc1"]


def test_who_is_no_moderator_signs_nothing(told, examples):
    view = msgspec.structs.replace(examples.moderation(), moderates=False)
    told.window.reports.put("moderation", view)
    page = open_page(told, "about")
    assert not page.moderators.buttons
    first = view.moderators[:1]
    alone = msgspec.structs.replace(view, moderators=first, threshold=1, proposals=(), holds=(), notices=())
    told.window.reports.put("moderation", alone)
    assert "Ada decides alone" in words(page)
    assert "Mallory" not in words(page)


def test_moderator_sees_distances_and_goes_back_by_keyboard(told, until):
    page = open_page(told, "about")
    until(lambda: page.tending.isVisible() and 2 in page.tending.buttons)
    model = page.tending.people.table.model()
    rows = [[model.index(row, column).data() for column in range(model.columnCount())] for row in range(4)]
    assert rows[0] == ["Ada", "0.97", "0.62", count(400_000), "3 % of the numbers, 41 rounds"]
    assert rows[2] == ["Dora", text.NOTHING, text.NOTHING, count(90_000), text.NOTHING]
    assert (rows[3][0], rows[3][2]) == ("Eve (shut out)", "-0.44")
    assert "They prove nothing by themselves." in words(page)
    asked = []
    page.tending.going_back.connect(lambda number, why: asked.append((number, why)))
    QTest.keyClick(page.tending.buttons[2], Qt.Key.Key_Space)
    assert f"All computers go back to step {amount(1200)}" in words(page)
    assert page.tending.why.maxLength() == 300
    QTest.keyClicks(page.tending.why, "noise")
    QTest.keyClick(page.tending.why, Qt.Key.Key_Return)
    assert asked == [("2", "noise")]
    assert not page.tending.why.isVisible()


def test_who_is_no_moderator_asks_for_no_copies(told, examples):
    told.window.reports.put("moderation", msgspec.structs.replace(examples.moderation(), moderates=False))
    page = open_page(told, "about")
    assert not page.tending.isVisible()
