"""Tables follow snapshots row by row."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTableView

from app.models.keyed_table import ICON_ROLE, MINE_ROLE, ROWS_MAX, SHARE_ROLE
from app.models.tables import leaderboard_table, peers_table
from app.words import text


def shown(model, row, column):
    return model.index(row, column).data(Qt.ItemDataRole.DisplayRole)


def test_peers_say_who_what_and_how_fast(qt, examples):
    model = peers_table()
    model.follow(examples.snapshot().peers)
    assert [shown(model, 1, column) for column in range(4)] == ["Bee (you)", "Training", "62", "Volunteer"]
    assert [shown(model, 3, column) for column in range(4)] == ["Welcome desk", "Waiting", text.NOTHING, "Always on"]
    assert model.index(1, 0).data(MINE_ROLE)
    assert not model.index(0, 0).data(MINE_ROLE)
    assert model.index(3, 0).data(ICON_ROLE) == "backbone"
    assert model.headerData(0, Qt.Orientation.Horizontal) == "Name"


def test_leaderboard_has_ranks_and_shares(qt, examples):
    model = leaderboard_table()
    model.follow(examples.snapshot().leaderboard)
    assert [shown(model, 0, column) for column in range(5)] == ["1", "Ada's laptop", "48 660", "59 %", "20 %"]
    assert model.index(1, 4).data(SHARE_ROLE) == 1.0, "who gave most lately, whoever stands first"
    assert model.index(0, 4).data(SHARE_ROLE) == pytest.approx(0.2 / 0.8)
    assert model.index(2, 4).data(SHARE_ROLE) == 0.0
    assert shown(model, 2, 4) == text.NOTHING
    assert model.index(0, 1).data(SHARE_ROLE) is None


def test_helpers_and_relays_are_named_in_the_table(qt, examples):
    plain, *_ = examples.snapshot().leaderboard
    model = leaderboard_table()
    model.follow([msgspec.structs.replace(plain, rounds=12, reduced=3_400_000, relayed_bytes=5_000_000)])
    told = model.index(0, 1).data(Qt.ItemDataRole.ToolTipRole)
    assert "averaged 3 400 000 numbers for everybody in 12 rounds" in told.replace("\u202f", " ").replace("\xa0", " ")
    assert "passed on" in told
    model.follow([plain])
    assert "averaged" not in model.index(0, 1).data(Qt.ItemDataRole.ToolTipRole)


def test_text_of_strangers_is_shown_as_plain_text(qt, examples):
    peer = msgspec.structs.replace(
        examples.snapshot().peers[0], name="<b>x</b>\n\u202eevil" + "y" * 300, activity="dancing", role="w" * 99
    )
    model = peers_table()
    model.follow([peer])
    name = shown(model, 0, 0)
    assert "\n" not in name
    assert "\u202e" not in name
    assert len(name) <= 60
    assert "&lt;b&gt;" in model.index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert shown(model, 0, 1) == "dancing"
    assert len(shown(model, 0, 3)) <= 20


def test_selection_stays_on_its_row(qt, examples):
    snapshot = examples.snapshot()
    model = leaderboard_table()
    view = QTableView()
    view.setModel(model)
    model.follow(snapshot.leaderboard)
    view.selectRow(1)
    model.follow(list(reversed(snapshot.leaderboard)) + snapshot.leaderboard[:0])
    model.follow(snapshot.leaderboard[1:])
    assert [index.row() for index in view.selectionModel().selectedRows()] == [0]
    assert model.rows[0].name == "Bee"


def test_the_same_again_changes_nothing(qt, examples):
    model = peers_table()
    model.follow(examples.snapshot().peers)
    signals = []
    for signal in (model.dataChanged, model.rowsInserted, model.rowsRemoved, model.rowsMoved, model.modelReset):
        signal.connect(lambda *_: signals.append(1))
    model.follow(examples.snapshot().peers)
    assert signals == []


def test_rows_are_bounded(qt, examples):
    row = examples.snapshot().leaderboard[0]
    model = leaderboard_table()
    model.follow([msgspec.structs.replace(row, peer=str(number)) for number in range(ROWS_MAX + 50)])
    assert model.rowCount() == ROWS_MAX


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(orders=st.lists(st.lists(st.integers(0, 9), unique=True, max_size=10), max_size=5))
def test_any_order_becomes_any_other(qt, examples, orders):
    row = examples.snapshot().leaderboard[0]
    model = leaderboard_table()
    for order in orders:
        rows = [msgspec.structs.replace(row, peer=str(key), samples=key) for key in order]
        model.follow(rows)
        assert list(model.rows) == rows
