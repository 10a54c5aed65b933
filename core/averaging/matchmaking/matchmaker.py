"""One peer's search for the group of its next round.

The peers that see the target reached ask the leader, the nearest to the attempt's key, to call; the leader calls all
candidates, collects their contributions, and publishes the plan: two round trips from the first Wanted to the plan.

    IDLE --target reached--> ASKING --own turn--> LEADING --all ready--> IN A ROUND
    IDLE, ASKING --Wanted--> LEADING;   IDLE, ASKING, LEADING, FOLLOWING --a call that ranks first--> FOLLOWING
    FOLLOWING --plan--> IN A ROUND;     FOLLOWING, LEADING --no plan--> ASKING, or IDLE where samples are too few
    FOLLOWING, IN A ROUND --the plan is refused--> ASKING, with the contribution;   IN A ROUND --over--> IDLE

A new state ends everything.  Every wait has an end: there is no deadlock.
"""

from collections.abc import Sequence
from random import Random
from typing import Literal

from core.averaging.matchmaking import (
    CALL_PATIENCE,
    PLAIN_AFTER,
    Call,
    Cancelled,
    ContributionWanted,
    Declined,
    Elsewhere,
    Event,
    GroupFailed,
    GroupFormed,
    GroupMessage,
    Ready,
    Refused,
    Silent,
    Wanted,
)
from core.averaging.matchmaking.attempts import LeaderElection, RoundConfig, State
from core.averaging.matchmaking.calls import FollowedCall, LedCall, PlannedRound
from core.averaging.messages import NONCE_BITS, Leaving
from core.averaging.plan import Member, Plan
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace, earliest

Outputs = list[Send[GroupMessage | Leaving] | Event]


class Matchmaker:
    """Finds the group of this peer's next round.

    Its owner tells where the peer stands (`stand`), what it has (`offer`), and what became of the round
    (`round.over`).  It is in one thing at a time: it leads or follows a call, or is in the round of a plan.

    Args:
        config: What rounds are made of.
        random: Draws nonces and the jitter of patience.
        trace: Where misuse is marked.
    """

    def __init__(self, config: RoundConfig, *, random: Random, trace: Trace) -> None:
        self._config = config
        self._me = config.me
        self._random = random
        self._trace = trace
        self._election = LeaderElection(config, random)
        self.round = PlannedRound(config, self._election, trace)
        """The round that was formed; its owner tells when it is `over`."""
        self._call: LedCall | FollowedCall | None = None
        self._left: LedCall | FollowedCall | None = None
        self._state: State | None = None
        self._candidates: tuple[PeerId, ...] = ()
        self._helpers: tuple[PeerId, ...] = ()
        self._here: set[PeerId] = set()

    def stand(
        self,
        state: State | None,
        candidates: Sequence[PeerId],
        *,
        helpers: Sequence[PeerId] = (),
        full: bool = False,
        now: float,
    ) -> Outputs:
        """Take in where this peer stands, and beside which others.  A new state ends all that was on for the old one.

        Args:
            state: Its epoch and lineage; None: it takes part in no round, and follows no call.
            candidates: Peers that train at this state; this one is always taken to be among them.
            helpers: Peers that only reduce for others, wherever they stand.
            full: Whether the target is reached: find a group, also after a round that has failed.
            now: Unix seconds.
        """
        outputs: Outputs = []
        if state != self._state:
            if self._call is not None:
                outputs += [*self._call.end(), GroupFailed(self._call.request.round, "the state has changed")]
                self._left, self._call = self._call, None
            self.round.is_on, self._state = False, state
            self._election.begin(state)
        if state is None:
            return outputs
        before, self._candidates = {*self._candidates, self._me}, tuple(sorted({*candidates, self._me}))
        self._helpers = tuple(helpers)
        self._here = {*self._candidates, *self._helpers}
        self._election.unavailable.among(self._here)
        if isinstance(self._call, LedCall):
            outputs += self._call.invite([peer for peer in self._candidates if peer not in before], awaited=True)
        if full:  # samples are enough again: the round before is over for this peer, whatever became of it
            self.round.over()
            self._election.looking = True
        elif not self.occupied:
            self._election.stop()
        return [*outputs, *self._proceed(now)]

    def offer(self, round_: bytes, mine: Member, now: float) -> Outputs:
        """The contribution of `mine.samples` samples stands still.  Ignored when its round is gone by now.

        Args:
            round_: The round that it was wanted for.
            mine: This peer's row of the plan.
            now: Unix seconds.

        Raises:
            ValueError: a number is not finite, samples are negative, or a helper brings some.
        """
        if mine.samples < 0 or not mine.is_sound:
            raise ValueError(f"a contribution of {mine.samples} samples with loss {mine.loss}")
        told = self._call.offer(mine) if self._call is not None and self._call.request.round == round_ else []
        return [*told, *self._proceed(now)]

    def refuse(self, plan: Plan, now: float) -> Outputs:
        """This computer cannot take part in the round that was formed: say so, and look for another."""
        if not self.round.is_on or not self.round.has(plan.round, self._me):
            return []
        return [*self.round.refuse(plan, plan.leader, self._here, now), *self._proceed(now)]

    @property
    def occupied(self) -> bool:
        """Whether this peer leads or follows a call, or is in a round."""
        return self._call is not None or self.round.is_on

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        return earliest(None if self._call is None else self._call.deadline, self._election.deadline)

    def handle(self, event: Received[GroupMessage] | Tick | Lost, now: float) -> Outputs:
        """Advance by one event, and go on where that leaves nothing to wait for."""
        outputs: Outputs = []
        match event:
            case Received(sender=self._me):
                self._trace.mark("group.drop.self")
            case Received(sender=sender, message=message):
                self._election.unavailable.spoke(sender)
                outputs += self._receive(sender, message, now)
            case Lost(peer=peer):
                if peer in self._here:
                    self._election.unavailable.add(peer)
                if peer == self._election.asked:
                    self._election.pass_over(peer)
                if isinstance(self._call, LedCall):
                    self._call.lose(peer)
                elif self._call is not None and self._call.leader == peer:
                    outputs += self._fail(GroupFailed(self._call.request.round, "the leader was lost"), now)
        return [*outputs, *self._proceed(now)]

    def _receive(self, sender: PeerId, message: GroupMessage, now: float) -> Outputs:
        match message:
            case Wanted() | Call() if self._state != (message.epoch, message.lineage):
                if self._state is None:
                    return [_decline(sender, message, "away")]
                declined = Declined(*self._state, message.attempt, "elsewhere")
                return [Send(sender, declined), Elsewhere(sender, message.epoch, message.lineage)]
            case Wanted():
                return self._on_wanted(sender, message, now)
            case Call():
                return self._on_call(sender, message, now)
            case Ready() | Declined():
                return self._on_answer(sender, message, now)
            case Plan() | Cancelled() | Refused():
                return self._on_followed(sender, message, now)

    def _on_wanted(self, sender: PeerId, wanted: Wanted, now: float) -> Outputs:
        """Call, or call the sender too if a call is open."""
        known = sender in self._candidates
        if self._config.numel is None:  # a helper never leads
            return [_decline(sender, wanted, "away")]
        if isinstance(self._call, LedCall):
            return [*self._call.invite([sender], awaited=known)]
        if self.occupied or self._election.excludes(self._me, now) or self._config.is_stranger(sender, now):
            return [_decline(sender, wanted, "busy")]  # its own calls fail, or it calls for no stranger
        if not known:  # perhaps its report is still on its way: a look will tell
            self._trace.mark("group.drop.wanted")
            return [_decline(sender, wanted, "busy"), Elsewhere(sender, wanted.epoch, wanted.lineage)]
        self._election.wanted = True
        return []

    def _on_call(self, sender: PeerId, call: Call, now: float) -> Outputs:
        """Follow a call, unless its leader is excluded, or what is on goes first."""
        config, election, present = self._config, self._election, self._call
        request = config.request(sender, call)
        if _is_from(present, sender, request.round):
            return []
        if config.numel is None and not 0 < call.numel <= config.numel_max:  # a helper has room for so many
            return [_decline(sender, call, "away")]
        goes_first = present is None or election.precedes(sender, call.attempt, present.leader, present.call.attempt)
        if self.round.is_on or not goes_first or election.excludes(sender, now):
            return [_decline(sender, call, "busy")]
        election.settle()
        deadline = now + (1 + CALL_PATIENCE[0]) * config.numbers.gather_timeout_s
        self._left, self._call = present, FollowedCall(sender, call, request, deadline)
        return [*([] if present is None else present.end()), ContributionWanted(request.round)]

    def _on_answer(self, sender: PeerId, message: Ready | Declined, now: float) -> Outputs:
        """Count on the sender, or no longer: as a member of the call that is open, or as the leader that was asked."""
        led = self._call if isinstance(self._call, LedCall) else None
        asked = isinstance(message, Declined) and self._election.declined(sender, message, now)
        known = asked or (led is not None and led.answer(sender, message))
        if not known:
            self._trace.mark("group.drop.answer")
        match message:
            case Ready(round_) if not known and not self.round.has(round_, sender):
                return [Send(sender, Cancelled(round_))]  # it stands still for a call that is over
            case Declined(epoch, lineage, reason="elsewhere") if known and (epoch, lineage) != self._state:
                self._election.unavailable.add(sender)
                return [Elsewhere(sender, epoch, lineage)]
        return []

    def _on_followed(self, sender: PeerId, message: Plan | Cancelled | Refused, now: float) -> Outputs:
        """Take in what comes of the call that is followed.  Where it was left, its plan's members hear so, once."""
        call = self._call if isinstance(self._call, FollowedCall) else None
        match message:
            case Refused(round=round_) if call and call.request.round == round_ and sender in self._here:
                if self.round.note_refusal(sender, round_, members=len(self._here), now=now):
                    self._left, self._call = call, None  # before its plan has come
                    self._election.plan_refused()
            case Refused(round=round_):
                return [*self.round.refused(sender, round_, now)]
            case Plan(round=round_) if _is_from(self._left, sender, round_):
                self._left = None
                told = sorted({sender, *self._here.intersection(message.peers)} - {self._me})
                return [Send(peer, Leaving(round_)) for peer in told]
            case Plan(round=round_) if call and _is_from(call, sender, round_):
                self._call = None
                return [*self.round.take(message, call, self._here, now)]
            case Cancelled(round=round_) if _is_from(call, sender, round_):
                silent = tuple(PeerId(peer) for peer in message.silent if peer != self._me)
                failed = GroupFailed(round_, "the leader cancelled it", message.samples)
                return [*([Silent(silent)] if silent else []), *self._fail(failed, now)]
            case _:
                self._trace.mark("group.drop.stale")
        return []

    def _fail(self, failed: GroupFailed, now: float) -> Outputs:
        """The call that is on brings no plan: on to the next attempt."""
        assert self._call is not None
        self._left, self._call = self._call, None
        self._election.call_failed(self._left.leader, now, samples=failed.samples)
        return [failed]

    def _proceed(self, now: float) -> Outputs:
        """Close the call that has all its answers; where nothing is on, and a group is wanted, ask a leader or lead."""
        outputs: Outputs = []
        call = self._call
        if isinstance(call, FollowedCall) and now >= call.deadline:
            self._election.failures.fail(call.leader, now)  # twice: a cancelled call has others stand still for less
            outputs += self._fail(GroupFailed(call.request.round, "no plan came"), now)
        elif isinstance(call, LedCall) and now >= call.deadline:
            self._election.unavailable.unanswered(call.silent)
            said, formed = call.close(now, plain=self._election.setbacks >= PLAIN_AFTER)
            outputs += said
            if isinstance(formed, GroupFormed):
                self._call = None
                outputs += self.round.begin(formed.plan)
            else:
                outputs += self._fail(formed, now)
        if self.occupied or self._state is None or self._config.numel is None:
            return outputs
        leader = self._election.choose(self._candidates, now)
        if leader == self._me:
            self._election.settle()
            nonce, away = self._random.getrandbits(NONCE_BITS), self._election.unavailable
            request = Call(*self._state, self._election.attempt, nonce, self._config.numel)
            self._call = LedCall(
                self._config, request, candidates=self._candidates, helpers=self._helpers, unavailable=away, now=now
            )
            outputs += [*self._call.open(), ContributionWanted(self._call.request.round)]
        elif leader is not None:
            outputs.append(Send(leader, Wanted(*self._state, self._election.attempt)))
        return outputs


def _is_from(call: LedCall | FollowedCall | None, sender: PeerId, round_: bytes) -> bool:
    """Whether this peer is the one to publish the plan of this round, or to cancel it."""
    return call is not None and (call.leader, call.request.round) == (sender, round_)


def _decline(to: PeerId, message: Wanted | Call, reason: Literal["busy", "away"]) -> Send[Declined]:
    return Send(to, Declined(message.epoch, message.lineage, message.attempt, reason))
