"""Reaching others and being reached where there may be routers: the traversal machine, and what it finds in the DHT.

The DHT holds the peer records by which traversal finds peers, and names those who may tell this peer how it looks from
outside.  Sockets are the owner's (`core.net.traverse`).
"""

import ipaddress
from collections import OrderedDict
from collections.abc import Sequence
from random import Random
from typing import Any, Final, get_args

from core.api.snapshot import BACKBONE
from core.base.ids import Observed, PeerId
from core.base.machine import Lost, Received, Tick, Trace, earliest
from core.dht.events import Found, RecordStored
from core.dht.events import Output as DhtOutput
from core.dht.node import DhtNode
from core.nat.events import (
    AddressesChanged,
    AddressSeen,
    AttemptFailed,
    CheckReachability,
    DialBackTried,
    DialEnded,
    FindPeerRecord,
    LinkUp,
    LocalAddressesChanged,
    NatOutput,
    PeerWanted,
    PortMapped,
    PublicPeerFound,
    PublishPeerRecord,
    ReachChanged,
    RelayAllowed,
    RelayLost,
)
from core.nat.messages import NAT_MESSAGES, Address
from core.nat.peer_record import RELAYS_MAX, AddressCandidate, CandidateKind, PeerRecord, is_public, kind_of
from core.nat.reachability import Reachability
from core.nat.relay import RelaySettings
from core.nat.traversal import NatSettings, Traversal
from core.swarm.reach.peer_records import PeerRecords
from core.swarm.words.settings import ParticipantSettings

SCOUT_FIRST_S: Final = 2.0
SCOUT_S: Final = 60.0
"""Pause between two looks for public peers, once there has been time to find some."""
SCOUT_RECORDS: Final = 4
"""Number of peer records that are read at one look."""
WANTED_MAX: Final = 256
AGAIN_S: Final = 1.5
"""Time after which a peer that is still wanted is looked for again: its record may just be on its way."""
LIKELY: Final = (CandidateKind.PUBLIC, CandidateKind.MAPPED, CandidateKind.IPV6)
"""Where a public peer is called, best first: more can reach IPv4."""
USEFUL: Final = (CandidateKind.MAPPED, CandidateKind.IPV6, CandidateKind.PUBLIC, CandidateKind.LAN)
"""Which of this computer's addresses the record keeps when there is not room for all."""

NetworkEvent = (
    Observed
    | LocalAddressesChanged
    | PortMapped
    | PublicPeerFound
    | RelayAllowed
    | PeerWanted
    | LinkUp
    | AttemptFailed
    | DialBackTried
    | CheckReachability
)
"""What the owner, which has the sockets, tells."""
ConnectivityOutput = NatOutput | DhtOutput


class Connectivity:
    """Combines the traversal machine with the DHT records by which peers find each other.

    It reports what `core.nat.events` asks of the owner of sockets, and `ReachChanged` and `DialEnded`.  A peer that
    strangers cannot call answers nobody in the DHT, except a backbone: its address stands in every link.

    Args:
        me: This peer.
        directory: Its DHT; what that reports of peer records goes to `found` and `handle`.
        settings: Whether this is a backbone, and what it carries for others.
        random: Chooses whose peer records are read.
        trace: Counts what others do wrong.
    """

    TAKES: Final[tuple[type, ...]] = (*NAT_MESSAGES, *get_args(NetworkEvent))
    """Classes of messages and events."""

    def __init__(
        self, me: PeerId, *, directory: DhtNode, settings: ParticipantSettings, random: Random, trace: Trace
    ) -> None:
        nat = NatSettings(relay=settings.relay or RelaySettings())
        self.traversal = Traversal(me, random=random, trace=trace, settings=nat)
        self._answers_always = settings.role == BACKBONE
        self._me = me
        self._directory = directory
        self._peer_records = PeerRecords(me, directory)
        self._random = random
        self._place: LocalAddressesChanged | None = None
        """Where this computer is, as far as it knows itself; None: that was not told yet."""
        self._mapped: Address | None = None
        self._wanted: OrderedDict[PeerId, float | None] = OrderedDict()
        """Peers that somebody waits for; when to look for them again, None: they are being looked for."""
        self._scout_at: float | None = None
        self._rest_s = SCOUT_FIRST_S

    @property
    def deadline(self) -> float | None:
        """When traversal, scouting or a wanted peer first needs a Tick, unix seconds."""
        return earliest(self.traversal.deadline, self._scout_at, *self._wanted.values())

    def handle(self, event: Received[Any] | Tick | Lost | NetworkEvent, now: float) -> list[ConnectivityOutput]:
        """Messages, lost links, time and news of the network move traversal on."""
        outputs: Sequence[ConnectivityOutput]
        match event:
            case Tick():
                outputs = self._tick(now)
            case Observed(peer=peer, host=host, port=port):
                outputs = self.traversal.handle(AddressSeen(peer, Address(host, port)), now)
            case LocalAddressesChanged():
                outputs = self._moved(event, now)
            case PortMapped(address=address):
                outputs = self._map(address, now)
            case PublicPeerFound():
                outputs = self._volunteer(event, now)
            case PeerWanted(peer=peer):
                self._want(peer)
                outputs = self.traversal.handle(event, now)
            case Lost(peer=peer) | LinkUp(peer=peer):
                self._wanted.pop(peer, None)
                outputs = self.traversal.handle(event, now)
            case _:
                outputs = self.traversal.handle(event, now)
        return self._settle(outputs, now)

    def stored(self, event: RecordStored) -> list[ConnectivityOutput]:
        """Take in where a record is, if it is this peer's own; nothing follows."""
        self._peer_records.stored(event)
        return []

    def found(self, found: Found, now: float) -> list[ConnectivityOutput] | None:
        """What follows from a record that was read; None: nobody asked for this key here."""
        event = self._peer_records.found(found)
        if event is None:
            return None
        outputs: list[ConnectivityOutput] = [*self.traversal.handle(event, now)]
        if event.peer_record is not None and (event.peer_record.reachable or event.peer_record.reachable_ipv6):
            outputs += self._met(event.peer, event.peer_record, now)
        return self._settle(outputs, now)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _settle(self, outputs: Sequence[ConnectivityOutput], now: float) -> list[ConnectivityOutput]:
        """Look up and publish peer records as traversal asks; the rest is the owner's."""
        said: list[ConnectivityOutput] = []
        for output in outputs:
            match output:
                case FindPeerRecord(peer=peer):
                    said += self._peer_records.read(peer, now)
                case PublishPeerRecord(peer_record=peer_record):
                    said += self._peer_records.publish(peer_record, now)
                case DialEnded(peer=peer, way=way):
                    self._peer_records.doubt(peer, reached=way is not None)
                    if way is None and peer in self._wanted:
                        self._wanted[peer] = now + AGAIN_S
                    said.append(output)
                case ReachChanged(reach=reach):
                    hidden = reach.standing in {Reachability.PUNCHABLE, Reachability.RELAYED}
                    self._directory.client = hidden and not self._answers_always
                    said.append(output)
                case RelayLost():
                    pass
                case _:
                    said.append(output)
        return said

    def _tick(self, now: float) -> Sequence[ConnectivityOutput]:
        """Do what is due: a peer that carries for others is woken often."""
        outputs: list[ConnectivityOutput] = []
        if self.traversal.deadline is not None and self.traversal.deadline <= now:
            outputs += self.traversal.handle(Tick(), now)
        for peer in [peer for peer, at in self._wanted.items() if at is not None and at <= now]:
            self._wanted[peer] = None
            outputs += self.traversal.handle(PeerWanted(peer), now)
        if self._scout_at is not None and self._scout_at <= now:
            self._scout_at = now + self._rest_s
            self._rest_s = min(2 * self._rest_s, SCOUT_S)
            outputs += self._scout(now)
        return outputs

    def _want(self, peer: PeerId) -> None:
        self._wanted[peer] = None
        if len(self._wanted) > WANTED_MAX:
            self._wanted.popitem(last=False)

    def _moved(self, place: LocalAddressesChanged, now: float) -> Sequence[ConnectivityOutput]:
        self._place = place
        self._directory.ipv6 = any(":" in host for host in place.hosts)
        if place.moved:
            self._rest_s = SCOUT_FIRST_S
            self._scout_at = now + self._rest_s
        return self._locate(place, now, moved=place.moved)

    def _map(self, address: Address | None, now: float) -> Sequence[ConnectivityOutput]:
        if address == self._mapped:
            return []
        self._mapped = address
        return [] if self._place is None else self._locate(self._place, now, moved=False)

    def _locate(self, place: LocalAddressesChanged, now: float, *, moved: bool) -> Sequence[ConnectivityOutput]:
        """Tell traversal where this computer is, the most useful addresses first."""
        listed = [AddressCandidate(kind, Address(host, place.port)) for host in place.hosts if (kind := kind_of(host))]
        if self._mapped is not None:
            listed.append(AddressCandidate(CandidateKind.MAPPED, self._mapped))
        listed.sort(key=lambda one: USEFUL.index(one.kind))
        located = AddressesChanged(
            addresses=tuple(listed),
            tcp_port=place.port,
            udp_port=place.port,
            second_udp_port=place.second_port,
            moved=moved,
        )
        return self.traversal.handle(located, now)

    def _volunteer(self, found: PublicPeerFound, now: float) -> Sequence[ConnectivityOutput]:
        if found.peer == self._me or ipaddress.ip_address(found.address.host).is_loopback:
            return []
        return self.traversal.handle(found, now)

    def _scout(self, now: float) -> Sequence[ConnectivityOutput]:
        """Look for public peers among those who answer in the DHT, and see that this peer's record stands there."""
        outputs: list[ConnectivityOutput] = [*self._peer_records.publish_again(now)]
        probes = [contact for contact in self._directory.contacts if is_public(contact.host)]
        chosen = self._random.sample(probes, min(SCOUT_RECORDS, len(probes)))
        for contact in chosen:
            found = PublicPeerFound(contact.peer_id, Address(contact.host, contact.port), relay=False)
            outputs += self.traversal.handle(found, now)
        reach = self.traversal.reach
        lonely = reach.standing is not Reachability.REACHABLE and reach.relays < RELAYS_MAX
        if lonely or self.traversal.probes.ipv6.needs_candidates:
            for contact in chosen:
                outputs += self._peer_records.read(contact.peer_id, now)
        return outputs

    def _met(self, peer: PeerId, peer_record: PeerRecord, now: float) -> Sequence[ConnectivityOutput]:
        """Strangers reach that peer: it may carry, and say whether strangers reach this one, also over IPv6."""
        outputs: list[ConnectivityOutput] = []
        places = sorted(
            (listed for listed in peer_record.addresses if listed.kind in LIKELY),
            key=lambda one: LIKELY.index(one.kind),
        )
        if peer_record.relay and peer_record.reachable:
            for place in places[:1]:
                outputs += self._volunteer(PublicPeerFound(peer, place.address, relay=True), now)
        for place in [place for place in places[1:] if place.kind is CandidateKind.IPV6][:1]:
            outputs += self._volunteer(PublicPeerFound(peer, place.address, relay=False), now)
        return outputs
