"""What this peer's own line carries in each direction, learned from round to round.

What was seen is what the line carries at least, for a round asks of a line what the plan thought of it.  So whoever was
not at its limit offers more than it has shown, until a round shows where the limit is.  Every line that a round really
waits for is measured truly in the end: had it more to give, it would be asked for more.
"""

import math
from collections.abc import Mapping
from statistics import median
from typing import Final

from core.averaging.bandwidth.demand import Demand
from core.averaging.bandwidth.known import SLOW
from core.averaging.plan import Plan, Rates
from core.base.ids import PeerId
from core.base.meter import Meter, Sighting

GROWTH: Final = 2.0
"""Of a line whose limit has not been seen, so many times what it has shown is offered; less where bytes had to wait."""
AGAIN_MOST: Final = 2.0
"""What a line fell short of is tried once more, up to so many times what it carried: a trial costs that much time."""
RISE: Final = 0.02
"""A line whose limit was seen is taken for so much more after a round that asked all of it, and got that..."""
RISE_MOST: Final = 0.25
"""... and for twice as much more after each further one, up to this: it has another limit now."""
FAR: Final = 1.15
"""A line that shows so many times its limit has another one now."""
ASKED: Final = 0.85
"""A round puts a line to the test when it asks for this part of what the line offers."""
LACKING: Final = 0.9
"""It has failed when less than this part of what was asked on the average came even in its best moment."""
REST_MOST: Final = 64
"""Upper bound on the rounds between a failed one and the next doubling of what it left of an offer."""
DOUBTFUL: Final = 2
"""A line comes down when bytes for a single peer had to wait so many rounds in a row: if that peer is the slow one, it
has said so by then, and a plan asks less of it."""
IDLE_ROUNDS: Final = 8
"""After so many rounds that did not show it, what was seen is let down."""
FADING: Final = 0.9
STEADY: Final = 0.75
"""Limits seen in a row that differ by no more than this are one limit, measured again..."""
AVERAGED: Final = 4
"""... and their mean counts, of about so many."""
LOST: Final = 0.5
"""A round that failed takes so much of an offer, and no more: others may have been to blame."""


class Estimate:
    """One direction.  Bytes a second; 0: nothing is known."""

    def __init__(self) -> None:
        self.level = 0.0
        """What it has shown."""
        self.limited = False
        """Whether that is all that it carries."""
        self._seen = 0
        self._growth = GROWTH
        self._idle = self._passed = 0
        self._before = 0.0
        """What was offered before a round fell short of it, and is to be tried once more; 0: nothing."""
        self._tried = False
        """Whether that was the last thing that was tried."""
        self._doubtful = 0
        self._bound = math.inf
        self._rest = self._awaited = 1
        self._lifted = False

    @property
    def offer(self) -> float:
        """What a plan may count on."""
        return min(self._unbound, self._bound)

    @property
    def _unbound(self) -> float:
        return self.level if self.limited else self.level * self._growth

    def failed(self, seen: float, *, pressed: bool) -> None:
        """A round came to nothing, and saw less of this line than was offered: so less is offered now.

        Each round that comes to its end doubles that; more and more of them are needed where the next one failed again.

        Args:
            seen: What moved in its busiest moment.
            pressed: The line was the limit then.
        """
        if self._lifted:
            self._rest = min(2 * self._rest, REST_MOST)
        self._bound = seen if pressed else max(seen, LOST * self.offer)
        self._awaited, self._lifted = self._rest, False

    def _lift(self, seen: float, *, kept: bool, tested: bool) -> None:
        """A round came to its end; `kept`: with all that was asked for, in time."""
        if self._bound == math.inf:
            if kept and tested:
                self._rest, self._lifted = 1, False
            return
        self._bound = max(self._bound, seen)
        self._awaited -= kept
        if self._awaited <= 0:
            self._bound *= 2
            self._awaited, self._lifted = self._rest, True
        if self._bound >= self._unbound:
            self._bound = math.inf

    def learn(
        self,
        seen: float,
        *,
        pressed: bool = False,
        free: float = 1.0,
        alone: bool = False,
        asked: float = 0.0,
        late: bool = False,
    ) -> None:
        """A round is over.

        Args:
            seen: What moved in its busiest moment; 0: too little to tell.
            pressed: Bytes had to wait then, so the line was the limit.
            free: How far from that it was, 1 to 0.
            alone: They waited for one peer only, whose line may have been the limit instead.
            asked: What the plan asked of it, on the average; 0: nobody knows.
            late: The round took longer than its plan had said.
        """
        tested = asked >= ASKED * self.offer > 0
        self._lift(seen, kept=not late and seen >= LACKING * asked and seen > 0, tested=tested)
        doubtful = pressed and alone and 0 < seen < LACKING * self.level
        self._doubtful = self._doubtful + 1 if doubtful else 0
        if seen > 0 and pressed and (not doubtful or self._doubtful >= DOUBTFUL):
            self._limit(seen)
        elif 0 < seen < LACKING * asked:
            self._fail(seen)
        elif seen > (FAR if self.limited else 1) * self.level:
            self._rise(seen, free)
        elif tested and not late:
            self._pass(seen)
        else:
            self._wait(seen)

    def _limit(self, seen: float) -> None:
        steady = self.limited and STEADY * self.level <= seen <= self.level / STEADY
        self._seen = min(self._seen + 1, AVERAGED) if steady else 1
        self.level += (seen - self.level) / self._seen
        self.limited = True
        self._idle = self._passed = 0

    def _fail(self, seen: float) -> None:
        """Less came, even at best, than was asked for on the average: this is the limit, for all that we know.

        Another's line may have been to blame: what was offered before is tried once more after the next round in time.
        """
        self._before, self._tried = 0.0 if self._tried else self.offer, False
        self.level = seen
        self.limited = True
        self._seen = 1
        self._idle = self._passed = 0

    def _rise(self, seen: float, free: float) -> None:
        """More came than ever: a limit that was seen before holds no more."""
        if seen > FAR * self.level:
            self._growth = 1.0 + (GROWTH - 1.0) * free
        self.limited = False
        self.level = seen
        self._idle = 0

    def _pass(self, seen: float) -> None:
        """All that was asked for came in time."""
        self._idle = 0
        again, self._before = min(self._before, AGAIN_MOST * self.level), 0.0
        self._tried = again > self.level
        if self._tried:
            self.level = again
        elif self.limited:
            self.level = max(seen, (1 + min(RISE * 2**self._passed, RISE_MOST)) * self.level)
            self._passed += 1

    def _wait(self, seen: float) -> None:
        """The round says nothing of what the line can do."""
        self._passed = 0
        if seen >= LACKING * self.level:
            self.level = max(seen, self.level)
            self._idle = 0
            return
        self._idle += 1
        if self._idle >= IDLE_ROUNDS:
            self.level = max(seen, FADING * self.level)


class OwnLine:
    """This peer's line, as its own traffic shows it.

    Args:
        me: This peer.
    """

    def __init__(self, me: PeerId) -> None:
        self._me = me
        self.meter = Meter()
        """To be shown how bulk moves."""
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

    def rise(self) -> Sighting:
        """Take in what has moved since the last round or look: it can only raise the estimate."""
        sighting = self.meter.harvest()
        for estimate, rate in ((self.up, sighting.up), (self.down, sighting.down)):
            if rate > estimate.level:
                estimate.learn(rate)
        return sighting

    def learn(self, plan: Plan, demand: Demand, *, late: bool) -> None:
        """A committed round has shown what the line carries.

        Args:
            plan: The round's.
            demand: What it asked of all lines.
            late: Whether the round was.
        """
        sighting = self.meter.harvest()
        me = plan.peers.index(self._me)
        up = down = 0.0
        if demand.seconds:
            up, down = demand.up_bytes[me] / demand.seconds, demand.down_bytes[me] / demand.seconds
        self.up.learn(
            sighting.up,
            pressed=sighting.pressed,
            free=sighting.free,
            alone=sighting.alone,
            asked=0.0 if late else up,  # others may be why it was late, and bytes that had to wait are seen here
        )
        self.down.learn(sighting.down, asked=down, late=late)
        held = {peer: rate for peer, rate in sighting.held.items() if not _as_planned(plan, demand, me, peer, rate)}
        self.held = {peer: rate for peer, rate in self.held.items() if peer not in plan.peers} | held

    def fail(self, plan: Plan, demand: Demand, *, overdue: bool) -> None:
        """A round failed: less is offered for a while where the line was the limit, or less came than was asked for.

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
            self.up.failed(sighting.up, pressed=not sighting.alone)
        if 0 < sighting.down < LACKING * min(asked, self.down.offer):
            self.down.failed(sighting.down, pressed=False)


def _as_planned(plan: Plan, demand: Demand, sender: int, peer: PeerId, rate: float) -> bool:
    """Whether bytes for a peer left about as fast as the plan had them leave: that says nothing of the pair."""
    if not demand.seconds or peer not in plan.peers:
        return False
    return rate >= SLOW * float(demand.link_bytes[sender, plan.peers.index(peer)]) / demand.seconds


def _within(rate: float, cap: float | None) -> int:
    return int(rate if cap is None else min(rate, cap))
