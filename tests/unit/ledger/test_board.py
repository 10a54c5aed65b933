"""What people see of the past: ranks, names from passes, and a copy on the disk."""

import pytest

from core.averaging.receipts.receipt import Deed
from core.base.ids import short
from core.ledger.board import Board
from core.ledger.ledger import Ledger, LedgerRow
from core.swarm.words.orders import LedgerRead
from tests.unit.ledger.test_ledger import PEERS, TARGET, record

ME = PEERS[0]


@pytest.fixture
def board(tmp_path) -> Board:
    return Board(tmp_path / "board.json", target_samples=TARGET)


def held(board: Board, *samples: int) -> Board:
    rows = {peer: LedgerRow(number, 1, 1, 0) for peer, number in zip(PEERS, samples, strict=False)}
    board.hold(Ledger(rows).to_bytes(), 3)
    return board


def test_standings(board):
    standings = held(board, 10, 70, 10, 10).standings(ME, relayed={})
    ranked = [(row.rank, row.samples, row.is_me) for row in standings]
    assert ranked[0] == (1, 70, False)
    assert sorted(ranked[1:]) == [(2, 10, False), (2, 10, False), (2, 10, True)]
    assert sum(row.share for row in standings) == pytest.approx(1)
    assert [row.is_me for row in board.standings(ME, relayed={}, limit=1)] == [False, True]


def test_computers_of_one_name_share_a_row(board):
    held(board, 10, 20, 25, 5).named({PEERS[0]: "Ada", PEERS[3]: "Ada", PEERS[1]: "Ada", PEERS[2]: "Ben"})
    ada, ben = board.standings(ME, relayed={PEERS[1]: 7, PEERS[3]: 2}, revoked={PEERS[1]})
    assert (ada.name, ada.samples, ada.epochs, ada.relayed_bytes, ada.is_me) == ("Ada", 35, 3, 9, True)
    assert (ben.name, ben.samples, ben.is_me) == ("Ben", 25, False)
    assert not ada.revoked, "one of the person's computers was ended"
    assert board.standings(ME, relayed={}, revoked=PEERS)[0].revoked


def test_name_like_a_key_takes_no_row(board):
    held(board, 10, 70).named({PEERS[0]: short(PEERS[1])})
    assert [row.samples for row in board.standings(ME, relayed={})] == [70, 10]


def test_who_only_passes_on_is_on_the_board(board):
    last = held(board, 10).standings(ME, relayed={PEERS[4]: 77})[-1]
    assert (last.samples, last.relayed_bytes, last.share) == (0, 77, 0.0)


def test_names_are_those_of_passes(board):
    held(board, 10, 70).named({PEERS[1]: "Ada"})
    assert [row.name for row in board.standings(ME, relayed={})] == ["Ada", board.standings(ME, relayed={})[1].peer]
    board.named({PEERS[1]: "Ada Lovelace"})
    assert board.standings(ME, relayed={})[0].name == "Ada Lovelace"


def test_state_that_is_taken_over_brings_its_board(board):
    held(board, 1000, 5)
    board.hold(Ledger({PEERS[1]: LedgerRow(7, 1, 1, 0)}).to_bytes(), 2)
    assert [(row.samples, row.is_me) for row in board.standings(ME, relayed={})] == [(7, False)]


def test_ledger_that_cannot_be_read_is_an_empty_one(board):
    held(board, 10).hold(b"\x91" * 5000, 4)
    assert board.standings(ME, relayed={}) == []
    assert Ledger.from_bytes(board.after(record(5, [Deed(ME, 3, 1, 0)]))).row(ME).samples == 3


def test_round_that_counted_a_peer_is_noticed_in_another_ledger(board):
    held(board, 10, 70)

    def there(samples: int, epochs: int, peer=ME) -> bytes:
        return Ledger({peer: LedgerRow(samples, epochs, 9, 0)}).to_bytes()

    assert board.counted(ME, there(17, 2)) == 7
    assert board.counted(PEERS[5], there(17, 1, PEERS[5])) == 17
    for ledger in (there(17, 1), there(17, 3), there(10, 2), there(3, 2), there(17, 2, PEERS[1]), b"", b"\x91" * 50):
        assert board.counted(ME, ledger) == 0


def test_looks_at_heldout_text_are_shown_before_a_round(board):
    board.hold(Ledger().after(record(4, heldout=((3, 2.5),)), target_samples=TARGET).to_bytes(), 4)
    board.looked(4, 2.0)
    assert {point.epoch: point.loss_heldout for point in board.curve if point.loss_heldout} == {3: 2.5, 4: 2.0}


def test_board_is_there_next_time(board, tmp_path):
    held(board, 10, 70).named({PEERS[1]: "Ada"})
    board.save()
    again = Board(tmp_path / "board.json", target_samples=TARGET)
    assert again.standings(ME, relayed={}) == board.standings(ME, relayed={})
    assert not board.dirty


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"ledger": "?", "names": {}}'])
def test_copy_that_cannot_be_read_is_no_loss(tmp_path, content):
    (tmp_path / "board.json").write_bytes(content)
    board = Board(tmp_path / "board.json", target_samples=TARGET)
    assert board.standings(ME, relayed={}) == []
    (aside,) = tmp_path.glob("board.json.damaged-*")
    assert board.notice is not None
    assert aside.name in str(board.notice)


def test_backbones_have_no_rank(board):
    held(board, 10, 70, 30)
    standings = board.standings(ME, relayed={PEERS[4]: 5}, without=[PEERS[1], PEERS[4]])
    assert [(row.rank, row.samples, row.is_me) for row in standings] == [(1, 30, False), (2, 10, True)]


def test_ledger_of_others_is_no_base_of_the_next(board):
    """It is read while a worker is made ready, which stands further than they do."""
    held(board, 10, 70)
    step = record(4, [Deed(ME, 5, 1, 0)])
    after, theirs = board.after(step), Ledger({PEERS[1]: LedgerRow(7, 1, 1, 0)})
    board.take(LedgerRead(theirs.to_bytes(), 2))
    assert board.row(PEERS[1]).samples == 7
    assert board.after(step) == after
    assert board.counted(ME, after) == 5
