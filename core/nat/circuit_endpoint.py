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
from core.base.machine import Send, Trace, earliest
from core.nat.circuit_halves import ReceiveHalf, SendHalf
from core.nat.events import CircuitBytes, CircuitEnded, CircuitRoom
from core.nat.messages import WINDOW_BYTES_MAX, CircuitAck, CircuitData, CloseCircuit

ACK_DELAY_S: Final = 0.02
DETACHED_S: Final = 20.0
"""A circuit without a relay ends after this many seconds."""
STRIKES_MAX: Final = 4


HEARTBEAT_S: Final = 0.25
SILENT_S: Final = 0.8
"""Seconds without any message while bytes are in flight, after which the relay has failed.

Together with a call to the next relay (2.5 round trips of at most 150 ms), the agreement with the other endpoint (one
round trip between the endpoints) and the way of the first byte (half of one, at most 300 ms in all) that makes 1.7 s.
A heartbeat may be late by 0.55 s, which is one lost packet and its retransmission.
"""
RTT_SURE_S: Final = 0.3
"""`SILENT_S` holds for round trips up to this; over a longer one the first answer is awaited longer by the
difference."""
RTT_UNKNOWN_S: Final = 0.5
"""Assumed round trip over a relay that has not been measured; doubled each time that such a relay is left."""
RTT_UNKNOWN_MAX_S: Final = 4.0


class CircuitLiveness:
    """Detects silence on a circuit.

    Args:
        now: Unix seconds.
    """

    def __init__(self, now: float) -> None:
        self.awaits = False
        """The other endpoint has more bytes to send: it sends heartbeats until they have arrived."""
        self._heard_at = now
        """Time of the last message, or the earliest time at which an answer can be expected."""
        self._heard = False
        self._unknown_s = RTT_UNKNOWN_S

    @property
    def peer_unaware(self) -> bool:
        """Whether the other endpoint may not know that bytes are in flight, and then does not watch."""
        return not (self._heard or self.awaits)

    def heard(self, now: float) -> None:
        """A message of the other endpoint has arrived."""
        self._heard_at, self._heard = now, True

    def asked(self, now: float, *, least_s: float | None) -> None:
        """Something is sent that wants an answer, after a time in which nothing was.

        Args:
            now: Unix seconds.
            least_s: The shortest round trip, seconds; None: not known.
        """
        round_trip_s = self._unknown_s if least_s is None else least_s
        self._heard_at, self._heard = now + max(0.0, round_trip_s - RTT_SURE_S), False

    def silent_at(self, *, under_way: bool) -> float | None:
        """Time at which the relay counts as failed, Unix seconds; None: nothing is awaited.

        Args:
            under_way: This endpoint has bytes in flight.
        """
        return self._heard_at + SILENT_S if under_way or self.awaits else None

    def left(self, *, least_s: float | None) -> None:
        """The relay was given up; without a measurement its round trip may only have been long."""
        if least_s is None:
            self._unknown_s = min(RTT_UNKNOWN_MAX_S, 2 * self._unknown_s)


@dataclass(frozen=True, slots=True)
class RouteLost:
    """The circuit has lost its relay; the owner of the circuit attaches it to another one."""

    circuit: bytes
    relay: PeerId
    reason: str
    peer_unaware: bool = False
    """The other endpoint may not know that bytes are under way, and then does not look for a relay."""


EndpointOutput = Send[CircuitData | CircuitAck | CloseCircuit] | CircuitBytes | CircuitRoom | CircuitEnded | RouteLost


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
        self.sending = SendHalf(window_bytes, trace=trace)
        self.receiving = ReceiveHalf(window_bytes)
        self.ended = False
        self._routes: set[PeerId] = set()
        """Relays that connect the two endpoints now: two, when both endpoints have looked for one at the same time."""
        self._trace = trace
        self._bytes_by_relay = Counter() if carried is None else carried
        self._liveness = CircuitLiveness(now)
        self._ack_at: float | None = None
        self._beat_at: float | None = None
        self._again_at = now
        """Time from which another gap is reported."""
        self._detached_at: float | None = now
        self._closing = False
        self._full = False
        self._strikes = 0

    # --- for the stream above ----------------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview, now: float) -> list[EndpointOutput]:
        """Send bytes; the caller checks the room of the sending half first.

        Raises:
            ValueError: more bytes would wait than the sending half keeps.
        """
        if self.ended or self._closing:
            return []
        if not self.sending.unsettled_bytes and not self._liveness.awaits:
            self._liveness.asked(now, least_s=self.sending.line.least_s)
        self.sending.write(data)
        self._full = self.sending.room == 0
        return self._pump(now)

    def consumed(self, count: int, now: float) -> list[EndpointOutput]:
        """The stream above has read `count` bytes, so that the other endpoint may send as many more.

        Raises:
            ValueError: more than had arrived.
        """
        return self._send_ack(now) if self.receiving.consumed(count) else []

    def close(self, now: float) -> list[EndpointOutput]:
        """End the circuit after all written bytes have been acknowledged."""
        self._closing = True
        return [] if self.ended else self._pump(now)

    def end(self, reason: str, *, clean: bool = False, tell: bool = True) -> list[EndpointOutput]:
        """End the circuit at once.

        Args:
            reason: Why; empty for a clean end.
            clean: Everything has arrived.
            tell: Tell the other endpoint.
        """
        if self.ended:
            return []
        self.ended = True
        self.sending.end()
        outputs: list[EndpointOutput] = [CircuitEnded(self.circuit, reason, clean)]
        if tell and self.relay is not None:
            outputs.insert(0, Send(self.relay, CloseCircuit(self.circuit, reason, final=True)))
        return outputs

    # --- for the owner of the circuit --------------------------------------------------------------------------------

    @property
    def deadline(self) -> float | None:
        """Time at which `tick` is due, Unix seconds; None: the circuit has ended or awaits nothing."""
        if self.ended:
            return None
        if self._detached_at is not None:
            return self._detached_at + DETACHED_S
        silent_at = self._liveness.silent_at(under_way=self.sending.unsettled_bytes > 0)
        return earliest(self._ack_at, self._beat_at, silent_at)

    def attach(self, relay: PeerId, received: int, now: float) -> list[EndpointOutput]:
        """Go on over a relay that connects the two endpoints now; `received` bytes have arrived at the other one."""
        if self.ended:
            return []
        if received > self.sending.sent_max:
            return self._strike(relay, "nonsense about what has arrived", now)
        self._routes.add(relay)
        self.relay = relay
        self._detached_at = None
        self._liveness.asked(now, least_s=None)
        self.sending.go_on(received)
        return [*self._send_ack(now), *self._pump(now)]

    def detach(self, relay: PeerId, reason: str, now: float) -> list[EndpointOutput]:
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

    def handle(
        self, relay: PeerId, message: CircuitData | CircuitAck | CloseCircuit, now: float
    ) -> list[EndpointOutput]:
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
                return self.end(reason, clean=reason == "", tell=False)
            case CloseCircuit(reason=reason):
                return self.detach(relay, reason, now)

    def tick(self, now: float) -> list[EndpointOutput]:
        """Acknowledge, retransmit or give up the relay, as the deadline demands."""
        if self.ended:
            return []
        if self._detached_at is not None:
            late = now >= self._detached_at + DETACHED_S
            return self.end("no relay connects the peers any more", tell=False) if late else []
        silent_at = self._liveness.silent_at(under_way=self.sending.unsettled_bytes > 0)
        if self.relay is not None and silent_at is not None and now >= silent_at:
            self._liveness.left(least_s=self.sending.line.least_s)
            return self.detach(self.relay, "silent", now)
        if self.sending.begins_again(now):
            return [*self._send_ack(now), *self._pump(now)]
        due = (self._ack_at, self._beat_at)
        return self._send_ack(now) if any(at is not None and at <= now for at in due) else []

    # --- inside ------------------------------------------------------------------------------------------------------

    def _pump(self, now: float) -> list[EndpointOutput]:
        """Send what may go, tell the stream above of room, and end a circuit that closes and has nothing left."""
        outputs: list[EndpointOutput] = []
        if self.relay is not None:
            for offset, payload in self.sending.payloads(now):
                outputs.append(Send(self.relay, CircuitData(self.circuit, offset, payload)))
            if self.sending.unsettled_bytes and self._beat_at is None:
                self._beat_at = now + HEARTBEAT_S
        if self._full and self.sending.room:
            self._full = False
            outputs.append(CircuitRoom(self.circuit))
        if self._closing and not self.sending.unsettled_bytes:
            outputs += self.end("", clean=True)
        return outputs

    def _receive_ack(self, message: CircuitAck, relay: PeerId, now: float) -> list[EndpointOutput]:
        if message.ack > self.sending.sent_max:
            return self._strike(relay, "acknowledged what was never sent", now)
        if message.ack < self.sending.acked:
            return []
        self._liveness.awaits = message.answer
        count = self.sending.acknowledged(message, now)
        self._bytes_by_relay[relay] += count
        echo = self._send_ack(now) if message.answer and self._beat_at is None else []
        outputs = [*echo, *self._pump(now)]
        if count and not self.sending.unsettled_bytes and not self.ended:
            self._ack_at = self._ack_at or now + ACK_DELAY_S  # all has arrived: the other end need not await more
        return outputs

    def _receive_data(self, message: CircuitData, relay: PeerId, now: float) -> list[EndpointOutput]:
        missing = message.offset - self.receiving.arrived
        if missing > 0:
            self._liveness.awaits = True
            self._trace.mark("nat.circuit.gap")
            if now < self._again_at:
                return []
            self._again_at = now + self.sending.line.rtt_s
            return self._send_ack(now, again=True)
        fresh = message.payload[-missing:]
        if not fresh:
            self._trace.mark("nat.circuit.repeated")
            self._ack_at = self._ack_at or now + ACK_DELAY_S
            return []
        if len(fresh) > self.receiving.window:
            self._trace.mark("nat.circuit.flooded")
            return []
        self._liveness.awaits = True
        self._bytes_by_relay[relay] += len(fresh)
        self.receiving.take(fresh)
        outputs: list[EndpointOutput] = [CircuitBytes(self.circuit, fresh)]
        if self.receiving.owes_ack:
            return [*outputs, *self._send_ack(now)]
        self._ack_at = self._ack_at or now + ACK_DELAY_S
        return outputs

    def _send_ack(self, now: float, *, again: bool = False) -> list[EndpointOutput]:
        """Send an acknowledgement, which is the heartbeat too."""
        if self.relay is None:
            return []
        unsettled = self.sending.unsettled_bytes > 0
        self._ack_at = None
        self._beat_at = now + HEARTBEAT_S if unsettled else None
        return [Send(self.relay, self.receiving.ack(self.circuit, again=again, answer=unsettled))]

    def _strike(self, relay: PeerId, reason: str, now: float) -> list[EndpointOutput]:
        """Leave a relay that invents numbers; after `STRIKES_MAX` such inventions, end the circuit."""
        self._trace.mark("nat.circuit.nonsense")
        self._strikes += 1
        if self._strikes >= STRIKES_MAX:
            return self.end(reason)
        self.relay = relay
        self._routes.add(relay)
        return self.detach(relay, reason, now)
