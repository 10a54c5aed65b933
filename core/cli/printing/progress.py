"""A live line of progress in a terminal; plain lines where there is no terminal."""

import os
import shutil
from collections.abc import Mapping
from typing import TextIO

from core.api.numbers import amount, company
from core.api.snapshot import Snapshot
from core.base.problems import printable
from core.cli.printing.tables import newest_loss, rate
from core.system.progress_bar import is_live, without_digits

BAR_WIDTH = 20
LEFT_OUT_FIRST = ("backbones", "heldout", "volunteers", "bar", "speed", "loss", "activity", "share")
"""Parts that are left out, in this order, where the terminal is narrow; before that the bar is made half as long."""
_ERASE = "\r\x1b[K"
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


class LiveLine:
    """Shows where a collaboration is.

    On a terminal one line is rewritten in place; elsewhere a line is printed when the epoch or the activity changes.

    Args:
        stream: Where to write, usually sys.stderr or sys.stdout.
        environ: Environment variables; NO_COLOR and TERM=dumb are honoured.
    """

    def __init__(self, stream: TextIO, environ: Mapping[str, str] = os.environ) -> None:
        self._stream = stream
        self._live = is_live(stream, environ)
        self._bold = self._live and not environ.get("NO_COLOR")
        encoding = (getattr(stream, "encoding", None) or "ascii").lower()
        self._bar = "█░" if encoding.startswith("utf") else "#."
        self._line = ""
        self._shown: tuple[int, str, int] | None = None
        """Epoch, what is done (numbers left out, such as percents), and volunteers."""

    def update(self, snapshot: Snapshot) -> None:
        """Draw the line for a new state of the engine."""
        if self._live:
            self._line = live_text(snapshot, self._bar, columns=shutil.get_terminal_size().columns - 1)
            self._draw()
            return
        state = (snapshot.epoch, without_digits(_doing(snapshot)), snapshot.volunteers)
        if state != self._shown:
            self._shown = state
            self._stream.write(plain_text(snapshot) + "\n")
            self._stream.flush()

    def message(self, text: str) -> None:
        """Print a line that stays; the live line goes on below it."""
        self._stream.write(f"{_ERASE if self._live else ''}{printable(text)}\n")
        self._draw()

    def close(self) -> None:
        """Leave the last state standing and go to a new line."""
        if self._live and self._line:
            self._stream.write("\n")
        self._line = ""
        self._stream.flush()

    def _draw(self) -> None:
        if self._live and self._line:
            head, gap, rest = self._line.partition("  ")
            line = f"{_BOLD}{head}{_PLAIN}{gap}{rest}" if self._bold else self._line
            self._stream.write(f"{_ERASE}{line}")
        self._stream.flush()


def live_text(snapshot: Snapshot, bar: str, *, columns: int = 1000) -> str:
    """The state on one line, with a bar of the epoch's samples.

    Args:
        snapshot: The state.
        bar: The full and the empty letter.
        columns: How wide the line may be; what matters least is left out until it fits.
    """
    if snapshot.collaboration is None:
        return _doing(snapshot)[:columns]
    target = snapshot.collaboration.target_samples
    done = min(1.0, snapshot.epoch_samples / target) if target else 0.0
    facts = _facts(snapshot)
    parts = {"epoch": facts.pop("epoch"), "bar": _bar(done, BAR_WIDTH, bar), "share": f"{done:3.0%}", **facts}
    if len(_joined(parts)) > columns:
        parts["bar"] = _bar(done, BAR_WIDTH // 2, bar)
    for name in LEFT_OUT_FIRST:
        if len(_joined(parts)) <= columns:
            break
        parts.pop(name, None)
    return _joined(parts)[:columns]


def _bar(done: float, width: int, letters: str) -> str:
    full = round(done * width)
    return letters[0] * full + letters[1] * (width - full)


def _joined(parts: Mapping[str, str]) -> str:
    return "  ".join(parts.values())


def plain_text(snapshot: Snapshot) -> str:
    """The state on one line, for a file."""
    return _doing(snapshot) if snapshot.collaboration is None else _joined(_facts(snapshot))


def _facts(snapshot: Snapshot) -> dict[str, str]:
    training, heldout = newest_loss(snapshot.curve)
    facts = {
        "epoch": f"epoch {amount(snapshot.epoch)}",
        "volunteers": company(snapshot.volunteers, 0),
    }
    if snapshot.always_on:
        facts["backbones"] = f"{snapshot.always_on} backbone{'' if snapshot.always_on == 1 else 's'}"
    facts["speed"] = f"{rate(snapshot.samples_per_s)} samples/s"
    if training is not None:
        facts["loss"] = f"loss {training:.3f}"
    if heldout is not None:
        facts["heldout"] = f"held-out {heldout:.3f}"
    facts["activity"] = _doing(snapshot)
    return facts


def _doing(snapshot: Snapshot) -> str:
    """The activity; where there is no collaboration yet, the sentence that says what is prepared or waited for."""
    return (
        snapshot.activity.value.replace("_", " ")
        if snapshot.collaboration is not None
        else printable(snapshot.sentence)
    )
