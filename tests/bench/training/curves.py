"""Two groups of curves as an SVG picture."""

from collections.abc import Sequence
from typing import Final

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 440, 60, 30, 20, 50
OURS, THEIRS = "#167c6b", "#c44e1f"
TICKS: Final = 5


def drawn(ours: Sequence[dict[int, float]], theirs: Sequence[dict[int, float]]) -> str:
    """A picture of held-out losses by step.

    Args:
        ours: Of the collaborations, in full lines.
        theirs: Of the single processes, in dashed lines.
    """
    every = [*ours, *theirs]
    last = max(step for curve in every for step in curve)
    low, high = (pick(loss for curve in every for loss in curve.values()) for pick in (min, max))

    def place(step: float, loss: float) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - RIGHT) * step / last
        return round(x, 1), round(TOP + (HEIGHT - TOP - BOTTOM) * (high - loss) / (high - low), 1)

    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for tick in range(TICKS + 1):
        step, loss = last * tick / TICKS, low + (high - low) * tick / TICKS
        (x, _), (_, y) = place(step, low), place(0, loss)
        parts.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{loss:.2f}</text>')
        parts.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{step:.0f}</text>')
    for curves, colour, dash in ((ours, OURS, ""), (theirs, THEIRS, ' stroke-dasharray="6 4"')):
        for curve in curves:
            points = " ".join("{},{}".format(*place(step, curve[step])) for step in sorted(curve))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>')
    for row, (colour, words) in enumerate(((OURS, "four unequal workers"), (THEIRS, "one process, dashed"))):
        y = TOP + 20 + 20 * row
        parts.append(f'<text x="{WIDTH - RIGHT - 10}" y="{y}" text-anchor="end" fill="{colour}">{words}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">optimiser step</text>')
    parts.append(f'<text x="{LEFT}" y="{TOP - 10}">held-out masked-word loss, nats</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
    head += 'font-family="sans-serif" font-size="13">'
    return "\n".join([head, *parts, "</svg>", ""])
