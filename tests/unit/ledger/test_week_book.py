"""Who gave how much in the last days, against a count of every sample by its day."""

from datetime import date, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.ids import PeerId
from core.base.problems import NoSpace
from core.ledger import week_book
from core.ledger.ledger import LedgerRow
from core.ledger.week_book import DAYS, WeekBook

FIRST = date(2026, 11, 2)
PEERS = [PeerId(bytes([number]) * 32) for number in range(3)]


def noon(day):
    """Unix seconds of a day's noon, by this computer's calendar."""
    return datetime.combine(FIRST + timedelta(days=day), time(12)).timestamp()


def rows(sums):
    return {peer: LedgerRow(samples) for peer, samples in sums.items()}


@settings(max_examples=60, deadline=None)
@given(given_each_day=st.lists(st.lists(st.integers(0, 500), min_size=3, max_size=3), min_size=1, max_size=20))
def test_last_days_are_what_was_given_in_them(tmp_path_factory, given_each_day):
    path = tmp_path_factory.mktemp("week") / "week"
    sums = dict.fromkeys(PEERS, 0)
    for number, gave in enumerate(given_each_day):
        book, now = WeekBook(path), noon(number)  # the engine is started anew each day
        book.given(rows(sums), now)
        for peer, samples in zip(PEERS, gave, strict=True):
            sums[peer] += samples
        found = book.given(rows(sums), now)
        book.save()
        counted = given_each_day[max(0, number - DAYS) : number + 1]
        wanted = [sum(day[place] for day in counted) for place in range(3)]
        assert [found.of.get(peer, 0) for peer in PEERS] == wanted
        assert found.since == (FIRST + timedelta(days=max(0, number - DAYS))).isoformat()
        assert sum(found.share([peer]) for peer in PEERS) == pytest.approx(1.0 if any(wanted) else 0.0)


def test_steps_that_were_given_up_count_nothing(tmp_path):
    book = WeekBook(tmp_path / "week")
    book.given(rows({PEERS[0]: 900, PEERS[1]: 100}), noon(0))
    found = book.given(rows({PEERS[0]: 400, PEERS[1]: 160}), noon(1))
    assert found.of == {PEERS[1]: 60}


def test_clock_that_was_set_back_begins_anew(tmp_path):
    book = WeekBook(tmp_path / "week")
    book.given(rows({PEERS[0]: 900}), noon(3000))
    found = book.given(rows({PEERS[0]: 950}), noon(0))
    assert (found.of, found.since) == ({}, FIRST.isoformat())


@pytest.mark.parametrize("data", [b"torn", b"\x91\x92\xa5never\x80", b"\xc1" * 9])
def test_damaged_file_is_set_aside(tmp_path, data):
    path = tmp_path / "week"
    path.write_bytes(data)
    book = WeekBook(path)
    assert book.given(rows({PEERS[0]: 5}), noon(0)).of == {}
    assert not path.exists()
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [data]


def test_full_disk_is_tried_again(tmp_path, monkeypatch):
    def full(*_args):
        raise NoSpace("x")

    book = WeekBook(tmp_path / "week")
    book.given(rows({PEERS[0]: 5}), noon(0))
    with monkeypatch.context() as patched:
        patched.setattr(week_book, "write_atomic", full)
        with pytest.raises(NoSpace):
            book.save()
    book.save()
    assert WeekBook(tmp_path / "week").given(rows({PEERS[0]: 7}), noon(0)).of == {PEERS[0]: 2}
