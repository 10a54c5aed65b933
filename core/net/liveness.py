"""Two judgements of a link, without a clock of their own: how large a fragment may be, and whether anybody is there."""

from typing import Literal

from core.base.wire import FRAGMENT_BYTES_MAX

FRAGMENT_BYTES_MIN = 4 * 1024
FRAGMENT_S = 0.005
"""A fragment, and what the kernel holds unsent, take about this long to leave: a control message waits no longer."""
MEASURE_S = 0.005
GROW_AFTER = 8
"""So many fragments in a row that the kernel took at once mean that the link is faster than we thought."""
HEARTBEAT_S = 5.0
SILENCE_S = 12.0
"""A link is looked at every `HEARTBEAT_S / 2`: whoever froze is noticed within 15 s."""


class DrainRate:
    """How fast a link takes bytes, from the pauses it makes us make.  Times in seconds of any steady clock."""

    def __init__(self) -> None:
        self.fragment_bytes = FRAGMENT_BYTES_MIN
        self._bytes = 0
        self._since = 0.0
        self._unhindered = 0

    def begin(self, now: float) -> None:
        """There is something to send after a time with nothing."""
        self._bytes = 0
        self._since = now

    def wrote(self, count: int) -> None:
        """`count` bytes were handed over."""
        self._bytes += count
        self._unhindered += 1
        if self._unhindered >= GROW_AFTER:
            self._unhindered = 0
            self._set(2 * self.fragment_bytes)

    def hindered(self) -> None:
        """The link is full."""
        self._unhindered = 0

    def emptied(self) -> None:
        """The link had nothing left to send before we looked: it may be much faster than we thought."""
        self._set(2 * self.fragment_bytes)

    def resumed(self, now: float) -> None:
        """The link has taken all that was handed over."""
        elapsed_s = now - self._since
        if elapsed_s >= MEASURE_S:
            measured = self._bytes / elapsed_s * FRAGMENT_S
            self._set(int(measured + self.fragment_bytes) // 2)
            self.begin(now)

    def _set(self, fragment_bytes: int) -> None:
        self.fragment_bytes = max(FRAGMENT_BYTES_MIN, min(fragment_bytes, FRAGMENT_BYTES_MAX))


class Liveness:
    """Whether the other side is there: any byte counts, and whoever has nothing to say sends a heartbeat."""

    def __init__(self, now: float) -> None:
        self.heard = now

    def verdict(self, now: float, *, sent: float) -> Literal["fine", "beat", "dead"]:
        """What to do now, when we last sent something at `sent`."""
        if now - self.heard > SILENCE_S:
            return "dead"
        return "beat" if now - sent >= HEARTBEAT_S else "fine"
