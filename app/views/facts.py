"""Names and values below each other, to be read and copied."""

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QLabel, QWidget

from app.widgets.labels import label, value_label
from app.words import text


class Facts(QWidget):
    """A form that nobody fills in.

    Args:
        titles: By name, from top to bottom.
    """

    def __init__(self, titles: Mapping[str, str]) -> None:
        super().__init__()
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(24)
        form.setVerticalSpacing(8)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self._titles = titles
        self._values: dict[str, QLabel] = {}
        for name, title in titles.items():
            value = self._values[name] = value_label()
            called = label(title, tone="muted")
            called.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            form.addRow(called, value)
        self.show_values(dict.fromkeys(titles, ""))

    @property
    def values(self) -> dict[str, str]:
        """The values as they are shown."""
        return {name: value.text() for name, value in self._values.items()}

    def show_values(self, values: Mapping[str, str]) -> None:
        """Show some of the values; an empty one is a dash."""
        for name, words in values.items():
            value = self._values[name]
            value.setText(text.one_line(words) or text.NOTHING)
            value.setAccessibleName(f"{self._titles[name]}: {value.text()}")  # of labels only the name is said
