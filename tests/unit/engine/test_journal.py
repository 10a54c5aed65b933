"""What an engine remembers between two runs: here, the credit that receipts give."""

from pathlib import Path

from core.base.problems import NoSpace
from core.base.trace import Trace
from core.control.notices import NoticeRing
from core.engine.journal import Journal
from core.ledger import receipts
from core.swarm.orders import Changed, HeldoutLearned, LedgerLearned, RoundLost, RoundRecord, WorkNotKept
from core.swarm.states import StateName
from tests.unit.ledger.examples import PEERS, RELAY, receipt


def journal(folder: Path, notices: NoticeRing) -> Journal:
    return Journal(
        folder=folder,
        ledger=folder / "ledger.json",
        receipts=folder / "receipts",
        target_samples=64,
        notices=notices,
        now=lambda: 5.0,
    )


def test_a_receipt_gives_credit_once_and_is_there_next_time(tmp_path):
    notices = NoticeRing(lambda: 5.0)
    first = journal(tmp_path, notices)
    for _ in range(3):
        first.receipt(receipt(1, relayed_bytes=7), {PEERS[2]: "Helper", RELAY: "Backbone"})
    assert (first.ledger.row(PEERS[2]).reduced, first.ledger.row(PEERS[2]).name) == (700, "Helper")
    assert first.ledger.row(PEERS[1]).samples == 0  # samples come with the round itself
    first.save([])
    again = journal(tmp_path, notices)
    assert again.ledger.rows() == first.ledger.rows()
    again.receipt(receipt(1, relayed_bytes=7), {})
    assert again.ledger.row(RELAY).relayed_bytes == 14
    assert notices.last == 0


def test_receipts_make_good_for_a_ledger_that_was_not_saved(tmp_path):
    notices = NoticeRing(lambda: 5.0)
    first = journal(tmp_path, notices)
    first.save([])
    first.receipt(receipt(1), {})
    again = journal(tmp_path, notices)
    assert again.ledger.row(PEERS[2]).reduced == 700


def test_a_full_disk_is_told_once_and_gives_no_credit(tmp_path, monkeypatch):
    notices = NoticeRing(lambda: 5.0)
    first = journal(tmp_path, notices)

    def full(*_):
        raise NoSpace("The disk is full.")

    monkeypatch.setattr(receipts, "append_synced", full)
    for number in range(3):
        first.receipt(receipt(number), {})
    assert first.ledger.rows() == {}
    assert [notice.text for notice in notices.since(0)] == ["The disk is full."]


def test_journal_remembers_rounds_and_evaluations_and_tells_of_lost_work(tmp_path):
    notices, trace = NoticeRing(lambda: 5.0), Trace()
    kept = journal(tmp_path, notices)
    name = StateName(3, b"l" * 32)
    record = RoundRecord(name, ((PEERS[1], 40),), 2.5, ((PEERS[1], 1),), 1.0, credited=((PEERS[1], 30),))
    lost_work = RoundLost("the leader was lost"), WorkNotKept(4)
    for event in (record, HeldoutLearned(3, 2.0), *lost_work, Changed(), object()):
        kept.take(event, lambda: {PEERS[1]: "Ada"}, trace=trace)
    assert (kept.ledger.row(PEERS[1]).name, kept.ledger.row(PEERS[1]).samples) == ("Ada", 30)
    assert {point.epoch: (point.loss_training, point.loss_heldout) for point in kept.ledger.curve.points()} == {
        2: (2.5, None),
        3: (None, 2.0),
    }
    partly, lost, not_kept = [notice.text for notice in notices.since(0)]
    assert "arrived only in part" in partly
    assert "the leader was lost" in lost
    assert "epoch 4" in not_kept


def test_a_ledger_that_cannot_be_read_is_counted(tmp_path):
    kept, trace = journal(tmp_path, NoticeRing(lambda: 5.0)), Trace()
    kept.take(LedgerLearned((b"garbage",), 3), dict, trace=trace)
    assert trace["ledger.drop"] == 1
