"""Everything about being reached and reaching, as one machine with one deadline."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.trace import Trace
from core.nat.circuits import CircuitFailed, Circuits, PunchAgreed
from core.nat.dials import Dials
from core.nat.discovery import NatDiscovery
from core.nat.events import (
    AddressesChanged,
    AddressSeen,
    AttemptFailed,
    CheckReachability,
    DialBackTried,
    LinkUp,
    PeerRecordFound,
)
from core.nat.messages import (
    AcceptCircuit,
    Address,
    AskObservedAddress,
    CircuitAccepted,
    CircuitAck,
    CircuitData,
    CircuitRequested,
    CloseCircuit,
    DialBack,
    DialBackDatagram,
    DialBackResult,
    Mirror,
    Mirrored,
    ObservedAddress,
    OpenCircuit,
    Reserve,
    Reserved,
    Unreserved,
)
from core.nat.mirror import Mirroring
from core.nat.peer_record import PeerRecord
from core.nat.reachability import OwnReach
from core.nat.reachability_probes import ReachabilityProbes
from core.nat.relay import RelayService, RelaySettings
from core.nat.reservations import Reservations


@dataclass(frozen=True, slots=True, kw_only=True)
class NatSettings:
    """What a person may decide."""

    relay: RelaySettings = field(default_factory=RelaySettings)
    """`circuits=0`: be no relay."""


class Traversal:
    """See the module's docstring, and `core.nat.events` for what is told and asked.

    Args:
        me: Our id.
        random: For ids, nonces and choices.
        trace: For what others do wrong.
        settings: See there.
    """

    def __init__(self, me: PeerId, *, random: Random, trace: Trace, settings: NatSettings | None = None) -> None:
        self.mirroring = Mirroring(random=random)
        self.probes = ReachabilityProbes(random=random, trace=trace)
        self.reservations = Reservations(random=random)
        self.relay = RelayService((settings or NatSettings()).relay, trace=trace)
        self._discovery = NatDiscovery(
            mirroring=self.mirroring, probes=self.probes, reservations=self.reservations, relay=self.relay
        )
        self.circuits = Circuits(
            me, random=random, trace=trace, offer=self._discovery.offer, relays=lambda: self.reservations.held
        )
        self._dials = Dials(me, random=random, circuits=self.circuits, peer_record=lambda: self.peer_record)
        self._trace = trace

    # --- what is known of ourselves ----------------------------------------------------------------------------------

    @property
    def reach(self) -> OwnReach:
        """How others can reach us."""
        return self._discovery.reach

    @property
    def peer_record(self) -> PeerRecord:
        """What we say of where we are."""
        return self._discovery.peer_record

    # --- for the owner -----------------------------------------------------------------------------------------------

    def dial(self, peer: PeerId, now: float) -> list[Any]:
        """Find a way to that peer; `DialEnded` follows."""
        return self._settle(self._dials.dial(peer, now), now)

    def volunteer(self, peer: PeerId, address: Address, now: float, *, relay: bool, trusted: bool = False) -> list[Any]:
        """A peer that answers at this address; it may look at us and call us back, and carry for us if `relay`.

        `trusted`: it is the collaboration's own, and is believed where there is nobody else.
        """
        self.mirroring.candidate(peer, address)
        self.probes.candidate(peer, address, trusted=trusted)
        if relay:
            self.reservations.candidate(peer, address)
        return self._settle(self.reservations.settle(now), now)

    def carry(self, limits: RelaySettings, now: float) -> list[Any]:
        """Our person allows other things than before to those who want to be carried."""
        return self._settle(self.relay.limit(limits), now)

    def room(self, circuit: bytes) -> int:
        """How many bytes may be written to the circuit now."""
        endpoint = self.circuits.endpoint(circuit)
        return 0 if endpoint is None else endpoint.room

    def write(self, circuit: bytes, data: bytes, now: float) -> list[Any]:
        """Send bytes on a circuit; one that has ended swallows them, and `CircuitEnded` has said so."""
        endpoint = self.circuits.endpoint(circuit)
        return [] if endpoint is None else self.circuits.settle(endpoint.write(data, now), now)

    def consumed(self, circuit: bytes, count: int, now: float) -> list[Any]:
        """The stream over the circuit has read so many bytes."""
        endpoint = self.circuits.endpoint(circuit)
        return [] if endpoint is None else self.circuits.settle(endpoint.consumed(count, now), now)

    def close(self, circuit: bytes, now: float) -> list[Any]:
        """End the circuit after what was written has arrived."""
        endpoint = self.circuits.endpoint(circuit)
        return [] if endpoint is None else self.circuits.settle(endpoint.close(now), now)

    def abort(self, circuit: bytes, reason: str, now: float) -> list[Any]:
        """End the circuit at once."""
        endpoint = self.circuits.endpoint(circuit)
        return [] if endpoint is None else self.circuits.settle(endpoint.abort(reason), now)

    # --- the machine -------------------------------------------------------------------------------------------------

    @property
    def deadline(self) -> float | None:
        """The first of all parts'."""
        return earliest(
            self._discovery.deadline,
            self.mirroring.deadline,
            self.probes.deadline,
            self.reservations.deadline,
            self.relay.deadline,
            self.circuits.deadline,
            self._dials.deadline,
        )

    def handle(self, event: Any, now: float) -> Sequence[Any]:
        """Advance by one event: Received, Tick, Lost, or one of `core.nat.events`."""
        match event:
            case Received(sender=sender, message=CircuitData() | CircuitAck() as message):
                return self._received(sender, message, now)
            case Received(sender=sender, message=message):
                outputs = self._received(sender, message, now)
            case Tick():
                outputs = self._tick(now)
            case Lost(peer=peer, reason=reason):
                outputs = self._lost(peer, reason, now)
            case _:
                outputs = self._told(event, now)
        return self._settle(outputs, now)

    def _told(self, event: Any, now: float) -> list[Any]:
        match event:
            case AddressesChanged():
                if not self._discovery.locate(event, now):
                    return []
                self._dials.network_changed(now)
                return list(self.mirroring.tick(now))
            case LinkUp():
                return [*self._discovery.linked(event), *self._dials.link_up(event, now)]
            case AttemptFailed(attempt=attempt, reason=reason):
                return self._dials.failed(attempt, reason, now)
            case PeerRecordFound(peer=peer, peer_record=peer_record):
                return self._dials.peer_record_found(peer, peer_record, now)
            case DialBackTried(nonce=nonce, tcp=tcp):
                return list(self.probes.tried(nonce, tcp=tcp))
            case CheckReachability():
                self.mirroring.again(now)
                self.probes.again(now)
                return [*self.mirroring.tick(now), *self.probes.tick(now)]
            case AddressSeen(peer=peer, address=address):
                self.mirroring.seen(peer, address)
        return []

    def _tick(self, now: float) -> list[Any]:
        outputs: list[Any] = [*self.mirroring.tick(now), *self.probes.tick(now)]
        outputs += self.reservations.handle(Tick(), now)
        due = self.relay.deadline
        outputs += self.relay.handle(Tick(), now) if due is not None and due <= now else []
        outputs += self.circuits.tick(now)
        outputs += self._dials.tick(now)
        return outputs

    def _lost(self, peer: PeerId, reason: str, now: float) -> list[Any]:
        self._discovery.lost(peer)
        self._dials.lost(peer)
        outputs: list[Any] = [*self.reservations.handle(Lost(peer, reason), now)]
        outputs += self.relay.handle(Lost(peer, reason), now)
        return [*outputs, *self.circuits.lost(peer, reason, now)]

    def _received(self, sender: PeerId, message: Any, now: float) -> list[Any]:
        match message:
            case Mirror() | Mirrored() | DialBack() | DialBackDatagram() | DialBackResult():
                return self._datagram(sender, message, now)
            case AskObservedAddress() | ObservedAddress() | Reserved() | Unreserved():
                return self._about_us(sender, message, now)
            case Reserve() | OpenCircuit() | AcceptCircuit():
                return list(self.relay.handle(Received(sender, message), now))
            case CircuitRequested() | CircuitAccepted():
                return self.circuits.received(sender, message, now)
            case CircuitData(circuit=circuit) | CircuitAck(circuit=circuit) | CloseCircuit(circuit=circuit):
                if circuit in self.circuits:
                    return self.circuits.received(sender, message, now)
                return list(self.relay.handle(Received(sender, message), now))
            case _:
                return []

    def _datagram(self, sender: PeerId, message: Any, now: float) -> list[Any]:
        match message:
            case Mirror():
                return list(self.mirroring.asked(sender, message, self.relay.load, now))
            case Mirrored():
                rtt_s, outputs = self.mirroring.answered(sender, message, now)
                if rtt_s is not None:
                    self.reservations.measured(sender, rtt_s, message.load)
                return outputs
        return self.probes.received(sender, message, self.mirroring.address_of(sender), now)

    def _about_us(self, sender: PeerId, message: Any, now: float) -> list[Any]:
        match message:
            case AskObservedAddress():
                seen = self.relay.seen.get(sender)
                return [] if seen is None else [Send(sender, ObservedAddress(seen))]
            case ObservedAddress(seen=seen):
                self._discovery.observed(sender, seen)
                return []
            case Reserved(seen=seen) if seen is not None:
                self._discovery.observed(sender, seen)
        return list(self.reservations.handle(Received(sender, message), now))

    # --- what follows ------------------------------------------------------------------------------------------------

    def _settle(self, outputs: Sequence[Any], now: float) -> list[Any]:
        """Give the parts' news to each other, and tell the owner what has changed."""
        said: list[Any] = []
        waiting = list(outputs)
        while waiting:
            output = waiting.pop(0)
            match output:
                case PunchAgreed():
                    waiting += self._dials.agreed(output, now)
                case CircuitFailed():
                    waiting += self._dials.open_failed(output, now)
                case _:
                    said.append(output)
        return [*said, *self._discovery.assess(now)]
