"""One peer's book of lines: its own estimate, what rounds have proven of others, and what others tell."""

import math
from collections import Counter, OrderedDict, deque
from collections.abc import Collection, Sequence
from statistics import median
from typing import Any, Final

from core.averaging.bandwidth.demand import Demand, demand_of
from core.averaging.bandwidth.estimate import PROBE, PROBE_ROUNDS, OwnLine
from core.averaging.bandwidth.known import USUAL_MOST, KnownLines, known_of
from core.averaging.bandwidth.proven import ProvenLine, sound_peers, unremarkable
from core.averaging.bandwidth.records import LineFacts, facts_of
from core.averaging.messages import Mean, Part
from core.averaging.outcome import Outcome
from core.averaging.plan import Plan, Rates
from core.base.ids import PeerId
from core.base.machine import Send

HALF_LIFE_S: Final = 3600.0
"""What was seen counts half as much after so long."""
PEERS_MAX: Final = 2000
CLAIMS_KEPT: Final = 4
"""Number of times this peer has told of its line that plans may go by: their leaders may not have heard the newest."""
LATE: Final = 1.25
"""Times what rounds like it take from which a round was late: a line carries less than the plan took it for."""
ROUNDS: Final = 8
"""Number of last rounds that say what is usual."""
ROUNDS_LEAST: Final = 3
"""Number of rounds below which nothing is usual yet: one late round may be one bad line's."""


CHUNKS_LEAST: Final = 4
"""Chunks that must have been reduced here to tell who is always last."""
LAST_IN: Final = 0.3
"""Part of the chunks from which on a member that was the last in them kept the others waiting..."""
CHANCE: Final = 2.0
"""... unless that is within this many standard deviations of what is everybody's turn."""
MEANS_LATE: Final = 0.9
MEANS_EARLY: Final = 0.75
"""A reducer whose last mean came after the first of these parts of the round, when most were done before the second."""


class Waits:
    """Counts who was last with the parts of the chunks that this member reduces, and when the last means came.

    Args:
        plan: The round's plan.
        now: When it began, unix seconds.
    """

    def __init__(self, plan: Plan, now: float) -> None:
        self._plan = plan
        self._peers = plan.peers
        self._began = now
        self._last_parts: Counter[PeerId] = Counter()
        self._last_means: dict[int, float] = {}

    def saw(self, sender: PeerId, message: Any, outputs: Sequence[object], now: float) -> None:
        """A message came and led to these outputs: a mean at once means that this part was the last."""
        if isinstance(message, Part):
            first = outputs[0] if outputs else None
            mean = first.message if isinstance(first, Send) else None
            if isinstance(mean, Mean) and (mean.share, mean.chunk) == (message.share, message.chunk):
                self._last_parts[sender] += 1
        elif isinstance(message, Mean) and self._peers[message.share : message.share + 1] == (sender,):
            self._last_means[message.share] = now

    def kept_waiting(self, now: float) -> set[PeerId]:
        """Whom the others waited for, when the round is over."""
        total = self._last_parts.total()
        if total >= CHUNKS_LEAST:
            least = max(LAST_IN * total, self._by_chance(total))
            found = {peer for peer, count in self._last_parts.items() if count >= least}
            if found:
                return found
        took_s = now - self._began
        if len(self._last_means) < 3 or median(self._last_means.values()) - self._began > MEANS_EARLY * took_s:
            return set()
        late = self._began + MEANS_LATE * took_s
        return {self._peers[share] for share, at in self._last_means.items() if at >= late}

    def _by_chance(self, total: int) -> float:
        """How often one of those who give is last in so many chunks even if all are equally slow."""
        turn = 1 / max(1, sum(1 for member in self._plan.members if member.samples) - 1)
        return total * turn + CHANCE * math.sqrt(total * turn * (1 - turn))


class LineBook:
    """What one peer knows of lines: from its own traffic, from rounds, and from the records of others.

    Args:
        me: This peer.
    """

    def __init__(self, me: PeerId) -> None:
        self._me = me
        self.own = OwnLine(me)
        self._peers: OrderedDict[PeerId, ProvenLine] = OrderedDict()
        self._facts: dict[PeerId, LineFacts] = {}
        """What each peer has told last, this one among them."""
        self._claims: deque[Rates] = deque(maxlen=CLAIMS_KEPT)
        self._rounds = 0
        self._waits: Waits | None = None
        self._began_at = 0.0
        self._ratios: deque[float] = deque(maxlen=ROUNDS)
        """Seconds of the last rounds over those of their plans."""
        self._aged_at: float | None = None

    @property
    def claimed(self) -> Rates:
        """The most that was told of this peer's line of late, or that a round has proven to all its members.

        A plan may come from one who has not heard the newest.
        """
        claims = [*self._claims, self.own.offered]
        proven = self._peers.get(self._me) or ProvenLine()
        up, down = (max(one.best, one.floor) for one in (proven.up, proven.down))
        return Rates(max(*(claim.up for claim in claims), int(up)), max(*(claim.down for claim in claims), int(down)))

    @property
    def judges(self) -> bool:
        """Whether this peer was in rounds often enough, since it was started, to refuse plans for their lines.

        Before, a plan may rightly go by what an earlier run of this program has told and proven, and has forgotten.
        """
        return self._rounds >= CLAIMS_KEPT

    @property
    def usual(self) -> float:
        """How many times what its plan says a round takes of late, at the least: 1 to `USUAL_MOST`.

        A plan counts bytes and lines.  Starts, processors and other people's traffic make every round take longer, by
        about the same factor, for which nobody's line is to blame.
        """
        return 1.0 if len(self._ratios) < ROUNDS_LEAST else min(max(1.0, min(self._ratios)), USUAL_MOST)

    # --- rounds ------------------------------------------------------------------------------------------------------

    def begun(self, plan: Plan, now: float) -> None:
        """A round begins."""
        self.own.begin(plan, demand_of(plan))
        self._waits = Waits(plan, now)
        self._began_at = now

    def saw(self, sender: PeerId, message: Any, outputs: Sequence[object], now: float) -> None:
        """A message of the round came, and led to these outputs."""
        if self._waits is not None:
            self._waits.saw(sender, message, outputs, now)

    def finished(self, plan: Plan, outcome: Outcome, now: float) -> None:
        """A committed round teaches the book: rates of this peer's line, and what it proves of the others'."""
        self._rounds += 1
        waits, self._waits = self._waits, None
        demand = demand_of(plan)
        late = False
        if demand.seconds:
            ratio = outcome.seconds / demand.seconds
            late = ratio > LATE * self.usual * (PROBE if plan.epoch % PROBE_ROUNDS == 0 else 1.0)
            self._ratios.append(ratio)
        self.own.learn(plan, demand, outcome.seconds / self.usual)
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
        """A round failed: nobody has shown anything, and nothing that its members once showed is sure.

        Of this peer's line less is offered, if by the plan all should have been over, and it was seen to be
        the limit, or less came than was asked for.
        """
        self._waits = None
        demand = demand_of(plan)
        overdue = demand.seconds is not None and now >= self._began_at + demand.seconds
        self.own.fail(plan, demand, overdue=overdue)
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
        """What to tell others, and what this peer's own plans go by from now on.

        Of the others, those with whom the last rounds were come first.
        """
        own, measured = self.own.offered, self.own.measured
        self._claims.append(own)
        shown = Rates(min(own.up, measured.up), min(own.down, measured.down))
        others = [(peer, known) for peer, known in reversed(self._peers.items()) if peer != self._me]
        seen = {peer: (known.up.best, known.down.best) for peer, known in others}
        self._facts[self._me] = told = facts_of(own, shown, seen, self.own.held.items())
        return told

    def heard(self, peer: PeerId, facts: LineFacts) -> None:
        """The book keeps the record that another peer published; beyond `PEERS_MAX` peers it takes no new ones."""
        if peer != self._me and (peer in self._facts or len(self._facts) < PEERS_MAX):
            self._facts[peer] = facts

    def forget(self, here: Sequence[PeerId]) -> None:
        """Only these are here: what others have told counts no more."""
        self._facts = {peer: facts for peer, facts in self._facts.items() if peer in {self._me, *here}}

    # --- what is believed --------------------------------------------------------------------------------------------

    def known(self, peers: Sequence[PeerId]) -> KnownLines:
        """What a plan for these is to go by: what its members may know, so of this peer's line what it has told."""
        return known_of(peers, self._facts, self._peers)
