"""One member's side of the commit: which coordinator it follows, what it votes, and when it takes over."""

from core.averaging.allreduce.all_reduce import AllReduce
from core.averaging.allreduce.vectors import RoundContext
from core.averaging.commit.coordinator import Coordinator
from core.averaging.commit.fingerprints import NO_VOTE, Fingerprints
from core.averaging.commit.phases import MEMBER, Cue, Phase, Standing
from core.averaging.commit.reports import RANK_SHIFT, Reports, coordinators, divides, is_planned
from core.averaging.failure_detector import Timetable
from core.averaging.messages import REMADE_MAX, Commit, Leaving, Members, Order, Status, from_bits, to_bits
from core.base.machine import Send, earliest
from core.base.wire import Message

Sends = list[Send[Message]]


class Succession:
    """The ranked coordinators of a round as one member sees them: followed, awaited, lost.

    Args:
        context: What the round works on.
        timetable: Timetable of the round.
        votes: Votes of this member.
        vote_ignored: Members for whose vote alone no share is made anew.
    """

    def __init__(self, context: RoundContext, timetable: Timetable, votes: Fingerprints, vote_ignored: Members) -> None:
        self._context = context
        self._votes = votes
        self._timetable = timetable
        self._ignored = vote_ignored
        self._order = coordinators(context.shares)
        self.rank = 0
        """Rank of the coordinator that is followed."""
        self.lost: Members = frozenset()
        """Members to which the link has ended."""
        self.given_up: Members = frozenset()
        """Coordinators that fell silent."""
        self.mine: Coordinator | None = None
        """While this member coordinates."""
        self._heard_at = timetable.began_at
        self._awaited = 0

    @property
    def leader(self) -> int:
        """The coordinator whose orders this member obeys; `awaited` may already be a later one."""
        return self._order[self.rank]

    @property
    def awaited(self) -> int:
        """The member that should coordinate: the one that is followed, or after its failure a later one."""
        return self._order[self._awaited]

    @property
    def deadline(self) -> float | None:
        """When the awaited coordinator has been silent for too long, or this member's own is due; unix seconds."""
        return self._heard_at + self._timetable.stall_s if self.mine is None else self.mine.deadline

    def heard(self, member: int, now: float) -> None:
        """Some message came from a member."""
        if self.mine is not None:
            self.mine.heard(member, now)
        elif member == self.awaited:
            self._heard_at = now

    def rank_of(self, member: int) -> int:
        """A member's place in the order of coordinators; -1 for a helper."""
        return self._order.index(member) if member in self._order else -1

    def is_quiet(self, now: float) -> bool:
        """Whether the coordinator is lost, given up, or to be given up."""
        if self.mine is not None:
            return self.mine.overslept(now)
        return self._awaited != self.rank or self.leader in self.lost or self.is_silent(now)

    def is_silent(self, now: float) -> bool:
        """Whether the awaited coordinator is to be given up."""
        return self.mine is None and now >= self._heard_at + self._timetable.stall_s

    def follow(self, rank: int, now: float) -> None:
        """Follow the coordinator of an order, whatever was suspected of it."""
        self.rank = self._awaited = rank
        self._heard_at, self.mine = now, None

    def give_up(self, now: float, live: Members) -> bool:
        """Give the awaited coordinator up, and await the next that can be reached and is in, or become it.

        Args:
            now: Unix seconds.
            live: Members that are in.

        Returns:
            Whether there is one.
        """
        self.given_up |= {self.awaited}
        may, later = live - self.lost, range(self._awaited + 1, len(self._order))
        left = [rank for rank in later if self._order[rank] in may]
        if left:
            self._awaited, self._heard_at = left[0], now
        if self.awaited == self._context.me:
            self.rank = self._awaited
        return bool(left)

    def coordinate(self, live: Members) -> Coordinator | None:
        """Begin to coordinate, if this member is followed by itself and does not yet.

        Args:
            live: Members that are in, by the orders that this one has followed.

        Returns:
            What decides, if it is this member that coordinates.
        """
        if self.mine is None and self.leader == self._context.me:
            reports = Reports(self._context.shares, self.rank, live - self.lost - self.given_up)
            times, ignored, trace = self._timetable, self._ignored, self._context.trace
            self.mine = Coordinator(
                reports, timetable=times, vote_ignored=ignored, trace=trace, proof=self._votes.proof
            )
        return self.mine


class RoundParticipant:
    """One member of a round that a ranked coordinator commits; maybe that coordinator itself.

    Args:
        context: What the round works on.
        data: This member's side of the all-reduce.
        votes: Makes its votes.
        timetable: When members are late.
        vote_ignored: Members for whose vote alone no share is made anew.
    """

    def __init__(
        self,
        context: RoundContext,
        data: AllReduce,
        votes: Fingerprints,
        *,
        timetable: Timetable,
        vote_ignored: Members,
    ) -> None:
        self._context = context
        self._me = context.me
        self._data = data
        self._votes = votes
        self._stall_s = timetable.stall_s
        self._told: tuple[int, tuple[int, ...], bool, Members] | None = None
        self._commit_at = 0.0
        self.standing = Standing(MEMBER, Phase.COLLECTING)
        self.succession = Succession(context, timetable, votes, vote_ignored)
        self.suspects: Members = frozenset()
        """Members that let the round fail."""
        self.commit: Commit | None = None
        self.reason = ""
        """Why the round was aborted for this member."""

    @property
    def others(self) -> Members:
        """Members except this one to which no link has ended, so that messages may reach them."""
        return self._context.shares.everybody - self.succession.lost - {self._me}

    @property
    def deadline(self) -> float | None:
        """When an order is due, or the coordinator's is overdue; unix seconds."""
        late_at = None if self.commit is None else self._commit_at + self._stall_s
        return earliest(self.succession.deadline, late_at)

    # --- what happens ---

    def take(self, member: int, message: Order | Status | Commit | Leaving, now: float) -> Sends:
        """A member's word moves the commit on; what it leads to is returned."""
        mine = self.succession.mine
        match message:
            case Leaving() | Status() if self.standing.phase is Phase.COMMITTED and self.commit is not None:
                return self._context.send({member} & self.others, self.commit)
            case Order():
                return self._on_order(member, message, now)
            case Commit():
                return self._on_commit(member, message, now)
            case Status() if mine is not None:
                mine.note(member, message)
            case Status() if member not in self._data.live:  # it was excluded, and looks for a successor
                return self._context.send([member], Leaving(message.round))
        return []

    def lose(self, member: int, now: float) -> Sends:
        """The link to a member has ended, or it has left."""
        succession = self.succession
        succession.lost |= {member}
        if self.commit is not None and self.standing.phase is Phase.COMMITTED:
            # The coordinator may be gone before all have its Commit.
            return self._context.send(self.others, self.commit) if succession.leader == member else []
        if succession.mine is not None:
            succession.mine.exclude(frozenset({member}))
        elif succession.awaited == member and not self.standing.over:
            return self._succeed(now)
        return []

    def advance(self, now: float) -> Sends:
        """Say and do what follows from what this member holds and knows, and from the time."""
        succession, outputs = self.succession, Sends()
        if succession.is_silent(now):
            outputs += self._succeed(now)
        self._look()
        mine = succession.coordinate(self._data.live)
        outputs += self._report() if mine is None else self._coordinate(mine, now)
        if self.commit is not None and not self.standing.over:
            self._conclude(self.commit, now)
        return outputs

    def abort(self, reason: str, *, late: bool = False) -> None:
        """The round is over for this member, without a mean; `late`: because its time is."""
        mine = self.succession.mine
        if late and mine is not None:
            self.suspects |= mine.reports.undone
        elif late and not self._data.lacking:  # only the coordinator can have kept it from its end
            self.suspects |= {self.succession.leader}
        if mine is not None:
            self.suspects |= mine.slow | mine.judgement.differed | mine.judgement.doubted
        self.suspects |= self.succession.given_up
        if self.standing.advance(Cue.ABORT):
            self.reason = reason

    # --- following ---

    def _on_order(self, member: int, order: Order, now: float) -> Sends:
        """Follow the order, if it is the newest of the coordinator that counts, and answer it."""
        context, succession = self._context, self.succession
        rank = succession.rank_of(member)
        fits = divides(context.shares, order) and max(order.versions) < (rank + 1) << RANK_SHIFT
        usurps = rank > succession.rank and not succession.is_quiet(now)
        if rank < succession.rank or not fits or (usurps and not self.standing.over):
            context.trace.mark("averaging.drop.order")
            return []
        told = [] if self.commit is None else context.send([member], self.commit)
        if member not in self._data.live:  # it was excluded, and does not know yet
            return [*told, *context.send([member], Leaving(order.round))]
        if self.standing.over:
            return [*told, *context.send([member], self._status())]
        succession.follow(rank, now)
        live = from_bits(order.live)
        if self._me not in live:
            self.abort("the others went on without this computer")
            return []
        for share in self._votes.give_up(order.nonces, order.fingerprints):
            self._data.lanes[share].repair(member, now)
        outputs = self._data.assign(order.versions, order.reducers, live, now)
        self._data.gather.holders = from_bits(order.holders) & live
        if order.nonces and order.versions == self._data.lanes.versions and not self._data.lacking:
            self._votes.make(order.nonces, by=member)
        self._look()
        return [*outputs, *self._report(asked=True)]

    def _on_commit(self, member: int, commit: Commit, now: float) -> Sends:
        """Accept a Commit from the coordinator; from others only once that is down, and if it is what is held here."""
        succession = self.succession
        leads = succession.mine is not None
        fits = is_planned(self._context.shares, commit)
        accepted = not leads and member == succession.leader
        if not accepted and (succession.is_quiet(now) or (leads and succession.rank)):
            # Its votes prove it: a predecessor may have committed before it was lost.
            accepted = fits and not self._data.lacking and self._votes.agrees(commit, by=member)
        known = self.standing.phase is Phase.COMMITTED
        if known or not fits or not accepted:
            self._context.trace.mark("averaging.drop.commit")
            return []
        self.commit, self._commit_at = commit, now
        if self.standing.phase is Phase.IN_DOUBT:  # `advance` concludes no round that is over here
            self._conclude(commit, now)
        return self._context.send(self.others, commit) if leads else []

    def _conclude(self, commit: Commit, now: float) -> None:
        """Commit what is held here, if it is what the coordinator has committed."""
        same = commit.versions == self._data.lanes.versions and not self._data.lacking
        if same and self._votes.agrees(commit, by=self.succession.leader):
            self.standing.advance(Cue.COMMIT)
        elif same:
            self.suspects |= {self.succession.leader}
            self.abort("the coordinator has committed another mean than this computer holds")
        elif now >= self._commit_at + self._stall_s:  # until then the means may still come
            self.abort("the others finished the round without this computer")

    def _succeed(self, now: float) -> Sends:
        """Give the coordinator up, and wait for the next one; or coordinate, as the next that can be reached."""
        succession = self.succession
        self._context.trace.mark("averaging.coordinator_lost")
        if not succession.give_up(now, self._data.live):
            self.abort("no member is left to coordinate the round")
            return []
        # It may have finished already, and then answers with the Commit.
        return self._context.send({succession.awaited} - {self._me}, self._status())

    def _report(self, *, asked: bool = False) -> Sends:
        """Tell the coordinator, unasked once for each state, that all means are here, or of which shares none come."""
        data, succession = self._data, self.succession
        told = succession.rank, data.lanes.versions, not data.lacking, data.gather.stalled
        news = told != self._told and (not data.lacking or data.gather.stalled)
        if not asked and (not news or succession.leader in succession.lost):
            return []
        self._told = told
        return self._context.send([succession.leader], self._status())

    # --- coordinating ---

    def _coordinate(self, mine: Coordinator, now: float) -> Sends:
        """Act on what has been learned, and tell the others."""
        outputs: Sends = []
        changes = -1
        while mine.changes != changes:
            changes = mine.changes
            mine.note(self._me, self._status(made_most=None))
            reports, repairing = mine.reports, mine.reports.repairing
            reports.second_hand = frozenset(lane.share for lane in self._data.lanes if not lane.direct)
            mine.step(now)
            if reports.repairing - repairing:
                self._data.gather.again(reports.repairing)
            if mine.changes != changes:
                outputs += self._data.assign(reports.versions, reports.reducers, reports.live, now)
            voted = reports.votes.keys()
            turn = voted or reports.undone == {self._me}  # the others are busy with their votes, or have voted
            if reports.key and turn and self._me not in voted and self._votes.make(reports.key, by=self._me):
                changes = -1
            self._look()
        if mine.standing.phase is Phase.ABORTED:
            self.abort("too few members are left")
            return outputs
        self._data.gather.holders = mine.reports.holders
        order = mine.order(now)
        outputs += [] if order is None else self._context.send(self.others, order)
        if mine.standing.phase is Phase.COMMITTED and self.commit is None:
            self.commit, self._commit_at = mine.commit(self._data.lanes.present(len(self._context.shares.peers))), now
            outputs += self._context.send(self.others, self.commit)
        return outputs

    # --- inside ---

    def _look(self) -> None:
        """Move on by what is held here, and by what was voted."""
        self.standing.advance(Cue.REMADE if self._data.lacking else Cue.COMPLETE)
        if self._votes.vote is not None:
            self.standing.advance(Cue.PREPARE)

    def _status(self, *, made_most: int | None = REMADE_MAX) -> Status:
        """Where this member stands; `made_most`: of so many shares at most it says what all sums should be."""
        lanes = self._data.lanes
        ready = not self._data.lacking and self._me in self._context.shares.receivers
        vote, stalled = (self._votes.vote if ready else None) or NO_VOTE, to_bits(self._data.gather.stalled)
        nonce, round_ = self._votes.nonce if ready else b"", self._context.shares.plan.round
        told = vote.nonces, vote.fingerprints, vote.sums, vote.signature, vote.made[:made_most]
        return Status(round_, lanes.versions, lanes.reducers, stalled, nonce, *told)
