"""The weight of each member in a round's mean, and how much of the samples that peers claim is believed.

Samples are a claim that nobody can check.  The past can be checked: a committed round has counted each member with
samples, alike on all members, and each member sees the time between two rounds.  A peer's *earned speed* is what was
counted, over that time.  What a peer is *believed*, in samples, is the time since the last round began times

    its earned speed                      if that is more than `LEAD` times the median of all that have one
    GROWTH times its earned speed,        otherwise, up to that; a newcomer has earned `NEWCOMER` times the median

A person's new computers share what one newcomer is believed.  The believed samples of all decide whether the target
batch is reached.  No claim of others lowers what a peer has earned, so nobody holds up others by claiming little; and a
liar makes a round begin early by its `LEAD` at most, as long as fewer than half of the members lie.

At a state that this peer's last round has not led to, as at the very start, nobody's time is known.  There a peer is
believed up to `LEAD` times the median claim, and twice as much for each `WAITS_S` without a round, so that no claims,
however small, hold up the others for long.

The *weight* in the mean is what is believed, but at most a share of all weights (`core.averaging.plan.leveled`): it
moves weights towards equal ones, and never past them.  A manifest whose share is 1 trusts its members: every claim is
believed.

The leader of a round writes into its plan what it believes.  Others know another past, and refuse only what theirs
contradicts clearly (`check_weights`); the share they compute themselves.  A leader that lies gains, in the rounds that
it leads: `TOLERANCE` times what the others would believe; any claim of peers that nobody else has seen; and it lowers
others' weights by `TOLERANCE`.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Final

import msgspec

from core.averaging.plan import Member, Plan
from core.base.ids import AccountId, PeerId, account_of
from core.base.problems import RemoteProblem

GROWTH: Final = 3.0
"""Times its earned speed with which a peer is believed, so that computers may become faster."""
LEAD: Final = 8.0
"""Times the median earned speed up to which a peer is believed to become faster.  Beyond it more samples of one member
add little to a mean in which it has at most its share; a member that was so fast before the others came stays so."""
NEWCOMER: Final = 0.125
"""Part of the median earned speed that a peer has that was counted in no round."""
WAITS_S: Final = 10.0
"""Seconds without a round after which a peer without a past believes twice as much."""
TOLERANCE: Final = 2.0
"""Times what a member believes that a plan may count: clocks, and the rounds that each has seen, differ."""
JUDGES_AFTER: Final = 8
"""Number of rounds in a row that a member has seen before it refuses a plan for its weights."""
PEERS_MAX: Final = 2000
"""Upper bound on the peers whose speeds are remembered; those that were in no round for longest are forgotten first."""

State = tuple[int, bytes]
"""Epoch and lineage."""


class EarnedSpeeds:
    """What this member knows of all peers' earned speeds, by the committed rounds that it was in.

    Args:
        share: Upper bound on a member's share of all weights, in the manifest; 1: every claim is believed.
        account: Whose key a peer's is.
    """

    def __init__(self, share: float = 0.0, account: Callable[[PeerId], AccountId] = account_of) -> None:
        self._trusts = share >= 1
        self.account = account
        """Whose key a peer's is."""
        self._speeds: dict[PeerId, float] = {}
        self._state: State | None = None
        """Where the last of these rounds has led."""
        self._began_at = 0.0
        """When that round began, unix seconds."""
        self._in_a_row = 0
        self._elsewhere: tuple[State | None, float] = None, 0.0
        """Another state, and when it was first asked for it."""

    def committed(self, before: State, after: State, counted: Mapping[PeerId, int], *, began_at: float) -> None:
        """Take in a committed round, as far as what this peer knows of the members bears it out.

        Args:
            before: The state in which it began.
            after: The state that it has led to.
            counted: The samples that the plan has believed each member that trains, if its part is in the mean.
            began_at: When it began, unix seconds.
        """
        elapsed_s = began_at - self._began_at
        follows = before == self._state and elapsed_s > 0
        self._in_a_row = self._in_a_row + 1 if follows else 0
        self._state, self._began_at = after, began_at
        lead = LEAD * median(counted.values() or [0])
        for peer, most in self.most_per_s(counted).items() if follows else ():
            speed = min(counted[peer] / elapsed_s, lead / elapsed_s if most == math.inf else most)
            if speed > 0:
                self._speeds[peer] = max(speed, self._speeds.pop(peer, 0.0))
        while len(self._speeds) > PEERS_MAX:
            del self._speeds[next(iter(self._speeds))]

    def __contains__(self, peer: object) -> bool:
        """Whether a round has counted samples of a peer."""
        return peer in self._speeds

    def most_per_s(self, peers: Iterable[PeerId]) -> dict[PeerId, float]:
        """Upper bound on the samples a second of each of these peers; infinity where none of them has earned any."""
        earned = {peer: self._speeds.get(peer, 0.0) for peer in peers}
        known = [speed for speed in earned.values() if speed > 0]
        middle = median(known) if known else math.inf
        first = NEWCOMER * middle
        new = Counter(self.account(peer) for peer, speed in earned.items() if speed < first)
        return {
            peer: max(speed, min(GROWTH * max(speed, first / max(1, new[self.account(peer)])), LEAD * middle))
            for peer, speed in earned.items()
        }

    def bounds(self, state: State, claims: Mapping[PeerId, float], now: float) -> dict[PeerId, float]:
        """Upper bound on the samples that each of these peers is believed.

        Args:
            state: The state for which they accumulate.
            claims: The samples of all that train, as they say.
            now: Unix seconds.
        """
        elapsed_s = now - self._began_at
        if self._trusts:
            return dict.fromkeys(claims, math.inf)
        if state == self._state and elapsed_s > 0:
            return {peer: most * elapsed_s for peer, most in self.most_per_s(claims).items()}
        if state != self._elsewhere[0] or now < self._elsewhere[1]:
            self._elsewhere = state, now
        patience = min((now - self._elsewhere[1]) / WAITS_S, 60)
        return dict.fromkeys(claims, LEAD * max(1, median(claims.values() or [0])) * 2**patience)

    def believed(self, state: State, claims: Mapping[PeerId, float], now: float) -> float:
        """How many of the samples that peers claim are believed, all together.

        Args:
            state: As in `bounds`.
            claims: The samples of each peer, as it says.
            now: Unix seconds.
        """
        bounds = self.bounds(state, claims, now)
        return sum(min(claim, bounds[peer]) for peer, claim in claims.items())

    def judged(self, state: State, claims: Mapping[PeerId, float], now: float) -> dict[PeerId, float]:
        """As `bounds`, of those peers that this one has seen for long enough to judge."""
        known = state == self._state and self._in_a_row >= JUDGES_AFTER
        bounds = self.bounds(state, claims, now) if known else {}
        return {peer: bound for peer, bound in bounds.items() if peer in self._speeds}


def claims_of(members: Iterable[Member]) -> dict[PeerId, int]:
    """The samples of all members that train, as they say."""
    return {PeerId(member.peer): member.samples for member in members if member.receives}


def counted_in(plan: Plan, contributors: Iterable[tuple[PeerId, int]]) -> dict[PeerId, int]:
    """The samples that a committed round has counted for each member that trains; 0 where no part of it arrived."""
    arrived = dict(contributors)
    return {peer: samples if peer in arrived else 0 for peer, samples in claims_of(plan.members).items()}


def believed_rows(members: Sequence[Member], bounds: Mapping[PeerId, float]) -> list[Member]:
    """The members' rows as a plan has them: with the samples that each is believed, one at least of any.

    Args:
        members: As they have offered themselves.
        bounds: Upper bound on what each is believed; one that is missing is believed.
    """
    return [
        msgspec.structs.replace(
            member,
            samples=min(member.samples, max(1, int(min(member.samples, bounds.get(PeerId(member.peer), math.inf))))),
        )
        for member in members
    ]


def equal_bounds(members: Sequence[Member]) -> dict[PeerId, float]:
    """Bounds by which no member counts for more than the median one: no member refuses a plan for such weights."""
    middle = median([member.samples for member in members if member.samples] or [0])
    return dict.fromkeys((PeerId(member.peer) for member in members), middle)


def check_weights(plan: Plan, mine: Member, earned: EarnedSpeeds, now: float) -> None:
    """Refuse a plan that clearly believes more than its members have earned, or less of this one.

    A member that counts for no more than the median one is never refused, nor is a plan for the own weight if no other
    member counts for more.

    Args:
        plan: It has passed `check_plan`.
        mine: The checking member's row, as it was offered.
        earned: What it knows.
        now: Unix seconds.

    Raises:
        RemoteProblem: says what is wrong.
    """
    rows = {PeerId(member.peer): member.samples for member in plan.members if member.samples}
    samples, me = sorted(rows.values()), PeerId(mine.peer)
    bounds = earned.judged((plan.epoch, plan.lineage), rows, now)
    for peer, bound in bounds.items():
        if rows[peer] > max(samples[len(samples) // 2], 1 + TOLERANCE * bound):
            raise RemoteProblem("a member of the plan counts for more samples than it can have")
    if me in bounds and rows[me] < min(samples[-1], min(mine.samples, bounds[me]) / TOLERANCE):
        raise RemoteProblem("the plan counts this member for less than it has earned")
