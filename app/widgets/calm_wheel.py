"""Keeps the mouse wheel, which scrolls a page, from changing the controls that it passes over."""

from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QSlider, QWidget

WHEELED: Final = (QAbstractSpinBox, QComboBox, QSlider)
"""Classes of controls whose value the wheel changes."""


class CalmWheel(QObject):
    """The wheel changes a control only after a click or Tab; else it scrolls what the control stands on.

    Qt gives a control with `WheelFocus`, which is the default of these classes, the keyboard's focus before it delivers
    the wheel's event: a look at the focus alone stops nothing.

    Args:
        window: All controls below it are calmed; those that are made later are not.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        for kind in WHEELED:
            for control in window.findChildren(kind):
                control.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
                control.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave the wheel to the page below: an event that is ignored goes on to it."""
        if event.type() is not QEvent.Type.Wheel or not isinstance(watched, QWidget) or watched.hasFocus():
            return False
        event.ignore()
        return True
