"""Snapshots as text."""

import msgspec
from msgspec.structs import replace

from core.api.hints import Hint
from core.api.modes import OFF, Switches, UseSwitch
from core.api.reports import DayGift
from core.api.snapshot import HostingView, Notice, ReachView, Score
from core.api.turns import PassedOver, WhyNot
from core.base.problems import printable
from core.cli.printing.tables import leaderboard_text, newest_loss, notice_text, rate, status_text
from tests.unit.cli.conftest import a_snapshot


def test_status():
    text = status_text(a_snapshot())
    assert "Epoch          3, 400 of 1 000 samples" in text
    assert "8.500 in training, 8.000 on held-out text, 6.500 for word frequencies alone (nats)" in text
    assert "Here           1 volunteer, 123 samples/s together" in text
    assert "Switch         contributing" in text
    assert "3, 1 000 of 1 000 samples gathered, averaging" in status_text(a_snapshot(epoch_samples=5472))
    now = a_snapshot().time
    past, ahead = (UseSwitch().off(now + seconds, now) for seconds in (-1, 3600))
    switched = status_text(a_snapshot(switches=Switches(computing=past, gpu=OFF, network=ahead)))
    assert "Switch         contributing; gpu never; network off until " in switched
    assert switched.count("by the rules") == 1
    bare = status_text(a_snapshot(collaboration=None, curve=[], contributing=False))
    assert "Loss" not in bare
    assert "paused" in bare


def test_status_tells_what_the_model_gets_right():
    collaboration = a_snapshot().collaboration
    loss = replace(collaboration.loss, guesses="digits", score=Score(0.7, 0.684))
    text = status_text(a_snapshot(collaboration=replace(collaboration, loss=loss)))
    assert "Model          68 of 100 digits right, in examples that it has never seen" in text
    assert "Model " not in status_text(a_snapshot())


def test_status_tells_whom_an_upload_limit_holds_up():
    hint = Hint("upload", {"limit": 125_000, "longer": 50, "shorter": 10})
    assert "Hint           Your upload limit of 1 Mbit/s makes" in status_text(a_snapshot(hint=hint))
    assert "Hint" not in status_text(a_snapshot())


def test_status_tells_what_is_not_served():
    text = status_text(a_snapshot(passed_over=(PassedOver("07", "Poems\n", WhyNot.ENDED),)))
    assert "Not served     Poems : has come to its end\n" in text


def test_status_tells_what_experts_have_answered_today():
    today = DayGift(day="2026-11-24", answered=12_400)
    text = status_text(a_snapshot(hosting=HostingView(6, answered=40_000, wait_s=0.02), today=today))
    assert "Experts        hosting 6: 12 400 requests answered today, 95 of 100 within 20 ms" in text
    assert status_text(a_snapshot(hosting=HostingView(0))).endswith("Experts        none lives here now")
    left = status_text(a_snapshot(hosting=HostingView(0), today=today))
    assert "Experts        none lives here now: 12 400 requests answered today" in left


def test_leaderboard():
    lines = leaderboard_text(a_snapshot().leaderboard).splitlines()
    assert [line.split()[0] for line in lines] == ["Rank", "1", "*"]
    assert leaderboard_text([]) == "Nobody has contributed yet."


def test_table_tells_what_receipts_say():
    snapshot = a_snapshot()
    rows = [replace(row, rounds=3, reduced=12_345, relayed_bytes=2_000_000) for row in snapshot.leaderboard]
    text = status_text(a_snapshot(leaderboard=rows))
    assert text.count("averaged 12 345 numbers in 3 rounds, passed on 2 MB for others") == 1
    assert "averaged" not in status_text(snapshot)
    [line] = [line for line in leaderboard_text(rows).splitlines() if line.startswith("*")]
    assert line.split()[-5:] == ["3", "12", "345", "2", "MB"]


def test_strangers_cannot_write_control_characters():
    assert printable("a\x1b[31m\r\nb\u202e") == "a [31m  b "
    assert "\x1b" not in notice_text(Notice(1, 0.0, "info", "\x1b[2J"))


def test_numbers():
    assert rate(12.34) == "12.3"
    assert rate(1234.5) in {"1 234", "1 235"}
    assert newest_loss([]) == (None, None)


def test_the_line_is_told_once_it_was_seen():
    assert "Line" not in status_text(a_snapshot())
    mine = msgspec.structs.replace(a_snapshot().me, line_up_bytes_per_s=1.25e6, line_down_bytes_per_s=1e5)
    text = status_text(a_snapshot(me=mine))
    assert "Line           at least 10.0 Mbit/s up and 0.8 Mbit/s down, as seen while averaging\n" in text + "\n"
    mine = msgspec.structs.replace(mine, line_trip_s=0.0421)
    assert "while averaging; 42 ms there and back" in status_text(a_snapshot(me=mine))


def test_how_others_reach_this_computer_is_told_if_it_matters():
    assert "Network" not in status_text(a_snapshot())
    reach = ReachView("relayed", "The router lets nobody in.", "Turn on UPnP.")
    assert "Network        The router lets nobody in. Turn on UPnP." in status_text(a_snapshot(reach=reach))
