"""Finding the group of a round: everybody at the same state, gathered by a leader that nobody has to agree on first.

The peers that see the target reached ask the leader, who is the nearest to the attempt's key, to call; the leader calls
all candidates, collects who is ready, and publishes the plan: two round trips from the first Wanted to the plan.

- A leader that stays silent, is lost or stands elsewhere is passed over: the next attempt has another key.
- Where two peers call for the same state, the smaller (attempt, distance) wins everywhere (`call_rank`): its call
  is followed, even by a member that is promised to the other and by the other leader itself; until a plan is out.
- Who finds a plan bad says so to all its members; the round is left, and the next leader calls at once.
- A leader that finds as many peers promised elsewhere as ready does not start a small round beside theirs.
"""

import math
from collections.abc import Sequence
from random import Random

from core.averaging.election import attempt_key, by_distance, call_rank, make_plan, round_id
from core.averaging.events import (
    ContributionWanted,
    Elsewhere,
    GroupFailed,
    GroupFormed,
    MemberRefused,
    PlanRefused,
    Silent,
)
from core.averaging.gathering import Gathering, Promise
from core.averaging.groups.failures import FailureRate
from core.averaging.groups.iterations import best_stages
from core.averaging.lines.book import UNKNOWN, LineBook
from core.averaging.messages import (
    GROUP_MAX,
    NONCE_BITS,
    Call,
    Cancelled,
    Declined,
    Leaving,
    Ready,
    Refused,
    Wanted,
)
from core.averaging.plan import GroupMessage, Member, Plan, check_plan
from core.averaging.refusals import Refusals, few
from core.averaging.search import PLAIN_AFTER, Search
from core.averaging.verdict import check_division
from core.base.ids import Key, PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.manifest import AveragingNumbers
from core.base.problems import RemoteProblem
from core.base.trace import Trace

PLAN_PATIENCE = 2.0
"""Gather timeouts after which a member that followed a call gives up waiting for the plan."""
NO_PLAN = 2
"""A call whose plan never comes costs as much as that many cancelled ones."""
HELPERS_S = 0.25
"""Helpers that a leader called have so long to answer; whoever did not is not waited for until it is heard again."""
HELPERS_MAX = 16
REFUSED_PATIENCE_S = 0.5
"""When others have refused a plan that has not come yet, it is waited for no longer than this."""

Event = ContributionWanted | GroupFormed | GroupFailed | PlanRefused | MemberRefused | Elsewhere | Silent
Outputs = list[Send[GroupMessage | Leaving] | Event]


class Matchmaker:
    """One peer's search for the group of its next round.

    The owner tells where it stands (`position`), that the target is reached (`look`), and what it has (`offer`).

    Args:
        me: This peer.
        run_id: The collaboration (the manifest's id).
        numel: Numbers in the vector; None: a helper, which takes it from the call and never leads.
        numbers: The manifest's numbers for averaging.
        random: For the jitter of timeouts.
        trace: Where misuse is marked.
        topology: What the plans name.
        minimum_samples: A leader cancels a round that has fewer samples in all.
        book: What is known of lines; None: nothing, so all shares are equal and only equal ones are accepted.
        failures: How often peers fail; where that is often, and they are many, plans are grids.
        numel_max: A helper follows no call for a larger vector.
        target_samples: The target batch, where members compute while they average; 0: all give all that they have.
    """

    def __init__(  # noqa: PLR0913 - the context of a collaboration, fixed at birth
        self,
        me: PeerId,
        *,
        run_id: bytes,
        numel: int | None,
        numbers: AveragingNumbers,
        random: Random,
        trace: Trace,
        topology: str = "butterfly",
        minimum_samples: int = 0,
        book: LineBook | None = None,
        failures: FailureRate | None = None,
        numel_max: int = 0,
        target_samples: int = 0,
    ) -> None:
        self._me = me
        self._run_id = run_id
        self._numel = numel
        self._numel_max = numel_max
        self.helpers: tuple[PeerId, ...] = ()
        """Who only reduces for others: called whenever this peer leads."""
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
        self._book = book or LineBook(me)
        self._failures = failures or FailureRate()
        self._target_samples = target_samples
        self._refusals = Refusals()
        self._plan: Plan | None = None
        """Of the round that was formed last."""
        self._again = False
        """A plan was refused, and the next one is looked for."""

    # --- owner's side ---

    def position(self, epoch: int, lineage: bytes, candidates: Sequence[PeerId]) -> Outputs:
        """Where I stand, and who stands there with me (I am always taken to be among them).

        A new state ends whatever was going on for the old one.  Whoever looked and has found nobody yet looks no
        longer: the target is not reached after all.
        """
        outputs = self._stand(epoch, lineage, candidates)
        if not self.occupied and not self._again:
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

    def offer(
        self,
        round_: bytes,
        samples: int,
        loss: float,
        *,
        now: float,
        reduces: bool = True,
        receives: bool = True,
        samples_per_s: float = 0.0,
    ) -> Outputs:
        """The contribution stands still; it holds `samples` with a mean loss.  Ignored when the round is gone by now.

        Args:
            round_: Whose contribution was wanted.
            samples: How many it holds.
            loss: In nats.
            now: Unix seconds.
            reduces: Whether we can be given a share; in vain where nobody else can either.
            receives: Whether we need the mean; a helper without a model does not.
            samples_per_s: What we compute; 0: unknown.

        Raises:
            ValueError: the loss is not finite, or samples are negative.
        """
        if samples < 0 or not math.isfinite(loss) or not math.isfinite(samples_per_s):
            raise ValueError(f"a contribution of {samples} samples with loss {loss}")
        gathering, promise = self._gathering, self._promise
        if gathering is not None and gathering.round == round_:
            gathering.ready[self._me] = Member(self._me, samples, loss, reduces, receives, samples_per_s)
            return self._publish_if_complete(now)
        if promise is not None and promise.round == round_ and promise.samples is None:
            promise.samples, promise.reduces, promise.receives = samples, reduces, receives
            promise.samples_per_s = samples_per_s
            return [Send(promise.leader, Ready(round_, samples, loss, reduces, receives, samples_per_s))]
        return []

    @property
    def occupied(self) -> bool:
        """Whether a round is gathered, promised to, or formed."""
        return self._formed or self._gathering is not None or self._promise is not None

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        gathering = None if self._gathering is None else self._gathering.deadline(self._me)
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
                return self._on_plan(sender, message, now)
            case Refused():
                return self._on_refused(sender, message, now)

    def _on_wanted(self, sender: PeerId, message: Wanted, now: float) -> Outputs:
        gathering = self._gathering
        if self._numel is None:
            return [Send(sender, Declined(message.epoch, message.lineage, message.attempt, "away"))]
        if self._formed or self._promise is not None or (gathering is None and self._search.resting(now)):
            return [Send(sender, Declined(message.epoch, message.lineage, message.attempt, "busy"))]
        if gathering is None:
            self._search.heard(message.attempt)
            return self._lead(now, also=sender)
        if gathering.knows(sender) or not gathering.room:
            return []
        gathering.waiting.add(sender)
        return [Send(sender, self._call_to(gathering))]

    def _on_call(self, sender: PeerId, call: Call, now: float) -> Outputs:
        round_ = round_id(self._key(call.attempt), sender, call.nonce)
        current = self._gathering or self._promise
        if current is not None and current.round == round_:
            return []
        if self._numel is None and not 0 < call.numel <= self._numel_max:
            return [Send(sender, Declined(call.epoch, call.lineage, call.attempt, "away"))]
        refused = sender in self._search.refused and call.attempt < PLAIN_AFTER
        tired = self._search.patience.over(sender, now) or refused
        if tired or self._formed or (current is not None and not self._wins(call.attempt, sender)):
            return [Send(sender, Declined(call.epoch, call.lineage, call.attempt, "busy"))]
        until = now + PLAN_PATIENCE * self._numbers.gather_timeout_s
        if self._promise is not None and self._promise.leader == sender:  # it began anew: no reason to wait longer
            until = self._promise.until
            self._search.patience.disappointed(sender, now)
        outputs = self._leave_for_better()
        self._search.pause()
        self._search.heard(call.attempt)
        self._promise = Promise(round_, sender, call.attempt, until, numel=call.numel)
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
            gathering.busy += message.reason == "busy" and sender not in gathering.helpers
            gathering.without(sender)
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

    def _on_plan(self, sender: PeerId, plan: Plan, now: float) -> Outputs:
        promise, state = self._promise, self._state
        if promise is None or state is None or (sender, plan.round) != (promise.leader, promise.round):
            if plan.round == self._left:
                self._left = None
                return [Send(peer, Leaving(plan.round)) for peer in plan.peers if peer != self._me]
            self._trace.mark("group.drop.plan")
            return []
        numel = promise.numel if self._numel is None else self._numel
        terms = promise.terms(self._me, state, numel=numel, topology=self._topology, of=self._numbers)
        try:
            check_plan(plan, terms)
            known = self._book.known(plan.peers)
            check_division(
                plan,
                self._me,
                known=known,
                claimed=self._book.claimed,
                held=self._book.held,
                target_samples=self._target_samples,
            )
        except RemoteProblem:
            return self._refuse(plan, promise, now)
        self._search.reached(promise.attempt)
        if self._refusals.heeded(plan.round, now):
            return self._look_again(sender, plan, now)
        self._promise = None
        self._search.patience.content(promise.leader)
        return self._form(plan)

    def _form(self, plan: Plan) -> Outputs:
        self._formed = True
        self._again = False
        self._plan = plan
        return [GroupFormed(plan)]

    # --- bad plans ---

    def _refuse(self, plan: Plan, promise: Promise, now: float) -> Outputs:
        """Say so to all whom the plan names and whom I know, and find another leader."""
        self._trace.mark("group.refused")
        self._search.refused.add(promise.leader)
        self._search.reached(promise.attempt)
        members = {promise.leader, *set(self._candidates).intersection(plan.peers)} - {self._me}
        told: Outputs = [Send(peer, Refused(plan.round)) for peer in sorted(members)]
        return [*told, *self._look_again(promise.leader, plan, now)]

    def _on_refused(self, sender: PeerId, message: Refused, now: float) -> Outputs:
        promise, plan = self._promise, self._plan
        if promise is not None and promise.round == message.round and sender in self._candidates:
            self._refusals.note(message.round, sender, members=len(self._candidates), now=now)
            if not few(self._refusals.by(message.round), len(self._candidates)):
                promise.until = min(promise.until, now + REFUSED_PATIENCE_S)
            return []
        if plan is None or plan.round != message.round or sender not in plan.peers:
            self._trace.mark("group.drop.refused")
            return []
        self._refusals.note(plan.round, sender, members=len(plan.peers), now=now)
        refusers = self._refusals.heeded(plan.round, now)
        leader = plan.peers[plan.leaders[0]]
        if not few(self._refusals.by(plan.round), len(plan.peers)) and leader != self._me:
            self._search.refused.add(leader)
        if not self._formed:
            return []
        return self._look_again(leader, plan, now) if refusers else [MemberRefused(plan.round, sender)]

    def _look_again(self, leader: PeerId, plan: Plan, now: float) -> Outputs:
        """This plan is not to be: leave its round, if it has begun, and look for the next one."""
        left: Outputs = [PlanRefused(plan.round)] if self._formed else []
        self._promise = None
        self._formed = False
        self._again = True
        self._plan = plan
        self._search.look_again(leader)
        return [*left, *self._seek(now)]

    # --- time and loss ---

    def _tick(self, now: float) -> Outputs:
        outputs: Outputs = []
        if self._gathering is not None and now >= self._gathering.until:
            outputs += self._publish(self._gathering, now)
        else:
            outputs += self._publish_if_complete(now)
        if self._promise is not None and now >= self._promise.until:
            outputs += self._break_promise("no plan came", now=now, unfit=True, cost=NO_PLAN)
        if self._search.again_at is not None and now >= self._search.again_at:
            self._search.again_at = None
            if self._search.asked is not None:
                outputs += self._pass_over(self._search.asked, now)
            outputs += self._seek(now)
        return outputs

    def _lose(self, peer: PeerId, now: float) -> Outputs:
        if peer in self._candidates or peer in self.helpers:
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
        doubtful = self._search.lost.intersection([*called, *self.helpers]) - {also}
        helpers = [peer for peer in self.helpers if peer != self._me and peer not in called][:HELPERS_MAX]
        helpers = helpers[: GROUP_MAX - 1 - len(called)]
        gathering = self._gathering = Gathering(
            round_id(key, self._me, nonce),
            self._search.attempt,
            nonce,
            until,
            waiting=set(called) - doubtful,
            hoped_for=doubtful.intersection([*called, *helpers]),
            helpers=set(helpers) - doubtful,
            helped_by=now + HELPERS_S,
        )
        call = self._call_to(gathering)
        return [*(Send(peer, call) for peer in (*called, *helpers)), ContributionWanted(gathering.round)]

    def _call_to(self, gathering: Gathering) -> Call:
        assert self._state is not None
        assert self._numel is not None
        return Call(*self._state, gathering.attempt, gathering.nonce, self._numel)

    def _publish_if_complete(self, now: float) -> Outputs:
        gathering = self._gathering
        if gathering is None or not gathering.complete(self._me, now):
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
        assert self._numel is not None
        self._search.lost |= gathering.helpers
        plain = gathering.attempt >= PLAIN_AFTER
        known = UNKNOWN if plain else self._book.known(sorted(gathering.ready))
        plan = make_plan(
            gathering.ready.values(),
            self._numbers,
            round_=gathering.round,
            key=self._key(gathering.attempt),
            leader=self._me,
            state=(*self._state, gathering.attempt),
            numel=self._numel,
            topology=self._topology,
            lines=known.lines,
            limits=known.limits,
            stages=best_stages(sum(m.receives for m in gathering.ready.values()), self._failures.value),
            target_samples=self._target_samples,
        )
        self._gathering = None
        self._published = plan
        left = sorted(gathering.others - set(plan.peers))
        cancelled = [Send(peer, Cancelled(gathering.round)) for peer in left]
        return [
            *silent,
            *cancelled,
            *(Send(peer, plan) for peer in plan.peers if peer != self._me),
            *self._form(plan),
        ]

    # --- looking ---

    def _key(self, attempt: int) -> Key:
        assert self._state is not None
        epoch, lineage = self._state
        return attempt_key(self._run_id, lineage, epoch, attempt)

    def _update(self, candidates: Sequence[PeerId]) -> Outputs:
        before = set(self._candidates)
        self._candidates = tuple(sorted({*candidates, self._me}))
        self._search.lost.intersection_update([*self._candidates, *self.helpers])
        gathering = self._gathering
        if gathering is None or self._state is None:
            return []
        known = {*before, self._me}
        new = [peer for peer in self._candidates if peer not in known and not gathering.knows(peer)][: gathering.room]
        gathering.waiting.update(new)
        return [Send(peer, self._call_to(gathering)) for peer in new]

    def _seek(self, now: float) -> Outputs:
        """Ask whoever should lead, or lead; unless something is under way."""
        waiting = self._search.asked is None and self._search.again_at is not None
        if not self._search.looking or self.occupied or waiting or self._state is None or self._numel is None:
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
        self._again = False
        return outputs if current is None else [*outputs, GroupFailed(current.round, reason, samples)]

    def _break_promise(
        self, reason: str, *, now: float, unfit: bool, cost: int = 0, samples: int | None = None
    ) -> Outputs:
        promise = self._promise
        assert promise is not None
        if cost:
            self._search.patience.disappointed(promise.leader, now, times=cost)
        self._promise = None
        self._again = False
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
