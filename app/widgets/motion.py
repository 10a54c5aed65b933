"""Whether the system lets controls move."""

from PySide6.QtWidgets import QApplication, QStyle, QWidget


def duration_ms(widget: QWidget, wanted_ms: int) -> int:
    """How long a movement of `widget` takes: 0 where the person asked the system for reduced motion."""
    hints = QApplication.styleHints()
    preference = getattr(hints.accessibility(), "motionPreference", None)  # from Qt 6.12 on
    reduced = preference is not None and preference().name == "ReducedMotion"
    animates = widget.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration, None, widget) > 0
    return wanted_ms if animates and not reduced else 0
