"""Pictures from `resources/icons`, sharp at every size."""

from functools import lru_cache

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPaintEvent, QPalette, QPixmap, QPixmapCache
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QWidget

import resources

SIZES = (16, 22, 24, 32, 44, 48, 64, 128, 256)


@lru_cache(maxsize=64)
def _source(name: str) -> str:
    return resources.file("icons", f"{name}.svg").read_text("utf-8")


def renderer(name: str, colour: str = "") -> QSvgRenderer:
    """Make the renderer of an icon.

    Args:
        name: Without the ending.
        colour: For line icons, such as "#14796A".
    """
    return QSvgRenderer(QByteArray(_source(name).replace("currentColor", colour or "#000000").encode()))


def pixmap(name: str, size: int, colour: str = "", *, scale: float = 1.0) -> QPixmap:
    """An icon as a square picture of `size` points, on a screen with `scale` pixels a point."""
    key = f"{name} {size} {colour} {scale}"
    kept = QPixmap()
    if QPixmapCache.find(key, kept):
        return kept
    picture = QPixmap(round(size * scale), round(size * scale))
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    renderer(name, colour).render(painter)
    painter.end()
    picture.setDevicePixelRatio(scale)
    QPixmapCache.insert(key, picture)
    return picture


def icon(name: str) -> QIcon:
    """For windows and the tray, in the sizes that panels ask for."""
    made = QIcon()
    for size in SIZES:
        made.addPixmap(pixmap(name, size))
    return made


class Picture(QWidget):
    """An icon as a part of a window; silent to a screen reader, which reads the text beside it.

    Args:
        name: Name of the icon.
        size: In lines of text.
        role: Palette role that colours a line icon.
    """

    def __init__(
        self,
        name: str,
        size: float,
        *,
        role: QPalette.ColorRole = QPalette.ColorRole.WindowText,
    ) -> None:
        super().__init__()
        self.name = name
        self._size = size
        self._role = role
        self.setFixedSize(self.sizeHint())

    def show_icon(self, name: str) -> None:
        """Show another icon in its place."""
        if name != self.name:
            self.name = name
            self.update()

    def sizeHint(self) -> QSize:
        """Size in lines of the present font, for Qt's layouts."""
        side = round(self._size * self.fontMetrics().height())
        return QSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's signature
        """Draw the icon, when Qt asks for it."""
        painter = QPainter(self)
        colour = self.palette().color(self._role).name()
        painter.drawPixmap(0, 0, pixmap(self.name, self.width(), colour, scale=self.devicePixelRatioF()))
        painter.end()
