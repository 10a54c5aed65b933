"""Relay service: carries circuits for peers that nobody can call, within limits that the person has set."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from core.base.bounds import remember
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace, earliest
from core.base.wire import Message
from core.nat.fair_queue import FairQueue, cost_bytes
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

    @property
    def ends_at(self) -> float:
        """Time at which it ends unless it is used, Unix seconds."""
        return self.used_at + (IDLE_S if self.accepted else PENDING_S)

    def other(self, peer: PeerId) -> PeerId | None:
        """The endpoint opposite to `peer`; None: `peer` is not an endpoint."""
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


class _Usages:
    """Recent use of the relay by each of the last `USAGES_MAX` peers."""

    def __init__(self) -> None:
        self._usages: OrderedDict[PeerId, _Usage] = OrderedDict()

    def of(self, peer: PeerId, now: float) -> _Usage:
        """The peer's use within the present minute and hour."""
        usage = self._usages.pop(peer, None)
        if usage is None or now >= usage.hour_at + HOUR_S:
            usage = _Usage(now, now)
        if now >= usage.minute_at + MINUTE_S:
            usage.minute_at, usage.opens = now, 0
        remember(self._usages, peer, usage, USAGES_MAX)
        return usage


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
        self._circuits: dict[bytes, _RelayedCircuit] = {}
        self._reservations: dict[PeerId, float] = {}
        self._usages = _Usages()
        self.queue = FairQueue(settings.rate_bytes_per_s)
        """Bytes that wait to be passed on."""
        self.peak_circuits = 0

    @property
    def load(self) -> int:
        """Used part of the limits, percent."""
        most = self.settings.circuits
        if not most:
            return 100
        places = len(self._reservations) / max(1, self.settings.reservations)
        held = self.queue.held_bytes / max(1, self.settings.held_bytes)
        return min(100, int(100 * max(self.circuits / most, held, places)))

    @property
    def circuits(self) -> int:
        """Number of circuits that are carried now."""
        return sum(circuit.carried for circuit in self._circuits.values())

    @property
    def deadline(self) -> float | None:
        """Time at which a `Tick` is due, Unix seconds; None: nothing is pending."""
        ends = (circuit.ends_at for circuit in self._circuits.values())
        return earliest(*ends, *self._reservations.values(), self.queue.deadline)

    def handle(self, event: Received[Any] | Tick | Lost, now: float) -> list[Send[Message]]:
        """Advance by one event.

        Args:
            event: A message, the loss of a link, or the deadline.
            now: Unix seconds.
        """
        match event:
            case Received(sender=sender, message=Reserve()):
                return self._reserve(sender, now)
            case Received(sender=sender, message=OpenCircuit() as message):
                return self._open(sender, message, now)
            case Received(sender=sender, message=AcceptCircuit() as message):
                return self._accept(sender, message, now)
            case Received(sender=sender, message=CircuitData() as message):
                return self._carry(sender, message, now)
            case Received(sender=sender, message=CircuitAck() | CloseCircuit() as message):
                return self._pass_on(sender, message, now)
            case Tick():
                self._reservations = {peer: until for peer, until in self._reservations.items() if until > now}
                idle = [name for name, circuit in self._circuits.items() if circuit.ends_at <= now]
                return [*self.queue.release(now), *self._drop(idle, "idle")]
            case Lost(peer=peer):
                return self._gone(peer)
        return []

    def limit(self, settings: RelaySettings) -> list[Send[Message]]:
        """Apply other limits; with `circuits=0` all holders are told to look elsewhere, and all circuits end."""
        self.settings = settings
        self.queue.limit(settings.rate_bytes_per_s)
        if settings.circuits:
            return []
        outputs: list[Send[Message]] = [Send(peer, Unreserved("this relay closes")) for peer in self._reservations]
        self._reservations.clear()
        return outputs + self._drop(list(self._circuits), "this relay closes")

    # --- inside ------------------------------------------------------------------------------------------------------

    def _reserve(self, sender: PeerId, now: float) -> list[Send[Message]]:
        full = len(self._reservations) >= self.settings.reservations and sender not in self._reservations
        if full or not self.settings.circuits:
            return [Send(sender, Unreserved("full" if full else "not a relay"))]
        self._reservations[sender] = now + self.settings.lifetime_s
        return [Send(sender, Reserved(self.settings.lifetime_s, self.seen.get(sender), self.load))]

    def _open(self, sender: PeerId, message: OpenCircuit, now: float) -> list[Send[Message]]:
        to = PeerId(message.to)
        usage = self._usages.of(sender, now)
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
        self.queue.drop(message.circuit)
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
            and self._usages.of(sender, now).moved_bytes < settings.bytes_per_peer_and_hour
        )

    def _accept(self, sender: PeerId, message: AcceptCircuit, now: float) -> list[Send[Message]]:
        circuit = self._circuits.get(message.circuit)
        if circuit is None or circuit.holder != sender or circuit.accepted:
            self._trace.mark("nat.relay.stray")
            return []
        circuit.accepted, circuit.used_at = True, now
        if not circuit.carried:
            del self._circuits[message.circuit]
        accepted = CircuitAccepted(message.circuit, message.offer, message.received, carried=circuit.carried)
        return [Send(circuit.opener, accepted)]

    def _carry(self, sender: PeerId, message: CircuitData, now: float) -> list[Send[Message]]:
        circuit = self._circuits.get(message.circuit)
        to = circuit.other(sender) if circuit is not None else None
        if circuit is None or to is None or not (circuit.accepted and circuit.carried):
            self._trace.mark("nat.relay.late" if circuit is None else "nat.relay.stray")
            return [] if circuit is not None else [Send(sender, CloseCircuit(message.circuit, "unknown", final=False))]
        size = cost_bytes(message)
        over = self.queue.held_bytes_of(message.circuit) + size > self.settings.held_bytes_per_circuit
        if over or self.queue.held_bytes + size > self.settings.held_bytes:
            self._trace.mark("nat.relay.dropped")
            return []
        usage = self._usages.of(circuit.opener, now)
        usage.moved_bytes += size
        if usage.moved_bytes > self.settings.bytes_per_peer_and_hour:
            self._trace.mark("nat.relay.used_up")
            return self._drop([message.circuit], "used up")
        circuit.used_at = now
        self.queue.add(to, message)
        return [*self.queue.release(now)]

    def _pass_on(self, sender: PeerId, message: CircuitAck | CloseCircuit, now: float) -> list[Send[Message]]:
        circuit = self._circuits.get(message.circuit)
        to = circuit.other(sender) if circuit is not None else None
        if circuit is None or to is None:
            self._trace.mark("nat.relay.late" if circuit is None else "nat.relay.stray")
            return []
        if isinstance(message, CloseCircuit):
            del self._circuits[message.circuit]
            self.queue.drop(message.circuit)
        elif not circuit.accepted:
            return []
        else:
            circuit.used_at = now
        return [Send(to, message)]

    # --- ends --------------------------------------------------------------------------------------------------------

    def _gone(self, peer: PeerId) -> list[Send[Message]]:
        self._reservations.pop(peer, None)
        self.seen.pop(peer, None)
        theirs = [name for name, circuit in self._circuits.items() if peer in {circuit.opener, circuit.holder}]
        return [output for output in self._drop(theirs, "the other end has gone") if output.to != peer]

    def _drop(self, names: Iterable[bytes], reason: str) -> list[Send[Message]]:
        """End circuits, and tell both endpoints of each."""
        outputs: list[Send[Message]] = []
        for name in names:
            circuit = self._circuits.pop(name)
            self.queue.drop(name)
            shut = CloseCircuit(name, reason, final=False)
            outputs += [Send(circuit.opener, shut), Send(circuit.holder, shut)]
        return outputs
