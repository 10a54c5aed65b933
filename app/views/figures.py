"""A row of figures: speed, and this computer's contributions."""

from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QWidget

from app import text
from app.widgets.labels import Elided, card, label
from core.api.snapshot import Snapshot


class Figures(QWidget):
    """Five numbers of a snapshot with their names."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        tr = text.tr
        self._together = Figure(tr("All together"), tr("samples/s"))
        self._speed = Figure(tr("This computer"), tr("samples/s"))
        self._samples = Figure(tr("My samples"))
        self._epochs = Figure(tr("My epochs"))
        self._rank = Figure(tr("My rank"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        for figure in (self._together, self._speed, self._samples, self._epochs, self._rank):
            row.addWidget(figure, stretch=1)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show the numbers of a snapshot."""
        me = snapshot.me
        self._together.show_value(text.per_second(snapshot.samples_per_s))
        self._speed.show_value(text.per_second(me.samples_per_s))
        self._samples.show_value(text.count(me.samples))
        self._epochs.show_value(text.count(me.epochs))
        self._rank.show_value(text.rank(snapshot))
        pending = text.tr("and {samples} in the epoch that is under way; {duration} of contributing so far")
        self._samples.explain(
            pending.format(samples=text.count(me.samples_pending), duration=text.duration(me.contributing_s))
        )


class Figure(QFrame):
    """A number with a name, read as one by a screen reader."""

    def __init__(self, title: str, unit: str = "") -> None:
        super().__init__()
        frame, column = card(margin=10, spacing=0)
        self._title = title
        self._unit = unit
        self._value = label(text.NOTHING, factor=1.5, bold=True)
        name = Elided(tone="muted", factor=0.95)
        name.setText(title)
        row = QHBoxLayout()
        row.setSpacing(5)
        row.addWidget(self._value)
        if unit:
            small = Elided(tone="muted", factor=0.95)
            small.setText(unit)
            row.addWidget(small, stretch=1)
        else:
            row.addStretch(1)
        column.addWidget(name)
        column.addLayout(row)
        outer = QGridLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(frame)

    @property
    def value(self) -> str:
        """The number as it is shown."""
        return self._value.text()

    def show_value(self, value: str) -> None:
        """Show another number in its place."""
        self._value.setText(value)
        self.setAccessibleName(f"{self._title}: {value} {self._unit}".strip())

    def explain(self, more: str) -> None:
        """Show an explanation in the tooltip."""
        self.setToolTip(more)
        self.setAccessibleDescription(more)
