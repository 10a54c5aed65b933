"""A progress bar in the terminal."""

import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

CHARACTERS = 30
EVERY_S = 0.2
COLUMNS = 80
"""Of a terminal that does not say how wide it is."""


class ProgressBar:
    """Draws on `stream` what share is done and about how long the rest takes; on anything but a terminal nothing.

    Args:
        json: Whether JSON goes to stdout: no bar is drawn if that is a terminal too, where it would stand between.
        clock: Seconds, of any beginning.
    """

    def __init__(
        self, *, json: bool = False, stream: TextIO | None = None, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        shown = self._stream is not None and self._stream.isatty()  # Python has no stderr where it was closed
        self._visible = shown and not (json and sys.stdout is not None and sys.stdout.isatty())
        self._clock = clock
        self._drawn_at = -EVERY_S
        self._what = ""
        self._began = clock()
        self._began_share = 0.0
        """Where the present part stood when it was first heard of: what is left is reckoned from there."""

    def show(self, share: float, text: str, *, part: str = "") -> None:
        """Draw the bar.

        Args:
            share: Finished share of the present part, 0 to 1.
            text: What is going on.
            part: A new name begins a new part, whose time is estimated afresh.
        """
        if not self._visible:
            return
        now = self._clock()
        if part != self._what:
            self._what, self._began, self._began_share = part, now, min(share, 1.0)
        elif now - self._drawn_at < EVERY_S and share < 1:
            return
        self._drawn_at = now
        full = round(CHARACTERS * min(max(share, 0.0), 1.0))
        words = f"[{'#' * full}{'.' * (CHARACTERS - full)}] {text}{self._left(share, now)}"
        self._stream.write(f"\r\x1b[K{words[: self._columns() - 1]}")
        self._stream.flush()

    def clear(self) -> None:
        """Remove the bar, to make room for other lines."""
        if self._visible:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn_at = self._clock() - EVERY_S

    def _columns(self) -> int:
        """How much fits into a line: one that is broken in two cannot be drawn over."""
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or COLUMNS
        except OSError:
            return COLUMNS

    def _left(self, share: float, now: float) -> str:
        done = share - self._began_share
        if done <= 0 or share >= 1:
            return ""
        left_s = (now - self._began) / done * (1 - share)
        minutes, seconds = divmod(round(left_s), 60)
        return f", {minutes}:{seconds:02} left"
