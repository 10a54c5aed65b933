"""A table that follows a list of rows without a reset: selection and scrolling stay where they are."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.words import text

ROWS_MAX = 500
Row = TypeVar("Row")
Index = QModelIndex | QPersistentModelIndex
MINE_ROLE = Qt.ItemDataRole.UserRole + 1
"""True for the row of this computer."""
SHARE_ROLE = Qt.ItemDataRole.UserRole + 2
"""A number from 0 to 1, to be drawn as a bar; None elsewhere."""
ICON_ROLE = Qt.ItemDataRole.UserRole + 3
"""Name of a line icon; None elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[Row]):
    """One column: its title, and how it shows a row."""

    title: str
    show: Callable[[Row], str]
    letters: int = 0
    """Its width in digits of the font; 0: it takes the room that the others leave."""
    numeric: bool = False
    bar: Callable[[Row], float] | None = None
    """An amount, to be drawn as a bar: the greatest one of all rows fills the room."""
    icon: Callable[[Row], str] | None = None
    explain: Callable[[Row], str] | None = None
    """A longer text: tooltip, and what a screen reader says."""


class KeyedTable(QAbstractTableModel, Generic[Row]):
    """Rows with keys, in the order of the last `follow`.

    Args:
        columns: From left to right.
        key: Tells which row is which, over time.
        mine: Whether a row is that of this computer.
    """

    def __init__(
        self,
        columns: Sequence[Column[Row]],
        *,
        key: Callable[[Row], Hashable],
        mine: Callable[[Row], bool],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._key = key
        self._mine = mine
        self._rows: list[Row] = []
        self._greatest: list[float] = [0.0] * len(self._columns)

    @property
    def letters(self) -> tuple[int, ...]:
        """Widths of the columns, as these say them."""
        return tuple(column.letters for column in self._columns)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows in their shown order."""
        return tuple(self._rows)

    def follow(self, rows: Sequence[Row]) -> None:
        """Become `rows`, by removing, moving, adding and changing single rows.  Only the first 500 are kept."""
        if self._rows == list(rows):
            return
        wanted = list({self._key(row): row for row in rows[:ROWS_MAX]}.values())
        self._greatest = [max(map(one.bar, wanted), default=0.0) if one.bar else 0.0 for one in self._columns]
        kept = {self._key(row) for row in wanted}
        for place in reversed(range(len(self._rows))):
            if self._key(self._rows[place]) not in kept:
                self.beginRemoveRows(QModelIndex(), place, place)
                del self._rows[place]
                self.endRemoveRows()
        changed = [place for place, row in enumerate(wanted) if self._put(place, row)]
        if changed:  # said once for all: views look at the visible ones only
            self.dataChanged.emit(self.index(changed[0], 0), self.index(changed[-1], len(self._columns) - 1))

    def _put(self, place: int, row: Row) -> bool:
        """Make `row` the one at `place`; all before it are right already.  True where an old one has changed."""
        key = self._key(row)
        found = next((at for at in range(place, len(self._rows)) if self._key(self._rows[at]) == key), None)
        if found is None:
            self.beginInsertRows(QModelIndex(), place, place)
            self._rows.insert(place, row)
            self.endInsertRows()
            return False
        if found != place:
            self.beginMoveRows(QModelIndex(), found, found, QModelIndex(), place)
            self._rows.insert(place, self._rows.pop(found))
            self.endMoveRows()
        if self._rows[place] == row:
            return False
        self._rows[place] = row
        return True

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        """Number of rows, for Qt's views."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        """Number of columns, for Qt's views."""
        return 0 if parent.isValid() else len(self._columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Titles of the columns, for Qt's views."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        column = self._columns[section]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.title
            case Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(column.numeric)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Content of a cell, for Qt's views."""
        row, column = self._rows[index.row()], self._columns[index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.show(row)
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{column.title}: {(column.explain or column.show)(row)}"
            case Qt.ItemDataRole.ToolTipRole:  # a name that looks like HTML stays a name
                return text.tooltip((column.explain or column.show)(row))
            case Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(column.numeric)
            case _ if role == MINE_ROLE:
                return self._mine(row)
            case _ if role == SHARE_ROLE:
                return self._bar(index, row)
            case _ if role == ICON_ROLE:
                return column.icon(row) if column.icon else None
        return None

    def _bar(self, index: Index, row: Row) -> float | None:
        bar, greatest = self._columns[index.column()].bar, self._greatest[index.column()]
        if bar is None:
            return None
        return min(1.0, max(0.0, bar(row) / greatest)) if greatest > 0 else 0.0


def _alignment(numeric: bool) -> Qt.AlignmentFlag:  # noqa: FBT001 - a field of the column
    side = Qt.AlignmentFlag.AlignRight if numeric else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
