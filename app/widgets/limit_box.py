"""A number with a unit, or no limit."""

from PySide6.QtWidgets import QAbstractSpinBox, QDoubleSpinBox

from app.words import text

LADDER = (1, 2, 5)
"""Steps of the arrow keys, times powers of ten."""


class LimitBox(QDoubleSpinBox):
    """A limit set by the person; the step below the smallest is "No limit".

    Args:
        unit: Shown behind the number.
        scale: The engine's number for one of that unit.
        first: The smallest number that the arrow keys give.
        most: The largest number.
    """

    def __init__(self, *, unit: str, scale: float, first: float, most: float) -> None:
        super().__init__()
        self.setLocale(text.digits())
        self._scale = scale
        self._first = first
        self._shown: tuple[float, float | None] = (0.0, None)
        self.setDecimals(2)
        self.setRange(0.0, most)
        self.setSuffix(f" {unit}")
        self.setSpecialValueText(text.tr("No limit"))
        self.setCorrectionMode(QAbstractSpinBox.CorrectionMode.CorrectToNearestValue)
        self.setGroupSeparatorShown(False)
        self.setMinimumWidth(self.fontMetrics().horizontalAdvance(f"100000.00 {unit}") + 48)

    @property
    def limit(self) -> float | None:
        """The limit in the engine's unit; exactly the shown one, unless the person has changed it."""
        if self.value() == self._shown[0]:
            return self._shown[1]
        return self.value() * self._scale or None

    def show_limit(self, limit: float | None) -> None:
        """Stand at a limit of the engine's; None: no limit."""
        self.setValue(0.0 if limit is None else max(0.01, limit / self._scale))
        self._shown = (self.value(), limit)

    def stepBy(self, steps: int) -> None:
        """Go up or down by steps: 1, 2, 5, 10, 20 and so on."""
        value = self.value()
        for _ in range(abs(steps)):
            value = self._above(value) if steps > 0 else self._below(value)
        self.setValue(value)
        self.selectAll()

    def _above(self, value: float) -> float:
        return next((rung for rung in self._rungs() if rung > value + 1e-9), value)

    def _below(self, value: float) -> float:
        return next((rung for rung in reversed(self._rungs()) if rung < value - 1e-9), 0.0)

    def _rungs(self) -> list[float]:
        rungs = [digit * 10.0**power for power in range(-2, 8) for digit in LADDER]
        return [rung for rung in rungs if self._first <= rung <= self.maximum()]
