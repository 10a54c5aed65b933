"""Routers of the simulated Internet: their mapping and filtering in the terms of RFC 4787."""

from dataclasses import dataclass, field
from random import Random
from typing import Literal

from core.nat.messages import Address

Proto = Literal["tcp", "udp"]
Nature = Literal["public", "kept", "moved", "symmetric"]
UDP_LIFETIME_S = 60.0
ENTRIES_MAX = 65_536


@dataclass(slots=True)
class Box:
    """The router between a peer and the others; `public`: there is none.

    All but `public` admit only packets from an address and port to which a packet was sent (address- and port-dependent
    filtering, the strictest).

    Attributes:
        nature: Kind of its mapping.
        host: Its public IP address.
        random: Draws ports.
    """

    nature: Nature
    host: str
    random: Random
    _named: dict[tuple[Proto, int, Address | None], int] = field(default_factory=dict)
    _let_in: dict[tuple[Proto, int, Address], float] = field(default_factory=dict)

    def outward(self, proto: Proto, port: int, to: Address, now: float) -> Address:
        """A packet from the inside port to `to` passes: from where does it seem to come?"""
        if self.nature == "public":
            return Address(self.host, port)
        if self.nature == "kept":
            outer = port
        else:
            key = (proto, port, to if self.nature == "symmetric" else None)
            if key not in self._named:
                self._named[key] = self.random.randrange(1024, 65536)
            outer = self._named[key]
        if len(self._let_in) >= ENTRIES_MAX:
            self._let_in.clear()
        self._let_in[proto, outer, to] = now
        return Address(self.host, outer)

    def lets_in(self, proto: Proto, port: int, source: Address, now: float) -> bool:
        """Whether a packet that arrives at the outer port gets through."""
        if self.nature == "public":
            return True
        at = self._let_in.get((proto, port, source))
        return at is not None and (proto == "tcp" or now - at <= UDP_LIFETIME_S)
