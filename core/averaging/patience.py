"""For how long one member waits for each other one beyond the time that most take: by what that one has given.

A member that keeps a round waiting takes the time of all others.  So it can only take what it has earned: with each
committed round a member earns `EARNED` of the time since the round before, as far as its part is in the mean.  For
each second that its part is waited for one second is gone.  Half of it is gone with a round that was committed without
it, and all with one in which it gave nothing: both are seen by all members alike.

A stranger has earned nothing: it is new, or was silent.  All strangers together are waited for once in a round, for
`EARNED` of the time since the round before, as if they were one person: so new keys gain nothing, and a newcomer on a
distant line can come in.  A stranger's part counts like any other that is in time, and with it the stranger has earned.
It gets no share where others can have it, nobody follows its call, and nobody counts on the samples that it claims.

The numbers are what this member has observed itself, and are forgotten with the process.  As long as it knows of no
committed round, or of none for long, or was alone in it, newcomers are not strangers: the timetable holds.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from core.averaging.bandwidth.demand import planned_s
from core.base.ids import PeerId

if TYPE_CHECKING:
    from core.averaging.outcome import Outcome
    from core.averaging.plan import Plan

EARNED: Final = 1 / 8
"""Part of the time since the round before that a member earns with a round, and for which strangers are waited for."""
MOST_PLANS: Final = 2
"""A member has earned at most the stall timeout and so many planned times of the round: a broken link is mended in
less."""
KEPT_LEFT_OUT: Final = 1 / 2
"""Part of what a member has earned that it keeps where a round was committed without it: the coordinator has waited for
the rest (`core.averaging.failure_detector.STAGE_PART`)."""
FORGOTTEN_AFTER: Final = 4
"""Number of times as long as it took to the last round, and the round's time, after which all is forgotten: two members
that each take the other for a stranger begin anew."""
PEERS_MAX: Final = 2000
"""Upper bound on the peers that are remembered; those that were in no round for longest are forgotten first."""


@dataclass(frozen=True, slots=True)
class Waited:
    """How long a member is waited for in one round, beyond the time that most take."""

    seconds: float
    """What it has earned, and what a stranger has."""
    stranger: bool
    """It has earned nothing."""


class Patience:
    """What one member owes to each other one."""

    def __init__(self) -> None:
        self._earned: OrderedDict[PeerId, float] = OrderedDict()
        """Seconds."""
        self._strangers_s = 0.0
        self._committed_at = -math.inf
        self._until = -math.inf
        self._alone = True
        """No other member has earned anything: one that was not met may as well take this one for the stranger."""

    def committed(self, plan: Plan, outcome: Outcome, now: float, *, me: PeerId) -> None:
        """A round was committed: what its members have earned and spent in it.

        Args:
            plan: Its plan.
            outcome: As this member has seen it.
            now: Unix seconds.
            me: This member: it waits for itself as long as it takes.
        """
        kept_s, most_s = max(outcome.waited.values(), default=0.0), plan.stall_timeout_s + MOST_PLANS * planned_s(plan)
        first = self._committed_at == -math.inf
        elapsed_s = outcome.seconds if first else max(0.0, now - self._committed_at)
        self._strangers_s = min(EARNED * max(0.0, elapsed_s - kept_s), most_s)
        earned_s = self._strangers_s if self._knows(now) else most_s
        for peer, part in {**_given(plan, outcome), me: 1.0}.items():
            kept = KEPT_LEFT_OUT if peer in outcome.left_out else 1.0
            left_s = max(0.0, kept * self._earned.pop(peer, 0.0) - outcome.waited.get(peer, 0.0)) if part else 0.0
            self._earned[peer] = min(left_s + part * earned_s, most_s)
        self._alone = not any(earned_s for peer, earned_s in self._earned.items() if peer != me)
        self._until = now + plan.round_timeout_s + FORGOTTEN_AFTER * elapsed_s
        self._committed_at = now
        while len(self._earned) > PEERS_MAX:
            self._earned.popitem(last=False)

    def waits(self, peers: Iterable[PeerId], now: float) -> Mapping[PeerId, Waited]:
        """How long each of these is waited for; one that is missing as long as the timetable says."""
        if not self._knows(now):
            return {}
        known = [peer for peer in peers if not self._alone or peer in self._earned]
        earned = {peer: self._earned.get(peer, 0.0) for peer in known}
        return {peer: Waited(own_s + self._strangers_s, stranger=not own_s) for peer, own_s in earned.items()}

    def is_stranger(self, peer: PeerId, now: float) -> bool:
        """Whether a peer has earned nothing, as far as this one can know."""
        return self._knows(now) and not self._earned.get(peer, float(self._alone))

    def _knows(self, now: float) -> bool:
        return now < self._until


def _given(plan: Plan, outcome: Outcome) -> dict[PeerId, float]:
    """Which part each member has given of what it was asked for; without samples, whether it has reduced its share."""
    missing = dict(outcome.missing)
    present = {peer: chunks for (peer, _), chunks in zip(outcome.contributors, outcome.present, strict=True)}
    versions = outcome.versions or (0,) * len(plan.members)
    given = {}
    for peer, chunks, version in zip(plan.peers, plan.chunks, versions, strict=True):
        arrived = present.get(peer, 0)
        asked = arrived + missing.get(peer, 0)
        if asked:
            given[peer] = arrived / asked
        elif chunks:
            given[peer] = float(not version)
    return given
