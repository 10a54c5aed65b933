"""What this peer's own line carries in each direction, learned from round to round.

What was seen is what the line carries at least, for a round asks of a line what the plan thought of it.  So whoever was
not at its limit offers more than it has shown, until a round shows where the limit is.  Whether a limit still holds is
probed: in the same round now and then, all members offer more than their limits, so the plan's shares stay as they are
and lines that have more to give show it (as in BBR's cycle of pacing gains: Cardwell et al. 2016).
"""

from collections.abc import Mapping
from statistics import median
from typing import Final

from core.averaging.balance.traffic import Floats
from core.averaging.bandwidth.demand import Demand
from core.averaging.bandwidth.known import SLOW
from core.averaging.plan import Plan, Rates
from core.base.ids import PeerId
from core.base.meter import Meter, Sighting

GROWTH: Final = 2.0
"""Factor on what a line has carried, as long as its limit has not been seen."""
PROBE: Final = 1.25
"""Factor on its limit that is offered in a probing round..."""
PROBE_ROUNDS: Final = 6
"""... which is every so many epochs: the lines are overrated, and queues stand before them, in no other round."""
MORE: Final = 1.1
"""A line that carries so many times what it ever did has no known limit any more; less may be an error."""
LACKING: Final = 0.9
"""It fell short when less than this part of what was asked on the average came even in its best moment."""
STEADY: Final = 0.75
"""Limits seen one after the other that differ by no more than this are one limit, measured again; each counts half."""
LOST: Final = 0.5
"""A first round that fails leaves so much of an offer, and no less: others may have been to blame."""
EVEN: Final = 1.15
"""A line that the round waited for carries no more in its busiest moment than so many times what it does on average."""
FROM_ONE: Final = 0.5
"""Where more than this part of what a member sends or receives is one other's, the lack may be that one's."""


class Estimate:
    """One direction.  Bytes a second; 0: nothing is known."""

    def __init__(self) -> None:
        self.level = 0.0
        """What it has carried."""
        self.limited = False
        """Whether that is all that it carries."""
        self._probes = False
        """Whether the next round probes."""
        self._failed = False
        """Whether the last round failed."""

    @property
    def offer(self) -> float:
        """What a plan may count on."""
        return self.level * (GROWTH if not self.limited else PROBE if self._probes else 1.0)

    def carried(self, seen: float) -> None:
        """Bytes moved that no plan had asked for: the line carries at least that."""
        self.level = max(self.level, seen)

    def failed(self, seen: float) -> None:
        """A round failed and saw less than was offered: half is offered, and after a second what was seen."""
        least, self._failed = 0.0 if self._failed else LOST * self.offer, True
        self._limit(max(seen, least))

    def learn(self, seen: float, *, pressed: bool = False, asked: float = 0.0, probes: bool = False) -> None:
        """A round is over.

        Args:
            seen: What moved in its busiest moment; 0: too little to tell.
            pressed: Bytes had to wait for the line nearly all along, so it was the limit.
            asked: What the plan asked of it, on the average; 0: nobody knows, or what came tells nothing.
            probes: The next round probes.
        """
        short = seen < LACKING * (min(asked, self.level) if self._probes else asked)
        self._probes, self._failed = probes, False
        if seen > 0 and (pressed or short):
            self._limit(seen)
            return
        self.limited = self.limited and seen <= MORE * self.level
        self.level = max(self.level, seen)

    def _limit(self, seen: float) -> None:
        """This is all that it carries, for all that is known."""
        steady = self.limited and STEADY * self.level <= seen <= self.level / STEADY
        self.level = (self.level + seen) / 2 if steady else seen
        self.limited = True


class OwnLine:
    """This peer's line, as its own traffic shows it.

    Args:
        me: This peer.
    """

    def __init__(self, me: PeerId) -> None:
        self._me = me
        self.meter = Meter()
        """Meter that is shown how bulk moves."""
        self.up = Estimate()
        self.down = Estimate()
        self.held: Mapping[PeerId, float] = {}
        """Peers for which bytes had to wait although the line had room: how fast they left, bytes a second."""

    @property
    def offered(self) -> Rates:
        """What a plan may count on."""
        return Rates(_within(self.up.offer, self.meter.cap_up), _within(self.down.offer, self.meter.cap_down))

    @property
    def measured(self) -> Rates:
        """What it has been seen to carry."""
        return Rates(int(self.up.level), int(self.down.level))

    @property
    def trip_s(self) -> float:
        """The median of this peer's round trips to others; 0: none is known."""
        return median(self.meter.trips.values()) if self.meter.trips else 0.0

    def begin(self, plan: Plan, demand: Demand) -> None:
        """A round begins: what moved before (a state was fetched or given) is not its, and raises the estimate."""
        self.rise()
        sends = demand.link_bytes[plan.peers.index(self._me)] > 0
        self.meter.receivers = frozenset(peer for peer, bulk in zip(plan.peers, sends, strict=True) if bulk)

    def rise(self) -> Sighting:
        """Take in what has moved since the last round or look: it can only raise the estimate."""
        sighting = self.meter.harvest()
        self.up.carried(sighting.up)
        self.down.carried(sighting.down)
        return sighting

    def learn(self, plan: Plan, demand: Demand, seconds: float) -> None:
        """A committed round has shown what the line carries.

        Args:
            plan: The round's.
            demand: What it asked of all lines.
            seconds: How long the round took, over how long rounds usually take for their plans' seconds.
        """
        sighting = self.meter.harvest()
        me = plan.peers.index(self._me)
        probes = (plan.epoch + 1) % PROBE_ROUNDS == 0
        up = _asked(demand.link_bytes[me], sighting.up, demand, seconds)
        down = _asked(demand.link_bytes[:, me], sighting.down, demand, seconds)
        self.up.learn(sighting.up, pressed=sighting.pressed, asked=up, probes=probes)
        self.down.learn(sighting.down, asked=down, probes=probes)
        held = {peer: rate for peer, rate in sighting.held.items() if not _as_planned(plan, demand, me, peer, rate)}
        self.held = {peer: rate for peer, rate in self.held.items() if peer not in plan.peers} | held

    def fail(self, plan: Plan, demand: Demand, *, overdue: bool) -> None:
        """A round failed: less is offered where the line was the limit, or less came than was asked for.

        Args:
            plan: The round's.
            demand: What it asked of all lines.
            overdue: Whether all should have been over by then.
        """
        sighting = self.rise()
        if not overdue or not demand.seconds:
            return
        asked = demand.down_bytes[plan.peers.index(self._me)] / demand.seconds
        if sighting.pressed and sighting.up < LACKING * self.up.offer:
            self.up.learn(sighting.up, pressed=True)
        if 0 < sighting.down < LACKING * min(asked, self.down.offer):
            self.down.failed(sighting.down)


def _asked(bulk_bytes: Floats, seen: float, demand: Demand, seconds: float) -> float:
    """What the plan asked of one direction, bytes a second; 0: what moved tells nothing of the line.

    Args:
        bulk_bytes: By the other end.
        seen: What moved in its busiest moment, bytes a second.
        demand: What the plan asked of all lines.
        seconds: How long the round took.
    """
    total = float(bulk_bytes.sum())
    if not demand.seconds or bulk_bytes.max() > FROM_ONE * total:
        return 0.0
    idle = seconds > 0 and seen > EVEN * total / seconds
    return 0.0 if idle else total / demand.seconds


def _as_planned(plan: Plan, demand: Demand, sender: int, peer: PeerId, rate: float) -> bool:
    """Whether bytes for a peer left about as fast as the plan had them leave: that says nothing of the pair."""
    if not demand.seconds or peer not in plan.peers:
        return False
    return rate >= SLOW * float(demand.link_bytes[sender, plan.peers.index(peer)]) / demand.seconds


def _within(rate: float, cap: float | None) -> int:
    return int(rate if cap is None else min(rate, cap))
