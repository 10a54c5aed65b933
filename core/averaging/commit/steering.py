"""Who leads a round, as one member sees it: orders, statuses and Commits, followed or given."""

from collections.abc import Sequence

import msgspec

from core.averaging.allreduce.exchange import Exchange
from core.averaging.allreduce.overtime import Overtime
from core.averaging.commit.agreement import Agreement
from core.averaging.commit.blame import Blame
from core.averaging.commit.leadership import Leadership
from core.averaging.commit.sealing import Sealing
from core.averaging.commit.succession import Succession
from core.averaging.messages import Commit, Leaving, Order, RoundMessage, Stalled, Status, from_bits
from core.averaging.plan import Plan
from core.base.machine import Send, earliest
from core.base.trace import Trace

COMMIT_BY = 0.8
"""At this part of the round's time the leader goes on without those who are not complete."""

Words = list[Send[RoundMessage]]


class Steering:
    """One member's place in the order of leaders: it follows one, succeeds one, or leads.

    Whether the round goes on is its owner's to say, who tells when it is `finished`; what it has come to is in
    `agreement`, and that it cannot go on in `over`.

    Args:
        plan: The round's plan.
        me: My index in it.
        exchange: What I hold.
        sealing: What I say of it.
        trace: Where misuse and incidents are marked.
        hurried: See `Overtime`.
        unheeded: See `Testimony`.
    """

    def __init__(
        self,
        plan: Plan,
        me: int,
        *,
        exchange: Exchange,
        sealing: Sealing,
        trace: Trace,
        hurried: int,
        unheeded: int,
    ) -> None:
        self.plan = plan
        self._me = me
        self._peers = plan.peers
        self._exchange = exchange
        self._sealing = sealing
        self._trace = trace
        self._hurried = hurried
        self._unheeded = unheeded
        self._started_at = 0.0
        self._reported: tuple[int, tuple[int, ...]] | None = None
        self.succession = Succession(plan)
        self.agreement = Agreement(plan, exchange=exchange, sealing=sealing, succession=self.succession)
        self.blame = Blame(plan, me)
        self.leadership: Leadership | None = None
        """Mine, while I lead."""
        self.lost = 0
        """Members to whom the link has ended (bits)."""
        self.finished = False
        """Whether I hold what is committed, and the round is over for me."""
        self.over: str | None = None
        """Why it is over for me without that."""

    def begin(self, now: float) -> None:
        """The round begins."""
        self._started_at = self.succession.heard_at = now
        if self.plan.leaders[0] == self._me:
            self.leadership = self._lead(now, without=0)

    @property
    def deadline(self) -> float | None:
        """When an order is due, mine or my leader's, or there will be no Commit any more."""
        control = self.succession.deadline if self.leadership is None else self.leadership.deadline
        return earliest(control, self.agreement.patient_until)

    def heard(self, member: int, now: float) -> None:
        """Some message came from `member`."""
        if self.leadership is not None:
            self.leadership.heard(member, now)
        if member == self.succession.awaited:
            self.succession.heard_at = now

    def govern(self, member: int, message: Stalled | Order | Status | Commit, now: float) -> Words:
        """A word about who leads, or for whoever does."""
        match message:
            case Order():
                return self._on_order(member, message, now)
            case Status():
                return self._on_status(member, message, now)
            case Commit():
                return self._on_commit(member, message, now)
            case Stalled():
                if self.leadership is not None:
                    self.leadership.complain(member, message.share, message.version)
        return []

    def lose(self, member: int, now: float) -> Words:
        """The link to a member has ended, and the round goes on: what it owes has been given up."""
        outputs: Words = []
        if self.leadership is not None:
            self.leadership.exclude([member])
        elif self.succession.awaited == member:
            outputs += self._succeed(now)
        if self.over is None:
            outputs += self.complain(self._exchange.orphans(self.lost))
        return outputs

    def tick(self, now: float) -> Words:
        """Time passes: leave behind, as the leader, or give up whoever leads."""
        leadership = self.leadership
        if leadership is None:
            return self._succeed(now) if now >= self.succession.deadline else []
        leadership.exclude(leadership.silent(now, me=self._me))
        leadership.urge(now)
        leadership.exclude(leadership.blocking(now))
        if now >= self._started_at + COMMIT_BY * self.plan.round_timeout_s and self._exchange.complete:
            leadership.exclude(leadership.incomplete())
        return []

    def advance(self, now: float) -> Words:
        """Say what follows from what I hold and know."""
        return self._report() if self.leadership is None else self._direct(self.leadership, now)

    def hear_late(self, member: int, word: RoundMessage, now: float) -> None:
        """I have given up: what I hold may have been committed all the same."""
        if isinstance(word, Commit) and self.agreement.heeds(member, word, leads=False, lost=self.lost, now=now):
            self.agreement.take(word, now, member=member)
            if self.agreement.fulfilled:
                self._exchange.settle()

    def complain(self, shares: Sequence[tuple[int, int]]) -> Words:
        """These versions of these shares do not come."""
        outputs: Words = []
        for share, version in shares:
            self._trace.mark("averaging.reducer_stalled")
            if self.leadership is not None:
                self.leadership.complain(self._me, share, version)
            elif not self.lost >> self.succession.leader & 1:
                leader = self._peers[self.succession.leader]
                outputs.append(Send(leader, Stalled(self.plan.round, share, version)))
        return outputs

    def tell_commit(self, member: int) -> Words:
        """To a member that may not have heard it."""
        commit = self.agreement.commit
        return [] if commit is None else [Send(self._peers[member], commit)]

    def to_others(self, message: RoundMessage) -> Words:
        """To all who can be reached."""
        reachable = [m for m in range(len(self._peers)) if m != self._me and not self.lost >> m & 1]
        return [Send(self._peers[member], message) for member in reachable]

    # --- inside ---

    def _on_order(self, member: int, order: Order, now: float) -> Words:
        if not self.succession.accepts(member, order):
            self._trace.mark("averaging.drop.order")
            return []
        if self.finished and self.agreement.commit is not None:
            return [Send(self._peers[member], word) for word in (self._status(order.rank), self.agreement.commit)]
        if not self._exchange.live >> member & 1:  # it was excluded, and does not know yet
            return [Send(self._peers[member], Leaving(self.plan.round))]
        if self._usurped(order.rank, now):
            self._trace.mark("averaging.drop.usurper")
            return []
        self.succession.follow(order, now)
        self.leadership = None
        live = from_bits(order.live)
        if not live >> self._me & 1:
            self.over = "the others went on without this computer"
            return []
        outputs: Words = []
        if order.settled:
            outputs += self._exchange.assign(order.versions, order.reducers, live, now=now)
            outputs += self.complain(self._exchange.orphans(self.lost | ~live))
            if from_bits(order.urged) >> self._me & 1:
                outputs += self.complain(self._exchange.patience.urged(now, rank=order.rank))
            if order.salts and order.versions == self._exchange.versions:
                self._sealing.make(order.salts, by=member)
        status = self._status(order.rank)
        self._reported = (order.rank, status.versions) if status.complete else None
        return [*outputs, Send(self._peers[member], status)]

    def _usurped(self, rank: int, now: float) -> bool:
        """Whether a leader of this rank takes the place of one that is there; maybe mine."""
        if self.leadership is not None:
            return not self.leadership.overslept(now)
        return self.succession.usurps(rank, self.lost, now)

    def _on_status(self, member: int, status: Status, now: float) -> Words:
        if self.leadership is not None:
            self.leadership.note(member, status, now)
        elif self.finished and not status.committed:
            return self.tell_commit(member)
        return []

    def _on_commit(self, member: int, commit: Commit, now: float) -> Words:
        leads = self.leadership is not None
        heeded = self.agreement.heeds(member, commit, leads=leads, lost=self.lost, now=now)
        if self.finished or not heeded:
            self._trace.mark("averaging.drop.commit")
            return []
        if leads:  # my predecessor's, in whose name nobody listens to me
            commit = msgspec.structs.replace(commit, rank=self.succession.rank)
        self.agreement.take(commit, now, member=member)
        return self.to_others(commit) if leads else []

    def _succeed(self, now: float) -> Words:
        """Give up the leader; lead myself if I am the next whom I can reach, else wait for that one's order."""
        self._trace.mark("averaging.leader_lost")
        silent = self.succession.leader
        self.blame.bits |= 1 << self.succession.awaited
        if not self.succession.give_up(self.lost, now):
            self.over = "nobody is left to lead the round"
            return []
        successor = self.succession.awaited
        if successor != self._me:  # it may have finished already, and then answers with the Commit
            return [Send(self._peers[successor], self._status(self.succession.rank))]
        self.succession.lead(now)
        self.leadership = self._lead(now, without=1 << silent)
        return []

    def _lead(self, now: float, *, without: int) -> Leadership:
        return Leadership(
            plan=self.plan,
            rank=self.succession.rank,
            live=(1 << len(self._peers)) - 1 & ~(self.lost | without),
            versions=list(self._exchange.versions),
            reducers=list(self._exchange.reducers),
            settled=self.succession.rank == 0,
            now=now,
            trace=self._trace,
            overtime=Overtime(
                self.plan,
                planned_s=0.0 if self.succession.rank else self._exchange.patience.planned_s,
                began_at=self._started_at,
                hurried=self._hurried,
            ),
            unheeded=self._unheeded,
        )

    def _report(self) -> Words:
        """Tell the leader, once for each state, that the result is complete."""
        state = (self.succession.rank, self._exchange.versions)
        leader = self.succession.leader
        if not self._exchange.complete or self._reported == state or self.lost >> leader & 1:
            return []
        self._reported = state
        return [Send(self._peers[leader], self._status(self.succession.rank))]

    def _direct(self, leadership: Leadership, now: float) -> Words:
        """Lead: act on what has been learned, and tell the others."""
        outputs: Words = []
        self.agreement.testify(leadership, now)
        if leadership.hopeless:
            self.over = "too few members are left"
            return []
        if leadership.urges_me and now >= leadership.order_at:  # as the others, who look again with each order
            outputs += self.complain(self._exchange.patience.urged(now, rank=leadership.rank))
        while leadership.changed(now):
            if leadership.settled:
                outputs += self._exchange.assign(leadership.versions, leadership.reducers, leadership.live, now=now)
                outputs += self.complain(self._exchange.orphans(self.lost | ~leadership.live))
            if leadership.urges_me:
                outputs += self.complain(self._exchange.patience.urged(now, rank=leadership.rank))
            self.agreement.testify(leadership, now)
        commits = leadership.may_commit and self.agreement.commit is None
        if commits and now >= leadership.order_at and leadership.live.bit_count() < len(self._peers):
            outputs += self.to_others(leadership.order(now))  # whoever is excluded is to know that first
        if commits:
            commit = leadership.commit()
            self.agreement.take(commit, now, member=self._me)
            outputs += self.to_others(commit)
        if now >= leadership.order_at:
            outputs += self.to_others(leadership.order(now))
        return outputs

    def _status(self, rank: int) -> Status:
        return self.agreement.status(rank, finished=self.finished)
