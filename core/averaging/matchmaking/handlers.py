"""What a peer answers to those with whom it finds a group, and what it makes of what they say."""

from core.averaging.matchmaking import ContributionWanted, Elsewhere, MemberRefused, Silent
from core.averaging.matchmaking.attempts import round_id
from core.averaging.matchmaking.refusals import few
from core.averaging.matchmaking.state import Outputs, Quest
from core.averaging.messages import Call, Cancelled, Declined, Ready, Refused, Wanted
from core.averaging.penalties.ledger import leader_of
from core.averaging.plan import GroupMessage, Plan
from core.base.ids import PeerId
from core.base.machine import Send
from core.base.problems import RemoteProblem
from core.base.trace import Trace


class Answers:
    """Every message of `GROUP_MESSAGES`.

    Args:
        quest: What this peer does about it.
        trace: Where misuse is marked.
    """

    def __init__(self, quest: Quest, trace: Trace) -> None:
        self._quest = quest
        self._trace = trace

    def receive(self, sender: PeerId, message: GroupMessage, now: float) -> Outputs:
        """What follows from this message."""
        match message:
            case Wanted() | Call():
                state = self._quest.state
                if state is None or self._quest.away:
                    return [Send(sender, Declined(message.epoch, message.lineage, message.attempt, "away"))]
                if state != (message.epoch, message.lineage):
                    return [
                        Send(sender, Declined(*state, message.attempt, "elsewhere")),
                        Elsewhere(sender, message.epoch, message.lineage),
                    ]
                if isinstance(message, Wanted):
                    return self._on_wanted(sender, message, now)
                return self._on_call(sender, message, now)
            case Ready():
                return self._on_ready(sender, message, now)
            case Declined():
                return self._on_declined(sender, message, now)
            case Cancelled():
                return self._on_cancelled(sender, message, now)
            case Plan():
                return self._on_plan(sender, message, now)
            case Refused():
                return self._on_refused(sender, message, now)

    def _on_wanted(self, sender: PeerId, message: Wanted, now: float) -> Outputs:
        calling = self._quest.caller.gathering is not None
        if self._quest.config.numel is None:
            return [Send(sender, Declined(message.epoch, message.lineage, message.attempt, "away"))]
        promised = self._quest.follower.promise is not None
        if self._quest.formed or promised or (not calling and self._quest.election.resting(now)):
            return [Send(sender, Declined(message.epoch, message.lineage, message.attempt, "busy"))]
        known = sender in self._quest.candidates
        if calling:
            return [*self._quest.caller.invite([sender], awaited=known)]
        if not known:  # perhaps its report is still on its way: a look will tell
            self._trace.mark("group.drop.wanted")
            declined = Declined(message.epoch, message.lineage, message.attempt, "busy")
            return [Send(sender, declined), Elsewhere(sender, message.epoch, message.lineage)]
        return self._quest.lead(now)

    def _on_call(self, sender: PeerId, call: Call, now: float) -> Outputs:
        assert self._quest.state is not None
        config = self._quest.config
        round_ = round_id(config.key(self._quest.state, call.attempt), sender, call.nonce)
        promise = self._quest.follower.promise
        if promise is not None and promise.round == round_:
            return []
        if config.numel is None and not 0 < call.numel <= config.numel_max:
            return [Send(sender, Declined(call.epoch, call.lineage, call.attempt, "away"))]
        tired = self._quest.election.excludes(sender, now) or not config.reputation.may_lead(sender, now)
        if tired or self._quest.formed or not self._quest.wins(call.attempt, sender):
            return [Send(sender, Declined(call.epoch, call.lineage, call.attempt, "busy"))]
        if promise is not None and promise.leader == sender:
            self._quest.election.failed_calls.fail(sender, now)
        self._quest.election.pause()
        return [
            *self._quest.caller.cancel(silent=(), samples=None),
            *self._quest.follower.follow(sender, call, round_, state=self._quest.state, now=now),
            ContributionWanted(round_),
        ]

    def _on_ready(self, sender: PeerId, message: Ready, now: float) -> Outputs:
        if self._quest.caller.planned(message.round, sender):
            return []  # a repetition: it has the plan
        gathering = self._quest.caller.gathering
        if gathering is None or message.round != gathering.round:
            return [Send(sender, Cancelled(message.round))]
        if not gathering.answer(sender, message):
            self._trace.mark("group.drop.ready")
            return []
        return self._quest.publish_if_complete(now)

    def _on_declined(self, sender: PeerId, message: Declined, now: float) -> Outputs:
        outputs: Outputs = []
        concerned = False
        gathering = self._quest.caller.gathering
        if gathering is not None and message.attempt == gathering.attempt and gathering.knows(sender):
            concerned = True
            gathering.decline(sender, busy=message.reason == "busy")
            outputs += self._quest.publish_if_complete(now)
        elif (
            self._quest.election.asked == sender
            and message.attempt == self._quest.election.attempt
            and self._quest.state is not None
        ):
            concerned = True
            if message.reason == "busy":  # the call may come from another leader
                self._quest.election.asked = None
                self._quest.election.retry_later(now)
            else:
                outputs += self._quest.pass_over(sender, now)
        if not concerned:
            self._trace.mark("group.drop.declined")
        elif message.reason == "elsewhere" and self._quest.state != (message.epoch, message.lineage):
            outputs.append(Elsewhere(sender, message.epoch, message.lineage))
        return outputs

    def _on_cancelled(self, sender: PeerId, message: Cancelled, now: float) -> Outputs:
        if not self._quest.follower.awaits(sender, message.round):
            return []
        silent = tuple(PeerId(peer) for peer in message.silent if peer not in {self._quest.config.me, sender})
        outputs = self._quest.break_promise("the leader cancelled it", now=now, cost=1, samples=message.samples)
        return [Silent(silent), *outputs] if silent else outputs

    def _on_plan(self, sender: PeerId, plan: Plan, now: float) -> Outputs:
        promise, state = self._quest.follower.promise, self._quest.state
        if promise is None or state is None or not self._quest.follower.awaits(sender, plan.round):
            told = self._quest.follower.late(sender, plan, {*self._quest.candidates, *self._quest.helpers})
            if told is None:
                self._trace.mark("group.drop.plan")
            return [*(told or ())]
        try:
            self._quest.follower.check(plan, state)
        except RemoteProblem:
            return self._quest.refuse(plan, sender, now)
        if self._quest.refusals.heeded(plan.round, now):
            return self._quest.look_again(plan, now)
        self._quest.follower.promise = None
        return self._quest.form(plan)

    def _on_refused(self, sender: PeerId, message: Refused, now: float) -> Outputs:
        promise, plan = self._quest.follower.promise, self._quest.plan
        if promise is not None and promise.round == message.round and sender in self._quest.candidates:
            self._quest.refusals.note(message.round, sender, members=len(self._quest.candidates), now=now)
            if not few(self._quest.refusals.by(message.round), len(self._quest.candidates)):
                self._quest.follower.doubt(now)
            return []
        if plan is None or plan.round != message.round or sender not in plan.peers:
            self._trace.mark("group.drop.refused")
            return []
        self._quest.refusals.note(plan.round, sender, members=len(plan.peers), now=now)
        refusers = self._quest.refusals.heeded(plan.round, now)
        leader = leader_of(plan)
        if not few(self._quest.refusals.by(plan.round), len(plan.peers)) and leader != self._quest.config.me:
            self._quest.election.bad_plans.fail(leader, now)
        if not self._quest.formed:
            return []
        return self._quest.look_again(plan, now) if refusers else [MemberRefused(plan.round, sender)]
