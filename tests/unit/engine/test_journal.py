"""What an engine remembers between two runs: here, the credit that receipts give."""

from pathlib import Path

from core.base.problems import NoSpace
from core.control.notices import NoticeRing
from core.engine.journal import Journal
from core.ledger import receipts
from core.swarm.orders import Changed, HeldoutLearned, RoundLost, RoundRecord, WorkNotKept
from core.swarm.states import StateName
from tests.unit.ledger.examples import PEERS, RELAY, receipt


def journal(folder: Path, notices: NoticeRing) -> Journal:
    return Journal(
        folder=folder,
        board=folder / "board.json",
        receipts=folder / "receipts",
        target_samples=64,
        notices=notices,
        now=lambda: 5.0,
    )


def test_a_receipt_is_kept_once_and_is_there_next_time(tmp_path):
    notices = NoticeRing(lambda: 5.0)
    first = journal(tmp_path, notices)
    for _ in range(3):
        first.receipt(receipt(1, relayed_bytes=7))
    assert first.relayed == {RELAY: 14}
    first.save([])
    again = journal(tmp_path, notices)
    again.receipt(receipt(1, relayed_bytes=7))
    assert again.relayed == {RELAY: 14}
    assert notices.last == 0


def test_a_full_disk_is_told_once_and_gives_no_credit(tmp_path, monkeypatch):
    notices = NoticeRing(lambda: 5.0)
    first = journal(tmp_path, notices)

    def full(*_):
        raise NoSpace("The disk is full.")

    monkeypatch.setattr(receipts, "append_synced", full)
    for number in range(3):
        first.receipt(receipt(number, relayed_bytes=7))
    assert first.relayed == {}
    assert [notice.text for notice in notices.since(0)] == ["The disk is full."]


def test_journal_tells_of_lost_work_and_shows_evaluations(tmp_path):
    notices = NoticeRing(lambda: 5.0)
    kept = journal(tmp_path, notices)
    record = RoundRecord(StateName(3, b"l" * 32), ((PEERS[1], 40),), 2.5, ((PEERS[1], 1),), 1.0)
    lost_work = RoundLost("the leader was lost"), WorkNotKept(4)
    for event in (record, HeldoutLearned(3, 2.0), *lost_work, Changed(), object()):
        kept.take(event)
    assert [(point.epoch, point.loss_heldout) for point in kept.board.curve] == [(3, 2.0)]
    partly, lost, not_kept = [notice.text for notice in notices.since(0)]
    assert "arrived only in part" in partly
    assert "the leader was lost" in lost
    assert "epoch 4" in not_kept
