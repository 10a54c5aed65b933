"""Dial-back probes over IPv4 and over IPv6, which firewalls treat apart."""

import ipaddress
from random import Random
from typing import Any

from core.base.ids import PeerId
from core.base.machine import Send, earliest
from core.base.trace import Trace
from core.nat.dial_back import DialBackProbe
from core.nat.messages import Address, DialBack, DialBackDatagram, DialBackResult
from core.nat.peer_record import is_public


class ReachabilityProbes:
    """One dial-back probe for each address family; the first also tries for other peers, over both."""

    def __init__(self, *, random: Random, trace: Trace) -> None:
        self.ipv4 = DialBackProbe(random=random, trace=trace)
        self.ipv6 = DialBackProbe(random=random, trace=trace, ipv6=True)
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

    def tick(self, now: float) -> list[Any]:
        """Ask when it is time, or conclude when the answers are overdue."""
        return [*self.ipv4.tick(now), *self.ipv6.tick(now)]

    def received(
        self, sender: PeerId, message: DialBack | DialBackDatagram | DialBackResult, address: Address | None, now: float
    ) -> list[Any]:
        """Handle a question or an answer.

        Args:
            sender: The other peer.
            message: The question or answer.
            address: Source address of the sender's datagrams; None: not known.
            now: Unix seconds.
        """
        match message:
            case DialBack():
                return self.ipv4.requested(sender, message, address, now)
            case DialBackDatagram():
                self.ipv4.datagram_arrived(sender, message)
                self.ipv6.datagram_arrived(sender, message)
            case DialBackResult():
                self.ipv4.answered(sender, message, now)
                self.ipv6.answered(sender, message, now)
        return []

    def tried(self, nonce: bytes, *, tcp: bool) -> list[Send[DialBackResult]]:
        """Answer a requester once the host has tried its TCP port.

        Args:
            nonce: The nonce of the request.
            tcp: Whether the connection was made.
        """
        return self.ipv4.tried(nonce, tcp=tcp)


def _networks(own: tuple[str, ...]) -> frozenset[str]:
    """The /64s of the public IPv6 addresses; in each of them addresses change from day to day (RFC 8981)."""
    hosts = (host for host in own if ":" in host and is_public(host))
    return frozenset(str(ipaddress.ip_network((host, 64), strict=False)) for host in hosts)
