"""How much of a circuit's bytes may be under way: enough to fill the line, not enough to fill the relay's memory."""

from collections import deque
from typing import Final

from core.nat.messages import PAYLOAD_BYTES_MAX, WINDOW_BYTES_MAX

WINDOW_FIRST_BYTES: Final = 256 * 1024
WINDOW_BYTES_MIN: Final = 128 * 1024
PAYLOAD_FIRST_BYTES: Final = 4096
QUEUE_S: Final = 0.05
"""A round trip longer than the shortest by half and this much means that bytes stand in a queue."""
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
        """The shortest round trip on this way; None: nothing has come back yet."""
        return self._least_s

    @property
    def payload_bytes(self) -> int:
        """How much to put into one message: little until something has come back, as the line may be slow."""
        return PAYLOAD_FIRST_BYTES if self._least_s is None else PAYLOAD_BYTES_MAX

    def sent(self, end: int, now: float) -> None:
        """All up to the offset `end` is under way."""
        if not self._samples:
            self._progress_at = now
        if len(self._samples) < SAMPLES_MAX:
            self._samples.append((end, now))

    def acked(self, ack: int, count: int, now: float) -> None:
        """All up to `ack` has arrived, `count` bytes more than before."""
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
        """Whether to send again what the other end misses; at most once a round trip."""
        if now < self._repeat_at:
            return False
        self._repeat_at = now + max(self.rtt_s, REPEAT_S_MIN)
        self._samples.clear()
        self._progress_at = now
        return True

    def tail_lost(self, now: float) -> bool:
        """Whether the last bytes under way must have been dropped: nothing has moved for far too long."""
        return now >= self._progress_at + max(TAIL_S, 4 * self.rtt_s)

    def restart(self) -> None:
        """Another relay, another way: what was measured no longer holds."""
        self._samples.clear()
        self._least_s = None
        self.window = WINDOW_FIRST_BYTES
        self._repeat_at = self._progress_at = 0.0
