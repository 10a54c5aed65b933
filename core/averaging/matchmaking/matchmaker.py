"""One peer's search for the group of its next round.

The peers that see the target reached ask the leader, the nearest to the attempt's key, to call; the leader calls all
candidates, collects their contributions, and publishes the plan: two round trips from the first Wanted to the plan.

    IDLE --target reached--> ASKING --own turn--> LEADING --all ready--> IN A ROUND
    IDLE, ASKING --Wanted--> LEADING;   IDLE, ASKING, LEADING, FOLLOWING --a call that ranks first--> FOLLOWING
    FOLLOWING --plan--> IN A ROUND;     FOLLOWING --no plan--> ASKING;   LEADING --too little--> IDLE, ASKING later
    FOLLOWING, IN A ROUND --the plan is refused--> ASKING, with the contribution;   IN A ROUND --over--> IDLE

A new state ends everything.  Every wait has an end: there is no deadlock.
"""

import math
from collections.abc import Sequence
from random import Random
from typing import Literal

from core.averaging.commit.messages import Leaving
from core.averaging.matchmaking import ContributionWanted, Elsewhere, Event, GroupFailed, GroupFormed
from core.averaging.matchmaking.attempts import LeaderElection, RoundConfig, State
from core.averaging.matchmaking.leader import LedCall
from core.averaging.matchmaking.member import GroupMember
from core.averaging.matchmaking.messages import Call, Cancelled, Declined, GroupMessage, Ready, Refused, Wanted
from core.averaging.messages import NONCE_BITS
from core.averaging.plan import Member, Plan
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.trace import Trace

Outputs = list[Send[GroupMessage | Leaving] | Event]


class Matchmaker:
    """Finds the group of this peer's next round.

    Its owner tells where the peer stands (`stand`), what it has (`offer`), and what became of the round (`over`).

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
        self._member = GroupMember(config, self._election, trace)
        self._led: LedCall | None = None
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
            outputs += self._end("the state has changed")
            self._state = state
            self._election.begin(state)
        if state is None:
            return outputs
        before, self._candidates = {*self._candidates, self._me}, tuple(sorted({*candidates, self._me}))
        self._helpers = tuple(helpers)
        self._here = {*self._candidates, *self._helpers}
        self._election.unavailable &= self._here
        if self._led is not None:
            outputs += self._led.invite([peer for peer in self._candidates if peer not in before], awaited=True)
        if full:
            self.round_over()
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
            ValueError: a number is not finite, or samples are negative.
        """
        if mine.samples < 0 or not math.isfinite(mine.loss) or not math.isfinite(mine.samples_per_s):
            raise ValueError(f"a contribution of {mine.samples} samples with loss {mine.loss}")
        followed = self._member.followed
        if followed is not None and followed.request.round == round_:
            return [*followed.offer(mine)]
        if self._led is not None and self._led.request.round == round_:
            self._led.offer(mine)
        return self._proceed(now)

    def round_over(self, failed: Plan | None = None) -> None:
        """The round that was formed is over in the same state: calls are followed again.

        Args:
            failed: Its plan, where it failed and not by this peer's doing.
        """
        self._member.leave(failed)

    def refuse(self, plan: Plan, now: float) -> Outputs:
        """This computer cannot take part in the round that was formed: say so, and look for another."""
        if not self._member.formed or not self._member.holds(plan.round, self._me):
            return []
        return [*self._member.refuse(plan, self._here, now), *self._proceed(now)]

    @property
    def occupied(self) -> bool:
        """Whether this peer leads or follows a call, or is in a round."""
        return self._led is not None or self._member.followed is not None or self._member.formed

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        led, followed = self._led, self._member.followed
        return earliest(
            None if led is None else led.deadline,
            None if followed is None else followed.until,
            self._election.deadline,
        )

    def handle(self, event: Received[GroupMessage] | Tick | Lost, now: float) -> Outputs:
        """Advance by one event, and go on where that leaves nothing to wait for."""
        outputs: Outputs = []
        match event:
            case Received(sender=self._me):
                self._trace.mark("group.drop.self")
            case Received(sender=sender, message=message):
                self._election.unavailable.discard(sender)
                outputs += self._receive(sender, message, now)
            case Tick():
                outputs += self._member.expire(now)
                self._election.expire(now)
            case Lost(peer=peer):
                outputs += self._member.abandon(peer, "the leader was lost")
                if peer in self._here:
                    self._election.unavailable.add(peer)
                if peer == self._election.asked:
                    self._election.pass_over(peer)
                if self._led is not None:
                    self._led.lose(peer)
        return [*outputs, *self._proceed(now)]

    def _receive(self, sender: PeerId, message: GroupMessage, now: float) -> Outputs:
        match message:
            case Wanted() | Call() if self._state != (message.epoch, message.lineage):
                if self._state is None:
                    return [_decline(sender, message, "away")]
                return [
                    Send(sender, Declined(*self._state, message.attempt, "elsewhere")),
                    Elsewhere(sender, message.epoch, message.lineage),
                ]
            case Wanted():
                return self._on_wanted(sender, message, now)
            case Call():
                return self._on_call(sender, message, now)
            case Ready(round=round_):
                if self._led is None or round_ != self._led.request.round:
                    again = self._member.holds(round_, sender)  # a repetition: it has the plan
                    return [] if again else [Send(sender, Cancelled(round_))]
                if not self._led.answer(sender, message):
                    self._trace.mark("group.drop.ready")
                return []
            case Declined():
                return self._on_declined(sender, message, now)
            case Plan() | Cancelled() | Refused():
                return [*self._member.receive(sender, message, self._here, now)]

    def _on_wanted(self, sender: PeerId, wanted: Wanted, now: float) -> Outputs:
        """Call, or call the sender too if a call is open."""
        known = sender in self._candidates
        if self._config.numel is None:
            return [_decline(sender, wanted, "away")]
        if self._led is not None:
            return [*self._led.invite([sender], awaited=known)]
        if self.occupied or self._election.excludes(self._me, now):
            return [_decline(sender, wanted, "busy")]
        if not known:  # perhaps its report is still on its way: a look will tell
            self._trace.mark("group.drop.wanted")
            return [_decline(sender, wanted, "busy"), Elsewhere(sender, wanted.epoch, wanted.lineage)]
        return self._lead(now)

    def _on_call(self, sender: PeerId, call: Call, now: float) -> Outputs:
        """Follow a call, unless its leader is excluded, or what is on goes first."""
        config, led, followed = self._config, self._led, self._member.followed
        request = config.request(sender, call)
        if followed is not None and followed.is_from(sender, request.round):
            return []
        if config.numel is None and not 0 < call.numel <= config.numel_max:
            return [_decline(sender, call, "away")]
        rival = None if led is None else (led.request.attempt, self._me)
        if followed is not None and followed.leader != sender:
            rival = followed.request.attempt, followed.leader
        first = rival is None or self._election.rank(call.attempt, sender) < self._election.rank(*rival)
        if self._member.formed or not first or self._election.excludes(sender, now):
            return [_decline(sender, call, "busy")]
        self._led = None
        return [
            *([] if led is None else led.cancel()),
            *self._member.follow(sender, call, now),
            ContributionWanted(request.round),
        ]

    def _on_declined(self, sender: PeerId, message: Declined, now: float) -> Outputs:
        """Count on the sender no longer, as a member of the call that is open or as the leader that was asked."""
        if (sender, message.attempt) == (self._election.asked, self._election.attempt):
            if message.reason == "busy":  # the call may come from another leader
                self._election.retry_later(now)
            else:
                self._election.pass_over(sender)
        elif self._led is None or not self._led.decline(sender, message.attempt, busy=message.reason == "busy"):
            self._trace.mark("group.drop.declined")
            return []
        elsewhere = message.reason == "elsewhere" and self._state != (message.epoch, message.lineage)
        return [Elsewhere(sender, message.epoch, message.lineage)] if elsewhere else []

    def _proceed(self, now: float) -> Outputs:
        """Close the call that has all its answers; where nothing is on, and a group is wanted, ask a leader or lead."""
        outputs: Outputs = []
        if self._led is not None and now >= self._led.deadline:
            led, self._led = self._led, None
            self._election.unavailable.update(led.unanswered)
            for said in led.close(now, plain=self._election.is_plain):
                outputs.append(said)
                if isinstance(said, GroupFormed):
                    self._member.join(said.plan)
                elif isinstance(said, GroupFailed):
                    self._election.call_failed(self._me, now, samples=said.samples)
        if self.occupied or self._state is None or self._config.numel is None:
            return outputs
        leader = self._election.choose(self._candidates, now)
        if leader == self._me:
            outputs += self._lead(now)
        elif leader is not None:
            outputs.append(Send(leader, Wanted(*self._state, self._election.attempt)))
        return outputs

    def _lead(self, now: float) -> Outputs:
        assert self._state is not None
        assert self._config.numel is not None
        nonce = self._random.getrandbits(NONCE_BITS)
        self._election.settle()
        self._led = LedCall(
            self._config,
            Call(*self._state, self._election.attempt, nonce, self._config.numel),
            candidates=self._candidates,
            helpers=self._helpers,
            unavailable=self._election.unavailable,
            now=now,
        )
        return [*self._led.open(), ContributionWanted(self._led.request.round)]

    def _end(self, reason: str) -> Outputs:
        """End the call that is on, on either side, and count on no round any more."""
        led, followed, self._led = self._led, self._member.followed, None
        self._member.formed = False
        if led is not None:
            return [*led.cancel(), GroupFailed(led.request.round, reason)]
        return [*self._member.withdraw(), GroupFailed(followed.request.round, reason)] if followed is not None else []


def _decline(to: PeerId, message: Wanted | Call, reason: Literal["busy", "away"]) -> Send[Declined]:
    return Send(to, Declined(message.epoch, message.lineage, message.attempt, reason))
