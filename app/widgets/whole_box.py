"""A whole number with a unit, whose zero may be a word."""

from PySide6.QtWidgets import QAbstractSpinBox, QSpinBox

from app.words import text


class WholeBox(QSpinBox):
    """A number with arrow keys.

    Args:
        unit: Shown behind the number.
        most: The largest number.
        zero: Shown instead of 0; empty: the smallest number is 1.
        step: Step of the arrow keys.
    """

    def __init__(self, *, unit: str, most: int, zero: str = "", step: int = 1) -> None:
        super().__init__()
        self.setLocale(text.digits())
        self.setRange(0 if zero else 1, most)
        self.setSuffix(f" {unit}" if unit else "")
        self.setSpecialValueText(zero)
        self.setSingleStep(step)
        self.setCorrectionMode(QAbstractSpinBox.CorrectionMode.CorrectToNearestValue)
        self.setGroupSeparatorShown(False)
        self.setMinimumHeight(round(self.fontMetrics().height() * 1.7))
        widest = max(zero, f"{most} {unit}", key=len)
        self.setMinimumWidth(self.fontMetrics().horizontalAdvance(widest) + 48)
