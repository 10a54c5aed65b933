"""The tally is a lattice; the file survives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.api.snapshot import CurvePoint
from core.base.ids import PeerId
from core.base.problems import WireProblem
from core.ledger import contributions
from core.ledger.contributions import Contribution, Ledger, LedgerRow, load_ledger
from core.ledger.credits import COUNT_MAX, Credit

PEERS = [PeerId(bytes([number]) * 32) for number in range(6)]
ME = PEERS[0]

ROUNDS = st.lists(
    st.tuples(
        st.integers(0, 50),
        st.binary(min_size=2, max_size=2),
        st.lists(
            st.builds(Contribution, st.sampled_from(PEERS), st.sampled_from(["a", "b", ""]), st.integers(0, 1000)),
            max_size=4,
            unique_by=lambda member: member.peer,
        ),
    ),
    max_size=8,
)


def ledger_of(rounds) -> Ledger:
    ledger = Ledger()
    for epoch, lineage, members in rounds:
        ledger.record_round(members, epoch=epoch, lineage=lineage)
        ledger.curve.record(CurvePoint(epoch, float(lineage[0])))
    return ledger


def merged(*ledgers: Ledger) -> Ledger:
    result = Ledger()
    for ledger in ledgers:
        result.merge(ledger)
    return result


def state(ledger: Ledger) -> tuple:
    return ledger.rows(), ledger.rounds(), ledger.curve.points()


LEDGERS = ROUNDS.map(ledger_of)


@given(LEDGERS, LEDGERS)
def test_merge_is_commutative(one, two):
    assert state(merged(one, two)) == state(merged(two, one))


@given(LEDGERS, LEDGERS, LEDGERS)
def test_merge_is_associative(one, two, three):
    assert state(merged(merged(one, two), three)) == state(merged(one, merged(two, three)))


@given(LEDGERS, LEDGERS)
def test_merge_is_idempotent(one, two):
    both = merged(one, two)
    assert state(merged(both, two, one, both)) == state(both)


@given(ROUNDS)
def test_a_merge_of_the_same_rounds_counts_none_twice(rounds):
    one, two = ledger_of(rounds), ledger_of(rounds)
    before = state(one)
    one.merge(two)
    assert state(one) == before
    assert not any(one.record_round(members, epoch=epoch, lineage=lineage) for epoch, lineage, members in rounds)
    assert state(one) == before


@given(ROUNDS)
def test_file_round_trip(tmp_path_factory, rounds):
    path = tmp_path_factory.mktemp("ledger") / "ledger.json"
    ledger = ledger_of(rounds)
    ledger.save(path)
    assert state(load_ledger(path).ledger) == state(ledger)


@given(ROUNDS)
def test_an_offer_is_a_ledger(rounds):
    ledger = ledger_of(rounds)
    assert state(Ledger.from_bytes(ledger.to_bytes(60 * 1024), epoch_max=50)) == state(ledger)


def test_an_offer_fits(monkeypatch):
    ledger = Ledger()
    for epoch in range(1000):
        members = [Contribution(PeerId(bytes([epoch % 256, number]) * 16), "n" * 40, number) for number in range(10)]
        ledger.record_round(members, epoch=epoch, lineage=bytes([epoch % 256]) * 32)
        ledger.curve.record(CurvePoint(epoch, 1.5, 2.5))
    data = ledger.to_bytes(60 * 1024)
    assert 30 * 1024 < len(data) <= 60 * 1024
    latecomer = Ledger.from_bytes(data)
    rows = latecomer.rows()
    assert 100 < len(rows) < len(ledger.rows())
    assert min(row.samples for row in rows.values()) >= max(
        row.samples for peer, row in ledger.rows().items() if peer not in rows
    )
    assert not latecomer.record_round([], epoch=3, lineage=b"x")
    assert latecomer.record_round([], epoch=1000, lineage=b"x")
    with pytest.raises(ValueError, match="too few"):
        ledger.to_bytes(1000)


NESTED = b"\x91" * 5000


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x80", b"{}", b"\x81\xa4rows\x90", NESTED, b"\x81\xa1x" + NESTED, b"\x81\xa1\xff"]
)
def test_garbage_is_no_offer(data):
    with pytest.raises(WireProblem):
        Ledger.from_bytes(data)


def test_an_offer_from_the_future_is_refused():
    ledger = Ledger()
    ledger.record_round([], epoch=100, lineage=b"x")
    with pytest.raises(WireProblem, match="100"):
        Ledger.from_bytes(ledger.to_bytes(60 * 1024), epoch_max=99)


def test_a_round_counts_once():
    ledger = Ledger()
    members = [Contribution(ME, "me", 10), Contribution(PEERS[1], "you", 30)]
    assert ledger.record_round(members, epoch=1, lineage=b"x")
    assert not ledger.record_round(members, epoch=1, lineage=b"x")
    assert ledger.record_round(members, epoch=1, lineage=b"other")
    assert (ledger.row(ME).samples, ledger.row(ME).epochs) == (20, 2)


def test_no_row_grows_beyond_what_can_be_read_again(tmp_path):
    ledger = Ledger(rows={ME: LedgerRow(samples=COUNT_MAX - 1, rounds=COUNT_MAX)})
    ledger.record_round([Contribution(ME, "me", 10)], epoch=1, lineage=b"x")
    ledger.record_credits({ME: Credit(rounds=1, reduced=1 << 60, relayed_bytes=1 << 60)}, names={}, epoch=1)
    ledger.save(tmp_path / "ledger.json")
    row = load_ledger(tmp_path / "ledger.json").ledger.row(ME)
    assert (row.samples, row.rounds, row.reduced, row.relayed_bytes) == (COUNT_MAX,) * 4


def test_standings():
    ledger = Ledger()
    gifts = zip(PEERS, ("me", "b", "c", ""), (10, 70, 10, 10), strict=False)
    ledger.record_round([Contribution(peer, name, samples) for peer, name, samples in gifts], epoch=1, lineage=b"x")
    standings = ledger.standings(ME)
    assert [(row.rank, row.samples, row.is_me) for row in standings] == [
        (1, 70, False),
        (2, 10, False),
        (2, 10, False),
        (2, 10, True),
    ]
    assert sum(row.share for row in standings) == pytest.approx(1)
    assert all(row.name for row in standings)
    assert [row.is_me for row in ledger.standings(ME, limit=1)] == [False, True]
    assert Ledger().standings(ME) == []


def test_the_newest_name_counts():
    ledger = Ledger()
    for epoch, name in ((5, "new"), (3, "zz old")):
        ledger.record_round([Contribution(ME, name, 1)], epoch=epoch, lineage=b"x")
    assert ledger.row(ME).name == "new"


def test_rounds_remembered_are_bounded(monkeypatch):
    monkeypatch.setattr(contributions, "ROUNDS_REMEMBERED", 10)
    ledger = Ledger()
    for epoch in range(100):
        assert ledger.record_round([Contribution(ME, "me", 1)], epoch=epoch, lineage=b"x")
    assert len(ledger.rounds()[0]) == 10
    assert not any(ledger.record_round([Contribution(ME, "me", 1)], epoch=epoch, lineage=b"x") for epoch in range(100))
    assert ledger.row(ME).samples == 100


def test_rows_are_bounded_and_the_biggest_contributors_stay(monkeypatch):
    monkeypatch.setattr(contributions, "ROWS_MAX", 3)
    ledger = Ledger()
    gifts = [Contribution(peer, "x", samples) for samples, peer in enumerate(PEERS)]
    ledger.record_round(gifts, epoch=1, lineage=b"x")
    assert set(ledger.rows()) == set(PEERS[3:])


def test_negative_samples_are_our_mistake():
    with pytest.raises(ValueError, match="-1"):
        Ledger().record_round([Contribution(ME, "me", -1)], epoch=1, lineage=b"x")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b'{"rows": {"AAAA": {}}, "rounds": [], "floor": -1, "curve": []}',
        b'{"rows": {"?": {}}, "rounds": [], "floor": -1, "curve": []}',
        b'{"rows": {}, "rounds": [[1, "zz"]], "floor": -1, "curve": []}',
        b'{"rows": {"A": {"samples": -1}}, "rounds": [], "floor": -1, "curve": []}',
    ],
)
def test_a_damaged_file_is_kept_aside(tmp_path, content):
    path = tmp_path / "ledger.json"
    path.write_bytes(content)
    read = load_ledger(path)
    assert read.ledger.rows() == {}
    (aside,) = tmp_path.iterdir()
    assert aside.name in read.notice
    assert aside.read_bytes() == content


def test_no_file_is_an_empty_ledger(tmp_path):
    read = load_ledger(tmp_path / "ledger.json")
    assert read.notice is None
    assert read.ledger.curve.points() == []


def test_credits_are_shown_and_merge_by_the_larger():
    one, other = Ledger(), Ledger()
    given = {PEERS[1]: Credit(samples=999, rounds=1, reduced=50), PEERS[2]: Credit(relayed_bytes=70)}
    one.record_credits(given, names={PEERS[2]: "Backbone"}, epoch=3)
    one.record_credits(given, names={PEERS[1]: "b"}, epoch=4)
    other.record_credits(given, names={PEERS[1]: "old name"}, epoch=3)
    both = merged(one, other)
    assert merged(other, one).rows() == both.rows()
    rows = {row.name: row for row in both.standings(ME)}
    assert (rows["b"].samples, rows["b"].rounds, rows["b"].reduced) == (0, 2, 100)
    assert rows["Backbone"].relayed_bytes == 140
    assert [row.name for row in both.standings(ME)] == ["b", "Backbone"]
    assert Ledger.from_bytes(both.to_bytes(16 * 1024)).rows() == both.rows()


def test_credits_survive_the_file(tmp_path):
    ledger = Ledger()
    ledger.record_credits({PEERS[1]: Credit(rounds=1, reduced=50, relayed_bytes=9)}, names={}, epoch=3)
    ledger.save(tmp_path / "ledger.json")
    assert load_ledger(tmp_path / "ledger.json").ledger.rows() == ledger.rows()
