"""The two directions of a circuit as one endpoint sees them (RFC 9293, section 3.3.1: send and receive sequence space).

Bytes are counted from the beginning of the circuit, whatever relays they take.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final

from core.base.machine import Trace
from core.nat.messages import PAYLOAD_BYTES_MAX, WINDOW_BYTES_MAX, CircuitAck

ACK_BYTES: Final = 64 * 1024
BUFFER_BYTES_MAX: Final = 2 * WINDOW_BYTES_MAX


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


class SendHalf:
    """Bytes that were written here, kept until the other endpoint has acknowledged them.

    Args:
        window_bytes: Bytes that the other endpoint takes, as long as it has not said.
        trace: Counts retransmissions.
    """

    def __init__(self, window_bytes: int, *, trace: Trace) -> None:
        self.line = CircuitWindow()
        """What the line holds."""
        self.acked = 0
        """Number of bytes that have arrived at the other endpoint."""
        self.sent_max = 0
        """Number of bytes that were ever sent."""
        self._trace = trace
        self._unacked = bytearray()
        """Bytes from offset `acked` on: sent and unacknowledged, followed by unsent."""
        self._next = 0
        self._limit = min(window_bytes, PAYLOAD_BYTES_MAX * 8)
        """The offset up to which the other endpoint lets this one send."""
        self._repeatable = WINDOW_BYTES_MAX
        """Bytes that may be sent again since the other endpoint says that it misses them: a window, and as many as have
        arrived.  It may say so every round trip, and each time all that is in flight would be queued once more."""

    @property
    def room(self) -> int:
        """Number of bytes that may be written now; after 0, `CircuitRoom` is reported when there is room again."""
        return max(0, self.line.window + PAYLOAD_BYTES_MAX - len(self._unacked))

    @property
    def unsettled_bytes(self) -> int:
        """Number of written bytes that have not been acknowledged."""
        return len(self._unacked)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Keep bytes that are to be sent.

        Raises:
            ValueError: more than `BUFFER_BYTES_MAX` bytes would wait.
        """
        if len(self._unacked) + len(data) > BUFFER_BYTES_MAX:
            raise ValueError(f"a circuit keeps at most {BUFFER_BYTES_MAX} bytes")
        self._unacked += data

    def go_on(self, received: int) -> None:
        """Begin on another relay, after the bytes that have arrived."""
        self.line.restart()
        self._drop(max(received, self.acked))
        self._next = self.acked
        self._limit = max(self._limit, self.acked)

    def acknowledged(self, message: CircuitAck, now: float) -> int:
        """Take an acknowledgement of at least `acked` and at most `sent_max` bytes.

        Args:
            message: The acknowledgement.
            now: Unix seconds.

        Returns:
            Number of bytes acknowledged for the first time.
        """
        count = message.ack - self.acked
        self._drop(message.ack)
        self._limit = max(self._limit, message.ack + message.window)
        self._repeatable = min(self._repeatable + count, WINDOW_BYTES_MAX)
        self.line.acked(message.ack, count, now)
        missing = self._next - message.ack if message.again else 0
        if 0 < missing <= self._repeatable and self.line.may_repeat(now):
            self._trace.mark("nat.circuit.resent")
            self._repeatable -= missing
            self._next = message.ack
        self._next = max(self._next, message.ack)
        return count

    def begins_again(self, now: float) -> bool:
        """Whether the last bytes in flight must have been dropped; then they are to be sent again."""
        if self._next == self.acked or not self.line.tail_lost(now):
            return False
        self._trace.mark("nat.circuit.resent")
        self.go_on(self.acked)
        return True

    def payloads(self, now: float) -> Iterator[tuple[int, bytes]]:
        """Take what may be sent now, as offsets and bytes."""
        end = min(self.acked + min(len(self._unacked), self.line.window), self._limit)
        while self._next < end:
            begin = self._next - self.acked
            count = min(self.line.payload_bytes, end - self._next)
            yield self._next, bytes(memoryview(self._unacked)[begin : begin + count])
            self._next += count
            self.sent_max = max(self.sent_max, self._next)
            self.line.sent(self._next, now)

    def end(self) -> None:
        """Forget what was not acknowledged."""
        self._unacked.clear()

    def _drop(self, ack: int) -> None:
        del self._unacked[: ack - self.acked]
        self.acked = ack


class ReceiveHalf:
    """Bytes that arrive here, in order.

    Args:
        window_bytes: Upper bound on bytes received and not yet read by the stream above.
    """

    def __init__(self, window_bytes: int) -> None:
        self.arrived = 0
        """Number of bytes that have arrived in order."""
        self._window_bytes = window_bytes
        self._unread = 0
        self._told = 0
        """The acknowledgement that was sent last."""

    @property
    def window(self) -> int:
        """Number of further bytes that may be sent to this endpoint."""
        return self._window_bytes - self._unread

    @property
    def owes_ack(self) -> bool:
        """Whether enough has arrived to be acknowledged at once."""
        return self.arrived - self._told >= ACK_BYTES

    def take(self, data: bytes) -> None:
        """Count bytes that have arrived."""
        self.arrived += len(data)
        self._unread += len(data)

    def consumed(self, count: int) -> bool:
        """Count bytes that the stream above has read.

        Returns:
            Whether the other endpoint has to be told, since it had no room to send.

        Raises:
            ValueError: more than had arrived.
        """
        if not 0 <= count <= self._unread:
            raise ValueError(f"{count} bytes read of {self._unread}")
        stuck = self.window < ACK_BYTES
        self._unread -= count
        return stuck and self.window >= ACK_BYTES

    def ack(self, circuit: bytes, *, again: bool, answer: bool) -> CircuitAck:
        """Make an acknowledgement, which counts as sent.

        Args:
            circuit: Id of the circuit.
            again: Ask for what comes after it once more.
            answer: Ask for an answer at once.
        """
        self._told = self.arrived
        return CircuitAck(circuit, self.arrived, self.window, again, answer)
