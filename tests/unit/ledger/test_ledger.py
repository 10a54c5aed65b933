"""The ledger is a fold over the rounds that led to a state: counted here a second time, number by number."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.api.snapshot import CurvePoint
from core.averaging.receipts.receipt import Deed
from core.averaging.weights import LEAD
from core.base.ids import PeerId
from core.base.problems import WireProblem
from core.base.state_header import LEDGER_BYTES_MAX
from core.ledger import ledger as module
from core.ledger.credits import COUNT_MAX, OTHERS
from core.ledger.ledger import ROWS_MAX, SAMPLES_OVER_TARGET, Ledger, LedgerRow
from core.swarm.words.orders import RoundRecord
from core.swarm.words.states import StateName

PEERS = [PeerId(bytes([number]) * 32) for number in range(1, 7)]
TARGET = 1000
DEEDS = st.lists(
    st.builds(Deed, st.sampled_from(PEERS), st.integers(0, 1000), st.integers(0, 3), st.integers(0, 500)),
    max_size=4,
    unique_by=lambda deed: deed.peer,
)


def record(epoch: int, deeds=(), *, loss: float = 2.0, heldout=()) -> RoundRecord:
    return RoundRecord(StateName(epoch, b"l" * 32), (), loss, (), 1.0, deeds=tuple(deeds), heldout=heldout)


def fold(*records: RoundRecord) -> Ledger:
    ledger = Ledger()
    for one in records:
        ledger = ledger.after(one, target_samples=TARGET)
    return ledger


@given(st.lists(DEEDS, max_size=12))
def test_ledger_is_the_sum_of_its_rounds(rounds):
    ledger = fold(*(record(epoch, deeds) for epoch, deeds in enumerate(rounds, start=1)))
    samples, rounds_of, reduced = Counter(), Counter(), Counter()
    for deed in (deed for deeds in rounds for deed in deeds):
        if deed.chunks > 0 or deed.reduced > 0:
            samples[deed.peer] += deed.samples
            rounds_of[deed.peer] += 1
            reduced[deed.peer] += deed.reduced
    found = {peer: (row.samples, row.rounds, row.reduced) for peer, row in ledger.rows.items()}
    assert found == {peer: (samples[peer], rounds_of[peer], reduced[peer]) for peer in rounds_of}
    assert [point.epoch for point in ledger.curve.points()] == list(range(len(rounds)))
    assert Ledger.from_bytes(ledger.to_bytes()).to_bytes() == ledger.to_bytes()


def test_members_that_hold_one_ledger_come_to_the_same_bytes():
    common = fold(record(1, [Deed(PEERS[0], 5, 1, 10)])).to_bytes()
    deeds = [Deed(PEERS[1], 7, 1, 3), Deed(PEERS[0], 2, 1, 4)]
    one, other = (Ledger.from_bytes(common).after(record(2, deeds), target_samples=TARGET) for _ in range(2))
    assert one.to_bytes() == other.to_bytes() != common
    assert Ledger.from_bytes(common).row(PEERS[0]).samples == 5, "a round that is not kept counts nowhere"


def test_no_round_counts_for_more_than_can_have_been_computed():
    most = SAMPLES_OVER_TARGET * TARGET
    for liars in (1, 2):
        ledger = fold(record(1, [Deed(peer, 1 << 40, 1, 0) for peer in PEERS[:liars]]))
        assert [ledger.row(peer).samples for peer in PEERS[:liars]] == [most] * liars


@pytest.mark.parametrize("honest", [[5], [5, 7], [50 * TARGET, 40 * TARGET]])
def test_one_liar_is_credited_by_what_the_others_did(honest):
    """Each keeps its own credit, whatever the liar says."""
    ledger = fold(
        record(1, [Deed(PEERS[5], 1 << 40, 1, 0), *(Deed(p, n, 1, 0) for p, n in zip(PEERS, honest, strict=False))])
    )
    assert [ledger.row(peer).samples for peer in PEERS[: len(honest)]] == honest
    assert ledger.row(PEERS[5]).samples == min(LEAD * max(TARGET, min(honest)), SAMPLES_OVER_TARGET * TARGET)


def test_first_word_of_a_heldout_loss_stands():
    told = [((4, 3.0),), ((4, 1.0), (5, 2.5)), ((2, 4.0),), ()]
    ledger = fold(*(record(number, heldout=looks) for number, looks in enumerate(told, start=5)))
    found = {point.epoch: point.loss_heldout for point in ledger.curve.points() if point.loss_heldout}
    assert found == {4: 3.0, 5: 2.5, 2: 4.0}


def test_ledger_knows_nothing_later_than_its_state():
    data = fold(record(1), record(2, heldout=((1, 2.0),))).to_bytes()
    assert Ledger.from_bytes(data, epoch_max=1).rows == {}
    with pytest.raises(WireProblem, match="epoch 1"):
        Ledger.from_bytes(data, epoch_max=0)


def test_rows_are_bounded_and_their_sum_stays(monkeypatch):
    monkeypatch.setattr(module, "ROWS_MAX", 4)
    ledger = fold(record(1, [Deed(peer, 10 * number, 1, 0) for number, peer in enumerate(PEERS)]))
    assert ledger.rows.keys() == {OTHERS, PEERS[5], PEERS[4]}
    assert sum(row.samples for row in ledger.rows.values()) == 150
    assert sum(row.rounds for row in ledger.rows.values()) == 6


def test_no_row_grows_beyond_what_can_be_read_again():
    ledger = Ledger({PEERS[0]: LedgerRow(COUNT_MAX - 1, COUNT_MAX, COUNT_MAX, COUNT_MAX - 1)})
    ledger = ledger.after(record(1, [Deed(PEERS[0], 10, 1, 10)]), target_samples=TARGET)
    assert Ledger.from_bytes(ledger.to_bytes()).row(PEERS[0]) == LedgerRow(*[COUNT_MAX] * 4)


def test_largest_ledger_can_be_read_again():
    rows = {PeerId(number.to_bytes(32, "big")): LedgerRow(*[COUNT_MAX] * 4) for number in range(ROWS_MAX + 1)}
    points = [CurvePoint(2**31 - 1 - number, 1e9, -1e9) for number in range(2000)]
    data = Ledger(rows, points).to_bytes()
    assert len(data) <= LEDGER_BYTES_MAX
    assert Ledger.from_bytes(data).to_bytes() == data


NESTED = b"\x91" * 5000


@pytest.mark.parametrize(
    "data",
    [
        *(b"\xc1", b"\x80", b"{}", b"\x92\x90", NESTED, b"\x92" + NESTED, b"\x92\xa1\xff"),
        Ledger({PEERS[0]: LedgerRow(1)}).to_bytes().replace(b"\x94\x01", b"\x94\xff"),  # -1 samples
        b"\x92\x92" + 2 * (b"\x92\xc4\x20" + PEERS[0] + b"\x94\x01\x01\x01\x01") + b"\x90",  # a peer twice
    ],
)
def test_garbage_is_no_ledger(data):
    with pytest.raises(WireProblem):
        Ledger.from_bytes(data)


def test_first_state_has_an_empty_ledger():
    assert Ledger.from_bytes(b"").rows == {}


def test_givers_are_told_by_the_rounds_that_they_were_in():
    rows = {
        PEERS[0]: LedgerRow(5, 9, 9),
        PEERS[1]: LedgerRow(500, 2, 2),
        PEERS[2]: LedgerRow(0, 0, 40, 7),
        OTHERS: LedgerRow(1, 90),
    }
    assert Ledger(rows).givers() == [PEERS[1], PEERS[0]]
