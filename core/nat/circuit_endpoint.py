"""One endpoint of a circuit: a reliable byte stream through a relay that outlives the relay.

Both endpoints count bytes.  The sender keeps what has not been acknowledged, so when a relay dies either endpoint
attaches the same circuit to another relay and goes on from what has arrived; TLS above does not notice.  A relay can
therefore delay, drop, repeat or reorder without harm; when it invents bytes TLS notices, and when it invents numbers it
is left (`RouteLost`).
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from core.base.ids import PeerId
from core.base.machine import Send, earliest
from core.base.trace import Trace
from core.nat.circuit_liveness import HEARTBEAT_S, CircuitLiveness
from core.nat.circuit_window import CircuitWindow
from core.nat.events import CircuitBytes, CircuitEnded, CircuitRoom
from core.nat.messages import PAYLOAD_BYTES_MAX, WINDOW_BYTES_MAX, CircuitAck, CircuitData, CloseCircuit

ACK_DELAY_S: Final = 0.02
ACK_BYTES: Final = 64 * 1024
DETACHED_S: Final = 20.0
"""A circuit without a relay ends after this many seconds."""
BUFFER_BYTES_MAX: Final = 2 * WINDOW_BYTES_MAX
STRIKES_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class RouteLost:
    """The circuit has lost its relay; the owner of the circuit attaches it to another one."""

    circuit: bytes
    relay: PeerId
    reason: str
    peer_unaware: bool = False
    """The other endpoint may not know that bytes are under way, and then does not look for a relay."""


Output = Send[CircuitData | CircuitAck | CloseCircuit] | CircuitBytes | CircuitRoom | CircuitEnded | RouteLost


class CircuitEndpoint:
    """One endpoint of a circuit.  It begins without a relay: `attach` it.

    Every method that returns outputs must have them performed in order.  `deadline` says when to call `tick`.

    Args:
        circuit: Id of the circuit, 16 random bytes.
        now: Unix seconds.
        trace: Counts violations by relays.
        window_bytes: Upper bound on bytes received and not yet read by the stream above.
        carried: Counts the bytes that each relay has carried for this peer, both ways, each byte once.
    """

    def __init__(
        self,
        circuit: bytes,
        *,
        now: float,
        trace: Trace,
        window_bytes: int = WINDOW_BYTES_MAX,
        carried: Counter[PeerId] | None = None,
    ) -> None:
        self.circuit = circuit
        self.relay: PeerId | None = None
        self._routes: set[PeerId] = set()
        """Relays that connect the two endpoints now: two, when both endpoints have looked for one at the same time."""
        self.ended = False
        self._trace = trace
        self._receive_window = window_bytes
        self._bytes_by_relay = Counter() if carried is None else carried
        self._send_window = CircuitWindow()
        self._unacked = bytearray()
        """Bytes from offset `_acked` on: sent and unacknowledged, followed by unsent."""
        self._acked = 0
        self._next = 0
        self._sent_max = 0
        self._limit = min(window_bytes, PAYLOAD_BYTES_MAX * 8)
        """The offset up to which the other endpoint lets this one send."""
        self._expected = 0
        self._unread = 0
        self._acked_to_peer = 0
        """The acknowledgement that was sent last."""
        self._ack_at: float | None = None
        self._again_at = now
        self._liveness = CircuitLiveness(now)
        self._beat_at: float | None = None
        self._detached_at: float | None = now
        self._closing = False
        self._full = False
        self._strikes = 0

    # --- for the stream above ----------------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """Number of bytes that may be written now; after 0, `CircuitRoom` is reported when there is room again."""
        return max(0, self._send_window.window + PAYLOAD_BYTES_MAX - len(self._unacked))

    @property
    def received_bytes(self) -> int:
        """Number of bytes that have arrived in order."""
        return self._expected

    @property
    def unsettled_bytes(self) -> int:
        """Number of written bytes that have not been acknowledged."""
        return len(self._unacked)

    def write(self, data: bytes | bytearray | memoryview, now: float) -> list[Output]:
        """Send bytes; the caller checks `room` first.

        Raises:
            ValueError: more than `BUFFER_BYTES_MAX` bytes would wait.
        """
        if self.ended or self._closing:
            return []
        if len(self._unacked) + len(data) > BUFFER_BYTES_MAX:
            raise ValueError(f"a circuit keeps at most {BUFFER_BYTES_MAX} bytes")
        if not self._unacked and not self._liveness.awaits:
            self._liveness.asked(now, least_s=self._send_window.least_s)
        self._unacked += data
        self._full = self.room == 0
        return self._pump(now)

    def consumed(self, count: int, now: float) -> list[Output]:
        """The stream above has read `count` bytes, so that the other endpoint may send as many more.

        Raises:
            ValueError: more than had arrived.
        """
        if not 0 <= count <= self._unread:
            raise ValueError(f"{count} bytes read of {self._unread}")
        stuck = self._receive_window - self._unread < ACK_BYTES
        self._unread -= count
        if stuck and self._receive_window - self._unread >= ACK_BYTES:
            return self._send_ack(now)
        return []

    def close(self, now: float) -> list[Output]:
        """End the circuit after all written bytes have been acknowledged."""
        self._closing = True
        return self._finish(now)

    def abort(self, reason: str) -> list[Output]:
        """End the circuit at once and tell the other endpoint."""
        return self._end(reason, clean=False, tell=True)

    # --- for the owner of the circuit --------------------------------------------------------------------------------

    @property
    def deadline(self) -> float | None:
        """Time at which `tick` is due, Unix seconds; None: the circuit has ended or awaits nothing."""
        if self.ended:
            return None
        if self._detached_at is not None:
            return self._detached_at + DETACHED_S
        return earliest(self._ack_at, self._beat_at, self._liveness.silent_at(under_way=bool(self._unacked)))

    def attach(self, relay: PeerId, received: int, now: float) -> list[Output]:
        """Go on over a relay that connects the two endpoints now; `received` bytes have arrived at the other one."""
        if self.ended:
            return []
        if received > self._sent_max:
            return self._strike(relay, "nonsense about what has arrived", now)
        received = max(received, self._acked)
        self._routes.add(relay)
        self.relay = relay
        self._detached_at = None
        self._send_window.restart()
        self._liveness.asked(now, least_s=None)
        self._drop_acked(received)
        self._next = received
        self._limit = max(self._limit, received)
        return [*self._send_ack(now), *self._after_ack(now)]

    def detach(self, relay: PeerId, reason: str, now: float) -> list[Output]:
        """Stop using a relay that is gone, or whose link is gone."""
        if self.ended or relay not in self._routes:
            return []
        self._routes.discard(relay)
        if relay != self.relay:
            return []
        self.relay = None
        self._routes.clear()
        self._detached_at = now
        self._ack_at = self._beat_at = None
        return [RouteLost(self.circuit, relay, reason, peer_unaware=self._liveness.peer_unaware)]

    def handle(self, relay: PeerId, message: CircuitData | CircuitAck | CloseCircuit, now: float) -> list[Output]:
        """Take a message of this circuit; messages over relays that do not serve it any more are dropped."""
        if self.ended:
            return []
        if relay not in self._routes:
            self._trace.mark("nat.circuit.stale")
            return []
        self._liveness.heard(now)
        match message:
            case CircuitData():
                return self._receive_data(message, relay, now)
            case CircuitAck():
                return self._receive_ack(message, relay, now)
            case CloseCircuit(final=True, reason=reason):
                return self._end(reason, clean=reason == "", tell=False)
            case CloseCircuit(reason=reason):
                return self.detach(relay, reason, now)

    def tick(self, now: float) -> list[Output]:
        """Acknowledge, retransmit or give up the relay, as the deadline demands."""
        if self.ended:
            return []
        if self._detached_at is not None:
            late = now >= self._detached_at + DETACHED_S
            return self._end("no relay connects the peers any more", clean=False, tell=False) if late else []
        silent_at = self._liveness.silent_at(under_way=bool(self._unacked))
        if self.relay is not None and silent_at is not None and now >= silent_at:
            self._liveness.left(least_s=self._send_window.least_s)
            return self.detach(self.relay, "silent", now)
        if self._in_flight and self._send_window.tail_lost(now):
            self._trace.mark("nat.circuit.resent")
            self._next = self._acked
            self._send_window.restart()
            return [*self._send_ack(now), *self._pump(now)]
        due = (self._ack_at, self._beat_at)
        return self._send_ack(now) if any(at is not None and at <= now for at in due) else []

    # --- inside: sending ---------------------------------------------------------------------------------------------

    @property
    def _in_flight(self) -> int:
        return self._next - self._acked

    def _pump(self, now: float) -> list[Output]:
        outputs: list[Output] = []
        if self.relay is None:
            return outputs
        end = min(self._acked + len(self._unacked), self._acked + self._send_window.window, self._limit)
        while self._next < end:
            begin = self._next - self._acked
            count = min(self._send_window.payload_bytes, end - self._next)
            payload = bytes(memoryview(self._unacked)[begin : begin + count])
            outputs.append(Send(self.relay, CircuitData(self.circuit, self._next, payload)))
            self._next += count
            self._send_window.sent(self._next, now)
        self._sent_max = max(self._sent_max, self._next)
        if self._unacked and self._beat_at is None:
            self._beat_at = now + HEARTBEAT_S
        return outputs

    def _receive_ack(self, message: CircuitAck, relay: PeerId, now: float) -> list[Output]:
        if message.ack > self._sent_max:
            return self._strike(relay, "acknowledged what was never sent", now)
        if message.ack < self._acked:
            return []
        self._liveness.awaits = message.answer
        before = self._acked
        self._drop_acked(message.ack)
        self._bytes_by_relay[relay] += message.ack - before
        self._limit = max(self._limit, message.ack + message.window)
        self._send_window.acked(message.ack, message.ack - before, now)
        if message.again and self._next > message.ack and self._send_window.may_repeat(now):
            self._trace.mark("nat.circuit.resent")
            self._next = message.ack
        self._next = max(self._next, message.ack)
        echo = self._send_ack(now) if message.answer and self._beat_at is None else []
        outputs = [*echo, *self._after_ack(now)]
        if message.ack > before and not self._unacked and not self.ended:
            self._ack_at = self._ack_at or now + ACK_DELAY_S  # all has arrived: the other end need not await more
        return outputs

    def _after_ack(self, now: float) -> list[Output]:
        outputs = self._pump(now)
        if self._full and self.room:
            self._full = False
            outputs.append(CircuitRoom(self.circuit))
        return [*outputs, *self._finish(now)]

    def _drop_acked(self, ack: int) -> None:
        del self._unacked[: ack - self._acked]
        self._acked = ack

    def _finish(self, now: float) -> list[Output]:
        del now
        if not self._closing or self._unacked or self.ended:
            return []
        return self._end("", clean=True, tell=True)

    # --- inside: receiving -------------------------------------------------------------------------------------------

    def _receive_data(self, message: CircuitData, relay: PeerId, now: float) -> list[Output]:
        if message.offset > self._expected:
            self._liveness.awaits = True
            self._trace.mark("nat.circuit.gap")
            if now < self._again_at:
                return []
            self._again_at = now + self._send_window.rtt_s
            return self._send_ack(now, again=True)
        fresh = message.payload[self._expected - message.offset :]
        if not fresh:
            self._trace.mark("nat.circuit.repeated")
            self._ack_at = self._ack_at or now + ACK_DELAY_S
            return []
        if self._unread + len(fresh) > self._receive_window:
            self._trace.mark("nat.circuit.flooded")
            return []
        self._liveness.awaits = True
        self._expected += len(fresh)
        self._bytes_by_relay[relay] += len(fresh)
        self._unread += len(fresh)
        outputs: list[Output] = [CircuitBytes(self.circuit, fresh)]
        if self._expected - self._acked_to_peer >= ACK_BYTES:
            return [*outputs, *self._send_ack(now)]
        self._ack_at = self._ack_at or now + ACK_DELAY_S
        return outputs

    def _send_ack(self, now: float, *, again: bool = False) -> list[Output]:
        """Send an acknowledgement, which is the heartbeat too."""
        if self.relay is None:
            return []
        self._acked_to_peer = self._expected
        self._ack_at = None
        self._beat_at = now + HEARTBEAT_S if self._unacked else None
        receive_window = self._receive_window - self._unread
        return [Send(self.relay, CircuitAck(self.circuit, self._expected, receive_window, again, bool(self._unacked)))]

    # --- inside: the end ---------------------------------------------------------------------------------------------

    def _strike(self, relay: PeerId, reason: str, now: float) -> list[Output]:
        self._trace.mark("nat.circuit.nonsense")
        self._strikes += 1
        if self._strikes >= STRIKES_MAX:
            return self._end(reason, clean=False, tell=True)
        self.relay = relay
        self._routes.add(relay)
        return self.detach(relay, reason, now)

    def _end(self, reason: str, *, clean: bool, tell: bool) -> list[Output]:
        if self.ended:
            return []
        self.ended = True
        self._unacked.clear()
        outputs: list[Output] = [CircuitEnded(self.circuit, reason, clean)]
        if tell and self.relay is not None:
            outputs.insert(0, Send(self.relay, CloseCircuit(self.circuit, reason, final=True)))
        return outputs
