"""NAT traversal of one peer as one machine: its own reachability, and ways to other peers."""

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
    PeerWanted,
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
    """A person's decisions about NAT traversal."""

    relay: RelaySettings = field(default_factory=RelaySettings)
    """Limits of the relay service; `circuits=0`: this peer is no relay."""


class Traversal:
    """Joins discovery, probes, reservations, relay, circuits and dials behind one deadline; events: `core.nat.events`.

    Args:
        me: This peer's id.
        random: Draws ids and nonces, and makes choices.
        trace: Counts violations by others.
        settings: The person's decisions; None: the defaults.
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

    # --- this peer's reachability ------------------------------------------------------------------------------------

    @property
    def reach(self) -> OwnReach:
        """This peer's reachability as far as it is known."""
        return self._discovery.reach

    @property
    def peer_record(self) -> PeerRecord:
        """This peer's own record as it would be published now."""
        return self._discovery.peer_record

    # --- for the owner -----------------------------------------------------------------------------------------------

    def dial(self, peer: PeerId, now: float) -> list[Any]:
        """Find a way to a peer; `DialEnded` follows.

        Args:
            peer: The peer to reach.
            now: Unix seconds.
        """
        return self._settle(self._dials.dial(peer, now), now)

    def volunteer(self, peer: PeerId, address: Address, now: float, *, relay: bool, trusted: bool = False) -> list[Any]:
        """Remember a peer that answers at this address and can mirror, dial back, and perhaps relay.

        Args:
            peer: The helper.
            address: Its address.
            now: Unix seconds.
            relay: Whether it is willing to relay.
            trusted: It belongs to the collaboration, and is believed where there is nobody else.
        """
        self.mirroring.candidate(peer, address)
        self.probes.candidate(peer, address, trusted=trusted)
        if relay:
            self.reservations.candidate(peer, address)
        return self._settle(self.reservations.settle(now), now)

    def carry(self, limits: RelaySettings, now: float) -> list[Any]:
        """Apply other limits to the relay service.

        Args:
            limits: The person's new decision.
            now: Unix seconds.
        """
        return self._settle(self.relay.limit(limits), now)

    def room(self, circuit: bytes) -> int:
        """Number of bytes that may be written to the circuit now."""
        endpoint = self.circuits.endpoint(circuit)
        return 0 if endpoint is None else endpoint.room

    def write(self, circuit: bytes, data: bytes, now: float) -> list[Any]:
        """Send bytes on a circuit; one that has ended drops them, and `CircuitEnded` has said so.

        Args:
            circuit: Id of the circuit.
            data: Appended to the stream.
            now: Unix seconds.
        """
        endpoint = self.circuits.endpoint(circuit)
        return [] if endpoint is None else self.circuits.settle(endpoint.write(data, now), now)

    def consumed(self, circuit: bytes, count: int, now: float) -> list[Any]:
        """The stream over the circuit has read `count` bytes.

        Args:
            circuit: Id of the circuit.
            count: Bytes read since the last call.
            now: Unix seconds.
        """
        endpoint = self.circuits.endpoint(circuit)
        return [] if endpoint is None else self.circuits.settle(endpoint.consumed(count, now), now)

    def close(self, circuit: bytes, now: float) -> list[Any]:
        """End the circuit after all written bytes have arrived.

        Args:
            circuit: Id of the circuit.
            now: Unix seconds.
        """
        endpoint = self.circuits.endpoint(circuit)
        return [] if endpoint is None else self.circuits.settle(endpoint.close(now), now)

    def abort(self, circuit: bytes, reason: str, now: float) -> list[Any]:
        """End the circuit at once.

        Args:
            circuit: Id of the circuit.
            reason: Told to the other endpoint.
            now: Unix seconds.
        """
        endpoint = self.circuits.endpoint(circuit)
        return [] if endpoint is None else self.circuits.settle(endpoint.abort(reason), now)

    # --- the machine -------------------------------------------------------------------------------------------------

    @property
    def deadline(self) -> float | None:
        """Time at which a `Tick` is due, Unix seconds: the first of all parts."""
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
        """Advance by one event: Received, Tick, Lost, or one of `core.nat.events`.

        Args:
            event: The event.
            now: Unix seconds.
        """
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
            case PeerWanted(peer=peer):
                return self._dials.dial(peer, now)
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
        """Deliver the parts' events to each other, and report what has changed."""
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
