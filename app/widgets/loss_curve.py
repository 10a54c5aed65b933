"""The loss curve of the collaboration."""

import itertools

import pyqtgraph
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from app import text
from app.theme import Theme
from app.widgets.labels import label
from app.widgets.legend import Legend
from core.api.snapshot import CurvePoint, LossView

HEADROOM = 0.08
"""Of the span of losses, above and below."""


class LossCurve(QWidget):
    """Training loss as a line, held-out loss as points, the lowest baseline as a dashed line.

    For people who cannot see it, its accessible description says first and last loss.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._plot = pyqtgraph.PlotWidget(enableMenu=False)
        self._empty = label(text.tr("The curve begins with the first epoch."), tone="muted")
        self._legend = Legend(theme)
        self._training = self._plot.plot([], [], antialias=True)
        self._heldout = self._plot.plot([], [], antialias=True)
        self._baseline = pyqtgraph.InfiniteLine(angle=0)
        self._plot.addItem(self._baseline)
        self._meaning = LossView()
        self._build()
        self._paint()
        theme.changed.connect(self._paint)
        self.show_points([], self._meaning)

    def show_points(self, points: list[CurvePoint], meaning: LossView) -> None:
        """Draw the curve of an engine's snapshot."""
        training = [(point.epoch, point.loss_training) for point in points if point.loss_training is not None]
        heldout = [(point.epoch, point.loss_heldout) for point in points if point.loss_heldout is not None]
        self._training.setData([x for x, _ in training], [y for _, y in training])
        self._training.setSymbol("s" if len(training) == 1 else None)  # a line needs two points to be seen
        self._heldout.setData([x for x, _ in heldout], [y for _, y in heldout])
        has_curve = bool(training or heldout)
        lowest = meaning.lowest
        self._baseline.setVisible(has_curve and lowest is not None)
        if lowest is not None:
            self._baseline.setValue(lowest[1])
        if meaning.unit != self._meaning.unit:
            self._meaning = meaning
            self._paint()
        self._legend.show_series(training=bool(training), heldout=bool(heldout), lowest=lowest)
        self._empty.setVisible(not has_curve)
        losses = [y for _, y in training + heldout] + ([lowest[1]] if lowest is not None else [])
        self._frame([point.epoch for point in points], losses if has_curve else [])
        self.setAccessibleDescription(text.chart(points, meaning))
        self.setToolTip(text.chart(points, meaning))

    def changeEvent(self, event: QEvent) -> None:
        """Paint anew when the font or the pixel density changes."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.FontChange, QEvent.Type.DevicePixelRatioChange}:
            self._paint()

    def _build(self) -> None:
        self._plot.setMouseEnabled(x=False, y=False)
        self._plot.hideButtons()
        self._plot.setFrameStyle(0)
        self._plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._plot.viewport().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._plot.setMinimumHeight(90)
        grid = QGridLayout(self)
        grid.setContentsMargins(2, 2, 2, 2)
        grid.setSpacing(4)
        grid.addWidget(self._legend, 0, 0)
        grid.addWidget(self._plot, 1, 0)
        grid.addWidget(self._empty, 1, 0, alignment=Qt.AlignmentFlag.AlignCenter)
        grid.setRowStretch(1, 1)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(text.tr("Shared loss curve"))

    def _frame(self, epochs: list[int], losses: list[float]) -> None:
        for side in ("left", "bottom"):
            self._plot.showAxis(side, bool(losses))
        if not losses:
            return
        low, high = min(losses), max(losses)
        room = max(0.1, (high - low) * HEADROOM)
        first, last = min(epochs), max(epochs)
        last = max(last, first + 4)
        self._plot.setXRange(first, last, padding=0.03)
        step = _whole_step(last - first)
        self._plot.getAxis("bottom").setTickSpacing(major=step, minor=step)
        self._plot.setYRange(low - room, high + room, padding=0)

    def _paint(self) -> None:
        """In the colours and the font of now."""
        colours, pixels = self._theme.colours, self.devicePixelRatioF()  # pyqtgraph's pens are as wide on any screen
        self._plot.setBackground(colours.card)
        for side, title in (("left", text.loss_axis(self._meaning)), ("bottom", text.tr("Epoch"))):
            axis = self._plot.getAxis(side)
            axis.setPen(pyqtgraph.mkPen(colours.line))
            axis.setTextPen(pyqtgraph.mkPen(colours.muted))
            axis.setTickFont(self.font())
            axis.setStyle(tickLength=4)
            axis.setLabel(title, color=colours.muted)
            axis.label.setFont(self.font())
            axis.enableAutoSIPrefix(False)
        self._plot.showGrid(x=False, y=True, alpha=0.18)
        self._training.setSymbolSize(7)
        self._training.setSymbolPen(pyqtgraph.mkPen(None))
        self._training.setSymbolBrush(pyqtgraph.mkBrush(colours.accent))
        self._training.setPen(pyqtgraph.mkPen(colours.accent, width=2.5 * pixels))
        self._heldout.setPen(pyqtgraph.mkPen(colours.warm, width=pixels))
        self._heldout.setSymbol("o")
        self._heldout.setSymbolSize(7)
        self._heldout.setSymbolPen(pyqtgraph.mkPen(colours.card, width=pixels))
        self._heldout.setSymbolBrush(pyqtgraph.mkBrush(colours.warm))
        self._baseline.setPen(pyqtgraph.mkPen(colours.muted, width=1.5 * pixels, style=Qt.PenStyle.DashLine))


def _whole_step(span: int) -> int:
    """Epochs between two ticks: 1, 2 or 5 times a power of ten, for about eight ticks."""
    step = 1
    for factor in itertools.cycle((2, 2.5, 2)):
        if span <= 8 * step:
            return step
        step = round(step * factor)
    raise AssertionError
