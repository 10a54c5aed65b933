"""What a peer does to find the group of its state: it asks, calls, follows, publishes, refuses, lets go."""

from collections.abc import Sequence
from random import Random

from core.averaging.matchmaking import (
    ContributionWanted,
    Elsewhere,
    GroupFailed,
    GroupFormed,
    MemberRefused,
    PlanRefused,
    Silent,
)
from core.averaging.matchmaking.attempts import LeaderElection, call_rank
from core.averaging.matchmaking.config import RoundConfig, State
from core.averaging.matchmaking.gathering import Gathering
from core.averaging.matchmaking.leader import GroupLeader
from core.averaging.matchmaking.member import GroupMember
from core.averaging.matchmaking.refusals import Refusals
from core.averaging.messages import Cancelled, Leaving, Refused, Wanted
from core.averaging.plan import GroupMessage, Plan
from core.base.ids import PeerId
from core.base.machine import Send, earliest
from core.base.trace import Trace

Event = ContributionWanted | GroupFormed | GroupFailed | PlanRefused | MemberRefused | Elsewhere | Silent
Outputs = list[Send[GroupMessage | Leaving] | Event]


class Quest:
    """A peer is in one thing at a time: a call of its own, a promise to another's, or a round that was formed.

    Args:
        config: What rounds are made of.
        random: For nonces and the jitter of timeouts.
        trace: Where incidents are marked.
    """

    def __init__(self, config: RoundConfig, *, random: Random, trace: Trace) -> None:
        self.config = config
        self._me = config.me
        self._trace = trace
        self.helpers: tuple[PeerId, ...] = ()
        self.state: State | None = None
        self.candidates: tuple[PeerId, ...] = ()
        self.away = True
        """No call is followed."""
        self.formed = False
        """A round is on."""
        self.election = LeaderElection(config.me, gather_timeout_s=config.numbers.gather_timeout_s, random=random)
        self.caller = GroupLeader(config, random)
        self.follower = GroupMember(config)
        self.refusals = Refusals()
        self.plan: Plan | None = None
        """Of the round that was formed last."""
        self.again = False
        """A plan was refused, and the next one is looked for."""

    def stand(self, epoch: int, lineage: bytes, candidates: Sequence[PeerId]) -> Outputs:
        """Where I stand, and with whom; a new state ends whatever was going on for the old one."""
        outputs: Outputs = []
        if self.state != (epoch, lineage):
            outputs += self.give_up("the state has changed")
            self.state = (epoch, lineage)
            self.formed = False
            self.election.begin()
        self.away = False
        before = {*self.candidates, self._me}
        self.candidates = tuple(sorted({*candidates, self._me}))
        self.election.unavailable.intersection_update([*self.candidates, *self.helpers])
        return [*outputs, *self.caller.invite([peer for peer in self.candidates if peer not in before])]

    def reopen(self) -> None:
        """The round that was formed is over, and the state is still the same: calls are welcome again."""
        if self.formed:
            self.formed = False
            self.election.next_attempt()

    @property
    def occupied(self) -> bool:
        """Whether a round is gathered, promised to, or formed."""
        return self.formed or self.caller.gathering is not None or self.follower.promise is not None

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        promise = self.follower.promise
        return earliest(self.caller.deadline, None if promise is None else promise.until, self.election.again_at)

    def form(self, plan: Plan) -> Outputs:
        """The group stands."""
        self.formed = True
        self.again = False
        self.plan = plan
        return [GroupFormed(plan)]

    def refuse(self, plan: Plan, leader: PeerId, now: float) -> Outputs:
        """Say so to all whom the plan names and whom I know, and find another leader."""
        self._trace.mark("group.refused")
        self.election.bad_plans.fail(leader, now)
        return [*self.say_refused(plan, leader), *self.look_again(plan, now)]

    def say_refused(self, plan: Plan, *leader: PeerId) -> Outputs:
        """Tell the leader, and the members whom I know."""
        members = {*leader, *set(self.candidates).intersection(plan.peers)} - {self._me}
        return [Send(peer, Refused(plan.round)) for peer in sorted(members)]

    def look_again(self, plan: Plan, now: float) -> Outputs:
        """This plan is not to be: leave its round, if it has begun, and look for the next one."""
        left: Outputs = [PlanRefused(plan.round)] if self.formed else []
        self.follower.promise = None
        self.formed = False
        self.again = True
        self.plan = plan
        self.election.look_again()
        return [*left, *self.seek(now)]

    def lead(self, now: float) -> Outputs:
        """Call all candidates."""
        assert self.state is not None
        others = [peer for peer in self.candidates if peer != self._me]
        lost = self.election.unavailable
        self.election.pause()
        return [
            *self.caller.begin(
                self.state, self.election.attempt, others=others, helpers=self.helpers, lost=lost, now=now
            )
        ]

    def publish_if_complete(self, now: float) -> Outputs:
        """Publish the plan as soon as there is nobody to wait for."""
        gathering = self.caller.gathering
        return self.publish(gathering, now) if gathering is not None and self.caller.complete(now) else []

    def publish(self, gathering: Gathering, now: float) -> Outputs:
        """Publish the plan of the call that is on, or cancel it."""
        closed = self.caller.close(plain=self.election.plain, now=now)
        silent: Outputs = [Silent(closed.silent)] if closed.silent else []
        plan = closed.plan
        if plan is None:
            outputs = self.give_up(closed.reason, silent=closed.silent, samples=closed.samples)
            self.election.called_in_vain(now)
            if closed.samples is not None:
                self.election.rest()
            return [*silent, *outputs]
        self.election.unavailable |= gathering.helpers
        left = sorted(gathering.others - set(plan.peers))
        return [
            *silent,
            *(Send(peer, Cancelled(gathering.round)) for peer in left),
            *(Send(peer, plan) for peer in plan.peers if peer != self._me),
            *self.form(plan),
        ]

    def seek(self, now: float) -> Outputs:
        """Ask whoever should lead, or lead; unless something is under way."""
        state, config = self.state, self.config
        waiting = self.election.asked is None and self.election.again_at is not None
        if not self.election.looking or self.occupied or waiting or state is None or config.numel is None:
            return []
        able = [peer for peer in self.candidates if config.reputation.may_lead(peer, now)]
        leader = self.election.leader(able, config.key(state, self.election.attempt), now=now)
        if leader == self._me:
            return self.lead(now)
        if leader == self.election.asked:
            return []
        self.election.ask(leader, now)
        return [Send(leader, Wanted(*state, self.election.attempt))]

    def pass_over(self, leader: PeerId, now: float) -> Outputs:
        """`leader` was asked in vain: ask the next one."""
        self.election.pass_over(leader)
        return self.seek(now)

    def wins(self, attempt: int, leader: PeerId) -> bool:
        """Whether that leader's call goes before what I am in now; a leader's newer call replaces its own."""
        gathering, promise = self.caller.gathering, self.follower.promise
        if gathering is not None:
            return self._rank(attempt, leader) < self._rank(gathering.attempt, self._me)
        if promise is not None and promise.leader != leader:
            return self._rank(attempt, leader) < self._rank(promise.attempt, promise.leader)
        return True

    def _rank(self, attempt: int, leader: PeerId) -> tuple[int, int]:
        assert self.state is not None
        present = max(attempt, self.election.attempt)
        return call_rank(present, self.config.key(self.state, present), leader)

    def give_up(self, reason: str, *, silent: tuple[PeerId, ...] = (), samples: int | None = None) -> Outputs:
        """End the call that is on, or the promise."""
        current = self.caller.gathering or self.follower.promise
        outputs: Outputs = [*self.caller.cancel(silent=silent, samples=samples)]
        if self.state is not None:
            outputs += self.follower.withdraw(self.state)
        self.election.pause()
        self.again = False
        return outputs if current is None else [*outputs, GroupFailed(current.round, reason, samples)]

    def break_promise(
        self, reason: str, *, now: float, at_once: bool = False, cost: int = 0, samples: int | None = None
    ) -> Outputs:
        """The plan is waited for no longer.

        Args:
            reason: Why.
            now: Unix seconds.
            at_once: Another is asked now; else the next attempt begins in a while.
            cost: How many fruitless calls it counts for.
            samples: What those who were ready brought together, when that was too little.
        """
        promise = self.follower.end()
        if cost:
            self.election.failed_calls.fail(promise.leader, now, times=cost)
        self.again = False
        if at_once:
            self.election.next_attempt()
            return [GroupFailed(promise.round, reason), *self.seek(now)]
        self.election.retry_later(now)
        if samples is not None:
            self.election.rest()
        return [GroupFailed(promise.round, reason, samples)]
