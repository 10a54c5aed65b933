"""Receipts on the disk survive kills, full disks and damage, and their sums outlive them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.averaging.receipts.receipt import encode_receipt
from core.base.problems import NoSpace
from core.ledger import receipts as module
from core.ledger.credits import OTHERS, Credit
from core.ledger.receipts import ReceiptLog, read_receipts
from core.system import atomic_files as durable
from tests.unit.ledger.examples import PEERS, RELAY, receipt


def expected(rounds: int, *, relayed_bytes: int = 0) -> dict:
    """Counted by hand from the examples."""
    found = {
        PEERS[0]: Credit(samples=10 * rounds, rounds=rounds),
        PEERS[1]: Credit(samples=20 * rounds, rounds=rounds, reduced=300 * rounds),
        PEERS[2]: Credit(rounds=rounds, reduced=700 * rounds),
    }
    return found | ({RELAY: Credit(relayed_bytes=2 * relayed_bytes * rounds)} if relayed_bytes else {})


def test_appended_receipts_are_there_after_a_restart(tmp_path):
    log = ReceiptLog(tmp_path)
    for number in range(5):
        assert log.append(receipt(number, relayed_bytes=7))
    again = ReceiptLog(tmp_path)
    assert (log.count, again.count) == (5, 5)
    assert log.totals() == again.totals() == expected(5, relayed_bytes=7)
    assert again.notice is None
    assert read_receipts(tmp_path, 3) == [receipt(number, relayed_bytes=7) for number in (4, 3, 2)]


def test_a_round_is_kept_once(tmp_path):
    log = ReceiptLog(tmp_path)
    assert log.append(receipt(1))
    assert not log.append(receipt(1, relayed_bytes=999))
    assert not ReceiptLog(tmp_path).append(receipt(1))
    assert ReceiptLog(tmp_path).totals() == expected(1)


@settings(max_examples=40, deadline=None)
@given(cut=st.integers(0, 2000))
def test_truncated_record_is_skipped_and_later_ones_are_kept(tmp_path_factory, cut):
    folder = tmp_path_factory.mktemp("receipts")
    log = ReceiptLog(folder)
    for number in range(3):
        log.append(receipt(number))
    path = folder / "00000001.log"
    data = path.read_bytes()
    record = len(encode_receipt(receipt(0))) + 12
    path.write_bytes(data[: min(cut, len(data))])
    whole = min(cut, len(data)) // record
    again = ReceiptLog(folder)
    assert again.totals() == (expected(whole) if whole else {})
    assert again.notice is None
    for number in range(3, 5):
        assert again.append(receipt(number))
    assert ReceiptLog(folder).totals() == expected(whole + 2)


def test_a_damaged_record_costs_only_itself(tmp_path):
    log = ReceiptLog(tmp_path)
    for number in range(3):
        log.append(receipt(number))
    path = tmp_path / "00000001.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    again = ReceiptLog(tmp_path)
    assert again.totals() == expected(2)
    assert "1 could not be read" in str(again.notice)
    again.append(receipt(7))
    assert ReceiptLog(tmp_path).totals() == expected(3)


def test_receipt_with_a_flipped_bit_counts_for_nothing(tmp_path):
    """Some receipts can still be read then, and say other numbers."""
    log = ReceiptLog(tmp_path)
    for number in range(2):
        log.append(receipt(number))
    path = tmp_path / "00000001.log"
    data = path.read_bytes()
    payload = len(encode_receipt(receipt(1)))
    for place in range(len(data) - payload, len(data), 7):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert ReceiptLog(tmp_path).totals() == expected(1), place


def test_a_full_disk_loses_only_what_was_to_be_written(tmp_path, monkeypatch):
    log = ReceiptLog(tmp_path)
    log.append(receipt(1))
    write = os.write

    def full(descriptor, data):
        if len(data) < 100:
            raise OSError(28, "full")
        return write(descriptor, data[: len(data) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(durable.os, "write", full)
        with pytest.raises(NoSpace):
            log.append(receipt(2))
    assert log.totals() == ReceiptLog(tmp_path).totals() == expected(1)
    assert log.append(receipt(2))
    assert log.totals() == ReceiptLog(tmp_path).totals() == expected(2)


@pytest.fixture
def small(monkeypatch):
    """Three receipts a segment, two segments."""
    monkeypatch.setattr(module, "SEGMENT_BYTES", 3 * (len(encode_receipt(receipt(1, relayed_bytes=7))) + 12))
    monkeypatch.setattr(module, "SEGMENTS_MAX", 2)


@pytest.mark.usefixtures("small")
def test_old_receipts_become_sums(tmp_path):
    log = ReceiptLog(tmp_path)
    for number in range(1, 51):
        log.append(receipt(number, relayed_bytes=7))
        assert log.totals() == ReceiptLog(tmp_path).totals() == expected(number, relayed_bytes=7)
    assert log.count == ReceiptLog(tmp_path).count == 50
    assert len(read_receipts(tmp_path, 100)) <= 6
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2 * module.SEGMENT_BYTES + 2000


@pytest.mark.usefixtures("small")
def test_a_night_with_a_full_disk_pushes_out_no_receipt(tmp_path, monkeypatch):
    log = ReceiptLog(tmp_path)
    for number in range(4):
        log.append(receipt(number))
    kept, write = read_receipts(tmp_path, 100), os.write

    def full(descriptor, data):
        if len(data) < 100:
            raise OSError(28, "full")
        return write(descriptor, data[: len(data) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(durable.os, "write", full)
        for number in range(4, 50):
            with pytest.raises(NoSpace):
                log.append(receipt(number))
    assert log.append(receipt(50))
    assert read_receipts(tmp_path, 100) == [receipt(50), *kept]
    assert log.totals() == ReceiptLog(tmp_path).totals() == expected(5)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("moment", ["before the sums", "after the sums", "before the deletion"])
def test_nothing_counts_twice_after_an_interrupted_summary(tmp_path, monkeypatch, moment):
    log = ReceiptLog(tmp_path)
    number = 0
    while len(list(tmp_path.iterdir())) < 2 or (tmp_path / "00000002.log").stat().st_size < 0.8 * module.SEGMENT_BYTES:
        number += 1
        log.append(receipt(number))

    class Killed(BaseException):
        pass

    def killed(*_args, **_kwargs):
        raise Killed

    def written_and_killed(path, data):
        durable.write_atomic(path, data)
        raise Killed

    with monkeypatch.context() as patch:
        if moment == "before the deletion":
            patch.setattr(Path, "unlink", killed)
        else:
            patch.setattr(module, "write_atomic", killed if moment == "before the sums" else written_and_killed)
        with pytest.raises(Killed):
            log.append(receipt(number + 1))  # begins a segment, one too many
    number += 1
    again = ReceiptLog(tmp_path)
    assert again.totals() == expected(number)
    again.append(receipt(99))
    assert ReceiptLog(tmp_path).totals() == expected(number + 1)


def test_damaged_sums_are_set_aside(tmp_path):
    log = ReceiptLog(tmp_path)
    log.append(receipt(1))
    (tmp_path / "totals.json").write_text('{"rows": {"": [1, 1, 1, 1]}}')
    again = ReceiptLog(tmp_path)
    assert "set" not in str(again.notice)
    assert "totals.json.damaged" in str(again.notice)
    assert again.totals() == expected(1)


def test_very_many_peers_are_summed_together(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PEERS_MAX", 2)
    log = ReceiptLog(tmp_path)
    for number in range(4):
        log.append(receipt(number, relayed_bytes=7))
    rows = log.totals()
    assert len(rows) <= 2
    assert OTHERS in rows
    whole = sum(rows.values(), Credit())
    assert whole == sum(expected(4, relayed_bytes=7).values(), Credit())


def test_a_kill_at_any_moment_leaves_whole_receipts(tmp_path):
    """A process that appends without end is killed; what it had told of is there."""
    program = (
        "import sys; from pathlib import Path\n"
        "from core.ledger.receipts import ReceiptLog; from tests.unit.ledger.examples import receipt\n"
        "log = ReceiptLog(Path(sys.argv[1]))\n"
        "for number in range(10_000):\n"
        "    log.append(receipt(number)); print(number, flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    told = 0
    try:
        assert child.stdout is not None
        for line in child.stdout:
            told = int(line) + 1
            if told >= 25:
                break
    finally:
        child.send_signal(signal.SIGKILL if os.name != "nt" else signal.SIGTERM)
        child.communicate()
    log = ReceiptLog(tmp_path)
    assert told <= log.count
    assert log.totals() == expected(log.count)
    assert log.notice is None


def test_no_folder_has_no_receipts(tmp_path):
    assert read_receipts(tmp_path / "nothing", 5) == []


def test_who_contributed_to_most_rounds_is_met_after_a_restart(tmp_path):
    log = ReceiptLog(tmp_path)
    for number in range(3):
        log.append(receipt(number, relayed_bytes=1))
    assert ReceiptLog(tmp_path).newest == log.newest == receipt(2).statement
    assert ReceiptLog(tmp_path).met() == tuple(sorted(PEERS[:2]))  # neither the relay nor who only reduced
