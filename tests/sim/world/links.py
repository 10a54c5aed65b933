"""The network between peers: places, distances, speeds of lines, and losses."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from types import MappingProxyType
from typing import Final

from core.base.ids import PeerId
from tests.sim.world.latency import ACCESS_S, Latency


class Router(StrEnum):
    """Kind of router between a peer and the Internet."""

    OPEN = "open"
    """Nothing: everybody reaches it."""
    KEEPS_MAPPING = "keeps mapping"
    """Endpoint-independent mapping; admits only addresses to which the peer has sent recently."""
    SYMMETRIC = "symmetric"
    """Another port for each peer that it sends to, and lets in only from there."""


HOMES: Final[Mapping[Router, float]] = MappingProxyType(
    {Router.OPEN: 0.15, Router.KEEPS_MAPPING: 0.65, Router.SYMMETRIC: 0.20}
)
"""How volunteers' routers are about distributed, by the public measurements."""
MAPPING_S: Final = 60.0
"""Time for which a router admits answers after the last datagram that went out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """The numbers of a simulated network.  The defaults are S003 2.1's: 20-250 ms, 0.33 % loss."""

    access_s: tuple[float, float] = (0.008, 0.040)
    """Delay of a peer's own line, one way: least and most."""
    around_s: float = 0.170
    """Delay between two peers on opposite sides of the circle, one way."""
    jitter_s: float = 0.008
    """Mean of what comes on top, exponential: datagrams overtake one another."""
    loss: float = 0.0033
    duplicate: float = 0.001
    uplink_bytes_per_s: tuple[float, float] = (0.6e6, 12e6)
    """Slowest and fastest; drawn log-uniformly."""
    downlink_bytes_per_s: tuple[float, float] = (3e6, 60e6)
    retransmit_s: float = 0.25
    """Delay of a lost packet on a stream, besides a round trip."""
    dial_timeout_s: float = 10.0
    redial_s: tuple[float, float] = (0.25, 30.0)
    """The first and the longest back-off after a failed call."""
    silence_s: tuple[float, float] = (15.0, 18.0)
    """Silence after which a stream is given up."""
    slow: float = 0.0
    """Share of slow computers, on which each message takes time."""
    compute_s: tuple[float, float] = (0.005, 0.050)
    """Time that a message takes on the fastest and on the slowest of the slow computers; drawn log-uniformly."""


LOCAL = LinkSettings(
    access_s=(0.0001, 0.0002), around_s=0.0, jitter_s=0.0001, loss=0.0, duplicate=0.0, uplink_bytes_per_s=(100e6, 100e6)
)
"""All peers in one house."""


@dataclass(slots=True)
class Place:
    """Where a peer is, and its line.  It stays when the peer goes."""

    angle: float
    """Position on the circle, 0 to 1."""
    site: int
    """Number of its site, where the delays are a matrix."""
    access_s: float
    uplink_bytes_per_s: float
    downlink_bytes_per_s: float
    uplink_free_at: float = 0.0
    """When the bulk data that is queued will have left."""
    downlink_free_at: float = 0.0
    datagrams_free_at: float = 0.0
    """When the datagrams that are queued will have left; they do not wait for bulk."""
    compute_s: float = 0.0
    """Time that each message takes on its computer; later ones wait."""


class SimulatedLinks:
    """Distances, draws and partitions.

    Each peer stands on a circle; a message's delay is both access delays, the arc between the two, and jitter.  That
    is a latency matrix of any size in two numbers a peer, and keeps the triangle inequality.

    Args:
        seed: Places depend on nothing but the seed and the peer.
        random: Draws for single messages.
        latency: Distances between sites instead of those on the circle.
    """

    def __init__(self, settings: LinkSettings, *, seed: int, random: Random, latency: Latency | None = None) -> None:
        self.settings = settings
        self._latency = latency
        self._seed = seed
        self._random = random
        self._places: dict[PeerId, Place] = {}
        self._apart: frozenset[PeerId] = frozenset()

    def place(self, peer: PeerId) -> Place:
        """The place of `peer` in the world."""
        place = self._places.get(peer)
        if place is None:
            random = chance(self._seed, f"place {peer.hex()}")
            settings = self.settings
            place = self._places[peer] = Place(
                angle=random.random(),
                access_s=random.uniform(*settings.access_s),
                uplink_bytes_per_s=log_uniform(random, *settings.uplink_bytes_per_s),
                downlink_bytes_per_s=log_uniform(random, *settings.downlink_bytes_per_s),
                site=0,
            )
            if self._latency is not None:
                place.site = random.randrange(self._latency.sites)
                place.access_s = random.uniform(*ACCESS_S)
            if settings.slow and random.random() < settings.slow:
                place.compute_s = log_uniform(random, *settings.compute_s)
        return place

    def distance_s(self, a: Place, b: Place) -> float:
        """The least delay between two places, one way."""
        if self._latency is not None:
            return a.access_s + b.access_s + self._latency.one_way_s(a.site, b.site)
        arc = abs(a.angle - b.angle)
        return a.access_s + b.access_s + 2 * self.settings.around_s * min(arc, 1 - arc)

    def delay_s(self, a: Place, b: Place) -> float:
        """Draw the delay of one message, seconds."""
        jitter_s = self.settings.jitter_s
        return self.distance_s(a, b) + (self._random.expovariate(1 / jitter_s) if jitter_s else 0.0)

    def stream_delay_s(self, a: Place, b: Place) -> float:
        """Draw the delay of one message on a stream, whose lost packets are sent again, seconds."""
        delay_s = self.delay_s(a, b)
        while self.lost():
            delay_s += self.settings.retransmit_s + 2 * self.distance_s(a, b)
        return delay_s

    def queued_s(self, sender: Place, size: int, now: float) -> float:
        """How long a datagram of `size` bytes needs to leave, behind those that are queued."""
        sender.datagrams_free_at = max(sender.datagrams_free_at, now) + size / sender.uplink_bytes_per_s
        return sender.datagrams_free_at - now

    def lost(self) -> bool:
        """Draw whether this packet is lost."""
        return self._random.random() < self.settings.loss

    def duplicated(self) -> bool:
        """Draw whether this packet arrives twice."""
        return self._random.random() < self.settings.duplicate

    # --- partitions --------------------------------------------------------------------------------------------------

    def divide(self, peers: frozenset[PeerId]) -> None:
        """Cut these peers off from all others."""
        self._apart = peers

    def heal(self) -> None:
        """End the partition of the network."""
        self._apart = frozenset()

    @property
    def divided(self) -> bool:
        """Whether the network is partitioned now."""
        return bool(self._apart)

    def cut(self, a: PeerId, b: PeerId) -> bool:
        """Whether a partition lies between the two."""
        return bool(self._apart) and (a in self._apart) != (b in self._apart)


def chance(seed: int, name: str) -> Random:
    """A source of chance of its own, so that one part's draws do not disturb another's."""
    return Random(f"{name} of world {seed}")


def log_uniform(random: Random, least: float, most: float) -> float:
    """A draw between two numbers above 0 in which every factor is as likely as every other."""
    return float(least * (most / least) ** random.random())
