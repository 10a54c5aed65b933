"""The member's side of a call: it follows, offers its contribution, and checks the plan that comes of it."""

from collections.abc import Collection

from core.averaging.commit.messages import Leaving
from core.averaging.matchmaking import (
    LONE_REFUSALS,
    NO_PLAN_FAILURES,
    PLAN_PATIENCE,
    REFUSERS_PART,
    GroupFailed,
    GroupFormed,
    MemberRefused,
    PlanRefused,
    Silent,
)
from core.averaging.matchmaking.attempts import LeaderElection, RoundConfig, peer_back_off
from core.averaging.matchmaking.messages import Call, Cancelled, Declined, Ready, Refused
from core.averaging.matchmaking.plans import check_division, check_plan
from core.averaging.plan import Member, Plan
from core.base.ids import PeerId
from core.base.machine import Send
from core.base.problems import RemoteProblem
from core.base.trace import Trace

MemberEvent = GroupFormed | GroupFailed | PlanRefused | MemberRefused | Silent
MemberOutputs = list[Send[Ready | Declined | Refused | Leaving] | MemberEvent]


class FollowedCall:
    """One call of another peer that this one follows, until its plan is here.

    Args:
        config: Of the rounds.
        leader: The peer that calls.
        call: Its call.
        until: When the plan is given up, unix seconds.
    """

    def __init__(self, config: RoundConfig, leader: PeerId, call: Call, *, until: float) -> None:
        self._config = config
        self._mine: Member | None = None
        self.leader = leader
        self.request = config.request(leader, call)
        """What the members of the round agree on."""
        self.until = until

    def offer(self, mine: Member) -> list[Send[Ready]]:
        """This member's contribution is ready; it is offered once."""
        if self._mine is not None:
            return []
        self._mine = mine
        ready = Ready(self.request.round, mine.samples, mine.loss, mine.reduces, mine.receives, mine.samples_per_s)
        return [Send(self.leader, ready)]

    def is_from(self, leader: PeerId, round_: bytes) -> bool:
        """Whether this peer is the one to publish the plan of this round, or to cancel it."""
        return (leader, round_) == (self.leader, self.request.round)

    def check(self, plan: Plan) -> None:
        """Refuse a bad plan.

        Raises:
            RemoteProblem: says what is wrong.
        """
        if self._mine is None:
            raise RemoteProblem("the plan came before this member's contribution")
        check_plan(plan, self.request, self._mine)
        check_division(plan, self._config.me, self._config.lines, target_samples=self.request.target_samples)

    def decline(self) -> Send[Declined]:
        """Tell the leader that this member does not come."""
        request = self.request
        return Send(self.leader, Declined(request.epoch, request.lineage, request.attempt, "busy"))


class Refusals:
    """The members that refuse a plan, and those that have often been alone with that.

    One refusal ends a round for all members, so that a bad plan costs no time.  A member that refuses alone, or nearly
    so, again and again, is excluded for a while: it stays out, and the others go on.
    """

    def __init__(self) -> None:
        self._round = b""
        self._refusers: set[PeerId] = set()
        self._alone = peer_back_off(free=LONE_REFUSALS)

    def add(self, round_: bytes, peer: PeerId, *, members: int, now: float) -> None:
        """Take in a refusal.  The first one of another round shows which members were alone with the one before.

        Args:
            round_: The round whose plan is refused.
            peer: The member that refuses it.
            members: Number of members of the round.
            now: Unix seconds.
        """
        if round_ != self._round:
            if not self.are_enough(self._round, members):
                for refuser in self._refusers:
                    self._alone.fail(refuser, now)
            self._round, self._refusers = round_, set()
        self._refusers.add(peer)

    def are_enough(self, round_: bytes, members: int) -> bool:
        """Whether so many of a round's members refuse its plan that they are right."""
        return round_ == self._round and len(self._refusers) > 1 and REFUSERS_PART * len(self._refusers) >= members

    def are_heeded(self, round_: bytes, now: float) -> bool:
        """Whether a member that is not excluded refuses the plan of this round."""
        return round_ == self._round and any(not self._alone.is_excluded(peer, now) for peer in self._refusers)


class GroupMember:
    """One peer as a member: it follows one call at a time, or is in the round of the plan that came of it.

    Args:
        config: Of the rounds.
        election: Told how the leaders that are followed turn out.
        trace: Where incidents are marked.
    """

    def __init__(self, config: RoundConfig, election: LeaderElection, trace: Trace) -> None:
        self._config = config
        self._election = election
        self._trace = trace
        self._refusals = Refusals()
        self._left: FollowedCall | None = None
        self._plan: Plan | None = None
        self.followed: FollowedCall | None = None
        """The call that is followed now."""
        self.formed = False
        """Whether a round is on, as far as its owner has told."""

    def follow(self, leader: PeerId, call: Call, now: float) -> list[Send[Declined]]:
        """Follow a call, and no longer the one before.

        Args:
            leader: The peer that calls.  If it called before, that does not make its plan waited for any longer.
            call: Its call.
            now: Unix seconds.
        """
        before, told = self.followed, self.withdraw()
        self._election.settle()
        until = now + PLAN_PATIENCE * self._config.numbers.gather_timeout_s
        if before is not None and before.leader == leader:
            self._election.failed_calls.fail(leader, now)
            until = before.until
        self.followed = FollowedCall(self._config, leader, call, until=until)
        return told

    def withdraw(self) -> list[Send[Declined]]:
        """Follow no call any more.  If its plan comes all the same, the members hear that this one has left."""
        if self.followed is None:
            return []
        self._left, self.followed = self.followed, None
        return [self._left.decline()]

    def join(self, plan: Plan) -> GroupFormed:
        """The round of a plan begins: one that was followed, or this peer's own."""
        self.followed, self.formed, self._plan = None, True, plan
        self._election.settle()
        self._election.failed_calls.clear(plan.leader)
        return GroupFormed(plan)

    def leave(self, failed: Plan | None = None) -> None:
        """The round is over in the same state.

        Args:
            failed: Its plan, where it failed and not by this peer's doing.
        """
        if not self.formed or (failed is not None and failed != self._plan):
            return
        self.formed = False
        self._election.next_attempt()
        self._election.setbacks += failed is not None

    def holds(self, round_: bytes, peer: PeerId) -> bool:
        """Whether `peer` is in the plan that was here last, and this is its round."""
        return self._plan is not None and self._plan.round == round_ and peer in self._plan.peers

    def receive(
        self, sender: PeerId, message: Plan | Cancelled | Refused, here: Collection[PeerId], now: float
    ) -> MemberOutputs:
        """Take in what comes of the call that is followed, or of its plan.

        Args:
            sender: The peer that says so.
            message: What it says.
            here: The candidates and helpers that this peer knows of; no others are heard or told anything.
            now: Unix seconds.
        """
        match message:
            case Plan():
                return self._on_plan(sender, message, here, now)
            case Cancelled():
                return self._on_cancelled(sender, message, now)
            case Refused():
                return self._on_refused(sender, message.round, here, now)

    def refuse(self, plan: Plan, here: Collection[PeerId], now: float) -> MemberOutputs:
        """Tell its members that a plan is bad, and look for another.

        Args:
            plan: Of the call that is followed, or of the round that is on.
            here: The peers that this one knows of; of the others only the leader is told.
            now: Unix seconds.
        """
        self._trace.mark("group.refused")
        told = sorted({plan.leader, *{*here}.intersection(plan.peers)} - {self._config.me})
        refused = [Send(peer, Refused(plan.round)) for peer in told]
        if plan.leader == self._config.me:
            self.formed = False
            self._election.call_failed(plan.leader, now, samples=None)
            return [*refused, GroupFailed(plan.round, "this computer cannot follow its own plan")]
        self._election.bad_plans.fail(plan.leader, now)
        return [*refused, *self._drop(plan)]

    def expire(self, now: float) -> MemberOutputs:
        """Give up the plan that was waited for, when it is time."""
        if self.followed is None or now < self.followed.until:
            return []
        self._election.failed_calls.fail(self.followed.leader, now, times=NO_PLAN_FAILURES)
        return self.abandon(self.followed.leader, "no plan came")

    def abandon(self, leader: PeerId, reason: str) -> MemberOutputs:
        """Follow `leader` no longer, if it is the one that is followed: the next attempt begins at once."""
        if self.followed is None or self.followed.leader != leader:
            return []
        self._left, self.followed = self.followed, None
        self._election.next_attempt()
        return [GroupFailed(self._left.request.round, reason)]

    def _on_plan(self, sender: PeerId, plan: Plan, here: Collection[PeerId], now: float) -> MemberOutputs:
        if self.followed is None or not self.followed.is_from(sender, plan.round):
            return [*self._leave_late(sender, plan, here)]
        try:
            self.followed.check(plan)
        except RemoteProblem:
            return self.refuse(plan, here, now)
        return self._drop(plan) if self._refusals.are_heeded(plan.round, now) else [self.join(plan)]

    def _on_cancelled(self, sender: PeerId, message: Cancelled, now: float) -> MemberOutputs:
        if self.followed is None or not self.followed.is_from(sender, message.round):
            return []
        self._left, self.followed = self.followed, None
        self._election.call_failed(sender, now, samples=message.samples)
        silent = tuple(PeerId(peer) for peer in message.silent if peer not in {self._config.me, sender})
        failed = GroupFailed(message.round, "the leader cancelled it", message.samples)
        return [Silent(silent), failed] if silent else [failed]

    def _on_refused(self, sender: PeerId, round_: bytes, here: Collection[PeerId], now: float) -> MemberOutputs:
        if self.followed is not None and self.followed.request.round == round_ and sender in here:
            self._refusals.add(round_, sender, members=len(here), now=now)
            if self._refusals.are_enough(round_, len(here)):
                self._left, self.followed = self.followed, None
                self._election.set_back(self._left.leader)
            return []
        plan = self._plan
        if plan is None or not self.holds(round_, sender):
            self._trace.mark("group.drop.refused")
            return []
        self._refusals.add(round_, sender, members=len(plan.peers), now=now)
        if self._refusals.are_enough(round_, len(plan.peers)) and plan.leader != self._config.me:
            self._election.bad_plans.fail(plan.leader, now)
        if not self.formed:
            return []
        return self._drop(plan) if self._refusals.are_heeded(round_, now) else [MemberRefused(round_, sender)]

    def _drop(self, plan: Plan) -> MemberOutputs:
        """Leave the round of a refused plan, with the contribution standing still for the next one."""
        left: MemberOutputs = [PlanRefused(plan.round)] if self.formed else []
        self.followed, self.formed, self._plan = None, False, plan
        self._election.set_back(plan.leader)
        return left

    def _leave_late(self, sender: PeerId, plan: Plan, here: Collection[PeerId]) -> list[Send[Leaving]]:
        """The plan of a call that was left: its members hear so, once."""
        if self._left is None or not self._left.is_from(sender, plan.round):
            self._trace.mark("group.drop.plan")
            return []
        self._left = None
        told = sorted({sender, *{*here}.intersection(plan.peers)} - {self._config.me})
        return [Send(peer, Leaving(plan.round)) for peer in told]
