"""Homes of peers in a simulated Internet: a router, addresses, a machine, and what has come of what it asked for."""

from dataclasses import dataclass, field
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Trace
from core.nat.events import DialEnded, Punch, Way
from core.nat.messages import Address
from core.nat.relay import RelaySettings
from core.nat.traversal import NatSettings, Traversal
from tests.sim.nat.boxes import Box, Nature
from tests.sim.world.agenda import Agenda
from tests.sim.world.links import LinkSettings, Place, SimulatedLinks, chance

START: Final = 1_700_000_000.0
PORT: Final = 31_337
TLS_ROUND_TRIPS: Final = 1.5
"""Until both sides know each other (RFC 8446, 2)."""


@dataclass(slots=True)
class SimulatedHome:
    """A peer, its router and its machine."""

    number: int
    peer: PeerId
    box: Box
    place: Place
    machine: Traversal
    trace: Trace
    inside: str
    ipv6: Box | None = None
    """Its router as far as IPv6 is concerned, which names nothing anew; None: it has no IPv6."""
    up: bool = True
    wake_at: float | None = None
    book: dict[PeerId, Address] = field(default_factory=dict)
    links: dict[PeerId, Way] = field(default_factory=dict)
    circuits: dict[bytes, tuple[PeerId, bool, int]] = field(default_factory=dict)
    calling: dict[PeerId, list[Any]] = field(default_factory=dict)
    """Messages that wait for a link that the host makes by itself."""
    attempts: set[int] = field(default_factory=set)
    punches: dict[PeerId, Punch] = field(default_factory=dict)
    sources: dict[PeerId, Address] = field(default_factory=dict)
    ended: dict[PeerId, DialEnded] = field(default_factory=dict)
    got: dict[bytes, bytearray] = field(default_factory=dict)

    def router(self, to: Address) -> Box | None:
        """The router that a packet to or from that address passes."""
        return self.ipv6 if ":" in to.host else self.box


class Homes:
    """All homes, their distances, and the time in them.

    Args:
        seed: Decides everything.
        relay: Limits of each peer that can be a relay.
        links: Distances.
    """

    def __init__(self, seed: int, *, relay: RelaySettings, links: LinkSettings) -> None:
        self.seed = seed
        self.agenda = Agenda(START)
        self.links = SimulatedLinks(links, seed=seed, random=chance(seed, "links"))
        self.homes: dict[PeerId, SimulatedHome] = {}
        self.at: dict[str, SimulatedHome] = {}
        """By the addresses that others see."""
        self._relay = relay

    @property
    def now(self) -> float:
        """The time of the world, Unix seconds."""
        return self.agenda.now

    def add(self, nature: Nature, *, ipv6: Nature | None = None) -> SimulatedHome:
        """A new peer; it has not started yet.

        Args:
            nature: Its router's.
            ipv6: "public" to have IPv6 that lets everybody in, "kept" only those who were asked; None to have none.
        """
        number = len(self.homes)
        peer = PeerId(chance(self.seed, f"peer {number}").randbytes(32))
        host = f"{20 + number // 65536}.{number // 256 % 256}.{number % 256}.7"
        trace = Trace()
        settings = NatSettings(relay=self._relay)
        machine = Traversal(peer, random=chance(self.seed, f"nat {number}"), trace=trace, settings=settings)
        box = Box(nature, host, chance(self.seed, f"box {number}"))
        inside = host if nature == "public" else "192.168.1.10"
        home = SimulatedHome(number, peer, box, self.links.place(peer), machine, trace, inside)
        self.homes[peer] = home
        self.at[host] = home
        if ipv6 is not None:
            home.ipv6 = Box(ipv6, f"2a00:{number:x}::7", chance(self.seed, f"box six {number}"))
            self.at[home.ipv6.host] = home
        return home

    def delay_s(self, a: SimulatedHome, b: SimulatedHome) -> float:
        """Delay of a packet, one way, seconds."""
        return self.links.distance_s(a.place, b.place)
