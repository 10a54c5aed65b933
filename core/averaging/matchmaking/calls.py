"""The two sides of a call, and the round that comes of it.

The leader collects contributions and publishes a plan, a member offers its own, and all that are in the plan follow or
refuse it.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from core.averaging.bandwidth.known import UNKNOWN
from core.averaging.grid.layout import best_stages
from core.averaging.matchmaking import (
    FAULTY_PART,
    HELPERS_MAX,
    HELPERS_S,
    PLAIN_AFTER,
    Call,
    Cancelled,
    Declined,
    GroupFailed,
    GroupFormed,
    MemberRefused,
    PlanRefused,
    Ready,
    Refused,
    Silent,
)
from core.averaging.matchmaking.attempts import LeaderElection, RoundConfig, by_distance, peer_back_off
from core.averaging.matchmaking.plans import PlanRequest, check_plan, make_plan
from core.averaging.messages import GROUP_MAX
from core.averaging.plan import Member, Plan
from core.averaging.weights import claims_of, equal_bounds
from core.base.ids import PeerId
from core.base.machine import Send, Trace
from core.base.problems import RemoteProblem


@dataclass(slots=True)
class FollowedCall:
    """A call of another peer that this one follows, until its plan is here."""

    leader: PeerId
    call: Call
    request: PlanRequest
    """What the members of the round agree on."""
    deadline: float
    """When the plan is given up, unix seconds."""
    mine: Member | None = None
    """This member's row of the plan, once it is offered."""

    def offer(self, mine: Member) -> list[Send[Ready]]:
        """This member's contribution is ready; it is offered once."""
        if self.mine is not None:
            return []
        self.mine = mine
        return [Send(self.leader, Ready(self.request.round, mine))]

    def end(self) -> list[Send[Declined]]:
        """Tell the leader that this member does not come."""
        return [Send(self.leader, Declined(self.call.epoch, self.call.lineage, self.call.attempt, "busy"))]


class LedCall:
    """A call of this peer, until its plan is out or it is cancelled.

    Args:
        config: Configuration of the rounds.
        call: The call that is sent to all.
        candidates: Peers that train at this state; where they are more than a group may have, the nearest to the
            attempt's key are called.
        helpers: Peers that only reduce for others.
        unavailable: Peers that are called last, so that they keep no other's place, and not waited for.
        now: Unix seconds.
    """

    def __init__(
        self,
        config: RoundConfig,
        call: Call,
        *,
        candidates: Collection[PeerId],
        helpers: Sequence[PeerId],
        unavailable: Collection[PeerId],
        now: float,
    ) -> None:
        self._config = config
        self.call = call
        self.leader = config.me
        self.request = config.request(config.me, call)
        """What the members of the round agree on."""
        self._key = config.key((call.epoch, call.lineage), call.attempt)
        self._until, last = now + config.numbers.gather_timeout_s, unavailable.__contains__
        others = sorted(by_distance({*candidates} - {config.me}, self._key), key=last)[: GROUP_MAX - 1]
        aides = sorted((peer for peer in helpers if peer != config.me and peer not in others), key=last)
        aides = aides[: min(HELPERS_MAX, GROUP_MAX - 1 - len(others))]
        self._called = dict.fromkeys(others, self._until) | dict.fromkeys(aides, now + HELPERS_S)
        """Until when the answer of each called peer is waited for."""
        self._called |= dict.fromkeys({*unavailable}.intersection(self._called), -math.inf)
        self._answers: dict[PeerId, Member | Declined] = {}
        """What each has answered; this member's own row among them."""

    def open(self) -> list[Send[Call]]:
        """The call, to every peer that is invited."""
        return [Send(peer, self.call) for peer in self._called]

    def invite(self, peers: Sequence[PeerId], *, awaited: bool) -> list[Send[Call]]:
        """Call peers that have come since, as long as there is room.

        Args:
            peers: Any peers.
            awaited: Whether they are candidates, which are waited for, and called again where they have declined.
        """
        known = {self.leader, *self._called} - (self._declined.keys() if awaited else set())
        new = [peer for peer in peers if peer not in known][: GROUP_MAX - 1 - len(self._called)]
        self._called |= dict.fromkeys(new, self._until if awaited else -math.inf)
        for peer in new:
            self._answers.pop(peer, None)  # what it declined before
        return [Send(peer, self.call) for peer in new]

    def offer(self, mine: Member) -> list[Send[Ready]]:
        """The leader's own contribution is ready."""
        self._answers[self.leader] = mine
        return []

    def answer(self, peer: PeerId, answer: Ready | Declined) -> bool:
        """Take in an answer; False: it is not for this call, `peer` was not asked, or its row is not valid."""
        match answer:
            case Declined(attempt=self.call.attempt) if peer in self._called:
                self._answers[peer] = answer
                return True
            case Ready(self.request.round, member) if peer in self._called:
                if member.peer == peer and member.is_sound and not member.spared:
                    return self._answers.setdefault(peer, member) == member  # only its first row counts
        return False

    @property
    def silent(self) -> tuple[PeerId, ...]:
        """The peers that have been waited for in vain so far."""
        return tuple(sorted(peer for peer, until in self._waiting.items() if until > -math.inf))

    def lose(self, peer: PeerId) -> None:
        """`peer` is gone; it may be invited again."""
        self._called.pop(peer, None)
        self._answers.pop(peer, None)

    @property
    def deadline(self) -> float:
        """When the call is closed, unix seconds: at once when there is nobody left to wait for."""
        return max(self._waiting.values(), default=-math.inf) if self.leader in self._answers else self._until

    def close(
        self, now: float, *, plain: bool
    ) -> tuple[list[Send[Plan | Cancelled] | Silent], GroupFormed | GroupFailed]:
        """Publish the plan, or cancel where none can be made.

        Args:
            now: Unix seconds.
            plain: Whether the plan is to give equal shares, whatever is known of lines.

        Returns:
            What is said and reported, and whether the group has formed.
        """
        silent = self.silent
        told = [Silent(silent)] if silent else []
        samples = self._config.samples(self.request, self._ready, now)
        declined = [no for peer, no in self._declined.items() if self._called[peer] == self._until]  # candidates
        too_few = samples if samples < self._config.target_samples else None
        if self.leader not in self._answers:
            reason, too_few = "this computer's own contribution came too late", None
        elif sum(no.goes_on(self.call.epoch) for no in declined) >= sum(member.receives for member in self._ready):
            reason, too_few = "the others are in another round", None  # without them the mean would be left behind
        elif too_few is not None:
            reason = "the contributions together have too few samples"
        else:
            plan = self._plan(now, plain=plain)
            others = [peer for peer in plan.peers if peer != self.leader]
            left = [cancelled for cancelled in self.end() if cancelled.to not in others]  # called in vain
            return [*told, *left, *(Send(peer, plan) for peer in others)], GroupFormed(plan)
        return [*told, *self.end(silent, samples=too_few)], GroupFailed(self.request.round, reason, too_few)

    def end(self, silent: tuple[PeerId, ...] = (), *, samples: int | None = None) -> list[Send[Cancelled]]:
        """Tell all that may wait for the plan that there will be none.

        Args:
            silent: Peers that were waited for in vain.
            samples: What the others brought together, when that was too little.
        """
        waiting = sorted(self._called.keys() - self._declined)
        return [Send(peer, Cancelled(self.request.round, silent, samples)) for peer in waiting]

    @property
    def _waiting(self) -> dict[PeerId, float]:
        """The called peers that have not answered, and until when their answers are waited for."""
        return {peer: until for peer, until in self._called.items() if peer not in self._answers}

    @property
    def _ready(self) -> list[Member]:
        return [answer for answer in self._answers.values() if isinstance(answer, Member)]

    @property
    def _declined(self) -> dict[PeerId, Declined]:
        return {peer: answer for peer, answer in self._answers.items() if isinstance(answer, Declined)}

    def _plan(self, now: float, *, plain: bool) -> Plan:
        config = self._config
        members = config.penalties.without_excluded(self._ready, now)
        peers = sorted(PeerId(member.peer) for member in members)
        leaders = config.ranked(peers, self._key, now)
        stages = best_stages(sum(member.receives for member in members), config.failures.value)
        known = UNKNOWN if plain else config.lines.known(peers)
        bounds = equal_bounds(members) if plain else config.earned.bounds(self.request.state, claims_of(members), now)
        return make_plan(self.request, members, leaders, known=known, stages=stages, bounds=bounds)


class PlannedRound:
    """The round of the plan that was here last, and the members that refuse it.

    One refusal ends a round for all members, so that a bad plan costs no time.  A member that refuses alone, or nearly
    so, again and again, is excluded for a while: it stays out, and the others go on.  Two members that refuse each
    other's plans in turn come to plain ones before that.

    Args:
        config: Configuration of the rounds.
        election: Told how the leaders whose plans are followed turn out.
        trace: Where incidents are marked.
    """

    def __init__(self, config: RoundConfig, election: LeaderElection, trace: Trace) -> None:
        self._config = config
        self._election = election
        self._trace = trace
        self._plan: Plan | None = None
        """The last one that was good; None: this member has refused one since."""
        self.is_on = False
        """Whether the round runs, as far as its owner has told."""
        self._refused = b""
        self._refusers: set[PeerId] = set()
        self._alone = peer_back_off(free=PLAIN_AFTER // 2)

    def take(
        self, plan: Plan, call: FollowedCall, here: Collection[PeerId], now: float
    ) -> list[Send[Refused] | GroupFormed | PlanRefused]:
        """Follow the plan of a call, unless it is bad, or refused by others.

        Args:
            plan: As the leader has published it.
            call: The call; a plan that comes before this member's contribution is bad.
            here: As in `refuse`.
            now: Unix seconds.
        """
        try:
            mine = check_plan(plan, call.request, call.mine, leader=call.leader)
            self._config.check(plan, call.request, mine, now)
        except RemoteProblem:
            return [*self.refuse(plan, call.leader, here, now)]
        if not self._heeds_refusal(plan.round, now):
            return [*self.begin(plan)]
        self._plan = plan  # others have refused it before it came here
        return [*self._leave()]

    def begin(self, plan: Plan) -> list[GroupFormed]:
        """The round of a plan begins: one that was followed, or this peer's own."""
        self.is_on, self._plan = True, plan
        self._election.settle()
        self._election.failures.clear(plan.leader)
        return [GroupFormed(plan)]

    def over(self, failed: Plan | None = None) -> None:
        """The round is over in the same state: calls are followed again.

        Args:
            failed: Its plan, where it failed and not by this peer's doing.
        """
        if self.is_on and (failed is None or failed == self._plan):
            self.is_on = False
            self._election.next_attempt()
            if failed is not None:
                self._election.set_back()

    def has(self, round_: bytes, peer: PeerId) -> bool:
        """Whether this is its id, and `peer` is in its plan."""
        return self._plan is not None and self._plan.round == round_ and peer in self._plan.peers

    def refuse(
        self, plan: Plan, leader: PeerId, here: Collection[PeerId], now: float
    ) -> list[Send[Refused] | PlanRefused]:
        """Tell its members that a plan is bad, and look for another.

        Args:
            plan: Plan of the call that was followed, or of the round that is on.
            leader: The peer that has published it.
            here: The peers that this one knows of; of the others only the leader is told.
            now: Unix seconds.
        """
        self._trace.mark("group.refused")
        self._election.failures.fail(leader, now)
        told = sorted({leader, *{*here}.intersection(plan.peers)} - {self._config.me})
        if plan.round == self._refused:
            self._refusers = set()  # they were not alone
        left, self._plan = self._leave(), None
        return [*(Send(peer, Refused(plan.round)) for peer in told), *left]

    def _leave(self) -> list[PlanRefused]:
        """Leave the round, if it is on, with the contribution standing still for the next one."""
        left = [PlanRefused(self._plan.round)] if self.is_on and self._plan is not None else []
        self.is_on = False
        self._election.plan_refused()
        return left

    def refused(self, refuser: PeerId, round_: bytes, now: float) -> list[PlanRefused | MemberRefused]:
        """A member refuses the plan of the round `round_`: the others leave too, or go on without it."""
        plan = self._plan
        if plan is None or not self.has(round_, refuser):
            self._trace.mark("group.drop.refused")
            return []
        if self.note_refusal(refuser, round_, members=len(plan.peers), now=now):
            self._election.failures.fail(plan.leader, now)
        if not self.is_on:
            return []
        return [*self._leave()] if self._heeds_refusal(round_, now) else [MemberRefused(round_, refuser)]

    def note_refusal(self, refuser: PeerId, round_: bytes, *, members: int, now: float) -> bool:
        """Take in a refusal.  The first one of another round shows which members were alone with the one before.

        Args:
            refuser: The member that refuses.
            round_: The round whose plan it refuses.
            members: Number of members of the round.
            now: Unix seconds.

        Returns:
            Whether this one makes so many that they are right.
        """
        if round_ != self._refused:
            if not self._are_right(members):
                for alone in self._refusers:
                    self._alone.fail(alone, now)
            self._refused, self._refusers = round_, set()
        before = self._are_right(members)
        self._refusers.add(refuser)
        return self._are_right(members) and not before

    def _heeds_refusal(self, round_: bytes, now: float) -> bool:
        """Whether a member that is not excluded refuses the plan of this round."""
        return round_ == self._refused and any(not self._alone.is_excluded(peer, now) for peer in self._refusers)

    def _are_right(self, members: int) -> bool:
        return len(self._refusers) > 1 and FAULTY_PART * len(self._refusers) >= members  # a single one may lie
