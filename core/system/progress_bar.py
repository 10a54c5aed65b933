"""A progress bar in a terminal; lines now and then where there is none."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import TextIO

CHARACTERS = 30
EVERY_S = 0.2
LINE_EVERY_S = 10.0
"""Pause between two lines about the same, where there is no terminal."""
COLUMNS = 80
"""Width of a terminal that does not say how wide it is."""
_DIGITS = dict.fromkeys(map(ord, "0123456789"))


def is_live(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a line on the stream can be drawn over: it is a terminal, and no dumb one."""
    return stream.isatty() and environ.get("TERM") != "dumb"


def without_digits(text: str) -> str:
    """The text as far as it is the same while a number in it grows."""
    return text.translate(_DIGITS)


class ProgressBar:
    """Draws on `stream` what share is done and about how long the rest takes.

    Where that is not a terminal, a line says what begins, and another one every `LINE_EVERY_S` how far it is.

    Args:
        json: Whether JSON goes to stdout: then lines are for no person, and no bar is drawn if that is a terminal too,
            where it would stand between.
        say: Takes share and text in the place of a bar, for a program that shows them.
        clock: Seconds, of any beginning.
    """

    def __init__(
        self,
        *,
        json: bool = False,
        stream: TextIO | None = None,
        say: Callable[[float, str], object] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        open_ = self._stream is not None  # Python has no stderr where it was closed
        live = open_ and is_live(self._stream)
        self._visible = live and not (json and sys.stdout is not None and sys.stdout.isatty())
        self._lines = open_ and not live and not json
        self._say = say
        self._told = ""
        """What the last line was about."""
        self._told_share = 0.0
        self._clock = clock
        self._drawn_at = -EVERY_S
        self._what = ""
        self._began = clock()
        self._began_share = 0.0
        """Where the present part stood when it was first heard of: what is left is reckoned from there."""

    def show(self, share: float, text: str, *, part: str = "") -> None:
        """Draw the bar, or write a line where one is due.

        Args:
            share: Finished share of the present part, 0 to 1.
            text: What is going on.
            part: A new name begins a new part, whose time is estimated afresh.
        """
        if not self._visible and not self._lines and self._say is None:
            return
        now = self._clock()
        fresh = part != self._what
        if fresh:
            self._what, self._began, self._began_share = part, now, min(share, 1.0)
        if self._say is not None:
            if fresh or now - self._drawn_at >= EVERY_S:
                self._drawn_at = now
                self._say(share, text)
        elif self._lines:
            self._tell(share, text, now)
        elif fresh or now - self._drawn_at >= EVERY_S or share >= 1:
            self._draw(share, text, now)

    def _draw(self, share: float, text: str, now: float) -> None:
        self._drawn_at = now
        full = round(CHARACTERS * min(max(share, 0.0), 1.0))
        words = f"[{'#' * full}{'.' * (CHARACTERS - full)}] {text}{self._left(share, now)}"
        self._stream.write(f"\r\x1b[K{words[: self._columns() - 1]}")
        self._stream.flush()

    def _tell(self, share: float, text: str, now: float) -> None:
        """Write a line about what is new; of what has been told already, such as a count that goes on, now and then."""
        about = without_digits(text)
        if about == self._told and now - self._drawn_at < LINE_EVERY_S:
            return
        grown = about == self._told and share > self._told_share
        done = f" ({share:.0%}{self._left(share, now)})" if grown else ""
        self._told, self._told_share, self._drawn_at = about, share, now
        self._stream.write(f"{text}{done}\n")
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
