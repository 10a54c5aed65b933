"""Fleets as they are written, and what a round on them would carry."""

import pytest

from core.averaging.balance.fleet import WHOLE_GIFT, Work
from core.averaging.balance.solver import round_seconds
from core.base.problems import BadInput
from core.bench.fleets import FLEETS, Computer, fleet_of
from core.bench.flows import sizes
from core.bench.limits import bytes_between


def test_a_fleet_is_read():
    fleet = fleet_of("100/40*2,20/5c,400a")
    assert fleet == (
        Computer(100.0, 40.0),
        Computer(100.0, 40.0),
        Computer(20.0, 5.0, client=True),
        Computer(400.0, 400.0, helps=True),
    )
    line = fleet[2].line
    assert (line.down_bytes_per_s, line.up_bytes_per_s, line.reduces) == (2_500_000, 625_000, False)
    assert not fleet[3].line.gives
    assert not fleet[3].line.receives


@pytest.mark.parametrize("name", FLEETS)
def test_every_named_fleet_can_be_read(name):
    assert len(fleet_of(name)) >= 2


@pytest.mark.parametrize("words", ["", "fast", "40", "0*3", "40*99", "40,,40", "40x2", "1e9*2", "40/-1*2"])
def test_what_is_no_fleet_is_told(words):
    with pytest.raises(BadInput):
        fleet_of(words)


@pytest.mark.parametrize("name", FLEETS)
def test_the_flows_take_as_long_as_the_plan_says(name):
    """Rows and columns of the bytes, over the lines, are what the program's own constraints come to."""
    fleet = fleet_of(name)
    work = Work(numel=1_000_000, part_bytes=4.0, mean_bytes=4.0)
    chunks = [0 if one.client else 10 for one in fleet]
    gifts = [0 if one.helps else WHOLE_GIFT for one in fleet]
    matrix = bytes_between(fleet, work, chunks, gifts)
    sent = [sum(row) - row[i] for i, row in enumerate(matrix)]
    taken = [sum(row[i] for row in matrix) - matrix[i][i] for i in range(len(fleet))]
    seconds = max(
        max(out / one.line.up_bytes_per_s, into / one.line.down_bytes_per_s)
        for one, out, into in zip(fleet, sent, taken, strict=True)
    )
    lines = [one.line for one in fleet]
    assert seconds == pytest.approx(round_seconds(lines, work, chunks=chunks, gifts=gifts))


def test_each_sends_its_row_to_all_but_itself():
    assert sizes([[9, 1, 2], [3, 9, 4], [5, 6, 9]], ["a", "b", "c"], 1) == {"a": 3, "c": 4}
