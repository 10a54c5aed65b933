"""A pause for a time, and what the desktop tells."""

import msgspec
import pytest
from PySide6.QtCore import QDateTime

from app.engine.store import Store
from app.looks.choices import Choices, NoticeKind
from app.shell import notifier
from app.shell.notifier import Notifier, kind_of
from app.views.tray import Tray
from core.api import verdict as verdicts
from core.api.modes import OFF
from core.api.verdict import Verdict, VerdictCode

OFFLINE = Verdict(code=VerdictCode.NOT_CONNECTED, reason="offline")


@pytest.fixture
def told(qt, tmp_path, monkeypatch):
    """A notifier that waits for 50 ms, its store, its choices, what it told, and whether somebody looks."""
    monkeypatch.setattr(notifier, "LASTS_MS", 50)
    store, choices, said, looks = Store(), Choices(tmp_path / "window.ini"), [], []
    made = Notifier(store, choices, tell=lambda *words: said.append(words), seen=lambda: bool(looks))
    return made, store, choices, said, looks


def now() -> int:
    return QDateTime.currentSecsSinceEpoch()


def test_pause_for_an_hour_asks_for_its_moment(parts, examples):
    parts.store.put(examples.snapshot())
    parts.window.actions_.snooze.menu.actions()[0].trigger()
    method, wish = parts.calls[-1]
    assert method == "pause"
    assert 3590 <= wish["until"] - now() <= 3610
    assert parts.store.verdict.code is VerdictCode.CHANGING, "at once, as a wish"


def test_pause_until_tomorrow_ends_at_midnight(parts, examples):
    parts.store.put(examples.snapshot())
    parts.window.actions_.snooze.menu.actions()[2].trigger()
    then = QDateTime.fromSecsSinceEpoch(int(parts.calls[-1][1]["until"]))
    assert then.date() == QDateTime.currentDateTime().date().addDays(1)
    assert then.time().hour() in {0, 1}, "one where clocks are put forward at midnight"


def test_contributing_now_is_offered_while_rules_rest(parts, examples):
    insist = parts.window.actions_.snooze.insist
    parts.store.put(examples.snapshot())
    assert not insist.isEnabled()
    resting = Verdict(code=VerdictCode.RESTING, reason="battery")
    parts.store.put(msgspec.structs.replace(examples.snapshot(), verdict=resting))
    assert insist.isEnabled()
    insist.trigger()
    method, wish = parts.calls[-1]
    assert method == "resume"
    assert 3590 <= wish["until"] - now() <= 3610


@pytest.mark.parametrize("what", ["gpu", "network"])
def test_one_subject_is_paused_while_the_rest_goes_on(parts, examples, what):
    parts.store.put(examples.snapshot())
    toggle, longer = parts.window.actions_.snooze.alone[what].actions()
    assert toggle.text() == "&Pause it"
    toggle.trigger()
    longer.menu().actions()[1].trigger()
    method, wish = parts.calls[-1]
    assert parts.calls[-2] == ("pause", {"what": what})
    assert (method, wish["what"]) == ("pause", what)
    assert abs(wish["until"] - now() - 4 * 3600) < 10
    assert parts.store.verdict.code is VerdictCode.CONTRIBUTING, "the engine says what that means"
    whole = examples.snapshot()
    off = msgspec.structs.replace(whole.switches, **{what: OFF})
    parts.store.put(msgspec.structs.replace(whole, switches=off))
    assert toggle.text() == "&Use it again"
    toggle.trigger()
    assert parts.calls[-1] == ("resume", {"what": what})


def test_tray_and_window_offer_the_same_pauses(parts):
    snooze, main = parts.window.actions_.snooze, parts.window.menuBar().actions()[0].menu()
    tray = Tray(parts.store, parts.window.actions_)
    wanted = [snooze.menu, *snooze.alone.values()]
    for menu in (tray.menu, main):
        assert [action.menu() for action in menu.actions() if action.menu() in wanted] == wanted
        assert {parts.window.actions_.toggle, snooze.insist, parts.window.actions_.quit} <= set(menu.actions())


def test_snooze_waits_for_an_engine(parts):
    assert not parts.window.actions_.snooze.menu.isEnabled()
    assert not any(menu.isEnabled() for menu in parts.window.actions_.snooze.alone.values())
    assert not parts.window.actions_.snooze.insist.isEnabled()


def test_problem_that_lasts_is_told_once(told, examples, until):
    _, store, _, said, _ = told
    for _ in range(3):
        store.put(msgspec.structs.replace(examples.snapshot(), verdict=OFFLINE))
    until(lambda: said)
    store.put(msgspec.structs.replace(examples.snapshot(), verdict=OFFLINE))
    with pytest.raises(AssertionError):
        until(lambda: len(said) > 1, 300)
    assert "does not answer, nor does any other" in said[0][1]


def test_silence_that_lasts_is_told(told, until):
    _, store, _, said, _ = told
    store.miss(verdicts.no_answer())
    until(lambda: said)
    assert said[0][0] == "Potluck does not answer"


@pytest.mark.parametrize("why", ["it passes", "somebody looks", "not wanted", "nothing is wrong"])
def test_desktop_is_not_bothered_when_need_not_be(told, examples, until, why):
    _, store, choices, said, looks = told
    choices.choose_notice(NoticeKind.AWAY, wanted=why != "not wanted")
    looks += [True] if why == "somebody looks" else []
    verdict = verdicts.paused() if why == "nothing is wrong" else OFFLINE
    store.put(msgspec.structs.replace(examples.snapshot(), verdict=verdict))
    if why == "it passes":
        store.put(examples.snapshot())
    with pytest.raises(AssertionError):
        until(lambda: said, 300)


FAILURES = {
    NoticeKind.STOPPED: verdicts.problem("worker", "Training has ended."),
    NoticeKind.DISK: verdicts.problem("no_space", "The disk is full."),
    NoticeKind.AWAY: OFFLINE,
    NoticeKind.ENDED: verdicts.resting("ended", epoch=7),
}


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("kind", FAILURES)
def test_each_failure_is_told_by_its_own_choice(told, examples, until, kind, wanted):
    _, store, choices, said, _ = told
    for each in FAILURES:
        choices.choose_notice(each, wanted=(each is kind) is wanted)
    store.put(msgspec.structs.replace(examples.snapshot(), verdict=FAILURES[kind]))
    if wanted:
        until(lambda: said)
    else:
        with pytest.raises(AssertionError):
            until(lambda: said, 300)


def test_computer_that_gets_no_place_is_told():
    refused = verdicts.not_connected("refused", why="Nobody more is let in.")
    assert kind_of(refused) is NoticeKind.STOPPED


def test_menu_has_one_entry_for_each_notice(parts):
    menus = parts.window.menus
    menus.refresh()
    wanted = {kind for kind, action in menus.notices.items() if action.isChecked()}
    assert wanted == set(NoticeKind) - {NoticeKind.MILESTONE, NoticeKind.WEEK}
    for kind, action in menus.notices.items():
        before = parts.choices.notifies(kind)
        action.trigger()
        assert parts.choices.notifies(kind) is not before


def test_choice_of_an_earlier_version_holds(tmp_path):
    (tmp_path / "window.ini").write_text("[General]\nnotifications=no\n")
    assert not any(map(Choices(tmp_path / "window.ini").notifies, NoticeKind))


def test_hidden_window_says_where_it_went_once(told, tmp_path):
    made, _, choices, said, _ = told
    made.hidden()
    made.hidden()
    assert len(said) == 1
    assert "beside the clock" in said[0][1]
    choices.save()
    assert Choices(tmp_path / "window.ini").hint_shown
