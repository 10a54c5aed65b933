"""Charts as numbers that a template writes as SVG: no script draws them, and letters keep their size on a phone.

A chart is an SVG without a size of its own.  In it lies the plot, a second SVG that is stretched to `PLOT` percent of
the width; labels stand beside it at places in percent, which stretch with it, while their letters do not.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

from core.api.site_view import SiteDay
from core.api.snapshot import CurvePoint

WIDTH: Final = 1000
"""Units of the plot from left to right."""
HEIGHT: Final = 200
"""Units of the plot from top to bottom, one a pixel."""
PLOT: Final = 86
"""Width of the plot in percent; to its right stand the labels of its levels."""
POINTS_MAX: Final = 500
"""Upper bound on the points of a line: more are not told apart."""
DAYS_SHOWN: Final = 60
LEVELS: Final = 4
"""Steps between the lowest and the highest level, about."""
HEADROOM: Final = 0.06
"""Room above and below a line, in parts of its span."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Label:
    """A word beside the plot, and where it stands: in percent of the width, or in units of the height."""

    at: float
    text: str
    anchor: str = "middle"
    """As SVG has it: start, middle or end."""


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A series as the points of a polyline; `dots` are drawn where there are few."""

    name: str
    points: str
    dots: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle that stands on the bottom of the plot."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Chart:
    """What a template draws; one without lines and bars has nothing to show yet."""

    title: str
    says: str
    """The chart as a sentence, for people who do not see it."""
    levels: tuple[Label, ...] = ()
    steps: tuple[Label, ...] = ()
    lines: tuple[ChartLine, ...] = ()
    bars: tuple[Bar, ...] = field(default=())

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not (self.lines or self.bars)


DOTS_MAX: Final = 12
"""With more points than these only the line is drawn."""


def loss_chart(curve: Iterable[CurvePoint]) -> Chart:
    """The held-out loss by step, over the training loss.

    Args:
        curve: In the order of the epochs.
    """
    points = list(curve)
    training = _finite((point.epoch, point.loss_training) for point in points)
    heldout = _finite((point.epoch, point.loss_heldout) for point in points)
    title = "Loss by step"
    if not training and not heldout:
        return Chart(title, "No loss is known yet.")
    values = [y for _, y in (*training, *heldout)]
    low, high = min(values), max(values)
    room = (high - low) * HEADROOM or max(abs(high) * HEADROOM, 0.05)
    bottom, top = low - room, high + room
    epochs = [x for x, _ in (*training, *heldout)]
    first, last = min(epochs), max(*epochs, min(epochs) + 1)

    def placed(series: Sequence[Point]) -> tuple[Point, ...]:
        return tuple(
            (round((x - first) / (last - first) * WIDTH, 1), round((top - y) / (top - bottom) * HEIGHT, 1))
            for x, y in evenly(series)
        )

    lines = [_line(name, placed(of)) for name, of in (("training", training), ("held-out", heldout)) if of]
    said = "; ".join(
        f"{name} loss {short_number(of[0][1])} at step {of[0][0]:.0f}, "
        f"{short_number(of[-1][1])} at step {of[-1][0]:.0f}"
        for name, of in (("held-out", heldout), ("training", training))
        if of
    )
    return Chart(
        title,
        f"{said[0].upper()}{said[1:]}.",
        tuple(
            Label(round((top - level) / (top - bottom) * HEIGHT, 1), short_number(level))
            for level in ticks(bottom, top)
        ),
        _along([f"step {short_number(first)}", f"step {short_number(last)}"]),
        tuple(lines),
    )


def days_chart(days: Sequence[SiteDay], today: str) -> Chart:
    """The samples of the last days, today among them.

    Args:
        days: In any order; days that are missing have none.
        today: The last one that is shown, such as 2026-11-26.
    """
    title, end = "Samples by day", date.fromisoformat(today)
    known = {day.day: day.samples for day in days if day.day <= today}
    if not any(known.values()):
        return Chart(title, "No samples have been counted yet.")
    first = max(end - timedelta(days=DAYS_SHOWN - 1), min(date.fromisoformat(min(known)), end - timedelta(days=6)))
    shown = [first + timedelta(days=n) for n in range((end - first).days + 1)]
    counts = [known.get(day.isoformat(), 0) for day in shown]
    top, width = max(counts) * (1 + HEADROOM), WIDTH / len(shown)
    bars = [
        Bar(round(n * width + width * 0.1, 1), round(HEIGHT - tall, 1), round(width * 0.8, 1), round(tall, 1))
        for n, count in enumerate(counts)
        if (tall := count / top * HEIGHT)
    ]
    most = max(range(len(shown)), key=counts.__getitem__)
    return Chart(
        title,
        f"{short_number(sum(counts))} samples from {shown[0].isoformat()} to {today}; "
        f"most on {shown[most].isoformat()}: {short_number(counts[most])}.",
        tuple(Label(round((top - level) / top * HEIGHT, 1), short_number(level)) for level in ticks(0.0, top)),
        _along([f"{shown[0].day} {shown[0]:%b}", f"{end.day} {end:%b}"]),
        bars=tuple(bars),
    )


def ticks(low: float, high: float) -> list[float]:
    """Round numbers within an interval, about `LEVELS` steps apart.

    Args:
        low: The lower end.
        high: The upper end, which is greater.
    """
    rough = (high - low) / LEVELS
    decade = 10.0 ** math.floor(math.log10(rough))
    step = next(decade * each for each in (1, 2, 2.5, 5, 10) if decade * each >= rough * 0.999)
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def evenly(series: Sequence[Point]) -> list[Point]:
    """At most `POINTS_MAX` points: the first, the last, and evenly from between."""
    if len(series) <= POINTS_MAX:
        return list(series)
    last = len(series) - 1
    return [series[round(n * last / (POINTS_MAX - 1))] for n in range(POINTS_MAX)]


def short_number(number: float) -> str:
    """A number for a label: 4.25, 9 500, 12.5 k, 1.2 M."""
    size = abs(number)
    for unit, one, least in (("T", 1e12, 1e12), ("G", 1e9, 1e9), ("M", 1e6, 1e6), ("k", 1e3, 1e4)):
        if size >= least:
            digits = f"{number / one:.2f}".rstrip("0").rstrip(".")
            return f"{digits} {unit}"
    if size >= 100 or number == int(number):
        return f"{number:,.0f}".replace(",", " ")
    return f"{number:.3g}"


def _finite(series: Iterable[tuple[int, float | None]]) -> list[Point]:
    return [(float(x), y) for x, y in series if y is not None and math.isfinite(y)]


def _line(name: str, placed: tuple[Point, ...]) -> ChartLine:
    return ChartLine(name, " ".join(f"{x:g},{y:g}" for x, y in placed), placed if len(placed) <= DOTS_MAX else ())


def _along(texts: Sequence[str]) -> tuple[Label, ...]:
    """Labels at both ends of the plot's bottom."""
    return (Label(0, texts[0], "start"), Label(PLOT, texts[1], "end"))
