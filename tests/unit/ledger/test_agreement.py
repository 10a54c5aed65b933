"""No single donor raises a number, gives a name, or hides what the others know."""

from statistics import median_low

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.api.snapshot import CurvePoint
from core.base.ids import PeerId
from core.ledger.agreement import agreed
from core.ledger.contributions import Ledger, LedgerRow
from core.ledger.credits import COUNT_MAX

PEERS = [PeerId(bytes([number]) * 32) for number in range(4)]
HONEST = {peer: LedgerRow(samples=100, epochs=3, rounds=3, reduced=9, name="Ada", named=3) for peer in PEERS[:3]}
POINTS = [CurvePoint(epoch, 5.0 - epoch, 4.0) for epoch in range(3)]
MANY = 10**12


def honest() -> Ledger:
    return Ledger(rows=HONEST, rounds=[(3, b"l" * 32)], floor=2, points=POINTS)


def mallory() -> Ledger:
    rows = {PEERS[3]: LedgerRow(samples=MANY, relayed_bytes=COUNT_MAX, name="MALLORY THE GREAT", named=10**6)}
    rows |= {peer: LedgerRow(name="I AM A FOOL", named=10**6) for peer in PEERS[:3]}
    return Ledger(rows=rows, rounds=[(9, b"x" * 32)], floor=8, points=[CurvePoint(1, -1e9, -1e9)])


@pytest.mark.parametrize("liars_first", [False, True])
def test_one_liar_of_three_changes_nothing(liars_first: bool) -> None:  # noqa: FBT001
    told = [honest(), honest()]
    told.insert(0 if liars_first else 2, mallory())
    found = agreed(told, samples_max=10 * MANY)
    assert {peer: row for peer, row in found.rows().items() if row != LedgerRow()} == HONEST
    assert found.rounds() == honest().rounds()
    assert found.curve.points() == POINTS


def test_of_two_the_lesser_counts_and_no_name() -> None:
    found = agreed([honest(), mallory()], samples_max=10 * MANY)
    assert all(row == LedgerRow() for row in found.rows().values())


def test_more_samples_than_there_can_be_are_left_out() -> None:
    assert agreed([mallory()], samples_max=MANY - 1).rows() == {}
    alone = agreed([honest()], samples_max=300).rows()
    assert [alone[peer].samples for peer in PEERS[:3]] == [100, 100, 100]
    assert {row.name for row in alone.values()} == {""}


def test_nobody_tells_anything() -> None:
    assert agreed([], samples_max=10).rows() == {}


@given(st.lists(st.dictionaries(st.sampled_from(PEERS), st.integers(0, 1000)), min_size=1, max_size=7))
def test_each_number_is_the_lower_median(told: list[dict[PeerId, int]]) -> None:
    ledgers = [Ledger(rows={peer: LedgerRow(samples=n) for peer, n in one.items()}) for one in told]
    found = agreed(ledgers, samples_max=10**6)
    for peer in PEERS:
        assert found.row(peer).samples == median_low([one.get(peer, 0) for one in told])
