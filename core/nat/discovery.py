"""NAT discovery: how routers map this peer's ports, who reaches it, and the record that it publishes."""

from collections import Counter, OrderedDict
from typing import Final

from core.base.ids import PeerId
from core.base.machine import Send, earliest
from core.nat.events import AddressesChanged, LinkUp, NatOutput, PublishPeerRecord, ReachChanged
from core.nat.messages import IPV6_OFFERED_MAX, OFFERED_MAX, Address, AskObservedAddress, Mapping, PunchOffer
from core.nat.mirror import Mirroring, mapping_of
from core.nat.peer_record import (
    ADDRESSES_MAX,
    PEER_RECORD_LIFETIME_S,
    AddressCandidate,
    CandidateKind,
    PeerRecord,
    reveals_mapping,
    same_subnet,
)
from core.nat.reachability import OwnReach, Reachability
from core.nat.reachability_probes import ReachabilityProbes
from core.nat.relay import RelayService
from core.nat.reservations import Reservations

OBSERVERS_MAX: Final = 4
OFFLINE_S: Final = 15.0
UNKNOWN_MAPPING_S: Final = 3.0
"""Seconds for which a mapping may stay unknown; then relays are looked for."""
LINKS_MAX: Final = 2048


class NatDiscovery:
    """Concludes from interface addresses, observations by others and dial-backs how this peer is reached.

    Args:
        mirroring: Observations of the UDP port.
        probes: Dial-backs by other peers.
        reservations: Reservations at relays; told whether any are wanted.
        relay: The relay service; told the source addresses of links.
    """

    def __init__(
        self, *, mirroring: Mirroring, probes: ReachabilityProbes, reservations: Reservations, relay: RelayService
    ) -> None:
        self._mirroring = mirroring
        self._probes = probes
        self._reservations = reservations
        self._relay = relay
        self._located = AddressesChanged(addresses=(), tcp_port=0, udp_port=0, quic=False)
        self._located_at: float | None = None
        self._offline_at: float | None = None
        """Time at which to report once that nobody was found."""
        self._links: OrderedDict[PeerId, LinkUp] = OrderedDict()
        self._tcp_seen: OrderedDict[PeerId, Address] = OrderedDict()
        self._unsure_since: float | None = None
        """Since when a router stands between this peer and others whose mapping is not known."""
        self._reach = OwnReach(Reachability.UNKNOWN)
        self._published: PeerRecord | None = None
        self._publish_at: float | None = None

    # --- findings ----------------------------------------------------------------------------------------------------

    @property
    def reach(self) -> OwnReach:
        """This peer's reachability as far as it is known."""
        return self._reach

    @property
    def deadline(self) -> float | None:
        """Time at which `assess` may report something without any news, Unix seconds."""
        return earliest(self._publish_at, self._offline_at)

    @property
    def tcp_mapping(self) -> Mapping:
        """How the router maps the TCP port; as it maps UDP, until enough peers have observed it."""
        mapping = mapping_of(self._tcp_seen.values(), self._own_hosts, self._located.tcp_port)
        return self._mirroring.mapping if mapping == "unknown" else mapping

    @property
    def peer_record(self) -> PeerRecord:
        """This peer's own record as it would be published now."""
        external = self._mirroring.external
        reachable = self._reach.standing is Reachability.REACHABLE
        listed = list(self._located.addresses)
        if reachable and external is not None and external.host not in self._own_hosts:
            listed.insert(0, AddressCandidate(CandidateKind.PUBLIC, Address(external.host, self._located.tcp_port)))
        return PeerRecord(
            tuple(listed[:ADDRESSES_MAX]),
            reachable=reachable,
            tcp_mapping=self.tcp_mapping,
            udp_mapping=self._mirroring.mapping,
            quic=self._located.quic,
            relays=self._reservations.held if self._reservations.wanted else (),
            relay=reachable and self._relay.settings.circuits > 0,
            external=external.host if external is not None else "",
            reachable_ipv6=bool(self._probes.ipv6.tcp),
        )

    @property
    def _own_hosts(self) -> tuple[str, ...]:
        return tuple(
            listed.address.host for listed in self._located.addresses if listed.kind is not CandidateKind.MAPPED
        )

    def offer(self, nonce: bytes, relay: PeerId) -> PunchOffer:
        """Describe this peer for a punch.

        Args:
            nonce: Names the punch.
            relay: The relay over which the two peers agree.
        """
        external = self._mirroring.external
        lan, public, ipv6 = (
            tuple(listed.address for listed in self._located.addresses if listed.kind in kinds)
            for kinds in ({CandidateKind.LAN}, {CandidateKind.PUBLIC, CandidateKind.MAPPED}, {CandidateKind.IPV6})
        )
        tcp = tuple(address for address, _ in Counter(self._tcp_seen.values()).most_common(2))
        if not tcp and external is not None and self._located.tcp_port:
            tcp = (Address(external.host, self._located.tcp_port),)
        udp = () if external is None else (external,)
        udp_lan = tuple(Address(address.host, self._located.udp_port) for address in lan if self._located.udp_port)
        return PunchOffer(
            nonce,
            tuple(dict.fromkeys((*tcp, *public, *lan)))[:OFFERED_MAX],
            tuple(dict.fromkeys((*udp, *udp_lan)))[:OFFERED_MAX],
            self.tcp_mapping,
            self._mirroring.mapping,
            self._located.quic,
            min(60_000, round(1000 * self._reservations.one_way_s(relay))),
            self._reservations.held,
            ipv6[:IPV6_OFFERED_MAX],
        )

    # --- news --------------------------------------------------------------------------------------------------------

    def locate(self, event: AddressesChanged, now: float) -> bool:
        """Take the addresses that the owner knows.

        Args:
            event: Addresses and ports.
            now: Unix seconds.

        Returns:
            Whether this is another network than before.
        """
        self._located = event
        if self._located_at is not None and not event.moved:
            self._mirroring.readdressed(self._own_hosts)
            self._probes.readdressed(self._own_hosts, (event.tcp_port, event.udp_port), now)
            return False
        self._located_at, self._offline_at, self._unsure_since = now, now + OFFLINE_S, None
        self._tcp_seen.clear()
        self._mirroring.located(self._own_hosts, event.udp_port, now)
        self._probes.located(self._own_hosts, (event.tcp_port, event.udp_port), now)
        return True

    def linked(self, event: LinkUp) -> list[NatOutput]:
        """Note a link; the other end may be asked where it sees this peer."""
        outputs: list[NatOutput] = []
        if event.way.direct:
            if len(self._links) >= LINKS_MAX:
                self._relay.seen.pop(self._links.popitem(last=False)[0], None)
            self._links[event.peer] = event
            if event.address is not None:
                self._relay.seen[event.peer] = event.address
            if event.called:
                self._probes.contacted(event.peer)
                external = event.address is not None and not same_subnet(event.address.host, self._own_hosts)
                if len(self._tcp_seen) < OBSERVERS_MAX and external:
                    outputs.append(Send(event.peer, AskObservedAddress()))
        return outputs

    def lost(self, peer: PeerId) -> None:
        """Forget a link that has ended, and its observation."""
        self._links.pop(peer, None)
        self._tcp_seen.pop(peer, None)

    def observed(self, peer: PeerId, seen: Address) -> None:
        """Take an observation of this peer's address by another peer.

        Only links that this peer called, from the listening port, tell how the router maps that port.

        Args:
            peer: The observer.
            seen: The address that it sees.
        """
        link = self._links.get(peer)
        if link is None or not link.called or not reveals_mapping(seen.host, self._own_hosts):
            return
        self._tcp_seen[peer] = seen
        if len(self._tcp_seen) > OBSERVERS_MAX:
            self._tcp_seen.popitem(last=False)

    # --- conclusions -------------------------------------------------------------------------------------------------

    def assess(self, now: float) -> list[NatOutput]:
        """Draw the conclusions, and report and publish what has changed."""
        if self._located_at is None:
            return []
        if self._offline_at is not None and now >= self._offline_at:
            self._offline_at = None
        external = self._mirroring.external
        host = external.host if external is not None else ""
        tcp, udp = self.tcp_mapping, self._mirroring.mapping
        standing = self._standing(tcp, udp, now)
        self._reservations.wanted = standing in {Reachability.PUNCHABLE, Reachability.RELAYED}
        outputs: list[NatOutput] = list(self._reservations.settle(now))
        if host and self._reach.external and host != self._reach.external:
            # Another network with the same inside address, or a router with a new external one.
            self._probes.ipv4.located(self._own_hosts, (self._located.tcp_port, self._located.udp_port), now)
            self._tcp_seen.clear()
        reach = OwnReach(standing, host, tcp, udp, len(self._reservations.held), bool(self._probes.ipv6.tcp))
        if reach != self._reach:
            self._reach = reach
            outputs.append(ReachChanged(reach))
        peer_record = self.peer_record
        known = standing not in {Reachability.UNKNOWN, Reachability.OFFLINE}
        if known and (peer_record != self._published or (self._publish_at is not None and now >= self._publish_at)):
            self._published, self._publish_at = peer_record, now + PEER_RECORD_LIFETIME_S / 2
            outputs.append(PublishPeerRecord(peer_record))
        elif not known:
            self._publish_at = None
        return outputs

    def _standing(self, tcp: Mapping, udp: Mapping, now: float) -> Reachability:
        mappings = {tcp, udp}
        open_ = "none" in mappings or any(listed.kind is CandidateKind.MAPPED for listed in self._located.addresses)
        # A router may admit everything from a host that was called: there the verdict of a single peer is not enough.
        if self._probes.tcp or (open_ and self._probes.single_verdict):
            return Reachability.REACHABLE
        if mappings & {"kept", "moved"}:
            return Reachability.PUNCHABLE
        if "symmetric" in mappings:
            return Reachability.RELAYED
        if "none" in mappings:
            closed = self._probes.tcp is False or self._probes.single_verdict is False
            return Reachability.PUNCHABLE if closed else Reachability.UNKNOWN
        external = self._mirroring.external
        if external is None:
            late = self._located_at is not None and now >= self._located_at + OFFLINE_S
            return Reachability.OFFLINE if late and not self._links else Reachability.UNKNOWN
        if external.host in self._own_hosts:
            return Reachability.UNKNOWN
        if self._reach.standing is Reachability.PUNCHABLE and self._reach.external == external.host:
            return Reachability.PUNCHABLE  # the same router; only the observers have gone
        self._unsure_since = now if self._unsure_since is None else self._unsure_since
        return Reachability.RELAYED if now >= self._unsure_since + UNKNOWN_MAPPING_S else Reachability.UNKNOWN
