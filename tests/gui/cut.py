"""What has less room on the screen than its words need: a test asks, and so does who draws pictures."""

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QAbstractButton, QAbstractScrollArea, QLabel, QWidget

from app.widgets.labels import Elided

ROUNDING = 2
"""Points by which Qt's own layouts are off."""


def cut(shown: QWidget) -> list[str]:
    """Words of labels and buttons below a widget that are cut, and what would have to be scrolled sideways.

    Args:
        shown: A window, page or dialog as it is on the screen.
    """
    labels = [label for label in shown.findChildren(QLabel) if not isinstance(label, Elided)]
    told = [
        f"{one.text()!r}: {why}"
        for one in (*labels, *shown.findChildren(QAbstractButton))
        if one.isVisibleTo(shown) and (why := _lacks(one, shown))
    ]
    areas = [area for area in shown.findChildren(QAbstractScrollArea) if area.isVisibleTo(shown)]
    wider = [area for area in areas if area.horizontalScrollBar().maximum()]
    return told + [f"{type(area).__name__} is wider than its place" for area in wider]


def _lacks(one: QLabel | QAbstractButton, shown: QWidget) -> str:
    """What a label or button lacks; empty: nothing."""
    wraps = isinstance(one, QLabel) and one.wordWrap()
    height = one.heightForWidth(one.width()) if one.hasHeightForWidth() else one.sizeHint().height()
    if one.height() < height - ROUNDING:
        return f"{one.height()} of {height} points high"
    width = one.minimumSizeHint().width()
    if not wraps and one.width() < width - ROUNDING:
        return f"{one.width()} of {width} points wide"
    beyond = one.mapTo(shown, QPoint(one.width(), 0)).x() - shown.width()
    return f"{beyond} points beyond the edge" if beyond > 0 else ""
