"""Send window of a circuit: enough bytes in flight to fill the line, too few to fill the relay's memory."""

from collections import deque
from typing import Final

from core.nat.messages import PAYLOAD_BYTES_MAX, WINDOW_BYTES_MAX

WINDOW_FIRST_BYTES: Final = 256 * 1024
WINDOW_BYTES_MIN: Final = 128 * 1024
PAYLOAD_FIRST_BYTES: Final = 4096
QUEUE_S: Final = 0.05
"""A round trip longer than 1.5 times the shortest plus this many seconds means that bytes stand in a queue."""
RTT_FIRST_S: Final = 0.3
REPEAT_S_MIN: Final = 0.05
TAIL_S: Final = 2.0
SAMPLES_MAX: Final = 32


class CircuitWindow:
    """Grows by what is acknowledged while the round trip stays short, shrinks by a tenth a round trip when it does not.

    The hops are TCP, so nothing is lost on the way for want of room: delay is the only sign of a queue (Brakmo and
    Peterson 1995).
    """

    def __init__(self) -> None:
        self.window = WINDOW_FIRST_BYTES
        self.rtt_s = RTT_FIRST_S
        self._least_s: float | None = None
        self._samples: deque[tuple[int, float]] = deque(maxlen=SAMPLES_MAX)
        self._shrunk_at = 0.0
        self._repeat_at = 0.0
        self._progress_at = 0.0

    @property
    def least_s(self) -> float | None:
        """The shortest round trip over this relay, seconds; None: nothing has come back yet."""
        return self._least_s

    @property
    def payload_bytes(self) -> int:
        """Size of the next message: small until something has come back, as the line may be slow."""
        return PAYLOAD_FIRST_BYTES if self._least_s is None else PAYLOAD_BYTES_MAX

    def sent(self, end: int, now: float) -> None:
        """All bytes up to the offset `end` are in flight.

        Args:
            end: Offset in the stream.
            now: Unix seconds.
        """
        if not self._samples:
            self._progress_at = now
        if len(self._samples) < SAMPLES_MAX:
            self._samples.append((end, now))

    def acked(self, ack: int, count: int, now: float) -> None:
        """All bytes up to an offset have arrived.

        Args:
            ack: Offset in the stream.
            count: Number of bytes acknowledged for the first time.
            now: Unix seconds.
        """
        sample: float | None = None
        while self._samples and self._samples[0][0] <= ack:
            sample = now - self._samples.popleft()[1]
        if count:
            self._progress_at = now
        if sample is None:
            return
        self.rtt_s += (sample - self.rtt_s) / 4
        self._least_s = sample if self._least_s is None else min(self._least_s, sample)
        if sample <= 1.5 * self._least_s + QUEUE_S:
            self.window = min(WINDOW_BYTES_MAX, self.window + count)
        elif now >= self._shrunk_at + self.rtt_s:
            self._shrunk_at = now
            self.window = max(WINDOW_BYTES_MIN, self.window * 9 // 10)

    def may_repeat(self, now: float) -> bool:
        """Whether to retransmit what the other endpoint misses; at most once a round trip."""
        if now < self._repeat_at:
            return False
        self._repeat_at = now + max(self.rtt_s, REPEAT_S_MIN)
        self._samples.clear()
        self._progress_at = now
        return True

    def tail_lost(self, now: float) -> bool:
        """Whether the last bytes in flight must have been dropped: no acknowledgement came for several round trips."""
        return now >= self._progress_at + max(TAIL_S, 4 * self.rtt_s)

    def restart(self) -> None:
        """Forget what was measured over another relay."""
        self._samples.clear()
        self._least_s = None
        self.window = WINDOW_FIRST_BYTES
        self._repeat_at = self._progress_at = 0.0
