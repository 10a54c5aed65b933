"""The hours of a week as a table of seven rows and twenty-four columns."""

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from app.words import text
from core.api.week import ALWAYS, DAY_MINUTES, HOUR_MINUTES, Week, clock

Index = QModelIndex | QPersistentModelIndex
HOUR_ROLE = Qt.ItemDataRole.UserRole + 1
"""The hour's open stretches, each as two shares from 0 to 1 of the hour."""


def day_names() -> tuple[str, ...]:
    """Names of the days, from Monday on."""
    tr = text.tr
    return (
        tr("Monday"), tr("Tuesday"), tr("Wednesday"), tr("Thursday"), tr("Friday"), tr("Saturday"), tr("Sunday"),
    )  # fmt: skip


class WeekTable(QAbstractTableModel):
    """A week that can be painted, an hour at a time; what is finer than that stays until its hour is painted."""

    painted = Signal()
    """The person changed something."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._minutes = bytearray(ALWAYS.minutes)

    @property
    def week(self) -> Week:
        """The week that the table shows."""
        return Week(bytes(self._minutes))

    def show_week(self, week: Week) -> None:
        """Show another week in all cells."""
        self._minutes = bytearray(week.minutes)
        self._tell(range(7), range(24))

    def is_open(self, day: int, hour: int) -> bool:
        """Whether all of the hour is open."""
        return all(self._hour(day, hour))

    def paint(self, cells: list[tuple[int, int]], *, is_open: bool) -> None:
        """Open or close hours, given as day and hour."""
        for day, hour in cells:
            start = day * DAY_MINUTES + hour * HOUR_MINUTES
            self._minutes[start : start + HOUR_MINUTES] = bytes([is_open]) * HOUR_MINUTES
        for day, hour in cells:
            self._tell(range(day, day + 1), range(hour, hour + 1))
        self.painted.emit()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        """Number of days, for Qt's views."""
        return 0 if parent.isValid() else 7

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        """Number of hours, for Qt's views."""
        return 0 if parent.isValid() else 24

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Names of days and hours, for Qt's views."""
        across = orientation is Qt.Orientation.Horizontal
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return str(section) if across else day_names()[section]
            case Qt.ItemDataRole.ToolTipRole:
                if across:
                    return text.tr("Click to open or close this hour on all days")
                return text.tr("Click to open or close all of this day")
            case Qt.ItemDataRole.TextAlignmentRole:
                side = Qt.AlignmentFlag.AlignHCenter if across else Qt.AlignmentFlag.AlignLeft
                return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """State of an hour, for Qt's views."""
        match role:
            case Qt.ItemDataRole.AccessibleTextRole | Qt.ItemDataRole.ToolTipRole:
                return self._words(index.row(), index.column())
            case _ if role == HOUR_ROLE:
                return self._stretches(index.row(), index.column())
        return None

    def _hour(self, day: int, hour: int) -> bytearray:
        start = day * DAY_MINUTES + hour * HOUR_MINUTES
        return self._minutes[start : start + HOUR_MINUTES]

    def _stretches(self, day: int, hour: int) -> list[tuple[float, float]]:
        minutes = bytes(self._hour(day, hour))
        found, place = [], minutes.find(1)
        while place >= 0:
            end = minutes.find(0, place)
            end = HOUR_MINUTES if end < 0 else end
            found.append((place / HOUR_MINUTES, end / HOUR_MINUTES))
            place = minutes.find(1, end)
        return found

    def _words(self, day: int, hour: int) -> str:
        """For who cannot see it: "Monday, 08:00 to 09:00: Potluck may work"."""
        minutes = self._hour(day, hour)
        if all(minutes):
            state = text.tr("Potluck may work")
        else:
            state = text.tr("Potluck may work for a part of it") if any(minutes) else text.tr("Potluck rests")
        start = hour * HOUR_MINUTES
        end = clock(start + HOUR_MINUTES) if hour < 23 else "24:00"
        sentence = text.tr("{day}, {start} to {end}: {state}")
        return sentence.format(day=day_names()[day], start=clock(start), end=end, state=state)

    def _tell(self, days: range, hours: range) -> None:
        self.dataChanged.emit(self.index(days[0], hours[0]), self.index(days[-1], hours[-1]))
