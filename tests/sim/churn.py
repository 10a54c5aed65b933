"""Churn of a swarm: peers come and go."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from core.base.ids import PeerId
from tests.sim.world.node import End
from tests.sim.world.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class ChurnSettings:
    """How long peers stay, and how they go."""

    live: tuple[int, int]
    """Never fewer, never more peers at a time."""
    up_s: float = 120.0
    """Mean stay, exponential."""
    down_s: float = 30.0
    """Mean absence, exponential."""
    first_s: float = 10.0
    """The first peers come within this time."""
    ends: Mapping[End, float] = field(default_factory=lambda: {End.LEAVE: 1.0, End.CRASH: 1.0, End.POWER_CUT: 0.5})
    """How likely each end is, against the others."""


class Churn:
    """Begins and ends the lives of `peers` until it is told to rest.

    Args:
        begin: Lets a peer live.
        end: Ends its life.
    """

    def __init__(
        self,
        world: World,
        peers: Sequence[PeerId],
        *,
        settings: ChurnSettings,
        random: Random,
        begin: Callable[[PeerId], None],
        end: Callable[[PeerId, End], None],
    ) -> None:
        self._world = world
        self._settings = settings
        self._random = random
        self._begin = begin
        self._end = end
        self._lives: dict[PeerId, int] = {}
        """Living peers, with the number of their life."""
        self._resting = False
        self.comings = 0
        self.goings: dict[End, int] = dict.fromkeys(End, 0)
        for index, peer in enumerate(peers):
            now = index < settings.live[1]
            delay_s = random.uniform(0, settings.first_s) if now else random.expovariate(1 / settings.down_s)
            world.agenda.after(delay_s, self._come, peer)

    def rest(self) -> None:
        """Stop the churn: living peers stay, others stay away."""
        self._resting = True

    def strike(self, peer: PeerId) -> None:
        """End this peer's life now, if it may go."""
        if peer in self._lives:
            self._go(peer, self._lives[peer])

    def _come(self, peer: PeerId) -> None:
        if self._resting:
            return
        if len(self._lives) >= self._settings.live[1]:
            self._world.agenda.after(self._random.expovariate(1 / self._settings.down_s), self._come, peer)
            return
        self.comings += 1
        self._lives[peer] = self.comings
        self._begin(peer)
        self._world.agenda.after(self._random.expovariate(1 / self._settings.up_s), self._go, peer, self.comings)

    def _go(self, peer: PeerId, life: int) -> None:
        if self._resting or self._lives.get(peer) != life:
            return
        if len(self._lives) <= self._settings.live[0]:
            self._world.agenda.after(self._random.expovariate(1 / self._settings.up_s), self._go, peer, life)
            return
        del self._lives[peer]
        ends = self._settings.ends
        how = self._random.choices(list(ends), list(ends.values()))[0]
        self.goings[how] += 1
        self._end(peer, how)
        self._world.agenda.after(self._random.expovariate(1 / self._settings.down_s), self._come, peer)
