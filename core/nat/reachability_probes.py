"""Whether strangers get through to us over IPv4 and over IPv6, which firewalls treat apart."""

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
    """Two that ask, one for each family; the first also tries for others, over both."""

    def __init__(self, *, random: Random, trace: Trace) -> None:
        self.ipv4 = DialBackProbe(random=random, trace=trace)
        self.ipv6 = DialBackProbe(random=random, trace=trace, ipv6=True)
        self._only_ipv6 = False
        self._networks: frozenset[str] = frozenset()
        """Those of our IPv6 addresses: their firewall is what is asked about."""

    @property
    def primary(self) -> DialBackProbe:
        """Whose word counts: that about IPv4, or about IPv6 if that is all we have."""
        return self.ipv6 if self._only_ipv6 else self.ipv4

    @property
    def tcp(self) -> bool | None:
        """Whether they reach our TCP port; None: not known."""
        return self.primary.tcp

    @property
    def single_verdict(self) -> bool | None:
        """What the only one there is says of it; None: there are others, or it is not believed."""
        return self.primary.single_verdict

    @property
    def deadline(self) -> float | None:
        """When to be woken."""
        return earliest(self.ipv4.deadline, self.ipv6.deadline)

    def located(self, own: tuple[str, ...], ports: tuple[int, int], now: float) -> None:
        """The network has changed: our IP addresses, and our ports for TCP and UDP."""
        self._only_ipv6 = bool(own) and all(":" in host for host in own)
        self._networks = _networks(own)
        self.ipv4.located(own, ports, now)
        self.ipv6.located(tuple(host for host in own if is_public(host)), ports, now)

    def readdressed(self, own: tuple[str, ...], ports: tuple[int, int], now: float) -> None:
        """The same way out, but our interfaces have other addresses beside: IPv6 may have come, or another network."""
        self._only_ipv6 = bool(own) and all(":" in host for host in own)
        if _networks(own) != self._networks:
            self._networks = _networks(own)
            self.ipv6.located(tuple(host for host in own if is_public(host)), ports, now)

    def candidate(self, peer: PeerId, address: Address, *, trusted: bool = False) -> None:
        """A peer that could try; `trusted`: the collaboration's own."""
        self.ipv4.candidate(peer, address, trusted=trusted)
        self.ipv6.candidate(peer, address, trusted=trusted)

    def contacted(self, peer: PeerId) -> None:
        """We have called that one ourselves."""
        self.ipv4.contacted(peer)
        self.ipv6.contacted(peer)

    def again(self, now: float) -> None:
        """Ask now, about both."""
        self.ipv4.again(now)
        self.ipv6.again(now)

    def tick(self, now: float) -> list[Any]:
        """Ask, or draw the conclusions."""
        return [*self.ipv4.tick(now), *self.ipv6.tick(now)]

    def received(
        self, sender: PeerId, message: DialBack | DialBackDatagram | DialBackResult, address: Address | None, now: float
    ) -> list[Any]:
        """A question or an answer; `address` is where the sender's datagrams come from."""
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
        """The host has tried for somebody."""
        return self.ipv4.tried(nonce, tcp=tcp)


def _networks(own: tuple[str, ...]) -> frozenset[str]:
    """The /64s of our public IPv6 addresses; in each of them IPv6 takes new addresses day by day (RFC 8981)."""
    hosts = (host for host in own if ":" in host and is_public(host))
    return frozenset(str(ipaddress.ip_network((host, 64), strict=False)) for host in hosts)
