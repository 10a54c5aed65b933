"""One peer's book of lines: its own estimate, what rounds have proven of others, and what others tell."""

from collections import OrderedDict, deque
from collections.abc import Collection, Mapping, Sequence
from statistics import median
from typing import Any, Final

from core.averaging.bandwidth.demand import Demand, demand_of
from core.averaging.bandwidth.estimate import LACKING, Estimate
from core.averaging.bandwidth.known import SLOW, USUAL_MOST, KnownLines, known_of
from core.averaging.bandwidth.proven import ProvenLine, sound_peers, unremarkable
from core.averaging.bandwidth.records import LineFacts, facts_of
from core.averaging.bandwidth.waits import Waits
from core.averaging.outcome import Outcome
from core.averaging.plan import Plan, Rates
from core.base.ids import PeerId
from core.base.meter import Meter, Sighting

HALF_LIFE_S: Final = 3600.0
"""What was seen counts half as much after so long."""
PEERS_MAX: Final = 2000
CLAIMS_KEPT: Final = 4
LATE: Final = 1.25
"""Times what rounds like it take from which a round was late: a line carries less than the plan took it for."""
ROUNDS: Final = 8
"""Number of last rounds that say what is usual."""
ROUNDS_LEAST: Final = 3
"""Number of rounds below which nothing is usual yet: one late round may be one bad line's."""


class LineBook:
    """What one peer knows of lines: from its own traffic, from rounds, and from the records of others.

    Args:
        me: This peer.
    """

    def __init__(self, me: PeerId) -> None:
        self._me = me
        self.meter = Meter()
        """To be fed by whoever moves the bytes."""
        self._up = Estimate()
        self._down = Estimate()
        self._peers: OrderedDict[PeerId, ProvenLine] = OrderedDict()
        self._facts: dict[PeerId, LineFacts] = {}
        self.held: Mapping[PeerId, float] = {}
        """To whom bytes had to wait although the line had room: how fast they left."""
        self._claims: deque[Rates] = deque(maxlen=CLAIMS_KEPT)
        self._waits: Waits | None = None
        self._began_at = 0.0
        self._ratios: deque[float] = deque(maxlen=ROUNDS)
        """Seconds of the last rounds over those of their plans."""
        self._aged_at: float | None = None

    # --- own line ----------------------------------------------------------------------------------------------------

    @property
    def own(self) -> Rates:
        """What a plan may count on of this peer's line."""
        return Rates(_within(self._up.offer, self.meter.cap_up), _within(self._down.offer, self.meter.cap_down))

    @property
    def measured(self) -> Rates:
        """What this peer's line has been seen to carry."""
        return Rates(int(self._up.level), int(self._down.level))

    @property
    def trip_s(self) -> float:
        """The middle one of this peer's round trips to others; 0: none is known."""
        return median(self.meter.trips.values()) if self.meter.trips else 0.0

    @property
    def claimed(self) -> Rates:
        """The most that was told of this peer's line of late, or that a round has proven to all its members.

        A plan may come from one who has not heard the newest.
        """
        claims = [*self._claims, self.own]
        proven = self._peers.get(self._me) or ProvenLine()
        up, down = (max(one.best, one.floor) for one in (proven.up, proven.down))
        return Rates(max(*(claim.up for claim in claims), int(up)), max(*(claim.down for claim in claims), int(down)))

    @property
    def usual(self) -> float:
        """How many times what its plan says a round takes of late, at the least: 1 to `USUAL_MOST`.

        A plan counts bytes and lines.  Starts, processors and other people's traffic make every round take longer, by
        about the same factor, for which nobody's line is to blame.
        """
        return 1.0 if len(self._ratios) < ROUNDS_LEAST else min(max(1.0, min(self._ratios)), USUAL_MOST)

    # --- rounds ------------------------------------------------------------------------------------------------------

    def begun(self, plan: Plan, now: float) -> None:
        """A round begins: what moved before (a state was fetched or given) is not its, and raises the estimate."""
        self._raise(self.meter.harvest())
        self._waits = Waits(plan, now)
        self._began_at = now

    def saw(self, sender: PeerId, message: Any, outputs: Sequence[Any], now: float) -> None:
        """A message of the round came, and led to these outputs."""
        if self._waits is not None:
            self._waits.saw(sender, message, outputs, now)

    def finished(self, plan: Plan, outcome: Outcome, now: float) -> None:
        """A committed round teaches the book: rates of this peer's line, and what it proves of the others'."""
        waits, self._waits = self._waits, None
        demand = demand_of(plan)
        late = False
        if demand.seconds:
            ratio = outcome.seconds / demand.seconds
            late = ratio > LATE * self.usual
            self._ratios.append(ratio)
        self._learn_own(plan, demand, late=late)
        if plan.stages > 1 or outcome.seconds <= 0:
            return
        sound = sound_peers(plan, outcome)
        if len(sound) == len(plan.peers):
            blamed = waits.kept_waiting(now) if late and waits is not None else set()
            self._learn_all(plan, demand, outcome.seconds, late=late, blamed=blamed)
        else:
            self._learn_some(plan, sound, outcome.seconds)
        while len(self._peers) > PEERS_MAX:
            self._peers.popitem(last=False)

    def failed(self, plan: Plan, now: float) -> None:
        """A round came to nothing: nobody has shown anything, and nothing that its members once showed is sure.

        Of this peer's line less is offered for a while, if by the plan all should have been over, and it was seen to be
        the limit, or less came than was asked for.
        """
        self._waits = None
        sighting = self.meter.harvest()
        self._raise(sighting)
        demand = demand_of(plan)
        if demand.seconds is not None and now >= self._began_at + demand.seconds:
            asked = demand.down_bytes[plan.peers.index(self._me)] / demand.seconds
            if sighting.pressed and sighting.up < LACKING * self._up.offer:
                self._up.failed(sighting.up, pressed=not sighting.alone)
            if 0 < sighting.down < LACKING * min(asked, self._down.offer):
                self._down.failed(sighting.down, pressed=False)
        for peer in plan.peers:
            known = self._peers.get(peer)
            if known is not None:
                known.up.floor = known.down.floor = 0.0

    def aged(self, now: float) -> None:
        """Time goes by in which lines may have changed; to be called now and then, with unix seconds."""
        before, self._aged_at = self._aged_at, now
        if before is None:
            return
        faded = 0.5 ** (max(0.0, now - before) / HALF_LIFE_S)
        for known in self._peers.values():
            for proven in (known.up, known.down):
                proven.best *= faded
                proven.floor *= faded

    def _raise(self, sighting: Sighting) -> None:
        for estimate, rate in ((self._up, sighting.up), (self._down, sighting.down)):
            if rate > estimate.level:
                estimate.learn(rate)

    def _learn_own(self, plan: Plan, demand: Demand, *, late: bool) -> None:
        sighting = self.meter.harvest()
        me = plan.peers.index(self._me)
        up = down = 0.0
        if demand.seconds:
            up, down = demand.up_bytes[me] / demand.seconds, demand.down_bytes[me] / demand.seconds
        self._up.learn(
            sighting.up,
            pressed=sighting.pressed,
            free=sighting.free,
            alone=sighting.alone,
            asked=0.0 if late else up,  # others may be why it was late, and bytes that had to wait are seen here
        )
        self._down.learn(sighting.down, asked=down, late=late)
        held = {peer: rate for peer, rate in sighting.held.items() if not _as_planned(plan, demand, me, peer, rate)}
        self.held = {peer: rate for peer, rate in self.held.items() if peer not in plan.peers} | held

    def _learn_all(self, plan: Plan, demand: Demand, seconds: float, *, late: bool, blamed: set[PeerId]) -> None:
        usual = self.usual if demand.seconds else 1.0
        lines = plan.lines or (Rates(),) * len(plan.peers)
        everybody = [self._peers.get(peer) or ProvenLine() for peer in plan.peers]
        up_most = unremarkable(
            [line.up / one.up.best for line, one in zip(lines, everybody, strict=True) if one.up.best]
        )
        down_most = unremarkable(
            [line.down / one.down.best for line, one in zip(lines, everybody, strict=True) if one.down.best]
        )
        for index, (peer, known, line) in enumerate(zip(plan.peers, everybody, lines, strict=True)):
            self._peers[peer] = known
            self._peers.move_to_end(peer)
            for proven, count, rate, most in (
                (known.up, demand.up_bytes[index], line.up, up_most),
                (known.down, demand.down_bytes[index], line.down, down_most),
            ):
                asked = count / demand.seconds if demand.seconds else 0.0
                trusted = peer in blamed and rate > most * proven.best > 0
                proven.learn(count / seconds, usual=usual, line=rate, asked=asked, late=late, trusted=trusted)

    def _learn_some(self, plan: Plan, sound: Collection[PeerId], seconds: float) -> None:
        """Something went wrong: those of whom all has come carried at least what went between them."""
        demand = demand_of(plan, among=sound)
        for index, peer in enumerate(plan.peers):
            known = self._peers.setdefault(peer, ProvenLine())
            if peer not in sound:
                known.up.floor = known.down.floor = 0.0
                continue
            for proven, count in ((known.up, demand.up_bytes[index]), (known.down, demand.down_bytes[index])):
                proven.best = max(proven.best, count / seconds)

    # --- what is told ------------------------------------------------------------------------------------------------

    def facts(self) -> LineFacts:
        """What to tell others."""
        self._claims.append(self.own)
        return self._record()

    def _record(self) -> LineFacts:
        """What this peer knows; first of those with whom the last rounds were."""
        own, measured = self.own, self.measured
        shown = Rates(min(own.up, measured.up), min(own.down, measured.down))
        others = [(peer, known) for peer, known in reversed(self._peers.items()) if peer != self._me]
        seen = {peer: (known.up.best, known.down.best) for peer, known in others}
        return facts_of(own, shown, seen, self.held.items())

    def heard(self, peer: PeerId, facts: LineFacts) -> None:
        """The book keeps the record that another peer published; beyond `PEERS_MAX` peers it takes no new ones."""
        if peer != self._me and (peer in self._facts or len(self._facts) < PEERS_MAX):
            self._facts[peer] = facts

    def forget(self, here: Sequence[PeerId]) -> None:
        """Only these are here: what others have told counts no more."""
        self._facts = {peer: facts for peer, facts in self._facts.items() if peer in set(here)}

    # --- what is believed --------------------------------------------------------------------------------------------

    def known(self, peers: Sequence[PeerId]) -> KnownLines:
        """What a plan for these is to go by."""
        return known_of(peers, {**self._facts, self._me: self._record()}, self._peers)


def _as_planned(plan: Plan, demand: Demand, sender: int, peer: PeerId, rate: float) -> bool:
    """Whether bytes for a peer left about as fast as the plan had them leave: that says nothing of the pair."""
    if not demand.seconds or peer not in plan.peers:
        return False
    return rate >= SLOW * float(demand.link_bytes[sender, plan.peers.index(peer)]) / demand.seconds


def _within(rate: float, cap: float | None) -> int:
    return int(rate if cap is None else min(rate, cap))
