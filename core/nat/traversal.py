"""NAT traversal of one peer as one machine: its own reachability, and ways to other peers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace, earliest
from core.base.wire import Message
from core.nat.circuits import CircuitFailed, Circuits, CircuitsOutput, PunchAgreed
from core.nat.dial_back import DialBackService
from core.nat.dials import Dials
from core.nat.discovery import NatDiscovery
from core.nat.events import (
    AddressesChanged,
    AddressSeen,
    AttemptFailed,
    CheckReachability,
    DialBackTried,
    LinkUp,
    NatEvent,
    NatOutput,
    PeerRecordFound,
    PeerWanted,
    PublicPeerFound,
    RelayAllowed,
)
from core.nat.messages import (
    AcceptCircuit,
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
from core.nat.mirror import Mirroring, MirrorService
from core.nat.peer_record import PeerRecord
from core.nat.reachability import OwnReach
from core.nat.reachability_probes import ReachabilityProbes
from core.nat.relay import RelayService, RelaySettings
from core.nat.reservations import Reservations


@dataclass(frozen=True, slots=True, kw_only=True)
class NatSettings:
    """A person's decisions about NAT traversal."""

    relay: RelaySettings = field(default_factory=RelaySettings)
    """Limits of the relay service; `circuits=0`: this peer is not a relay."""


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
        self.probes = ReachabilityProbes(random=random)
        self._mirror_service = MirrorService()
        self._dial_back_service = DialBackService(trace=trace)
        self.reservations = Reservations(random=random)
        self.relay = RelayService((settings or NatSettings()).relay, trace=trace)
        self._discovery = NatDiscovery(
            mirroring=self.mirroring, probes=self.probes, reservations=self.reservations, relay=self.relay
        )
        self.circuits = Circuits(
            me, random=random, trace=trace, offer=self._discovery.offer, relays=lambda: self.reservations.held
        )
        self._dials = Dials(me, random=random, circuits=self.circuits, peer_record=lambda: self.peer_record)

    @property
    def reach(self) -> OwnReach:
        """This peer's reachability as far as it is known."""
        return self._discovery.reach

    @property
    def peer_record(self) -> PeerRecord:
        """This peer's own record as it would be published now."""
        return self._discovery.peer_record

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

    def handle(self, event: Received[Message] | Tick | Lost | NatEvent, now: float) -> list[NatOutput]:
        """Advance by one event.

        Args:
            event: A message, the deadline, the loss of a link, or an event of the owner.
            now: Unix seconds.
        """
        outputs: Sequence[CircuitsOutput]
        match event:
            case Received(sender=sender, message=CircuitData() | CircuitAck() as message):
                return self._deliver(self._circuit(sender, message, now), now)
            case Received(sender=sender, message=message):
                outputs = self._received(sender, message, now)
            case Tick():
                outputs = self._tick(now)
            case Lost(peer=peer):
                self._discovery.lost(peer)
                self._dials.lost(peer)
                outputs = [*self.reservations.handle(event, now), *self.relay.handle(event, now)]
                outputs += self.circuits.lost(peer, event.reason, now)
            case _:
                outputs = self._told(event, now)
        said = self._deliver(outputs, now)
        return [*said, *self._discovery.assess(now)]

    # --- inside ------------------------------------------------------------------------------------------------------

    def _told(self, event: NatEvent, now: float) -> Sequence[CircuitsOutput]:
        match event:
            case AddressesChanged():
                self._mirror_service.second_port = event.second_udp_port
                if not self._discovery.locate(event, now):
                    return []
                self._dials.network_changed(now)
                return self.mirroring.tick(now)
            case LinkUp():
                return [*self._discovery.linked(event), *self._dials.link_up(event, now)]
            case CheckReachability():
                self.mirroring.again(now)
                self.probes.again(now)
                return [*self.mirroring.tick(now), *self.probes.tick(now)]
            case AddressSeen(peer=peer, address=address):
                self._mirror_service.seen(peer, address)
                return []
            case PublicPeerFound(peer=peer, address=address):
                self.mirroring.candidate(peer, address)
                self.probes.candidate(peer, address, trusted=event.trusted)
                if event.relay:
                    self.reservations.candidate(peer, address)
                return self.reservations.settle(now)
            case RelayAllowed(limits=limits):
                return self.relay.limit(limits)
            case AttemptFailed() | PeerRecordFound() | DialBackTried() | PeerWanted():
                return self._dialled(event, now)

    def _dialled(
        self, event: AttemptFailed | PeerRecordFound | DialBackTried | PeerWanted, now: float
    ) -> Sequence[CircuitsOutput]:
        """Begin to reach a peer, or go on with what the owner answers."""
        match event:
            case PeerWanted(peer=peer):
                return self._dials.dial(peer, now)
            case PeerRecordFound(peer=peer, peer_record=peer_record):
                return self._dials.peer_record_found(peer, peer_record, now)
            case AttemptFailed(attempt=attempt, reason=reason):
                return self._dials.failed(attempt, reason, now)
            case DialBackTried(nonce=nonce, tcp=tcp):
                return self._dial_back_service.tried(nonce, tcp=tcp)

    def _tick(self, now: float) -> Sequence[CircuitsOutput]:
        due = self.relay.deadline
        return [
            *self.mirroring.tick(now),
            *self.probes.tick(now),
            *self.reservations.handle(Tick(), now),
            *(self.relay.handle(Tick(), now) if due is not None and due <= now else []),
            *self.circuits.tick(now),
            *self._dials.tick(now),
        ]

    def _received(self, sender: PeerId, message: Message, now: float) -> Sequence[CircuitsOutput]:
        match message:
            case Mirror() | Mirrored() | DialBack() | DialBackDatagram() | DialBackResult():
                return self._datagram(sender, message, now)
            case AskObservedAddress():
                seen = self.relay.seen.get(sender)
                return [] if seen is None else [Send(sender, ObservedAddress(seen))]
            case ObservedAddress(seen=seen):
                self._discovery.observed(sender, seen)
            case Reserved() | Unreserved():
                if isinstance(message, Reserved) and message.seen is not None:
                    self._discovery.observed(sender, message.seen)
                return self.reservations.handle(Received(sender, message), now)
            case Reserve() | OpenCircuit() | AcceptCircuit():
                return self.relay.handle(Received(sender, message), now)
            case CircuitRequested() | CircuitAccepted():
                return self.circuits.received(sender, message, now)
            case CloseCircuit():
                return self._circuit(sender, message, now)
        return []

    def _datagram(
        self, sender: PeerId, message: Mirror | Mirrored | DialBack | DialBackDatagram | DialBackResult, now: float
    ) -> Sequence[NatOutput]:
        match message:
            case Mirror():
                return self._mirror_service.asked(sender, message, self.relay.load, now)
            case Mirrored():
                rtt_s, outputs = self.mirroring.answered(sender, message, now)
                if rtt_s is not None:
                    self.reservations.measured(sender, rtt_s, message.load)
                return outputs
            case DialBack():
                return self._dial_back_service.requested(sender, message, self._mirror_service.address_of(sender), now)
            case DialBackDatagram() | DialBackResult():
                self.probes.received(sender, message, now)
        return []

    def _circuit(
        self, sender: PeerId, message: CircuitData | CircuitAck | CloseCircuit, now: float
    ) -> Sequence[CircuitsOutput]:
        """Handle a message of a circuit, as its endpoint or as its relay."""
        if message.circuit in self.circuits:
            return self.circuits.received(sender, message, now)
        return self.relay.handle(Received(sender, message), now)

    def _deliver(self, outputs: Sequence[CircuitsOutput], now: float) -> list[NatOutput]:
        """Deliver the circuits' events to the dials, and collect what is for the owner."""
        said: list[NatOutput] = []
        waiting = list(outputs)
        while waiting:
            output = waiting.pop(0)
            match output:
                case PunchAgreed():
                    waiting += self._dials.agreed(output, now)
                case CircuitFailed(attempt=attempt, reason=reason):
                    waiting += self._dials.failed(attempt, reason, now)
                case _:
                    said.append(output)
        return said
