"""Fleets as they are written, and what a round on them would carry."""

import pytest

from core.averaging.balance.solver import round_seconds
from core.averaging.balance.traffic import Work, fleet
from core.averaging.plan import WHOLE_PORTION
from core.base.problems import BadInput
from tests.bench.network.fleets import FLEETS, Computer, fleet_of
from tests.bench.network.flows import sizes
from tests.bench.network.limits import TELLING_S, FleetLimits, bytes_between


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


def test_spaces_do_not_matter():
    assert fleet_of(" 40*2, 20/5c ") == fleet_of("40*2,20/5c")
    assert fleet_of(" pair") == fleet_of("pair")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("", "'' describes no computers"),
        ("fast", "'fast' describes no computers"),
        ("homog8,20", "'homog8' describes no computers"),
        ("40", "2 to 64 computers, not 1"),
        ("40*40,20*40", "2 to 64 computers, not 80"),
        ("0*3", "'0\\*3' describes"),
        ("40*99", "'40\\*99' is 99 computers"),
        ("40*100", "'40\\*100' is 100 computers"),
        ("40*0,20*2", "'40\\*0' is 0 computers"),
        ("40,,40", "'' describes"),
        ("40x2", "'40x2' describes"),
        ("1e9*2", "describes"),
        ("100001*2", "describes"),
        ("40/100001*2", "describes"),
        ("40/-1*2", "describes"),
        ("40/0*2", "describes"),
        ("40a*2", "nothing to average"),
        ("40,400a", "nothing to average"),
        ("x" * 1000, "'x{40}' describes"),
    ],
)
def test_invalid_fleet_is_told(words, problem):
    with pytest.raises(BadInput, match=problem):
        fleet_of(words)


def test_how_a_fleet_is_written_is_told():
    with pytest.raises(BadInput) as told:
        fleet_of("40x2")
    assert all(name in told.value.hint for name in (*FLEETS, "DOWN/UP"))


@pytest.mark.parametrize(("bound_s", "tells"), [(0.02, False), (TELLING_S, True)])
def test_lines_that_need_next_to_nothing_say_nothing(bound_s, tells):
    limits = FleetLimits(bound_s=bound_s, planned_s=bound_s, tcp_s=0.2, over_tcp=1.5, over_bound=9.0)
    assert ("1.50 times what plain TCP takes" in limits.sentence) == tells
    assert ("too little" in limits.sentence) != tells


@pytest.mark.parametrize("name", FLEETS)
def test_the_flows_take_as_long_as_the_plan_says(name):
    """Rows and columns of the bytes, over the lines, are what the program's own constraints come to."""
    computers = fleet_of(name)
    work = Work(numel=1_000_000, number_bytes=4.0)
    chunks = [0 if one.client else 10 for one in computers]
    portions = [0 if one.helps else WHOLE_PORTION for one in computers]
    matrix = bytes_between(computers, work, chunks, portions)
    sent = [sum(row) - row[i] for i, row in enumerate(matrix)]
    taken = [sum(row[i] for row in matrix) - matrix[i][i] for i in range(len(computers))]
    seconds = max(
        max(out / one.line.up_bytes_per_s, into / one.line.down_bytes_per_s)
        for one, out, into in zip(computers, sent, taken, strict=True)
    )
    lines = [one.line for one in computers]
    assert seconds == pytest.approx(round_seconds(fleet(lines, work), chunks=chunks, portions=portions))


def test_each_sends_its_row_to_all_but_itself():
    assert sizes([[9, 1, 2], [3, 9, 4], [5, 6, 9]], ["a", "b", "c"], 1) == {"a": 3, "c": 4}
