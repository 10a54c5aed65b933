"""The loss curve stays small and keeps its ends."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from core.api.snapshot import CurvePoint
from core.ledger.ledger import Curve, thinned


def test_fields_fill_in():
    curve = Curve()
    curve.record(CurvePoint(2, 3.0))
    curve.record(CurvePoint(1, None, 4.0))
    curve.record(CurvePoint(2, None, 5.0))
    assert curve.points() == [CurvePoint(1, None, 4.0), CurvePoint(2, 3.0, 5.0)]


@given(st.integers(0, 3000), st.integers(2, 600))
def test_thinning_keeps_order_and_ends(count, limit):
    points = [CurvePoint(epoch, 1.0) for epoch in range(count)]
    kept = thinned(points, limit)
    assert len(kept) == min(count, limit)
    assert kept == sorted(set(kept), key=lambda point: point.epoch)
    if count > limit:
        assert (kept[0], kept[-1]) == (points[0], points[-1])
        gaps = [later.epoch - earlier.epoch for earlier, later in pairwise(kept)]
        assert max(gaps) <= 2 * count / (limit - 1) + 2 or limit == 2


def test_held_out_points_are_preferred():
    points = [CurvePoint(epoch, 1.0, 2.0 if epoch % 100 == 50 else None) for epoch in range(1000)]
    kept = thinned(points, 50)
    assert sum(point.loss_heldout is not None for point in kept) == 10


def test_storage_is_bounded():
    curve = Curve()
    for epoch in range(3 * Curve.POINTS_MAX):
        curve.record(CurvePoint(epoch, 1.0))
    points = curve.points()
    assert len(points) <= Curve.POINTS_MAX
    assert (points[0].epoch, points[-1].epoch) == (0, 3 * Curve.POINTS_MAX - 1)
    assert len(curve.thinned()) == Curve.POINTS_SHOWN
