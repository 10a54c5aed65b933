"""Windows of a QUIC connection: bytes in flight, and bytes that the other side has not read.

As many bytes are in flight as keep the line busy and its queue short.
QUIC's own congestion control (NewReno) fills the router's queue until packets are lost, and then needs many round trips
to recover.  As FAST TCP does (Jin, Wei, Low 2004), this window stays below it, so that about `QUEUE_S` of this
connection's bytes waits anywhere; the slow start ends as HyStart's does (RFC 9406): when the round trip grows.
"""

from collections import deque
from typing import Final

QUEUE_S: Final = 0.015
"""Target of queueing delay, seconds, as in `core.net.links.delay_pacing`."""
RTT_S_MIN: Final = 1e-4
"""Where the clock stands still for 16 ms (Windows), a round trip may seem to take no time."""
WINDOW_BYTES_MIN: Final = 32 * 1024
WINDOW_BYTES_MAX: Final = 4 * 1024 * 1024
START_GROWTH: Final = 1.6
"""Growth in each round trip, until the line is full."""
STEADY_GROWTH: Final = 1.25
"""Upper bound on the growth in a round trip afterwards."""
START_EXCESS_S: Final = (0.004, 0.016)
"""A round trip longer by an eighth, within these bounds, ends the slow start."""
SMOOTHING: Final = 0.5
SAMPLES: Final = 8
"""The shortest of this many last round trips counts: others were lengthened by more than the line."""
WINDOW_BYTES: Final = 4 * 1024 * 1024
"""Number of unread bytes that the other side may send."""
EXCESS_BYTES: Final = 1024 * 1024
"""A fragment begun within the window is finished beyond it; a sender of still more violates the protocol."""
TELL_BYTES: Final = WINDOW_BYTES // 8
COUNT_BYTES: Final = 8


class QuicWindow:
    """Computes the window; without a clock of its own; times in seconds."""

    def __init__(self) -> None:
        self.window_bytes = float(WINDOW_BYTES_MIN)
        self.least_s = float("inf")
        """The shortest round trip."""
        self.starting = True
        self._last: deque[float] = deque(maxlen=SAMPLES)
        self._ends_at = 0.0
        self._most_bytes = 0

    def seen(self, now: float, *, rtt_s: float, flight_bytes: int) -> None:
        """Take the figures of an acknowledgement.

        Args:
            now: Seconds.
            rtt_s: The round trip that it measured.
            flight_bytes: Bytes in flight before it came.
        """
        rtt_s = max(rtt_s, RTT_S_MIN)
        self.least_s = min(self.least_s, rtt_s)
        self._last.append(rtt_s)
        self._most_bytes = max(self._most_bytes, flight_bytes)
        if now >= self._ends_at:
            self._end_round()
            self._ends_at = now + rtt_s

    def _end_round(self) -> None:
        shortest_s = min(self._last)
        used, self._most_bytes = self._most_bytes >= self.window_bytes / 2, 0
        least, most = START_EXCESS_S
        if self.starting and shortest_s - self.least_s > min(max(self.least_s / 8, least), most):
            self.starting = False
        if not used:
            return  # an unused window tells nothing about a larger one
        if self.starting:
            wanted = START_GROWTH * self.window_bytes
        else:
            share = self.least_s / shortest_s
            balanced = share * self.window_bytes * (1 + QUEUE_S / self.least_s)
            wanted = self.window_bytes + SMOOTHING * (balanced - self.window_bytes)
            wanted = min(wanted, STEADY_GROWTH * self.window_bytes)
        self.window_bytes = min(max(wanted, WINDOW_BYTES_MIN), WINDOW_BYTES_MAX)


class ReadWindow:
    """Counts what each side has sent and read: each tells the other the latter, in eight bytes now and then."""

    def __init__(self) -> None:
        self.written = 0
        """Bytes that this side has sent."""
        self._read_there = 0
        self._arrived = self._read_here = self._told = 0
        self._count = bytearray()

    @property
    def unread(self) -> int:
        """Number of bytes sent that the other side has not read, as far as it told."""
        return self.written - self._read_there

    def arrived(self, count: int) -> bool:
        """Count bytes that arrived; returns whether the other side was free to send them."""
        self._arrived += count
        return self._arrived - self._read_here <= WINDOW_BYTES + EXCESS_BYTES

    def consumed(self, count: int) -> bytes:
        """Count bytes that were read here; returns what to tell the other side, mostly nothing."""
        self._read_here += count
        if self._read_here - self._told < TELL_BYTES:
            return b""
        self._told = self._read_here
        return self._told.to_bytes(COUNT_BYTES)

    def told(self, data: bytes) -> None:
        """Read how much the other side has read; only the last count matters."""
        self._count += data
        whole = len(self._count) // COUNT_BYTES * COUNT_BYTES
        if whole:
            told = int.from_bytes(self._count[whole - COUNT_BYTES : whole])
            self._read_there = max(self._read_there, min(told, self.written))
            del self._count[:whole]
