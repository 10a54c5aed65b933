"""Everything about being reached and reaching, as one machine with one deadline."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.trace import Trace
from core.nat.card import Card
from core.nat.conduits import Agreed, Conduits, OpenFailed
from core.nat.dials import Dials
from core.nat.events import AddressSeen, AttemptFailed, CardFound, DialledOut, Examine, LinkUp, Located, PeerWanted
from core.nat.messages import (
    Accept,
    Accepted,
    Address,
    Carried,
    CircuitData,
    DialBack,
    DialledBack,
    Knock,
    Look,
    Looked,
    Mirror,
    Mirrored,
    OpenCircuit,
    Opening,
    Reserve,
    Reserved,
    Shut,
    Unreserved,
)
from core.nat.mirror import Mirroring
from core.nat.reach import OwnReach
from core.nat.relay import RelayService, RelaySettings
from core.nat.reservations import Reservations
from core.nat.strangers import Strangers
from core.nat.whereabouts import Whereabouts


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
        self.strangers = Strangers(random=random, trace=trace)
        self.reservations = Reservations(random=random)
        self.relay = RelayService((settings or NatSettings()).relay, trace=trace)
        self._whereabouts = Whereabouts(
            mirroring=self.mirroring, strangers=self.strangers, reservations=self.reservations, relay=self.relay
        )
        self.conduits = Conduits(
            me, random=random, trace=trace, offer=self._whereabouts.offer, relays=lambda: self.reservations.held
        )
        self._dials = Dials(me, random=random, conduits=self.conduits, card=lambda: self.card)
        self._trace = trace

    # --- what is known of ourselves ----------------------------------------------------------------------------------

    @property
    def reach(self) -> OwnReach:
        """How others can reach us."""
        return self._whereabouts.reach

    @property
    def card(self) -> Card:
        """What we say of where we are."""
        return self._whereabouts.card

    # --- for the owner -----------------------------------------------------------------------------------------------

    def dial(self, peer: PeerId, now: float) -> list[Any]:
        """Find a way to that peer; `DialEnded` follows."""
        return self._settle(self._dials.dial(peer, now), now)

    def volunteer(self, peer: PeerId, address: Address, now: float, *, relay: bool, trusted: bool = False) -> list[Any]:
        """A peer that answers at this address; it may look at us and call us back, and carry for us if `relay`.

        `trusted`: it is the collaboration's own, and is believed where there is nobody else.
        """
        self.mirroring.candidate(peer, address)
        self.strangers.candidate(peer, address, trusted=trusted)
        if relay:
            self.reservations.candidate(peer, address)
        return self._settle(self.reservations.settle(now), now)

    def carry(self, limits: RelaySettings, now: float) -> list[Any]:
        """Our person allows other things than before to those who want to be carried."""
        return self._settle(self.relay.limit(limits), now)

    def room(self, circuit: bytes) -> int:
        """How many bytes may be written to the circuit now."""
        end = self.conduits.end(circuit)
        return 0 if end is None else end.room

    def write(self, circuit: bytes, data: bytes, now: float) -> list[Any]:
        """Send bytes on a circuit; one that has ended swallows them, and `CircuitEnded` has said so."""
        end = self.conduits.end(circuit)
        return [] if end is None else self.conduits.settle(end.write(data, now), now)

    def consumed(self, circuit: bytes, count: int, now: float) -> list[Any]:
        """The stream over the circuit has read so many bytes."""
        end = self.conduits.end(circuit)
        return [] if end is None else self.conduits.settle(end.consumed(count, now), now)

    def close(self, circuit: bytes, now: float) -> list[Any]:
        """End the circuit after what was written has arrived."""
        end = self.conduits.end(circuit)
        return [] if end is None else self.conduits.settle(end.close(now), now)

    def abort(self, circuit: bytes, reason: str, now: float) -> list[Any]:
        """End the circuit at once."""
        end = self.conduits.end(circuit)
        return [] if end is None else self.conduits.settle(end.abort(reason), now)

    # --- the machine -------------------------------------------------------------------------------------------------

    @property
    def deadline(self) -> float | None:
        """The first of all parts'."""
        return earliest(
            self._whereabouts.deadline,
            self.mirroring.deadline,
            self.strangers.deadline,
            self.reservations.deadline,
            self.relay.deadline,
            self.conduits.deadline,
            self._dials.deadline,
        )

    def handle(self, event: Any, now: float) -> Sequence[Any]:
        """Advance by one event: Received, Tick, Lost, or one of `core.nat.events`."""
        match event:
            case Received(sender=sender, message=CircuitData() | Carried() as message):
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
            case Located():
                if not self._whereabouts.locate(event, now):
                    return []
                self._dials.network_changed(now)
                return list(self.mirroring.tick(now))
            case LinkUp():
                return [*self._whereabouts.linked(event), *self._dials.link_up(event, now)]
            case AttemptFailed(attempt=attempt, reason=reason):
                return self._dials.failed(attempt, reason, now)
            case CardFound(peer=peer, card=card):
                return self._dials.card_found(peer, card, now)
            case DialledOut(nonce=nonce, tcp=tcp):
                return list(self.strangers.tried(nonce, tcp=tcp))
            case PeerWanted(peer=peer):
                return self._dials.dial(peer, now)
            case Examine():
                self.mirroring.again(now)
                self.strangers.again(now)
                return [*self.mirroring.tick(now), *self.strangers.tick(now)]
            case AddressSeen(peer=peer, address=address):
                self.mirroring.seen(peer, address)
        return []

    def _tick(self, now: float) -> list[Any]:
        outputs: list[Any] = [*self.mirroring.tick(now), *self.strangers.tick(now)]
        outputs += self.reservations.handle(Tick(), now)
        due = self.relay.deadline
        outputs += self.relay.handle(Tick(), now) if due is not None and due <= now else []
        outputs += self.conduits.tick(now)
        outputs += self._dials.tick(now)
        return outputs

    def _lost(self, peer: PeerId, reason: str, now: float) -> list[Any]:
        self._whereabouts.lost(peer)
        self._dials.lost(peer)
        outputs: list[Any] = [*self.reservations.handle(Lost(peer, reason), now)]
        outputs += self.relay.handle(Lost(peer, reason), now)
        return [*outputs, *self.conduits.lost(peer, reason, now)]

    def _received(self, sender: PeerId, message: Any, now: float) -> list[Any]:
        match message:
            case Mirror() | Mirrored() | DialBack() | Knock() | DialledBack():
                return self._datagram(sender, message, now)
            case Look() | Looked() | Reserved() | Unreserved():
                return self._about_us(sender, message, now)
            case Reserve() | OpenCircuit() | Accept():
                return list(self.relay.handle(Received(sender, message), now))
            case Opening() | Accepted():
                return self.conduits.received(sender, message, now)
            case CircuitData(circuit=circuit) | Carried(circuit=circuit) | Shut(circuit=circuit):
                if circuit in self.conduits:
                    return self.conduits.received(sender, message, now)
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
        return self.strangers.received(sender, message, self.mirroring.address_of(sender), now)

    def _about_us(self, sender: PeerId, message: Any, now: float) -> list[Any]:
        match message:
            case Look():
                seen = self.relay.seen.get(sender)
                return [] if seen is None else [Send(sender, Looked(seen))]
            case Looked(seen=seen):
                self._whereabouts.looked(sender, seen)
                return []
            case Reserved(seen=seen) if seen is not None:
                self._whereabouts.looked(sender, seen)
        return list(self.reservations.handle(Received(sender, message), now))

    # --- what follows ------------------------------------------------------------------------------------------------

    def _settle(self, outputs: Sequence[Any], now: float) -> list[Any]:
        """Give the parts' news to each other, and tell the owner what has changed."""
        said: list[Any] = []
        waiting = list(outputs)
        while waiting:
            output = waiting.pop(0)
            match output:
                case Agreed():
                    waiting += self._dials.agreed(output, now)
                case OpenFailed():
                    waiting += self._dials.open_failed(output, now)
                case _:
                    said.append(output)
        return [*said, *self._whereabouts.assess(now)]
