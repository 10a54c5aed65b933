"""The loss curve: one point an epoch, bounded, thinned evenly when there are many."""

from collections.abc import Iterable
from typing import ClassVar

from core.api.snapshot import CurvePoint


class Curve:
    """The loss curve: one point by epoch.

    Args:
        points: Known points.
    """

    POINTS_MAX: ClassVar = 2000
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

    @property
    def heldout_epoch(self) -> int:
        """The last epoch whose held-out loss is known; -1: none is."""
        return max((epoch for epoch, point in self._points.items() if point.loss_heldout is not None), default=-1)

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
