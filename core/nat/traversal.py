"""Everything about being reached and reaching, as one machine with one deadline."""

from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.trace import Trace
from core.nat.card import ADDRESSES_MAX, CARD_LIFETIME_S, Card, Kind, Listed, counts, same_house
from core.nat.conduits import Agreed, Conduits, OpenFailed
from core.nat.dials import Dials
from core.nat.events import CardFound, DialledOut, Examine, Failed, LinkUp, Located, PublishCard, ReachChanged, Seen
from core.nat.messages import (
    IPV6_OFFERED_MAX,
    OFFERED_MAX,
    Accept,
    Accepted,
    Address,
    Carried,
    Carry,
    DialBack,
    DialledBack,
    Knock,
    Look,
    Looked,
    Mapping,
    Mirror,
    Mirrored,
    Offer,
    Open,
    Opening,
    Reserve,
    Reserved,
    Shut,
    Unreserved,
)
from core.nat.mirror import Mirroring, mapping_of
from core.nat.reach import Reach, Standing
from core.nat.relay import RelayService, RelaySettings
from core.nat.reservations import Reservations
from core.nat.strangers import Strangers

LOOKS_MAX: Final = 4
OFFLINE_S: Final = 15.0
UNSURE_S: Final = 3.0
"""So long a router may be a riddle; then relays are looked for, whatever it does."""
LINKS_MAX: Final = 2048


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
        self._located = Located(addresses=(), tcp_port=0, udp_port=0, quic=False)
        self._located_at: float | None = None
        self._offline_at: float | None = None
        """When to say that nobody was found, once."""
        self._links: OrderedDict[PeerId, LinkUp] = OrderedDict()
        self._tcp_seen: OrderedDict[PeerId, Address] = OrderedDict()
        self._unsure_since: float | None = None
        """Since when there is a router between us and others of which no more is known."""
        self._reach = Reach(Standing.UNKNOWN)
        self._published: Card | None = None
        self._publish_at: float | None = None
        self.mirroring = Mirroring(random=random)
        self.strangers = Strangers(random=random, trace=trace)
        self.reservations = Reservations(random=random)
        self.relay = RelayService((settings or NatSettings()).relay, trace=trace)
        self.conduits = Conduits(
            me, random=random, trace=trace, offer=self._offer, relays=lambda: self.reservations.held
        )
        self._dials = Dials(me, random=random, conduits=self.conduits, card=lambda: self.card)
        self._trace = trace

    # --- what is known of ourselves ----------------------------------------------------------------------------------

    @property
    def reach(self) -> Reach:
        """How others can reach us."""
        return self._reach

    @property
    def tcp_mapping(self) -> Mapping:
        """How our router maps the TCP port; as it does UDP, until enough have looked."""
        mapping = mapping_of(self._tcp_seen.values(), self._own_hosts, self._located.tcp_port)
        return self.mirroring.mapping if mapping == "unknown" else mapping

    @property
    def card(self) -> Card:
        """What we say of where we are."""
        outside = self.mirroring.outside
        reachable = self._reach.standing is Standing.REACHABLE
        listed = list(self._located.addresses)
        if reachable and outside is not None and outside.host not in self._own_hosts:
            listed.insert(0, Listed(Kind.PUBLIC, Address(outside.host, self._located.tcp_port)))
        return Card(
            tuple(listed[:ADDRESSES_MAX]),
            reachable=reachable,
            tcp_mapping=self.tcp_mapping,
            udp_mapping=self.mirroring.mapping,
            quic=self._located.quic,
            relays=self.reservations.held if self.reservations.wanted else (),
            relay=reachable and self.relay.settings.circuits > 0,
            outside=outside.host if outside is not None else "",
            reachable_ipv6=bool(self.strangers.ipv6.tcp),
        )

    @property
    def _own_hosts(self) -> tuple[str, ...]:
        return tuple(listed.address.host for listed in self._located.addresses if listed.kind is not Kind.MAPPED)

    def _offer(self, nonce: bytes, relay: PeerId) -> Offer:
        outside = self.mirroring.outside
        lan, public, ipv6 = (
            tuple(listed.address for listed in self._located.addresses if listed.kind in kinds)
            for kinds in ({Kind.LAN}, {Kind.PUBLIC, Kind.MAPPED}, {Kind.IPV6})
        )
        tcp = tuple(address for address, _ in Counter(self._tcp_seen.values()).most_common(2))
        if not tcp and outside is not None and self._located.tcp_port:
            tcp = (Address(outside.host, self._located.tcp_port),)
        udp = () if outside is None else (outside,)
        udp_lan = tuple(Address(address.host, self._located.udp_port) for address in lan if self._located.udp_port)
        return Offer(
            nonce,
            tuple(dict.fromkeys((*tcp, *public, *lan)))[:OFFERED_MAX],
            tuple(dict.fromkeys((*udp, *udp_lan)))[:OFFERED_MAX],
            self.tcp_mapping,
            self.mirroring.mapping,
            self._located.quic,
            min(60_000, round(1000 * self.reservations.half_s(relay))),
            self.reservations.held,
            ipv6[:IPV6_OFFERED_MAX],
        )

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
            self._publish_at,
            self._offline_at,
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
            case Received(sender=sender, message=Carry() | Carried() as message):
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
                return self._locate(event, now)
            case LinkUp():
                return self._link_up(event, now)
            case Failed(attempt=attempt, reason=reason):
                return self._dials.failed(attempt, reason, now)
            case CardFound(peer=peer, card=card):
                return self._dials.card_found(peer, card, now)
            case DialledOut(nonce=nonce, tcp=tcp):
                return list(self.strangers.tried(nonce, tcp=tcp))
            case Examine():
                self.mirroring.again(now)
                self.strangers.again(now)
                return [*self.mirroring.tick(now), *self.strangers.tick(now)]
            case Seen(peer=peer, address=address):
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

    def _locate(self, event: Located, now: float) -> list[Any]:
        self._located = event
        if self._located_at is not None and not event.moved:
            self.mirroring.readdressed(self._own_hosts)
            self.strangers.readdressed(self._own_hosts, (event.tcp_port, event.udp_port), now)
            return []
        self._located_at, self._offline_at, self._unsure_since = now, now + OFFLINE_S, None
        self.mirroring.second_port = event.second_udp_port
        self._tcp_seen.clear()
        self.mirroring.located(self._own_hosts, event.udp_port, now)
        self.strangers.located(self._own_hosts, (event.tcp_port, event.udp_port), now)
        self._dials.network_changed(now)
        return list(self.mirroring.tick(now))

    def _link_up(self, event: LinkUp, now: float) -> list[Any]:
        outputs: list[Any] = []
        if event.way.direct:
            if len(self._links) >= LINKS_MAX:
                self.relay.seen.pop(self._links.popitem(last=False)[0], None)
            self._links[event.peer] = event
            if event.address is not None:
                self.relay.seen[event.peer] = event.address
            if event.called:
                self.strangers.spoken_to(event.peer)
                outside = event.address is not None and not same_house(event.address.host, self._own_hosts)
                if len(self._tcp_seen) < LOOKS_MAX and outside:
                    outputs.append(Send(event.peer, Look()))
        return [*outputs, *self._dials.link_up(event, now)]

    def _lost(self, peer: PeerId, reason: str, now: float) -> list[Any]:
        self._links.pop(peer, None)
        self._tcp_seen.pop(peer, None)
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
            case Reserve() | Open() | Accept():
                return list(self.relay.handle(Received(sender, message), now))
            case Opening() | Accepted():
                return self.conduits.received(sender, message, now)
            case Carry(circuit=circuit) | Carried(circuit=circuit) | Shut(circuit=circuit):
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
                self._look(sender, seen)
                return []
            case Reserved(seen=seen) if seen is not None:
                self._look(sender, seen)
        return list(self.reservations.handle(Received(sender, message), now))

    def _look(self, peer: PeerId, seen: Address) -> None:
        """Only links that we called ourselves, from the listening port, tell how the router maps that port."""
        link = self._links.get(peer)
        if link is None or not link.called or not counts(seen.host, self._own_hosts):
            return
        self._tcp_seen[peer] = seen
        if len(self._tcp_seen) > LOOKS_MAX:
            self._tcp_seen.popitem(last=False)

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
        return [*said, *self._assess(now)]

    def _assess(self, now: float) -> list[Any]:
        """Draw the conclusions from what is known of ourselves."""
        if self._located_at is None:
            return []
        if self._offline_at is not None and now >= self._offline_at:
            self._offline_at = None
        outside = self.mirroring.outside
        host = outside.host if outside is not None else ""
        tcp, udp = self.tcp_mapping, self.mirroring.mapping
        standing = self._standing(tcp, udp, now)
        self.reservations.wanted = standing in {Standing.PUNCHABLE, Standing.RELAYED}
        outputs: list[Any] = list(self.reservations.settle(now))
        if host and self._reach.outside and host != self._reach.outside:
            # Another network that gives us the same inside address, or a router with a new outside one.
            self.strangers.ipv4.located(self._own_hosts, (self._located.tcp_port, self._located.udp_port), now)
            self._tcp_seen.clear()
        reach = Reach(standing, host, tcp, udp, len(self.reservations.held), bool(self.strangers.ipv6.tcp))
        if reach != self._reach:
            self._reach = reach
            outputs.append(ReachChanged(reach))
        card = self.card
        known = standing not in {Standing.UNKNOWN, Standing.OFFLINE}
        if known and (card != self._published or (self._publish_at is not None and now >= self._publish_at)):
            self._published, self._publish_at = card, now + CARD_LIFETIME_S / 2
            outputs.append(PublishCard(card))
        elif not known:
            self._publish_at = None
        return outputs

    def _standing(self, tcp: Mapping, udp: Mapping, now: float) -> Standing:
        mappings = {tcp, udp}
        open_ = "none" in mappings or any(listed.kind is Kind.MAPPED for listed in self._located.addresses)
        # A router may let in everything from one host that we have called: there a single peer's word is not enough.
        if self.strangers.tcp or (open_ and self.strangers.alone):
            return Standing.REACHABLE
        if mappings & {"kept", "moved"}:
            return Standing.PUNCHABLE
        if "symmetric" in mappings:
            return Standing.RELAYED
        if "none" in mappings:
            closed = self.strangers.tcp is False or self.strangers.alone is False
            return Standing.PUNCHABLE if closed else Standing.UNKNOWN
        outside = self.mirroring.outside
        if outside is None:
            late = self._located_at is not None and now >= self._located_at + OFFLINE_S
            return Standing.OFFLINE if late and not self._links else Standing.UNKNOWN
        if outside.host in self._own_hosts:
            return Standing.UNKNOWN
        if self._reach.standing is Standing.PUNCHABLE and self._reach.outside == outside.host:
            return Standing.PUNCHABLE  # the same router; only those who looked have gone
        self._unsure_since = now if self._unsure_since is None else self._unsure_since
        return Standing.RELAYED if now >= self._unsure_since + UNSURE_S else Standing.UNKNOWN
