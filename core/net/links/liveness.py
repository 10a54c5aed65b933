"""Judgements of a link, without clocks: how large a fragment may be, and whether the other side is alive."""

from typing import Literal

from core.base.wire import FRAGMENT_BYTES_MAX

FRAGMENT_BYTES_MIN = 4 * 1024
FRAGMENT_S = 0.005
"""Time in which a fragment, and what the kernel holds unsent, should leave: a control message waits no longer."""
MEASURE_S = 0.005
GROW_AFTER = 8
"""Number of fragments in a row taken by the kernel at once, after which fragments are doubled."""
HEARTBEAT_S = 5.0
SILENCE_S = 12.0
"""A link is looked at every `HEARTBEAT_S / 2`, so a frozen peer is noticed within 15 s."""


class DrainRate:
    """How fast a link takes bytes, measured by its pauses.  Times in seconds of any steady clock."""

    def __init__(self) -> None:
        self.fragment_bytes = FRAGMENT_BYTES_MIN
        self._bytes = 0
        self._since = 0.0
        self._unhindered = 0

    def begin(self, now: float) -> None:
        """Begin to measure after a time with nothing to send."""
        self._bytes = 0
        self._since = now

    def wrote(self, count: int) -> None:
        """Count `count` bytes that were handed over."""
        self._bytes += count
        self._unhindered += 1
        if self._unhindered >= GROW_AFTER:
            self._unhindered = 0
            self._set(2 * self.fragment_bytes)

    def hindered(self) -> None:
        """Note that the link is full."""
        self._unhindered = 0

    def emptied(self) -> None:
        """Note that the link had nothing left to send: it may be much faster than assumed."""
        self._set(2 * self.fragment_bytes)

    def resumed(self, now: float) -> None:
        """Measure, now that the link has taken all that was handed over."""
        elapsed_s = now - self._since
        if elapsed_s >= MEASURE_S:
            measured = self._bytes / elapsed_s * FRAGMENT_S
            self._set(int(measured + self.fragment_bytes) // 2)
            self.begin(now)

    def _set(self, fragment_bytes: int) -> None:
        self.fragment_bytes = max(FRAGMENT_BYTES_MIN, min(fragment_bytes, FRAGMENT_BYTES_MAX))


class Liveness:
    """Whether the other side is alive, and the link in use.  Times in seconds of any steady clock.

    Any byte is a sign of life, and an idle side sends a heartbeat, which does not count as use of the link.
    """

    def __init__(self, now: float) -> None:
        self.heard_at = now
        """Time of the last byte that arrived."""
        self.sent_at = now
        """Time of the last byte sent."""
        self.used_at = now
        """Time at which the last message, other than a heartbeat, was sent or received."""

    def verdict(self, now: float) -> Literal["fine", "beat", "dead"]:
        """Decide what to do now."""
        if now - self.heard_at > SILENCE_S:
            return "dead"
        return "beat" if now - self.sent_at >= HEARTBEAT_S else "fine"
