"""A run over simulated time as a picture: line charts below one another, sharing their axis of time.

The picture is SVG, written here; a name that ends in .png has it drawn by Qt, where that is installed.
"""

import importlib
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

from core.base.problems import BadInput

WIDTH: Final = 900
CHART_HEIGHT: Final = 170
LEFT: Final = 90
RIGHT: Final = 24
TOP: Final = 64
BELOW: Final = 56
"""Between two charts: the numbers of the axis below one and the title of the next."""
TICKS: Final = 5
FONT: Final = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
COLOURS: Final = ("#1f6feb", "#2da44e", "#bc4c00", "#8250df")
INK, PALE, PAPER = "#24292f", "#d8dee4", "#ffffff"
STEPS_S: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400)
ENDINGS: Final = frozenset({".svg", ".png"})
PNG_SCALE: Final = 2

Point = tuple[float, float]
"""Simulated seconds, and a number."""


@dataclass(frozen=True, slots=True)
class Chart:
    """One line chart over the simulated time."""

    title: str
    unit: str
    points: Sequence[Point]
    """In the order of time."""


def rates(totals: Sequence[Point], *, bins: int = 240) -> list[Point]:
    """How fast a count grew, per second, from its totals at some moments; at most `bins` points."""
    if len(totals) < 2:
        return []
    first, last = totals[0][0], totals[-1][0]
    width = max((last - first) / bins, 1.0)
    points, (since, before) = [], totals[0]
    for at, total in totals[1:]:
        if at - since >= width or at == last:
            if at > since:
                points += [(since, (total - before) / (at - since)), (at, (total - before) / (at - since))]
            since, before = at, total
    return points


def changes(points: Sequence[Point]) -> list[Point]:
    """The same line with fewer points: of many alike in a row, the first and the last."""
    ends = {0, len(points) - 1}
    return [
        point
        for number, point in enumerate(points)
        if number in ends or not points[number - 1][1] == point[1] == points[number + 1][1]
    ]


def draw(title: str, subtitle: str, charts: Sequence[Chart]) -> str:
    """Draw charts below one another as SVG."""
    height = TOP + len(charts) * (CHART_HEIGHT + BELOW)
    ends_s = max((point[0] for chart in charts for point in chart.points), default=1.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
        _text(title, 24, 26, size=17, weight="bold"),
        _text(subtitle, 24, 44, size=12),
    ]
    for number, chart in enumerate(charts):
        top = TOP + 16 + number * (CHART_HEIGHT + BELOW)
        parts += _chart(chart, top, max(ends_s, 1.0), colour=COLOURS[number % len(COLOURS)])
    return "\n".join([*parts, "</svg>", ""])


def check_name(path: Path) -> None:
    """Say before a long run what would keep its picture from being written after it.

    Raises:
        BadInput: the name ends in something else than .svg or .png, its folder is missing, it may not be written, or Qt
            is missing, for .png.
    """
    if path.suffix.lower() not in ENDINGS:
        raise BadInput(f"{path} is no name for a picture.", hint="It ends in .svg or .png.")
    if not path.parent.is_dir():
        raise BadInput(f"There is no folder {path.parent} for the picture.", hint="Make it first.")
    if path.is_dir():
        raise BadInput(f"{path} is a folder.", hint="Give the name of a file.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadInput(f"The picture {path} may not be written.", hint="Choose another place.")
    if path.suffix.lower() == ".png":
        _qt("QtSvg")


def save(path: Path, svg: str) -> None:
    """Write the picture as the name's ending says.

    Raises:
        BadInput: it cannot be written.
    """
    check_name(path)
    try:
        if path.suffix.lower() == ".svg":
            path.write_text(svg, encoding="utf-8")
        else:
            _save_png(path, svg)
    except OSError as error:
        why = error.strerror or str(error)
        raise BadInput(f"The picture {path} cannot be written: {why}.", hint="Choose another place.") from error


def _save_png(path: Path, svg: str) -> None:
    core, gui, drawing = _qt("QtCore"), _qt("QtGui"), _qt("QtSvg")
    app = gui.QGuiApplication.instance() or gui.QGuiApplication(["potluck", "-platform", "offscreen"])
    renderer = drawing.QSvgRenderer(core.QByteArray(svg.encode()))
    image = gui.QImage(renderer.defaultSize() * PNG_SCALE, gui.QImage.Format.Format_RGB32)
    image.fill(gui.QColor(PAPER))
    painter = gui.QPainter(image)
    renderer.render(painter)
    painter.end()
    if not image.save(str(path), "PNG"):
        raise OSError("Qt refused")
    del app


def _qt(name: str) -> Any:
    """A part of Qt, which core may not count on."""
    try:
        return importlib.import_module(f"PySide6.{name}")
    except ImportError as error:
        raise BadInput(
            "A picture as PNG needs PySide6, which is not installed.", hint="Give a name that ends in .svg instead."
        ) from error


# --- one chart -------------------------------------------------------------------------------------------------------


def _chart(chart: Chart, top: int, ends_s: float, *, colour: str) -> Iterator[str]:
    wide = WIDTH - LEFT - RIGHT
    bottom = top + CHART_HEIGHT
    values = [value for _, value in chart.points]
    step = _step(max(values, default=0.0))
    if all(float(value).is_integer() for value in values):
        step = max(step, 1.0)
    most = step * TICKS
    yield _text(chart.title, LEFT, top - 8, size=13, weight="bold")
    yield _text(chart.unit, LEFT - 8, top - 8, size=11, anchor="end")
    for tick in range(TICKS + 1):
        y = bottom - CHART_HEIGHT * tick / TICKS
        yield _line(LEFT, y, LEFT + wide, y, colour=PALE)
        yield _text(_number(tick * step), LEFT - 8, y + 4, size=11, anchor="end")
    for at in _times(ends_s):
        x = LEFT + wide * at / ends_s
        yield _line(x, bottom, x, bottom + 4, colour=INK)
        yield _text(_clock(at, ends_s), x, bottom + 16, size=11, anchor="middle")
    yield _line(LEFT, bottom, LEFT + wide, bottom, colour=INK)
    yield _line(LEFT, top, LEFT, bottom, colour=INK)
    yield _text(f"simulated time, {_time_unit(ends_s)}", LEFT + wide, bottom + 31, size=11, anchor="end")
    if chart.points:
        path = " ".join(
            f"{LEFT + wide * at / ends_s:.1f},{bottom - CHART_HEIGHT * value / most:.1f}" for at, value in chart.points
        )
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5" stroke-linejoin="round"/>'


def _step(most: float) -> float:
    """A round number, `TICKS` times which is not below `most`."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most / TICKS))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10, 20) if power * factor * TICKS >= most * (1 - 1e-9))


def _number(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _times(ends_s: float) -> Iterable[float]:
    step = next((step for step in STEPS_S if ends_s / step <= 10), 86_400 * math.ceil(ends_s / 864_000))
    return [float(number * step) for number in range(int(ends_s / step) + 1)]


def _time_unit(ends_s: float) -> str:
    return "s" if ends_s <= 600 else "min" if ends_s <= 3 * 3600 else "h"


def _clock(at_s: float, ends_s: float) -> str:
    return f"{at_s / {'s': 1, 'min': 60, 'h': 3600}[_time_unit(ends_s)]:g}"


def _line(*ends: float, colour: str) -> str:
    x1, y1, x2, y2 = (f"{end:.1f}" for end in ends)
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"/>'


def _text(text: str, x: float, y: float, *, size: int, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-family="{FONT}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'
    )
