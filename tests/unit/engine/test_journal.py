"""What an engine remembers between two runs: here, the credit that receipts give."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from core.api.score import FirstScore, Score
from core.api.snapshot import LossView
from core.authority.decisions import Announcement, Decisions, GoBack
from core.authority.news import AuthorityDecided
from core.averaging.receipts.exchange import Receipted
from core.base.problems import NoSpace
from core.control.notices import NoticeRing
from core.engine.remembered.journal import GAP_S, SAVE_INTERVAL_S, Journal
from core.ledger import receipts
from core.swarm.words.orders import Changed, HeldoutLearned, KeyElsewhere, RoundLost, RoundRecord, WorkNotKept
from core.swarm.words.states import StateName
from tests.unit.ledger.examples import PEERS, RELAY, receipt


def journal(folder: Path, notices: NoticeRing, now: Callable[[], float] = lambda: 5.0) -> Journal:
    return Journal(
        folder=folder,
        board=folder / "board.json",
        receipts=folder / "receipts",
        target_samples=64,
        notices=notices,
        now=now,
    )


def test_a_receipt_is_kept_once_and_is_there_next_time(tmp_path):
    notices = NoticeRing(lambda: 5.0)
    first = journal(tmp_path, notices)
    for _ in range(3):
        first.take(Receipted(receipt(1, relayed_bytes=7)))
    assert first.receipts.relayed == {RELAY: 14}
    first.save([])
    again = journal(tmp_path, notices)
    again.take(Receipted(receipt(1, relayed_bytes=7)))
    assert again.receipts.relayed == {RELAY: 14}
    assert notices.last == 0


def test_first_score_is_remembered_and_later_ones_are_not(tmp_path):
    first = journal(tmp_path, NoticeRing(lambda: 5.0))
    first.look(LossView())
    assert first.first is None
    first.look(LossView(epoch=7, score=Score(6.5, 0.16)))
    first.look(LossView(epoch=9, score=Score(5.0, 0.3)))
    first.save([])
    again = journal(tmp_path, NoticeRing(lambda: 5.0))
    again.look(LossView(epoch=12, score=Score(4.0, 0.4)))
    assert again.first == FirstScore(7, Score(6.5, 0.16))


def test_a_full_disk_is_told_once_and_gives_no_credit(tmp_path, monkeypatch):
    notices = NoticeRing(lambda: 5.0)
    first = journal(tmp_path, notices)

    def full(*_):
        raise NoSpace("The disk is full.")

    monkeypatch.setattr(receipts, "append_synced", full)
    for number in range(3):
        first.take(Receipted(receipt(number, relayed_bytes=7)))
    assert first.receipts.relayed == {}
    assert [notice.text for notice in notices.since(0)] == ["The disk is full."]


def test_journal_tells_of_lost_work_and_shows_evaluations(tmp_path):
    notices = NoticeRing(lambda: 5.0)
    kept = journal(tmp_path, notices)
    record = RoundRecord(StateName(3, b"l" * 32), ((PEERS[1], 40),), 2.5, ((PEERS[1], 1),), 1.0)
    for event in (record, HeldoutLearned(3, 2.0), WorkNotKept(4), Changed(), object()):
        kept.take(event)
    assert [(point.epoch, point.loss_heldout) for point in kept.board.curve] == [(3, 2.0)]
    partly, not_kept = [notice.text for notice in notices.since(0)]
    assert "arrived only in part" in partly
    assert "number 4" in not_kept


def test_failing_rounds_are_told_once_after_a_minute(tmp_path):
    now = [1000.0]
    notices = NoticeRing(lambda: now[0])
    kept = journal(tmp_path, notices, lambda: now[0])
    done = RoundRecord(StateName(3, b"l" * 32), ((PEERS[1], 40),), 2.5, (), 1.0)

    def fail(times: int, every_s: float) -> None:
        for _ in range(times):
            kept.take(RoundLost("the leader was lost"))
            now[0] += every_s

    for _ in range(3):
        fail(59, 1.0)
        kept.take(done)
    assert notices.last == 0
    fail(200, 1.0)
    assert [(one.code, one.args) for one in notices.since(0)] == [("round.failing", {"seconds": 60, "times": 61})]
    kept.take(done)
    fail(7, 10.0)
    assert notices.last == 2


def test_what_moderators_decide_is_told_once(tmp_path):
    notices = NoticeRing(lambda: 5.0)
    kept = journal(tmp_path, notices)
    back = GoBack(epoch=60, source=b"s" * 32, root=b"r" * 32, digest=b"d" * 32)
    words = Announcement(3, 9, "Back on Monday")
    decided = Decisions(number=4, back=back, notices=(words, Announcement(1, 2, "long ago")), words="It was noise.")
    for _ in range(2):
        kept.take(AuthorityDecided(decided, frozenset(), b"signed"))
    assert [notice.text for notice in notices.since(0)] == ["The moderators say: Back on Monday"], (
        "a newcomer lost nothing"
    )
    kept.contributing(on=True)
    kept.save([])
    assert (tmp_path / "records.signed").read_bytes() == b"signed"
    moments = iter([6.0, 8.0, *[8.0] * 20])
    again = journal(tmp_path, notices, lambda: next(moments))
    again.contributing(on=True)
    again.contributing(on=False)
    later = msgspec.structs.replace(decided, number=6, back=msgspec.structs.replace(back, root=b"t" * 32))
    for decisions in (decided, later, later):
        again.take(AuthorityDecided(decisions, frozenset(), b"signed"))
    assert [notice.text for notice in notices.since(1)] == [
        "The moderators have had everybody go back to step 60; what came after it counts no more. It was noise."
    ]


def test_computer_that_sleeps_gives_no_time(tmp_path):
    now = [1000.0]
    kept = journal(tmp_path, NoticeRing(lambda: now[0]), lambda: now[0])
    kept.contributing(on=True)
    for _ in range(60):
        now[0] += SAVE_INTERVAL_S
        kept.save([])
    assert kept.contributed_s == 600
    now[0] += 8 * 3600  # the lid is closed
    kept.contributing(on=True)
    now[0] += SAVE_INTERVAL_S
    assert kept.contributed_s <= 610 + GAP_S
    kept.contributing(on=False)
    kept.save([])
    assert journal(tmp_path, NoticeRing(lambda: now[0])).contributed_s == kept.contributed_s


def test_second_computer_with_the_own_key_is_told_once(tmp_path):
    notices = NoticeRing(lambda: 5.0)
    kept = journal(tmp_path, notices)
    for _ in range(3):
        kept.take(KeyElsewhere("", 0))
    [told] = [notice.text for notice in notices.since(0)]
    assert "with the key of this one" in told
