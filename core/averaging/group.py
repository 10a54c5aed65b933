"""Finding the group of a round: everybody at the same state, gathered by a leader that nobody has to agree on first.

The peers that see the target reached ask the leader, who is the nearest to the attempt's key, to call; the leader calls
all candidates, collects who is ready, and publishes the plan: two round trips from the first Wanted to the plan.

- A leader that stays silent, is lost or stands elsewhere is passed over: the next attempt has another key.
- Where two peers call for the same state, the smaller (attempt, distance) wins everywhere (`call_rank`): its call
  is followed, even by a member that is promised to the other and by the other leader itself; until a plan is out.
- A leader that finds as many peers promised elsewhere as ready does not start a small round beside theirs.
"""

import math
from collections.abc import Sequence
from random import Random

from core.averaging.election import attempt_key, by_distance, call_rank, make_plan, round_id
from core.averaging.events import ContributionWanted, Elsewhere, GroupFailed, GroupFormed, Silent
from core.averaging.gathering import Gathering, Promise
from core.averaging.messages import (
    GROUP_MAX,
    NONCE_BITS,
    Call,
    Cancelled,
    Declined,
    Leaving,
    Ready,
    Wanted,
)
from core.averaging.plan import GroupMessage, Member, Plan, check_plan
from core.averaging.search import Search
from core.base.ids import Key, PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.manifest import AveragingNumbers
from core.base.problems import RemoteProblem
from core.base.trace import Trace

PLAN_PATIENCE = 2.0
"""Gather timeouts after which a member that followed a call gives up waiting for the plan."""
NO_PLAN = 2
"""A call whose plan never comes costs as much as that many cancelled ones."""


Outputs = list[Send[GroupMessage | Leaving] | ContributionWanted | GroupFormed | GroupFailed | Elsewhere | Silent]


class Matchmaker:
    """One peer's search for the group of its next round.

    The owner tells where it stands (`position`), that the target is reached (`look`), and what it has (`offer`).

    Args:
        me: This peer.
        run_id: The collaboration (the manifest's id).
        numel: Numbers in the vector.
        numbers: The manifest's numbers for averaging.
        random: For the jitter of timeouts.
        trace: Where misuse is marked.
        topology: What the plans name.
        minimum_samples: A leader cancels a round that has fewer samples in all.
    """

    def __init__(  # noqa: PLR0913 - the context of a collaboration, fixed at birth
        self,
        me: PeerId,
        *,
        run_id: bytes,
        numel: int,
        numbers: AveragingNumbers,
        random: Random,
        trace: Trace,
        topology: str = "butterfly",
        minimum_samples: int = 0,
    ) -> None:
        self._me = me
        self._run_id = run_id
        self._numel = numel
        self._numbers = numbers
        self._random = random
        self._trace = trace
        self._topology = topology
        self._minimum_samples = minimum_samples
        self._state: tuple[int, bytes] | None = None
        self._candidates: tuple[PeerId, ...] = ()
        self._away = True
        self._formed = False
        self._search = Search(me, gather_timeout_s=numbers.gather_timeout_s, random=random)
        self._gathering: Gathering | None = None
        self._promise: Promise | None = None
        self._left: bytes | None = None
        self._published: Plan | None = None

    # --- owner's side ---

    def position(self, epoch: int, lineage: bytes, candidates: Sequence[PeerId]) -> Outputs:
        """Where I stand, and who stands there with me (I am always taken to be among them).

        A new state ends whatever was going on for the old one.  Whoever looked and has found nobody yet looks no
        longer: the target is not reached after all.
        """
        outputs = self._stand(epoch, lineage, candidates)
        if self._gathering is None and self._promise is None and not self._formed:
            self._search.rest()
        return outputs

    def _stand(self, epoch: int, lineage: bytes, candidates: Sequence[PeerId]) -> Outputs:
        outputs: Outputs = []
        if self._state != (epoch, lineage):
            outputs += self._give_up("the state has changed")
            self._state = (epoch, lineage)
            self._formed = False
            self._search.begin()
        self._away = False
        return outputs + self._update(candidates)

    def look(self, epoch: int, lineage: bytes, candidates: Sequence[PeerId], *, now: float) -> Outputs:
        """The target is reached: find the group of this state.  Called again after a failed round, it looks anew."""
        outputs = self._stand(epoch, lineage, candidates)
        self.reopen()
        self._search.looking = True
        return outputs + self._seek(now)

    def reopen(self) -> None:
        """The round that was formed is over, and the state is still the same: calls are welcome again."""
        if self._formed:
            self._formed = False
            self._search.next_attempt()

    def stop(self) -> Outputs:
        """Look no longer, and follow no call, until the next `position`."""
        outputs = self._give_up("the search was stopped")
        self.reopen()
        self._away = True
        self._search.looking = False
        return outputs

    def offer(self, round_: bytes, samples: int, loss: float, *, now: float, reduces: bool = True) -> Outputs:
        """The contribution stands still; it holds `samples` with a mean loss.  Ignored when the round is gone by now.

        Args:
            round_: Whose contribution was wanted.
            samples: How many it holds.
            loss: In nats.
            now: Unix seconds.
            reduces: Whether we can be given a share; in vain where nobody else can either.

        Raises:
            ValueError: the loss is not finite, or samples are negative.
        """
        if samples < 0 or not math.isfinite(loss):
            raise ValueError(f"a contribution of {samples} samples with loss {loss}")
        gathering, promise = self._gathering, self._promise
        if gathering is not None and gathering.round == round_:
            gathering.ready[self._me] = Member(self._me, samples, loss, reduces)
            return self._publish_if_complete(now)
        if promise is not None and promise.round == round_ and promise.samples is None:
            promise.samples = samples
            return [Send(promise.leader, Ready(round_, samples, loss, reduces))]
        return []

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        gathering = None if self._gathering is None else self._gathering.until
        promise = None if self._promise is None else self._promise.until
        return earliest(gathering, promise, self._search.again_at)

    def handle(self, event: Received[GroupMessage] | Tick | Lost, now: float) -> Outputs:
        """Advance by one event."""
        match event:
            case Received(sender=sender, message=message):
                if sender == self._me:
                    self._trace.mark("group.drop.self")
                    return []
                self._search.lost.discard(sender)
                return self._receive(sender, message, now)
            case Tick():
                return self._tick(now)
            case Lost(peer=peer):
                return self._lose(peer, now)

    # --- messages ---

    def _receive(self, sender: PeerId, message: GroupMessage, now: float) -> Outputs:
        match message:
            case Wanted() | Call():
                state = self._state
                if state is None or self._away:
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
                return self._on_plan(sender, message)

    def _on_wanted(self, sender: PeerId, message: Wanted, now: float) -> Outputs:
        gathering = self._gathering
        if self._formed or self._promise is not None or (gathering is None and self._search.resting(now)):
            return [Send(sender, Declined(message.epoch, message.lineage, message.attempt, "busy"))]
        if gathering is None:
            self._search.heard(message.attempt)
            return self._lead(now, also=sender)
        if gathering.knows(sender) or not gathering.room:
            return []
        gathering.waiting.add(sender)
        return [Send(sender, Call(message.epoch, message.lineage, gathering.attempt, gathering.nonce))]

    def _on_call(self, sender: PeerId, call: Call, now: float) -> Outputs:
        round_ = round_id(self._key(call.attempt), sender, call.nonce)
        current = self._gathering or self._promise
        if current is not None and current.round == round_:
            return []
        tired = self._search.patience.over(sender, now)
        if tired or self._formed or (current is not None and not self._wins(call.attempt, sender)):
            return [Send(sender, Declined(call.epoch, call.lineage, call.attempt, "busy"))]
        until = now + PLAN_PATIENCE * self._numbers.gather_timeout_s
        if self._promise is not None and self._promise.leader == sender:  # it began anew: no reason to wait longer
            until = self._promise.until
            self._search.patience.disappointed(sender, now)
        outputs = self._leave_for_better()
        self._search.pause()
        self._search.heard(call.attempt)
        self._promise = Promise(round_, sender, call.attempt, until)
        return [*outputs, ContributionWanted(round_)]

    def _on_ready(self, sender: PeerId, message: Ready, now: float) -> Outputs:
        gathering = self._gathering
        if self._published is not None and message.round == self._published.round:
            if sender in self._published.peers:
                return []  # a repetition: it has the plan
            return [Send(sender, Cancelled(message.round))]
        if gathering is None or message.round != gathering.round:
            return [Send(sender, Cancelled(message.round))]
        if not gathering.answer(sender, message):
            self._trace.mark("group.drop.ready")
            return []
        return self._publish_if_complete(now)

    def _on_declined(self, sender: PeerId, message: Declined, now: float) -> Outputs:
        outputs: Outputs = []
        concerned = False
        gathering = self._gathering
        if gathering is not None and message.attempt == gathering.attempt and gathering.knows(sender):
            concerned = True
            gathering.without(sender)
            gathering.busy += message.reason == "busy"
            outputs += self._publish_if_complete(now)
        elif self._search.asked == sender and message.attempt == self._search.attempt and self._state is not None:
            concerned = True
            if message.reason != "busy":  # a busy one has heard: the call may come from the other leader
                outputs += self._pass_over(sender, now)
        if not concerned:
            self._trace.mark("group.drop.declined")
        elif message.reason == "elsewhere" and self._state != (message.epoch, message.lineage):
            outputs.append(Elsewhere(sender, message.epoch, message.lineage))
        return outputs

    def _on_cancelled(self, sender: PeerId, message: Cancelled, now: float) -> Outputs:
        promise = self._promise
        if promise is None or (sender, message.round) != (promise.leader, promise.round):
            return []
        silent = tuple(PeerId(peer) for peer in message.silent if peer not in {self._me, sender})
        outputs = self._break_promise("the leader cancelled it", now=now, unfit=False, cost=1, samples=message.samples)
        return [Silent(silent), *outputs] if silent else outputs

    def _on_plan(self, sender: PeerId, plan: Plan) -> Outputs:
        promise, state = self._promise, self._state
        if promise is None or state is None or (sender, plan.round) != (promise.leader, promise.round):
            if plan.round == self._left:
                self._left = None
                return [Send(peer, Leaving(plan.round)) for peer in plan.peers if peer != self._me]
            self._trace.mark("group.drop.plan")
            return []
        terms = promise.terms(self._me, state, numel=self._numel, topology=self._topology, of=self._numbers)
        try:
            check_plan(plan, terms)
        except RemoteProblem:
            self._trace.mark("group.drop.plan")
            return []
        self._promise = None
        self._formed = True
        self._search.patience.content(promise.leader)
        self._search.reached(promise.attempt)
        return [GroupFormed(plan)]

    # --- time and loss ---

    def _tick(self, now: float) -> Outputs:
        outputs: Outputs = []
        if self._gathering is not None and now >= self._gathering.until:
            outputs += self._publish(self._gathering, now)
        if self._promise is not None and now >= self._promise.until:
            outputs += self._break_promise("no plan came", now=now, unfit=True, cost=NO_PLAN)
        if self._search.again_at is not None and now >= self._search.again_at:
            self._search.again_at = None
            if self._search.asked is not None:
                outputs += self._pass_over(self._search.asked, now)
            outputs += self._seek(now)
        return outputs

    def _lose(self, peer: PeerId, now: float) -> Outputs:
        if peer in self._candidates:
            self._search.lost.add(peer)
        if self._promise is not None and self._promise.leader == peer:
            return self._break_promise("the leader was lost", now=now, unfit=True)
        gathering = self._gathering
        if gathering is not None and gathering.knows(peer):
            gathering.without(peer)
            return self._publish_if_complete(now)
        return self._pass_over(peer, now) if self._search.asked == peer else []

    # --- leading ---

    def _lead(self, now: float, *, also: PeerId | None = None) -> Outputs:
        assert self._state is not None
        key = self._key(self._search.attempt)
        others = [peer for peer in self._candidates if peer != self._me]
        others += [also] if also is not None and also not in others else []
        called = by_distance(others, key)[: GROUP_MAX - 1]
        self._search.pause()
        nonce = self._random.getrandbits(NONCE_BITS)
        until = now + self._numbers.gather_timeout_s
        doubtful = self._search.lost.intersection(called) - {also}
        self._gathering = Gathering(
            round_id(key, self._me, nonce), self._search.attempt, nonce, until, set(called) - doubtful, doubtful
        )
        call = Call(*self._state, self._search.attempt, nonce)
        return [*(Send(peer, call) for peer in called), ContributionWanted(self._gathering.round)]

    def _publish_if_complete(self, now: float) -> Outputs:
        gathering = self._gathering
        if gathering is None or gathering.waiting or self._me not in gathering.ready:
            return []
        return self._publish(gathering, now)

    def _publish(self, gathering: Gathering, now: float) -> Outputs:
        reason = gathering.obstacle(self._me)
        samples = sum(member.samples for member in gathering.ready.values())
        few = samples if reason is None and samples < self._minimum_samples else None
        if few is not None:
            reason = "the contributions together have too few samples"
        missing = tuple(sorted(gathering.waiting))
        silent: Outputs = [Silent(missing)] if missing else []
        if reason is not None or self._state is None:
            outputs = self._give_up(reason or "the state has changed", silent=missing, samples=few)
            self._search.called_in_vain(now)
            if few is not None:
                self._search.rest()
            return [*silent, *outputs]
        plan = make_plan(
            gathering.ready.values(),
            self._numbers,
            round_=gathering.round,
            key=self._key(gathering.attempt),
            leader=self._me,
            state=(*self._state, gathering.attempt),
            numel=self._numel,
            topology=self._topology,
        )
        self._gathering = None
        self._formed = True
        self._published = plan
        left = sorted(gathering.waiting | gathering.hoped_for)
        cancelled = [Send(peer, Cancelled(gathering.round)) for peer in left]
        return [*silent, *cancelled, *(Send(peer, plan) for peer in plan.peers if peer != self._me), GroupFormed(plan)]

    # --- looking ---

    def _key(self, attempt: int) -> Key:
        assert self._state is not None
        epoch, lineage = self._state
        return attempt_key(self._run_id, lineage, epoch, attempt)

    def _update(self, candidates: Sequence[PeerId]) -> Outputs:
        before = set(self._candidates)
        self._candidates = tuple(sorted({*candidates, self._me}))
        self._search.lost.intersection_update(self._candidates)
        gathering = self._gathering
        if gathering is None or self._state is None:
            return []
        known = {*before, self._me}
        new = [peer for peer in self._candidates if peer not in known and not gathering.knows(peer)][: gathering.room]
        gathering.waiting.update(new)
        return [Send(peer, Call(*self._state, gathering.attempt, gathering.nonce)) for peer in new]

    def _seek(self, now: float) -> Outputs:
        """Ask whoever should lead, or lead; unless something is under way."""
        occupied = self._formed or self._gathering is not None or self._promise is not None
        waiting = self._search.asked is None and self._search.again_at is not None
        if not self._search.looking or occupied or waiting or self._state is None:
            return []
        leader = self._search.leader(self._candidates, self._key(self._search.attempt), now=now)
        if leader == self._me:
            return self._lead(now)
        if leader == self._search.asked:
            return []
        self._search.ask(leader, now)
        return [Send(leader, Wanted(*self._state, self._search.attempt))]

    def _pass_over(self, leader: PeerId, now: float) -> Outputs:
        self._search.pass_over(leader)
        return self._seek(now)

    # --- letting go ---

    def _wins(self, attempt: int, leader: PeerId) -> bool:
        """Whether that leader's call goes before what I am in now; a leader's newer call replaces its own."""
        if self._gathering is not None:
            mine = call_rank(self._gathering.attempt, self._key(self._gathering.attempt), self._me)
        elif self._promise is not None and self._promise.leader != leader:
            mine = call_rank(self._promise.attempt, self._key(self._promise.attempt), self._promise.leader)
        else:
            return True
        return call_rank(attempt, self._key(attempt), leader) < mine

    def _leave_for_better(self, *, silent: tuple[PeerId, ...] = (), samples: int | None = None) -> Outputs:
        outputs: Outputs = []
        gathering, promise, state = self._gathering, self._promise, self._state
        if gathering is not None:
            cancelled = Cancelled(gathering.round, silent, samples)
            outputs += [Send(peer, cancelled) for peer in sorted(gathering.others - {self._me})]
        if promise is not None and state is not None:
            self._left = promise.round
            outputs.append(Send(promise.leader, Declined(*state, promise.attempt, "busy")))
        self._gathering = self._promise = None
        return outputs

    def _give_up(self, reason: str, *, silent: tuple[PeerId, ...] = (), samples: int | None = None) -> Outputs:
        current = self._gathering or self._promise
        outputs = self._leave_for_better(silent=silent, samples=samples)
        self._search.pause()
        return outputs if current is None else [*outputs, GroupFailed(current.round, reason, samples)]

    def _break_promise(
        self, reason: str, *, now: float, unfit: bool, cost: int = 0, samples: int | None = None
    ) -> Outputs:
        promise = self._promise
        assert promise is not None
        if cost:
            self._search.patience.disappointed(promise.leader, now, times=cost)
        self._promise = None
        self._left = promise.round
        self._search.reached(promise.attempt)
        if unfit:
            self._search.unfit(promise.leader)
            self._search.next_attempt()
            return [GroupFailed(promise.round, reason), *self._seek(now)]
        self._search.retry_later(now)
        if samples is not None:
            self._search.rest()
        return [GroupFailed(promise.round, reason, samples)]
