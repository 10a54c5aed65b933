"""How a row of a table is drawn: my own row, share bars, and what a peer does."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetrics, QIcon, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.looks.theme import Theme
from app.models.keyed_table import ICON_ROLE, MINE_ROLE, SHARE_ROLE
from app.widgets import icons

Index = QModelIndex | QPersistentModelIndex
PERCENT_WIDEST = "100 %"


class RowDelegate(QStyledItemDelegate):
    """Draws cells in the colours of the theme."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        """Fonts and colours of a cell, for Qt's views."""
        super().initStyleOption(option, index)
        state, features = option.state, option.features
        option.state = state & ~QStyle.StateFlag.State_HasFocus
        if index.data(MINE_ROLE):
            option.font.setWeight(QFont.Weight.DemiBold)
            option.fontMetrics = QFontMetrics(option.font)
            option.backgroundBrush = QBrush(QColor(self._theme.colours.mine))
        name = index.data(ICON_ROLE)
        if name is not None:
            side = option.fontMetrics.height()
            scale = option.widget.devicePixelRatioF()
            option.icon = QIcon(icons.pixmap(name, side, self._theme.colours.accent, scale=scale))
            option.decorationSize = QSize(side, side)
            option.features = features | QStyleOptionViewItem.ViewItemFeature.HasDecoration

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw a cell with its share bar, for Qt's views."""
        super().paint(painter, option, index)
        share = index.data(SHARE_ROLE)
        if share is not None:
            self._paint_share(painter, option, share)

    def _paint_share(self, painter: QPainter, option: QStyleOptionViewItem, share: float) -> None:
        """A bar left of the percentage."""
        cell = QRectF(option.rect)
        room = option.fontMetrics.horizontalAdvance(PERCENT_WIDEST) + 14
        groove = QRectF(cell.left() + 6, cell.center().y() - 4, max(0.0, cell.width() - room - 6), 8)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.colours.groove))
        painter.drawRoundedRect(groove, 4, 4)
        filled = QRectF(groove)
        filled.setWidth(max(groove.height() if share > 0 else 0.0, groove.width() * share))
        painter.setBrush(QColor(self._theme.colours.accent))
        painter.drawRoundedRect(filled, 4, 4)
        painter.restore()
