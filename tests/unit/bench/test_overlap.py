"""Figures of the overlap bench from the steps that it saw."""

import pytest

from tests.bench.averaging.overlap import mode_of
from tests.bench.collaboration import Step

STEPS = [
    Step(90.0, 80.0, 9000, 1.0),
    Step(12.0, 8.0, 300, 25.0),
    Step(13.0, 8.5, 320, 25.0),
    Step(20.0, 9.0, 500, 20.0),
]


@pytest.mark.parametrize(("delayed", "ideal_s"), [(False, 10.0 + 8.5), (True, 10.0)])
def test_ideals_are_the_sum_and_the_longer_one(*, delayed: bool, ideal_s: float) -> None:
    mode = mode_of(STEPS, 250, delayed=delayed)
    assert (mode.steps, mode.cycle_s, mode.averaging_s, mode.compute_s) == (3, 13.0, 8.5, 10.0)
    assert mode.ideal_s == ideal_s
    assert mode.ratio == pytest.approx(13.0 / ideal_s, abs=1e-3)
    assert mode.samples == 320
    assert mode.samples_per_s == pytest.approx(1120 / 45, abs=0.01)
    assert mode.target_samples_per_s == pytest.approx(250 / 13, abs=0.01)
