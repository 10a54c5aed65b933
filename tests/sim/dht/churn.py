"""Peers of a large DHT come and go, hour by hour."""

import heapq
from collections.abc import Callable
from random import Random
from typing import Final, Protocol

from core.base.ids import PeerId
from tests.sim.dht.swarm import DhtSwarm
from tests.sim.stays import Pattern, Replaced

HOUR_S: Final = 3600.0
LEAST: Final = 2

Pass = Callable[[float], None]
"""Lets simulated seconds go by."""
Tell = Callable[[float], None]
"""Told what share of the hour is over."""


class Coming(Protocol):
    """A way of coming and going."""

    comings: int
    goings: int

    def hour(self, go_on: Pass, tell: Tell) -> None:
        """Let one hour of churn go by."""


def coming(swarm: DhtSwarm, pattern: Replaced | Pattern, *, devices: int) -> Coming:
    """The pattern, at work on a swarm; `devices` is their number, where they come back."""
    match pattern:
        case Replaced():
            return _Even(swarm, round(len(swarm.up) * pattern.share_per_hour))
        case _:
            return _Stays(swarm, pattern, devices=devices)


class _Even:
    """At each of many moments a peer leaves without a word and a new one comes."""

    def __init__(self, swarm: DhtSwarm, steps: int) -> None:
        self._swarm = swarm
        self._steps = steps
        self.comings = self.goings = 0

    def hour(self, go_on: Pass, tell: Tell) -> None:
        """Replace peers at even intervals for an hour."""
        swarm = self._swarm
        for step in range(self._steps):
            swarm.end(swarm.random.choice(list(swarm.up)))
            (peer,) = swarm.newcomers(1)
            swarm.begin(peer, swarm.some_seeds())
            self.comings += 1
            self.goings += 1
            go_on(HOUR_S / self._steps)
            tell((step + 1) / self._steps)
        if not self._steps:
            go_on(HOUR_S)


class _Stays:
    """Each peer stays as long as the pattern says."""

    def __init__(self, swarm: DhtSwarm, pattern: Pattern, *, devices: int) -> None:
        self._swarm = swarm
        self._pattern = pattern
        self._random: Random = swarm.world.chance("stays")
        self._plan: list[tuple[float, int, PeerId]] = []
        """Times of changes, in order, with their peers: a living one goes, another comes."""
        self._planned = 0
        self.comings = self.goings = 0
        self._least, self._most = LEAST, len(swarm.up)
        for peer in list(swarm.up):
            self._after(pattern.stays.rest_s(self._random), peer)
        if pattern.devices is not None:
            self._least = max(LEAST, round(pattern.devices.least * devices))
            self._most = max(self._least, round(pattern.devices.most * devices))
            for peer in swarm.newcomers(devices - len(swarm.up)):
                self._after(self._away_s(), peer)

    def hour(self, go_on: Pass, tell: Tell) -> None:
        """Let peers come and go by their stays for an hour."""
        world = self._swarm.world
        ends_at = world.elapsed_s + HOUR_S
        while self._plan and self._plan[0][0] < ends_at:
            at, _, peer = heapq.heappop(self._plan)
            if at > world.elapsed_s:
                go_on(at - world.elapsed_s)
            if peer in self._swarm.up:
                self._goes(peer)
            else:
                self._comes(peer)
            tell(1 - (ends_at - world.elapsed_s) / HOUR_S)
        go_on(max(0.0, ends_at - world.elapsed_s))

    def _goes(self, peer: PeerId) -> None:
        swarm = self._swarm
        if self._pattern.devices is None:
            self._leave(peer)
            self._comes(*swarm.newcomers(1))
        elif len(swarm.up) > self._least:
            self._leave(peer)
            self._after(self._away_s(), peer)
        else:
            self._after(self._pattern.stays.whole_s(self._random), peer)

    def _comes(self, peer: PeerId) -> None:
        swarm = self._swarm
        if len(swarm.up) >= self._most:
            self._after(self._away_s(), peer)
            return
        swarm.begin(peer, swarm.some_seeds())
        self.comings += 1
        self._after(self._pattern.stays.whole_s(self._random), peer)

    def _leave(self, peer: PeerId) -> None:
        self._swarm.end(peer)
        self.goings += 1

    def _away_s(self) -> float:
        assert self._pattern.devices is not None
        return self._random.expovariate(1 / self._pattern.devices.away_s)

    def _after(self, delay_s: float, peer: PeerId) -> None:
        self._planned += 1
        heapq.heappush(self._plan, (self._swarm.world.elapsed_s + delay_s, self._planned, peer))
