"""Dial-back probes over IPv4 and over IPv6, which firewalls treat apart."""

import ipaddress
from random import Random

from core.base.ids import PeerId
from core.base.machine import earliest
from core.nat.dial_back import DialBackOutput, DialBackProbe
from core.nat.messages import Address, DialBackDatagram, DialBackResult
from core.nat.peer_record import is_public


class ReachabilityProbes:
    """One dial-back probe for each address family."""

    def __init__(self, *, random: Random) -> None:
        self.ipv4 = DialBackProbe(random=random)
        self.ipv6 = DialBackProbe(random=random, ipv6=True)
        self._only_ipv6 = False
        self._networks: frozenset[str] = frozenset()
        """Networks of this computer's public IPv6 addresses: the firewall before them is what is probed."""

    @property
    def primary(self) -> DialBackProbe:
        """The probe that decides: that of IPv4, or of IPv6 if this computer has nothing else."""
        return self.ipv6 if self._only_ipv6 else self.ipv4

    @property
    def tcp(self) -> bool | None:
        """Whether other peers reach the TCP port; None: not known."""
        return self.primary.tcp

    @property
    def single_verdict(self) -> bool | None:
        """Answer of the only candidate about the TCP port; None: there are several, or it is not trusted yet."""
        return self.primary.single_verdict

    @property
    def deadline(self) -> float | None:
        """Time at which `tick` is due, Unix seconds; None: nothing is pending."""
        return earliest(self.ipv4.deadline, self.ipv6.deadline)

    def located(self, own: tuple[str, ...], ports: tuple[int, int], now: float) -> None:
        """Begin anew after a change of network.

        Args:
            own: IP addresses of this computer.
            ports: Ports for TCP and UDP.
            now: Unix seconds.
        """
        self._only_ipv6 = bool(own) and all(":" in host for host in own)
        self._networks = _networks(own)
        self.ipv4.located(own, ports, now)
        self.ipv6.located(tuple(host for host in own if is_public(host)), ports, now)

    def readdressed(self, own: tuple[str, ...], ports: tuple[int, int], now: float) -> None:
        """Note other interface addresses behind the same router: IPv6 may have come, or another IPv6 network.

        Args:
            own: IP addresses of this computer.
            ports: Ports for TCP and UDP.
            now: Unix seconds.
        """
        self._only_ipv6 = bool(own) and all(":" in host for host in own)
        if _networks(own) != self._networks:
            self._networks = _networks(own)
            self.ipv6.located(tuple(host for host in own if is_public(host)), ports, now)

    def candidate(self, peer: PeerId, address: Address, *, trusted: bool = False) -> None:
        """Remember a peer that could be asked.

        Args:
            peer: The candidate.
            address: Its address.
            trusted: It belongs to the collaboration.
        """
        self.ipv4.candidate(peer, address, trusted=trusted)
        self.ipv6.candidate(peer, address, trusted=trusted)

    def contacted(self, peer: PeerId) -> None:
        """Prefer other candidates to a peer that this one has called."""
        self.ipv4.contacted(peer)
        self.ipv6.contacted(peer)

    def again(self, now: float) -> None:
        """Ask again now about both families."""
        self.ipv4.again(now)
        self.ipv6.again(now)

    def tick(self, now: float) -> list[DialBackOutput]:
        """Ask when it is time, or conclude when the answers are overdue."""
        return [*self.ipv4.tick(now), *self.ipv6.tick(now)]

    def received(self, sender: PeerId, message: DialBackDatagram | DialBackResult, now: float) -> None:
        """Handle what follows from a question of this peer.

        Args:
            sender: The other peer.
            message: Its answer, or the datagram beside it.
            now: Unix seconds.
        """
        for probe in (self.ipv4, self.ipv6):
            if isinstance(message, DialBackDatagram):
                probe.datagram_arrived(sender, message)
            else:
                probe.answered(sender, message, now)


def _networks(own: tuple[str, ...]) -> frozenset[str]:
    """The /64s of the public IPv6 addresses; in each of them addresses change from day to day (RFC 8981)."""
    hosts = (host for host in own if ":" in host and is_public(host))
    return frozenset(str(ipaddress.ip_network((host, 64), strict=False)) for host in hosts)
