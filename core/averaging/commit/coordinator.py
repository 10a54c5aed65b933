"""What the coordinator of a round knows and decides.  It sends nothing itself."""

import math
from collections.abc import Sequence
from typing import Final

from core.averaging.commit.judgement import Judgement
from core.averaging.commit.phases import COORDINATOR, Cue, Phase, Standing
from core.averaging.commit.proof import Proof
from core.averaging.commit.reports import Reports, quorum
from core.averaging.failure_detector import FailureDetector, Stage, Timetable
from core.averaging.messages import Commit, Members, Order, Status, to_bits
from core.base.machine import Trace, earliest

HEARTBEATS: Final = 3
"""Number of orders in one stall timeout."""


class Coordinator:
    """One coordinator's side of a round (`commit.phases`).

    Args:
        reports: What it is told, of nobody yet.
        timetable: When members are late.
        vote_ignored: Members for whose vote alone no share is made anew, because of rounds before.
        trace: Counts misuse.
        proof: Reads the sums by which means are proven; None: they are not.
    """

    def __init__(
        self,
        reports: Reports,
        *,
        timetable: Timetable,
        vote_ignored: Members,
        trace: Trace,
        proof: Proof | None = None,
    ) -> None:
        self._shares = reports.shares
        self._me = reports.me
        self._timetable = timetable
        self._trace = trace
        self.reports = reports
        self.judgement = Judgement(reports, vote_ignored=vote_ignored, proof=proof, trace=trace)
        self.standing = Standing(COORDINATOR, Phase.TAKING_OVER if reports.rank else Phase.COLLECTING)
        self.changes = 0
        """Counts what was decided."""
        self.slow: Members = frozenset()
        """Members that all others waited for."""
        # A successor asks at once where all stand; the first coordinator has nothing to say yet.
        self._order_at = 0.0 if reports.rank else timetable.began_at + timetable.stall_s / HEARTBEATS
        self._overslept_until = 0.0
        self._read_at = math.inf
        """When all members have read that some are to take other means; unix seconds."""
        self._was_read = False
        self._silence = FailureDetector(timetable, Stage.COMPLETE, patience_s=timetable.stall_s)
        self._late = FailureDetector(timetable, Stage.COMPLETE, patience_s=math.inf)

    @property
    def deadline(self) -> float | None:
        """When to send the next order, or to look for members that are late; unix seconds."""
        return earliest(self._order_at, self._silence.deadline, self._late.deadline)

    def heard(self, member: int, now: float) -> None:
        """Some message came from a member."""
        self._silence.moved(member, now)
        # Others speak, and the order is overdue: this process itself was asleep, not the network.
        if self._order_at and now > self._order_at + self._timetable.stall_s / (2 * HEARTBEATS):
            self._overslept_until = now + self._timetable.stall_s

    def overslept(self, now: float) -> bool:
        """Whether the others had reason of late to take this coordinator for gone: it woke too late for its order."""
        return now < self._overslept_until

    def note(self, member: int, status: Status) -> None:
        """A member, maybe the coordinator itself, says where it stands."""
        if not self.reports.note(member, status):
            self._trace.mark("averaging.drop.status")

    def exclude(self, members: Members) -> None:
        """Members leave the round; if any of them was in, a new Order is due at once."""
        if members & self.reports.live:
            self.reports.live -= members
            self._changed()

    def step(self, now: float) -> None:
        """Do what follows from all that is known, and from the time."""
        self._watch(now)
        standing, reports = self.standing, self.reports
        if not quorum(self._shares, reports.live):
            standing.advance(Cue.TOO_FEW)
        if standing.phase is Phase.TAKING_OVER and reports.live <= reports.of.keys():
            self._settle()
        if standing.phase is Phase.COLLECTING:
            self._remake(reports.hopeless(now, wait_s=self._timetable.lag_s + self._timetable.usual_s))
            if not reports.undone:
                self._prepare(reports.new_key())
        if standing.phase is Phase.PREPARING and repaired(reports):
            self._prepare(reports.new_key())
        if standing.phase is Phase.PREPARING and not reports.undone:
            ruling = self.judgement.on(reports.votes)
            if ruling.repairs:
                self._read_at, self._was_read = now + self._timetable.stall_s / HEARTBEATS, False
                repair(reports, ruling.repairs)
                self._changed()
            if ruling.commits:
                standing.advance(Cue.AGREED)
            self.exclude(ruling.excluded)
            self._remake(ruling.anew, ruling.own)

    def order(self, now: float) -> Order | None:
        """The round as it stands, when it is to be said: after a change, or as a heartbeat."""
        if now < self._order_at:
            return None
        self._order_at = now + self._timetable.stall_s / HEARTBEATS
        round_, reports, live = self._shares.plan.round, self.reports, to_bits(self.reports.live)
        holders, own = to_bits(reports.holders), reports.votes.get(self._me) if reports.repairing else None
        return Order(round_, reports.versions, reports.reducers, live, reports.key, holders, own or ())

    def commit(self, present: Sequence[int]) -> Commit:
        """What all members hold.

        Args:
            present: For each member the number of chunks of the mean that hold its part.
        """
        reports, votes = self.reports, self.reports.votes
        told = [
            (reports.of[m].sums, reports.of[m].signature) if m in votes else (b"", b"") for m in range(len(present))
        ]
        sums = tuple(told) if any(sums for sums, _ in told) else ()
        fingerprints = next(iter(votes.values()))
        return Commit(self._shares.plan.round, reports.versions, reports.key, fingerprints, tuple(present), sums)

    # --- inside ---

    def _changed(self) -> None:
        self.changes += 1
        self._order_at = 0.0

    def _watch(self, now: float) -> None:
        """Leave members behind that are silent, or late while most hold all means."""
        reports = self.reports
        self._silence.owe(reports.live - {self._me}, now, few=False)
        undone = reports.undone - {self._me}
        # One is late only where those that are done are most, and can commit without it.
        most = len(reports.holders) >= len(undone) and quorum(self._shares, reports.live - undone)
        waits = most and self.standing.phase is not Phase.TAKING_OVER
        self._late.owe(undone if waits else frozenset(), now, few=True)
        late = frozenset(self._late.overdue(now))
        self.slow |= late
        if now >= self._read_at:  # what comes from now on was said after that
            repair(reports, reports.repairing)
            self._read_at, self._was_read = math.inf, True
        insisting = frozenset(reports.repairing & reports.votes.keys() if self._was_read else ())
        self.judgement.differed |= insisting
        self.exclude(late | insisting | frozenset(self._silence.overdue(now)))

    def _prepare(self, key: tuple[bytes, ...]) -> None:
        self.reports.key, self.reports.repairing, self._read_at = key, frozenset(), math.inf
        self.standing.advance(Cue.COMPLETE)
        self._changed()

    def _settle(self) -> None:
        """After a takeover, all members have reported.

        A predecessor can have committed only the newest versions, and only if a quorum had voted for them.  Unless
        those that have not are enough to rule that out, the versions stay as they are, and so does the key.
        """
        self.standing.advance(Cue.REPORTED)
        self.reports.adopt()
        voters, key = self.reports.earlier_votes()
        self.judgement.pinned = quorum(self._shares, voters)
        if self.judgement.pinned and key and not self.reports.undone:
            self._prepare(key)  # under the same key the votes that were cast still count
        self._changed()

    def _remake(self, shares: Sequence[int], own: Members = frozenset()) -> None:
        """Have the means of shares made anew by other members, or by this one; never such as may be committed already.

        Where these are lost with their reducer, or not proven, nobody that is left can finish the round.
        """
        lost = any(self.reports.reducers[share] not in self.reports.live for share in shares)
        if self.judgement.pinned and shares and (lost or self.standing.phase is Phase.PREPARING):
            self.standing.advance(Cue.TOO_FEW)
        if shares and not self.judgement.pinned:
            for share in shares:
                self.reports.remake(share, by=self._me if share in own else None)
            self.reports.key, self.reports.repairing, self._read_at = (), frozenset(), math.inf
            self.standing.advance(Cue.REMADE)
            self._changed()


def repair(reports: Reports, members: Members) -> None:
    """These members are to take the coordinator's means: what they have voted so far counts no more.

    Args:
        reports: What the coordinator has been told.
        members: Those members.
    """
    reports.repairing = members
    for member in members:
        reports.of.pop(member, None)


def repaired(reports: Reports) -> bool:
    """Whether all members that are in hold means again after a repair: then all vote anew, under another key."""
    waited, of = reports.repairing & reports.needing, reports.of
    new = all(member in of and of[member].nonce != reports.key[member] for member in waited)
    return bool(reports.repairing) and new and reports.needing <= reports.holders
