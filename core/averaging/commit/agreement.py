"""What one member says of where it stands, and which Commit it heeds."""

from core.averaging.allreduce.exchange import Exchange
from core.averaging.commit.leadership import Leadership
from core.averaging.commit.sealing import Sealing
from core.averaging.commit.succession import Succession
from core.averaging.messages import Commit, Status, to_bits
from core.averaging.plan import Plan


class Agreement:
    """The Commit as one member has it.

    Args:
        plan: The round's plan.
        exchange: What I hold.
        sealing: What I say of it.
        succession: Whose word counts.
    """

    def __init__(self, plan: Plan, *, exchange: Exchange, sealing: Sealing, succession: Succession) -> None:
        self._plan = plan
        self._exchange = exchange
        self._sealing = sealing
        self._succession = succession
        self.commit: Commit | None = None
        """Heeded, or my own."""
        self._since = 0.0
        self._from = 0

    def take(self, commit: Commit, now: float, *, member: int) -> None:
        """It counts, as `member` says it."""
        self.commit, self._since, self._from = commit, now, member

    def heeds(self, member: int, commit: Commit, *, leads: bool, lost: int, now: float) -> bool:
        """Whether a Commit counts: the leader's does; what others pass on, once it is gone, and if it is what I hold.

        Args:
            member: Who says it.
            commit: What it says.
            leads: I lead, as somebody's successor if I am not the first.
            lost: Members to whom the link has ended (bits).
            now: Unix seconds.
        """
        succession = self._succession
        if len(commit.versions) != len(self._plan.members):
            return False
        in_office = succession.leads(member, commit.rank) and not leads
        if in_office and commit.rank == succession.rank:
            return True
        if not (succession.quiet(lost, now) or (leads and succession.rank > 0)):
            return False
        return (in_office and member == succession.awaited) or self._holds(commit, member)

    @property
    def fulfilled(self) -> bool:
        """Whether I hold what is committed."""
        return self.commit is not None and self._exchange.complete and self._holds(self.commit, self._from)

    @property
    def contradicted(self) -> bool:
        """Whether something else is committed than I hold, under the same versions."""
        commit = self.commit
        return commit is not None and self._exchange.complete and commit.versions == self._exchange.versions

    @property
    def patient_until(self) -> float | None:
        """So long I may still get what is committed: no time at all, if it is the means themselves that I lack.

        Whoever is in and needs them was complete before the leader committed; others may have to hear of them yet.
        """
        if self.commit is None:
            return None
        return self._since + (0.0 if self._exchange.receives else self._plan.stall_timeout_s)

    def foreseen(self) -> Commit | None:
        """The Commit that there will be if everybody says of its means what I have said; None: I said nothing."""
        salts, seals = self._sealing.salts, self._sealing.seals
        if not (salts and self._exchange.receives):
            return None
        return Commit(self._plan.round, self._succession.rank, self._exchange.versions, salts, seals)

    def status(self, rank: int, *, finished: bool) -> Status:
        """Where I stand, for the leader of this rank."""
        return Status(
            self._plan.round,
            rank,
            self._exchange.versions,
            self._exchange.reducers,
            to_bits(self._exchange.live),
            self._exchange.complete,
            finished,
            self._exchange.lacking,
            self._sealing.salt,
            self._sealing.salts,
            self._sealing.seals,
        )

    def testify(self, leadership: Leadership, now: float) -> None:
        """I lead: where I stand, and what follows for the seals.

        Mine are made once the first of the others' are here: not before these have been asked for theirs, and while
        the rest is still at work.
        """
        me = self._plan.leaders[leadership.rank]
        if self._exchange.complete or not leadership.settled:
            leadership.note(me, self.status(leadership.rank, finished=False), now)
        leadership.ask_for_seals()
        if leadership.my_turn() and self._sealing.make(leadership.salts, by=me):
            leadership.note(me, self.status(leadership.rank, finished=False), now)
        leadership.judge()

    def _holds(self, commit: Commit, member: int) -> bool:
        same = commit.versions == self._exchange.versions
        return same and self._sealing.agrees(commit.salts, commit.seals, by=member)
