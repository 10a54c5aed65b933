"""Finding the group of a round: everybody at the same state, gathered by a leader that nobody has to agree on first.

The peers that see the target reached ask the leader, who is the nearest to the attempt's key, to call; the leader calls
all candidates, collects who is ready, and publishes the plan: two round trips from the first Wanted to the plan.

- A leader that stays silent, is lost or stands elsewhere is passed over: the next attempt has another key.
- Where two peers call for the same state, the smaller (attempt, distance) wins everywhere (`call_rank`): its call
  is followed, even by a member that is promised to the other and by the other leader itself; until a plan is out.
  An attempt that is over already counts like the present one, so that nobody wins by beginning at 0 again and again.
- Who finds a plan bad says so to all its members; the round is left, and the next leader calls at once.
- A leader that finds as many peers promised elsewhere as ready does not start a small round beside theirs.
- Whom failed rounds are put down to is neither asked nor followed for a while (`Reputation`).
"""

import math
from collections.abc import Sequence
from random import Random

from core.averaging.bandwidth.book import LineBook
from core.averaging.grid.failure_rate import FailureRate
from core.averaging.matchmaking import GroupFailed
from core.averaging.matchmaking.config import RoundConfig
from core.averaging.matchmaking.handlers import Answers
from core.averaging.matchmaking.state import Outputs, Quest
from core.averaging.outcome import Outcome
from core.averaging.penalties.ledger import Reputation, leader_of
from core.averaging.plan import GroupMessage, Member, Plan
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Tick
from core.base.manifest import AveragingNumbers
from core.base.trace import Trace

NO_PLAN = 2
"""A call whose plan never comes costs as much as that many cancelled ones."""


class Matchmaker:
    """One peer's search for the group of its next round.

    The owner tells where it stands (`position`), that the target is reached (`look`), what it has (`offer`), and what
    became of the round (`failed`, `committed`).

    Args:
        me: This peer.
        run_id: The collaboration (the manifest's id).
        numel: Numbers in the vector; None: a helper, which takes it from the call and never leads.
        numbers: The manifest's numbers for averaging.
        random: For the jitter of timeouts.
        trace: Where misuse is marked.
        minimum_samples: A leader cancels a round that has fewer samples in all.
        book: What is known of lines; None: nothing, so all shares are equal and only equal ones are accepted.
        failures: How often peers fail; where that is often, and they are many, plans are grids.
        numel_max: A helper follows no call for a larger vector.
        target_samples: The target batch, where members compute while they average; 0: all give all that they have.
        reputation: What rounds have shown of peers; outlives this search.
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
        minimum_samples: int = 0,
        book: LineBook | None = None,
        failures: FailureRate | None = None,
        numel_max: int = 0,
        target_samples: int = 0,
        reputation: Reputation | None = None,
    ) -> None:
        self._config = config = RoundConfig(
            me=me,
            run_id=run_id,
            numel=numel,
            numel_max=numel_max,
            numbers=numbers,
            minimum_samples=minimum_samples,
            target_samples=target_samples,
            book=book or LineBook(me),
            failures=failures or FailureRate(),
            reputation=reputation or Reputation(me, round_timeout_s=numbers.round_timeout_s),
        )
        self._me = me
        self._trace = trace
        self._quest = Quest(config, random=random, trace=trace)
        self._answers = Answers(self._quest, trace)

    # --- owner's side ---

    def position(self, epoch: int, lineage: bytes, candidates: Sequence[PeerId]) -> Outputs:
        """Where I stand, and who stands there with me (I am always taken to be among them).

        A new state ends whatever was going on for the old one.  Whoever looked and has found nobody yet looks no
        longer: the target is not reached after all.
        """
        outputs = self._quest.stand(epoch, lineage, candidates)
        if not self._quest.occupied and not self._quest.again:
            self._quest.election.rest()
        return outputs

    def look(self, epoch: int, lineage: bytes, candidates: Sequence[PeerId], *, now: float) -> Outputs:
        """The target is reached: find the group of this state.  Called again after a failed round, it looks anew."""
        outputs = self._quest.stand(epoch, lineage, candidates)
        self._quest.reopen()
        self._quest.election.looking = True
        return outputs + self._quest.seek(now)

    def reopen(self) -> None:
        """The round that was formed is over, and the state is still the same: calls are welcome again."""
        self._quest.reopen()

    def failed(self, plan: Plan, suspects: Sequence[PeerId], now: float) -> None:
        """The round of `plan`, in which I was, came to nothing, and not by my doing.

        Calls are welcome again, but for those of whom it is put down to.
        """
        self._config.reputation.failed(plan, suspects, now)
        if not self._quest.formed or self._quest.plan is None or self._quest.plan.round != plan.round:
            return
        self._quest.election.setbacks += 1
        self._quest.reopen()

    def committed(self, plan: Plan, outcome: Outcome, leader: PeerId, now: float) -> None:
        """The round of `plan` has a mean; `leader` led it in the end."""
        self._config.reputation.committed(plan, outcome.versions, leader, now, seen=outcome.seen)
        if leader == leader_of(plan):
            self._quest.election.failed_calls.clear(leader)

    def refuse(self, plan: Plan, now: float) -> Outputs:
        """This computer can make nothing of the plan of the round that was formed: say so, and look for another."""
        if not self._quest.formed or self._quest.plan is None or self._quest.plan.round != plan.round:
            return []
        leader = leader_of(plan)
        if leader != self._me:
            return self._quest.refuse(plan, leader, now)
        self._quest.formed = False
        self._quest.election.called_in_vain(now)
        return [*self._quest.say_refused(plan), GroupFailed(plan.round, "this computer cannot follow its own plan")]

    @property
    def helpers(self) -> tuple[PeerId, ...]:
        """Who only reduces for others: called whenever this peer leads."""
        return self._quest.helpers

    @helpers.setter
    def helpers(self, peers: tuple[PeerId, ...]) -> None:
        self._quest.helpers = peers

    @property
    def occupied(self) -> bool:
        """Whether a round is gathered, promised to, or formed."""
        return self._quest.occupied

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        return self._quest.deadline

    def stop(self) -> Outputs:
        """Look no longer, and follow no call, until the next `position`."""
        outputs = self._quest.give_up("the search was stopped")
        self._quest.reopen()
        self._quest.away = True
        self._quest.election.looking = False
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
        mine = Member(self._me, samples, loss, reduces, receives, samples_per_s)
        gathering = self._quest.caller.gathering
        if gathering is not None and gathering.round == round_:
            gathering.ready[self._me] = mine
            return self._quest.publish_if_complete(now)
        return [*self._quest.follower.offer(round_, mine)]

    def handle(self, event: Received[GroupMessage] | Tick | Lost, now: float) -> Outputs:
        """Advance by one event."""
        match event:
            case Received(sender=sender, message=message):
                if sender == self._me:
                    self._trace.mark("group.drop.self")
                    return []
                self._quest.election.unavailable.discard(sender)
                return self._answers.receive(sender, message, now)
            case Tick():
                return self._tick(now)
            case Lost(peer=peer):
                return self._lose(peer, now)

    # --- time and loss ---

    def _tick(self, now: float) -> Outputs:
        outputs: Outputs = []
        gathering = self._quest.caller.gathering
        if gathering is not None and now >= gathering.until:
            outputs += self._quest.publish(gathering, now)
        else:
            outputs += self._quest.publish_if_complete(now)
        promise = self._quest.follower.promise
        if promise is not None and now >= promise.until:
            if promise.refused:
                outputs += self._quest.break_promise("others refuse its plan", now=now)
            else:
                outputs += self._quest.break_promise("no plan came", now=now, at_once=True, cost=NO_PLAN)
        if self._quest.election.again_at is not None and now >= self._quest.election.again_at:
            self._quest.election.again_at = None
            if self._quest.election.asked is not None:
                outputs += self._quest.pass_over(self._quest.election.asked, now)
            outputs += self._quest.seek(now)
        return outputs

    def _lose(self, peer: PeerId, now: float) -> Outputs:
        if peer in self._quest.candidates or peer in self._quest.helpers:
            self._quest.election.unavailable.add(peer)
        promise, gathering = self._quest.follower.promise, self._quest.caller.gathering
        if promise is not None and promise.leader == peer:
            return self._quest.break_promise("the leader was lost", now=now, at_once=True)
        if gathering is not None and gathering.knows(peer):
            gathering.without(peer)
            return self._quest.publish_if_complete(now)
        return self._quest.pass_over(peer, now) if self._quest.election.asked == peer else []
