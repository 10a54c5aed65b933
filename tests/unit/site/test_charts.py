"""Charts say the numbers that they were made of."""

import math
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.api.site_view import SiteDay
from core.api.snapshot import CurvePoint
from core.site.charts import HEIGHT, POINTS_MAX, WIDTH, Chart, days_chart, loss_chart, short_number, ticks

TODAY = "2026-11-26"
FINITE = st.floats(-1e30, 1e30, allow_nan=False)


def placed(chart: Chart, name: str) -> list[tuple[float, float]]:
    (line,) = [line for line in chart.lines if line.name == name]
    return [tuple(map(float, pair.split(","))) for pair in line.points.split()]  # type: ignore[misc]


def level_at(chart: Chart, y: float) -> float:
    """The value at a height, as the labels of the levels say."""
    (low, one), (high, other) = [(float(label.at), float(label.text)) for label in (chart.levels[0], chart.levels[-1])]
    return one + (y - low) / (high - low) * (other - one)


def test_loss_chart_places_points_by_their_numbers():
    chart = loss_chart([CurvePoint(0, 6.0, 6.0), CurvePoint(30, 5.0), CurvePoint(120, 2.0, 3.0)])
    assert [x for x, _ in placed(chart, "training")] == [0, WIDTH / 4, WIDTH]
    assert [level_at(chart, y) for _, y in placed(chart, "training")] == pytest.approx([6, 5, 2], abs=0.05)
    assert [level_at(chart, y) for _, y in placed(chart, "held-out")] == pytest.approx([6, 3], abs=0.05)
    assert chart.says == ("Held-out loss 6 at step 0, 3 at step 120; training loss 6 at step 0, 2 at step 120.")


def test_loss_chart_without_points_says_so():
    for curve in ([], [CurvePoint(3, None)], [CurvePoint(3, math.inf, math.nan)]):
        chart = loss_chart(curve)
        assert chart.is_empty
        assert chart.says == "No loss is known yet."


def test_loss_chart_of_one_point_is_a_dot():
    chart = loss_chart([CurvePoint(7, 4.0)])
    (line,) = chart.lines
    assert line.dots == ((0.0, HEIGHT / 2),)
    assert [label.text for label in chart.steps] == ["step 7", "step 8"]


def test_loss_chart_of_many_points_is_thinned():
    chart = loss_chart([CurvePoint(epoch, 10.0 - epoch / 1000) for epoch in range(10_000)])
    points = placed(chart, "training")
    assert len(points) == POINTS_MAX
    assert (points[0][0], points[-1][0]) == (0, WIDTH)
    assert not chart.lines[0].dots


@given(st.lists(st.tuples(FINITE | st.none(), FINITE | st.none()), max_size=40))
def test_loss_chart_stays_within_its_plot(losses):
    chart = loss_chart([CurvePoint(3 * n, *pair) for n, pair in enumerate(losses)])
    for line in chart.lines:
        for x, y in placed(chart, line.name):
            assert 0 <= x <= WIDTH
            assert -0.1 <= y <= HEIGHT + 0.1
    assert len(chart.levels) <= 8


def test_days_chart_has_a_bar_for_each_day_with_samples():
    days = [SiteDay("2026-11-16", 100), SiteDay("2026-11-20", 400), SiteDay(TODAY, 50), SiteDay("2026-11-27", 9)]
    chart = days_chart(days, TODAY)
    assert [bar.height / chart.bars[1].height for bar in chart.bars] == pytest.approx([0.25, 1, 0.125], abs=0.01)
    assert [round((bar.x + bar.width / 2) / WIDTH * 11 - 0.5) for bar in chart.bars] == [0, 4, 10]
    assert all(bar.y + bar.height == pytest.approx(HEIGHT, abs=0.11) for bar in chart.bars)
    assert chart.says == "550 samples from 2026-11-16 to 2026-11-26; most on 2026-11-20: 400."


def test_days_chart_without_samples_says_so():
    for days in ([], [SiteDay(TODAY, 0, 3)], [SiteDay("2026-11-27", 9)]):
        assert days_chart(days, TODAY).is_empty


def test_days_chart_shows_the_last_days_only():
    first = date.fromisoformat(TODAY) - timedelta(days=10_000)
    chart = days_chart([SiteDay((first + timedelta(days=n)).isoformat(), n) for n in range(10_001)], TODAY)
    assert len(chart.bars) == 60
    assert chart.steps[0].text == "28 Sep"


@given(st.floats(-1e15, 1e15), st.floats(1e-6, 1e15))
def test_ticks_are_few_and_within(low, span):
    found = ticks(low, low + span) if low + span > low else []
    assert len(found) <= 6
    assert all(
        low - abs(low) * 1e-9 - span * 1e-6 <= tick <= low + span * (1 + 1e-6) + abs(low) * 1e-9 for tick in found
    )


def test_short_numbers_are_as_people_write_them():
    shown = [short_number(number) for number in (0, 0.05, 4.25, 120, 9_999, 12_500, 1.2e6, 3e9, 5e12, -20_000)]
    assert shown == ["0", "0.05", "4.25", "120", "9 999", "12.5 k", "1.2 M", "3 G", "5 T", "-20 k"]
