"""A simulated computer's byte counters of its flows, for a meter."""

from collections import deque

from core.base.ids import PeerId
from core.base.meter import Glance, Meter


class _SimulatedFlow:
    __slots__ = ("arrived", "left", "waiting")

    def __init__(self) -> None:
        self.left = self.arrived = 0
        self.waiting: deque[tuple[float, int]] = deque()
        """When how many bytes will have left."""


class Gauge:
    """Counts the bulk of one node.

    Args:
        meter: Is shown the counts at each look.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._flows: dict[PeerId, _SimulatedFlow] = {}

    def leaves(self, peer: PeerId, count: int, at: float) -> None:
        """Count bytes for `peer` that will have left at the time `at`."""
        self._flow(peer).waiting.append((at, count))

    def came(self, peer: PeerId, count: int) -> None:
        """Count bytes that came from `peer`."""
        self._flow(peer).arrived += count

    def look(self, now: float) -> None:
        """Show the meter how far all flows are."""
        glances = []
        for number, (peer, flow) in enumerate(self._flows.items()):
            while flow.waiting and flow.waiting[0][0] <= now:
                flow.left += flow.waiting.popleft()[1]
            glances.append(Glance(number, peer, flow.left, flow.arrived, bool(flow.waiting)))
        self._meter.look(now, glances)

    def _flow(self, peer: PeerId) -> _SimulatedFlow:
        flow = self._flows.get(peer)
        if flow is None:
            flow = self._flows[peer] = _SimulatedFlow()
        return flow
