"""What the pages of the settings have in common: rows of controls, each bound to one setting."""

from collections.abc import Callable

from msgspec import structs
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QFrame, QGridLayout, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from app.widgets.field import Field
from app.widgets.labels import label
from app.widgets.limit_box import LimitBox
from app.widgets.whole_box import WholeBox
from core.api.rules import AMOUNTS
from core.api.settings import SettingsView, Wish

Value = int | float | str | bool | list[str] | None
Show = Callable[[SettingsView], object]
Read = Callable[[], Value]


class SettingsPage(QScrollArea):
    """Scrolls where it is higher than the window.  Its rows are made by a page's constructor, from top to bottom."""

    edited = Signal()
    """A box or a number shows something else than before."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.fields: dict[str, Field] = {}
        """By name, as in `core.api.settings.FIELDS`."""
        self._bound: dict[str, tuple[Show, Read]] = {}
        self._view: SettingsView | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        body = QWidget()
        body.setObjectName("body")
        self.column = QVBoxLayout(body)
        self.column.setContentsMargins(14, 12, 14, 8)
        self.column.setSpacing(6)
        self.setWidget(body)
        self.viewport().setAutoFillBackground(False)

    def show_settings(self, view: SettingsView) -> None:
        """Show the engine's settings."""
        self._view = view
        for show, _ in self._bound.values():
            show(view)

    def fill_in(self, amount: str) -> None:
        """Show the rules of one of `AMOUNTS`; what the page shows of other settings stays."""
        rules = AMOUNTS[amount]
        for name in rules.keys() & self._bound.keys():
            if self._view is not None:
                self._bound[name][0](structs.replace(self._view, **rules))

    def wish(self) -> Wish:
        """All values that the page shows."""
        return {name: read() for name, (_, read) in self._bound.items()}

    def add_rows(self, title: str = "") -> QGridLayout:
        """Begin a group of rows, with its title above."""
        if title:
            heading = label(title, bold=True)
            heading.setContentsMargins(0, 6 if self.column.count() else 0, 0, 0)
            self.column.addWidget(heading)
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(2, 1)
        self.column.addLayout(grid)
        return grid

    def bind(self, setting: str, field: Field, show: Show, read: Read) -> None:
        """Have a control show a setting, and the wish contain what it shows.

        Args:
            setting: Its name.
            field: The control's.
            show: Has the control show it.
            read: What the control shows.
        """
        self.fields[setting] = field
        self._bound[setting] = (show, read)

    def bind_check(self, setting: str, field: Field, box: QCheckBox, *, forbids: bool = False) -> None:
        """Bind a yes or no.

        Args:
            setting: Its name.
            field: The box's.
            box: The control.
            forbids: It is ticked where the setting says no.
        """
        box.toggled.connect(self.edited)
        self.bind(
            setting,
            field,
            lambda view: box.setChecked(getattr(view, setting) is not forbids),
            lambda: box.isChecked() is not forbids,
        )

    def bind_whole(self, setting: str, field: Field, box: WholeBox, *, limit: bool = False) -> None:
        """Bind a number.

        Args:
            setting: Its name.
            field: The box's.
            box: The control.
            limit: 0 stands for no limit.
        """
        box.valueChanged.connect(self.edited)
        self.bind(
            setting,
            field,
            lambda view: box.setValue(getattr(view, setting) or 0),
            lambda: (box.value() or None) if limit else box.value(),
        )

    def bind_bytes(self, setting: str, field: Field, box: LimitBox) -> None:
        """Bind a limit in whole bytes, or none."""
        self.bind(
            setting,
            field,
            lambda view: box.show_limit(getattr(view, setting)),
            lambda: None if (limit := box.limit) is None else round(limit),
        )

    def bind_line(self, setting: str, field: Field, line: QLineEdit) -> None:
        """Bind words of one line; spaces around and between them do not count twice."""
        self.bind(
            setting, field, lambda view: line.setText(getattr(view, setting)), lambda: " ".join(line.text().split())
        )

    def align(self, *grids: QGridLayout) -> None:
        """Give the names of several groups, and their controls, the same width."""
        for place in (0, 1):
            widest = max(
                (
                    item.sizeHint().width()
                    for grid in grids
                    for row in range(grid.rowCount())
                    if (item := grid.itemAtPosition(row, place)) is not None and grid.itemAtPosition(row, 2) is not item
                ),
                default=0,
            )
            for grid in grids:
                grid.setColumnMinimumWidth(place, widest)
