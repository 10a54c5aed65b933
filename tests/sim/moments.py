"""How a world stood from second to second, for its picture."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tests.sim.checkers import Checker
from tests.sim.picture import Chart, changes, rates
from tests.sim.world.node import Node
from tests.sim.world.world import World


@dataclass(frozen=True, slots=True)
class Moment:
    """How things stood at a simulated second."""

    at_s: float
    live: int
    """Peers that are up."""
    count: int
    """Operations that the world exists for: lookups begun, or epochs ended."""
    sent_bytes: int
    """Delivered since the beginning."""


def lookup_charts(moments: Sequence[Moment]) -> list[Chart]:
    """Make the charts of a DHT."""
    lookups = rates([(moment.at_s, moment.count) for moment in moments])
    return [Chart("Stores and gets", "calls/s", lookups), *_common(moments)]


def epoch_charts(moments: Sequence[Moment]) -> list[Chart]:
    """Make the charts of a swarm."""
    return [
        Chart("Newest epoch", "epoch", changes([(moment.at_s, moment.count) for moment in moments])),
        *_common(moments),
    ]


def _common(moments: Sequence[Moment]) -> list[Chart]:
    return [
        Chart("Live peers", "peers", changes([(moment.at_s, moment.live) for moment in moments])),
        Chart("Traffic", "bytes/s", rates([(moment.at_s, moment.sent_bytes) for moment in moments])),
    ]


class MomentWatch(Checker):
    """Notes how a world stands, every simulated second."""

    def __init__(self, world: World, epoch: Callable[[], int]) -> None:
        self._world = world
        self._epoch = epoch
        self.moments: list[Moment] = []

    def looked(self, nodes: Iterable[Node], now: float) -> None:
        """Note the state of the world, once a second."""
        del now
        world = self._world
        self.moments.append(Moment(world.elapsed_s, len(list(nodes)), self._epoch(), world.bytes))
