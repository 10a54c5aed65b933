"""The loss curve: one point an epoch, bounded, thinned evenly when there are many."""

from collections.abc import Iterable
from typing import ClassVar

from core.api.snapshot import CurvePoint


class Curve:
    """The loss curve: one point by epoch.

    Args:
        points: Known points.
    """

    POINTS_MAX: ClassVar = 8000
    """Kept.  Beyond it every second point goes, those with a held-out loss last."""
    POINTS_SHOWN: ClassVar = 500

    def __init__(self, points: Iterable[CurvePoint] = ()) -> None:
        self._points = {point.epoch: point for point in points}

    def record(self, point: CurvePoint) -> None:
        """Note a point; a field that is None leaves what was known of that epoch."""
        old = self._points.get(point.epoch, CurvePoint(point.epoch, None))
        self._points[point.epoch] = CurvePoint(
            point.epoch,
            old.loss_training if point.loss_training is None else point.loss_training,
            old.loss_heldout if point.loss_heldout is None else point.loss_heldout,
        )
        if len(self._points) > self.POINTS_MAX:
            self._points = {kept.epoch: kept for kept in thinned(self.points(), self.POINTS_MAX // 2)}

    def merge(self, points: Iterable[CurvePoint]) -> None:
        """Take over what others know; of two different losses of an epoch the smaller, on every computer alike."""
        for point in points:
            mine = self._points.get(point.epoch, point)
            self.record(
                CurvePoint(
                    point.epoch,
                    _smaller(mine.loss_training, point.loss_training),
                    _smaller(mine.loss_heldout, point.loss_heldout),
                )
            )

    def points(self) -> list[CurvePoint]:
        """All points of the curve, oldest first."""
        return [self._points[epoch] for epoch in sorted(self._points)]

    def thinned(self) -> list[CurvePoint]:
        """At most 500 points of the curve, oldest first."""
        return thinned(self.points(), self.POINTS_SHOWN)


def thinned(points: list[CurvePoint], limit: int) -> list[CurvePoint]:
    """At most `limit` (at least 2) of `points`: the first, the last, and evenly from between.

    Within each stretch a point with a held-out loss is preferred, as there are few of them.
    """
    if len(points) <= limit:
        return points
    inner, stretches = points[1:-1], limit - 2
    chosen: list[CurvePoint] = [points[0]]
    for i in range(stretches):
        stretch = inner[i * len(inner) // stretches : (i + 1) * len(inner) // stretches]
        chosen.append(next((point for point in reversed(stretch) if point.loss_heldout is not None), stretch[-1]))
    return [*chosen, points[-1]]


def _smaller(one: float | None, other: float | None) -> float | None:
    known = [loss for loss in (one, other) if loss is not None]
    return min(known) if known else None
