"""Relay service: carries circuits for peers that nobody can call, within limits that the person has set."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.trace import Trace
from core.nat.messages import (
    AcceptCircuit,
    Address,
    CircuitAccepted,
    CircuitAck,
    CircuitData,
    CircuitRequested,
    CloseCircuit,
    OpenCircuit,
    Reserve,
    Reserved,
    Unreserved,
)

PENDING_S: Final = 10.0
IDLE_S: Final = 180.0
OPENS_PER_PEER_MAX: Final = 30
"""Number of circuits that one peer may open within a minute."""
USAGES_MAX: Final = 2048
HOUR_S: Final = 3600.0
MINUTE_S: Final = 60.0
BURST_S: Final = 0.25
RELAY_MESSAGES: Final = (Reserve, OpenCircuit, AcceptCircuit, CircuitData, CircuitAck, CloseCircuit)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaySettings:
    """Limits of the relay service.  `circuits=0`: nothing is carried."""

    circuits: int = 16
    circuits_per_peer: int = 2
    """Number of circuits that one peer may have opened."""
    circuits_per_holder: int = 8
    """Number of circuits that may lead to one peer with a reservation."""
    reservations: int = 64
    rate_bytes_per_s: float = 1_000_000.0
    bytes_per_peer_and_hour: int = 2 * 1024**3
    held_bytes: int = 16 * 1024 * 1024
    """Upper bound on queued bytes of all circuits together."""
    held_bytes_per_circuit: int = 5 * 1024 * 1024
    lifetime_s: int = 600


@dataclass(slots=True)
class _RelayedCircuit:
    """A circuit as its relay sees it."""

    opener: PeerId
    holder: PeerId
    carried: bool
    used_at: float
    accepted: bool = False
    queue: deque[tuple[PeerId, CircuitData]] = field(default_factory=deque)
    held_bytes: int = 0

    def other(self, peer: PeerId) -> PeerId | None:
        """The endpoint opposite to `peer`; None: `peer` is no endpoint."""
        if peer == self.opener:
            return self.holder
        return self.opener if peer == self.holder else None


@dataclass(slots=True)
class _Usage:
    """A peer's recent use of the relay, against its limits."""

    hour_at: float
    minute_at: float
    moved_bytes: int = 0
    opens: int = 0


class RelayService:
    """Grants reservations and carries circuits.

    Args:
        settings: The limits.
        trace: Counts violations by others.
    """

    def __init__(self, settings: RelaySettings, *, trace: Trace) -> None:
        self.settings = settings
        self.seen: dict[PeerId, Address] = {}
        """Source address of each link; kept by the owner."""
        self._trace = trace
        self._circuits: OrderedDict[bytes, _RelayedCircuit] = OrderedDict()
        self._reservations: dict[PeerId, float] = {}
        self._usages: OrderedDict[PeerId, _Usage] = OrderedDict()
        self._tokens = settings.rate_bytes_per_s * BURST_S
        self._tokens_at: float | None = None
        self.held_bytes = 0
        """Queued bytes of all circuits together."""
        self.moved_bytes = 0
        self.peak_circuits = 0

    @property
    def load(self) -> int:
        """Used part of the limits, percent."""
        most = self.settings.circuits
        if not most:
            return 100
        carried = sum(circuit.carried for circuit in self._circuits.values())
        places = len(self._reservations) / max(1, self.settings.reservations)
        held = self.held_bytes / max(1, self.settings.held_bytes)
        return min(100, int(100 * max(carried / most, held, places)))

    @property
    def circuits(self) -> int:
        """Number of circuits that are carried now."""
        return sum(circuit.carried for circuit in self._circuits.values())

    @property
    def deadline(self) -> float | None:
        """Time at which a `Tick` is due, Unix seconds; None: nothing is pending."""
        ends = earliest(
            *(c.used_at + (IDLE_S if c.accepted else PENDING_S) for c in self._circuits.values()),
            *self._reservations.values(),
        )
        return earliest(ends, self._next_release())

    def handle(self, event: Received[Any] | Tick | Lost, now: float) -> list[Send[Any]]:
        """Advance by one event.

        Args:
            event: A message, the loss of a link, or the deadline.
            now: Unix seconds.
        """
        match event:
            case Received(sender=sender, message=message):
                return self._received(sender, message, now)
            case Tick():
                return [*self._release(now), *self._expire(now)]
            case Lost(peer=peer):
                return self._gone(peer)

    def limit(self, settings: RelaySettings) -> list[Send[Any]]:
        """Apply other limits; with `circuits=0` all holders are told to look elsewhere."""
        self.settings = settings
        return [] if settings.circuits else self.stop()

    def stop(self) -> list[Send[Any]]:
        """End all reservations and circuits, since the person no longer wants to relay."""
        outputs = [Send(peer, Unreserved("this relay closes")) for peer in self._reservations]
        self._reservations.clear()
        return [*outputs, *(out for name in list(self._circuits) for out in self._drop(name, "this relay closes"))]

    # --- inside ------------------------------------------------------------------------------------------------------

    def _received(self, sender: PeerId, message: object, now: float) -> list[Send[Any]]:
        match message:
            case Reserve():
                return self._reserve(sender, now)
            case OpenCircuit():
                return self._open(sender, message, now)
            case AcceptCircuit():
                return self._accept(sender, message, now)
            case CircuitData():
                return self._carry(sender, message, now)
            case CircuitAck() | CloseCircuit():
                return self._pass_on(sender, message, now)
            case _:
                return []

    def _reserve(self, sender: PeerId, now: float) -> list[Send[Any]]:
        full = len(self._reservations) >= self.settings.reservations and sender not in self._reservations
        if full or not self.settings.circuits:
            return [Send(sender, Unreserved("full" if full else "not a relay"))]
        self._reservations[sender] = now + self.settings.lifetime_s
        return [Send(sender, Reserved(self.settings.lifetime_s, self.seen.get(sender), self.load))]

    def _open(self, sender: PeerId, message: OpenCircuit, now: float) -> list[Send[Any]]:
        to = PeerId(message.to)
        usage = self._usage(sender, now)
        usage.opens += 1
        known = self._circuits.get(message.circuit)
        mine = known is not None and {known.opener, known.holder} == {sender, to}
        if sender == to or usage.opens > OPENS_PER_PEER_MAX or (known is not None and not mine):
            self._trace.mark("nat.relay.refused")
            return [Send(sender, CloseCircuit(message.circuit, "refused", final=False))]
        if self._reservations.get(to, 0.0) <= now:
            return [Send(sender, CloseCircuit(message.circuit, "no reservation", final=False))]
        carried = message.carry and (mine or self._has_room(sender, to, now))
        if message.carry and not carried:
            self._trace.mark("nat.relay.full")
        if (not carried and message.offer is None) or len(self._circuits) >= 2 * self.settings.circuits + 16:
            return [Send(sender, CloseCircuit(message.circuit, "full", final=False))]
        if known is not None:
            self.held_bytes -= known.held_bytes
        self._circuits[message.circuit] = _RelayedCircuit(sender, to, carried, now)
        self.peak_circuits = max(self.peak_circuits, self.circuits)
        opening = CircuitRequested(
            message.circuit, sender, message.offer, resume=message.resume, received=message.received, carried=carried
        )
        return [Send(to, opening)]

    def _has_room(self, sender: PeerId, to: PeerId, now: float) -> bool:
        settings, circuits = self.settings, [c for c in self._circuits.values() if c.carried]
        return (
            len(circuits) < settings.circuits
            and sum(c.opener == sender for c in circuits) < settings.circuits_per_peer
            and sum(c.holder == to for c in circuits) < settings.circuits_per_holder
            and self._usage(sender, now).moved_bytes < settings.bytes_per_peer_and_hour
        )

    def _accept(self, sender: PeerId, message: AcceptCircuit, now: float) -> list[Send[Any]]:
        circuit = self._circuits.get(message.circuit)
        if circuit is None or circuit.holder != sender or circuit.accepted:
            self._trace.mark("nat.relay.stray")
            return []
        circuit.accepted, circuit.used_at = True, now
        if not circuit.carried:
            del self._circuits[message.circuit]
        accepted = CircuitAccepted(message.circuit, message.offer, message.received, carried=circuit.carried)
        return [Send(circuit.opener, accepted)]

    def _carry(self, sender: PeerId, message: CircuitData, now: float) -> list[Send[Any]]:
        circuit = self._circuits.get(message.circuit)
        to = circuit.other(sender) if circuit is not None else None
        if circuit is None or to is None or not (circuit.accepted and circuit.carried):
            self._trace.mark("nat.relay.late" if circuit is None else "nat.relay.stray")
            return [] if circuit is not None else [Send(sender, CloseCircuit(message.circuit, "unknown", final=False))]
        size = len(message.payload)
        over = circuit.held_bytes + size > self.settings.held_bytes_per_circuit
        if over or self.held_bytes + size > self.settings.held_bytes:
            self._trace.mark("nat.relay.dropped")
            return []
        usage = self._usage(circuit.opener, now)
        usage.moved_bytes += size
        if usage.moved_bytes > self.settings.bytes_per_peer_and_hour:
            self._trace.mark("nat.relay.used_up")
            return self._drop(message.circuit, "used up")
        circuit.used_at = now
        circuit.queue.append((to, message))
        circuit.held_bytes += size
        self.held_bytes += size
        return self._release(now)

    def _pass_on(self, sender: PeerId, message: CircuitAck | CloseCircuit, now: float) -> list[Send[Any]]:
        circuit = self._circuits.get(message.circuit)
        to = circuit.other(sender) if circuit is not None else None
        if circuit is None or to is None:
            self._trace.mark("nat.relay.late" if circuit is None else "nat.relay.stray")
            return []
        if isinstance(message, CloseCircuit):
            self._forget(message.circuit)
        elif not circuit.accepted:
            return []
        else:
            circuit.used_at = now
        return [Send(to, message)]

    # --- rate --------------------------------------------------------------------------------------------------------

    def _next_release(self) -> float | None:
        if not self.held_bytes or self._tokens_at is None:
            return None
        return self._tokens_at + max(0.0, -self._tokens / self.settings.rate_bytes_per_s) + 0.001

    def _release(self, now: float) -> list[Send[Any]]:
        """Pass on what the rate allows, circuits in turn."""
        rate = self.settings.rate_bytes_per_s
        since_s = 0.0 if self._tokens_at is None else max(0.0, now - self._tokens_at)
        self._tokens = min(rate * BURST_S, self._tokens + rate * since_s)
        self._tokens_at = now
        outputs: list[Send[Any]] = []
        waiting = deque((name, circuit) for name, circuit in self._circuits.items() if circuit.queue)
        while waiting and self._tokens > 0:
            name, circuit = waiting.popleft()
            self._circuits.move_to_end(name)
            to, message = circuit.queue.popleft()
            size = len(message.payload)
            circuit.held_bytes -= size
            self.held_bytes -= size
            self._tokens -= size
            self.moved_bytes += size
            outputs.append(Send(to, message))
            if circuit.queue:
                waiting.append((name, circuit))
        return outputs

    # --- ends --------------------------------------------------------------------------------------------------------

    def _expire(self, now: float) -> list[Send[Any]]:
        for peer in [peer for peer, until in self._reservations.items() if until <= now]:
            del self._reservations[peer]
        idle = [
            name
            for name, circuit in self._circuits.items()
            if circuit.used_at + (IDLE_S if circuit.accepted else PENDING_S) <= now
        ]
        return [output for name in idle for output in self._drop(name, "idle")]

    def _gone(self, peer: PeerId) -> list[Send[Any]]:
        self._reservations.pop(peer, None)
        self.seen.pop(peer, None)
        theirs = [name for name, circuit in self._circuits.items() if peer in {circuit.opener, circuit.holder}]
        outputs = [output for name in theirs for output in self._drop(name, "the other end has gone")]
        return [output for output in outputs if output.to != peer]

    def _drop(self, name: bytes, reason: str) -> list[Send[Any]]:
        circuit = self._circuits[name]
        self._forget(name)
        shut = CloseCircuit(name, reason, final=False)
        return [Send(circuit.opener, shut), Send(circuit.holder, shut)]

    def _forget(self, name: bytes) -> None:
        circuit = self._circuits.pop(name)
        self.held_bytes -= circuit.held_bytes

    def _usage(self, peer: PeerId, now: float) -> _Usage:
        usage = self._usages.pop(peer, None)
        if usage is None or now >= usage.hour_at + HOUR_S:
            usage = _Usage(now, now)
        if now >= usage.minute_at + MINUTE_S:
            usage.minute_at, usage.opens = now, 0
        self._usages[peer] = usage
        if len(self._usages) > USAGES_MAX:
            self._usages.popitem(last=False)
        return usage
