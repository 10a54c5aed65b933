"""The table and the picture of `python -m tests.bench equivalence`, from curves that were made up for it."""

from xml.etree import ElementTree as ET

import pytest

from core.base.problems import Problem
from tests.bench.training.curves import drawn
from tests.bench.training.equivalence import at_step, between

OURS = [{0: 6.0, 20: 5.0, 30: 4.0}, {0: 6.0, 25: 4.6}]
THEIRS = [{0: 6.0, 25: 4.4}, {0: 6.0, 25: 4.7}]


def test_step_not_measured_lies_between_its_neighbours() -> None:
    assert between(OURS[0], 25) == 4.5
    assert between(OURS[0], 40) == 4.0
    with pytest.raises(Problem, match="No held-out loss"):
        between({}, 25)


def test_row_compares_means_with_the_spread_of_one_process() -> None:
    row = at_step(25, OURS, THEIRS)
    assert (row.collaboration, row.one_process) == ([4.5, 4.6], [4.4, 4.7])
    assert (row.apart, row.spread) == (0.0, 0.3)


def test_picture_holds_every_curve_at_its_place() -> None:
    root = ET.fromstring(drawn(OURS, THEIRS))
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert [line.get("stroke-dasharray") is None for line in lines] == [True, True, False, False]
    points = [[float(number) for number in point.split(",")] for point in lines[0].get("points", "").split()]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert (x1 - x0) / (x2 - x0) == pytest.approx(20 / 30, abs=1e-3)
    assert (y1 - y0) / (y2 - y0) == pytest.approx(0.5, abs=1e-3)
