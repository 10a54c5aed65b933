"""What the leader of a round knows and decides.  It sends nothing itself.

A round is committed in two steps.  Everybody who needs the means says that it is complete, with a salt; the salts of
all make a key, under which everybody then says what its means are (`topologies.sealing`).  Where these words differ, no
round is committed: the share is reduced anew by another, and who differs a second time, whoever reduces, is excluded.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from core.averaging.allreduce.overtime import Overtime
from core.averaging.commit.complaints import Complaints
from core.averaging.commit.testimony import Testimony, bits_of
from core.averaging.commit.urging import Urging
from core.averaging.commit.waiting import Waiting
from core.averaging.messages import VERSION_MAX, Commit, Order, Status, from_bits, to_bits
from core.averaging.plan import Plan
from core.base.machine import earliest
from core.base.trace import Trace

HEARTBEATS = 3.0
"""Orders in one stall timeout."""
RANK_SHIFT = 16
"""A leader of rank r gives versions from r << 16, so that no two leaders give the same one."""


def quorum(plan: Plan, live: int) -> bool:
    """Whether the members `live` (bits) may commit: more than half, or exactly half with the plan's first leader.

    Two sides of a broken network can then not both end the round with different means.
    """
    twice = 2 * live.bit_count()
    return twice > len(plan.members) or (twice == len(plan.members) and bool(live >> plan.leaders[0] & 1))


@dataclass(slots=True)
class Leadership:
    """One leader's view of its round.

    Args:
        plan: The round's plan.
        rank: The leader's place among the plan's leaders.
        live: The members that are in (bits).
        versions: The version of each share.
        reducers: Who reduces each share.
        settled: False after a takeover: the versions are to be asked for first.
        now: When it began to lead, unix seconds.
        trace: Where misuse is marked.
        overtime: Counts for whom the others wait at the end.
        unheeded: See `Testimony`.
    """

    plan: Plan
    rank: int
    live: int
    versions: list[int]
    reducers: list[int]
    settled: bool
    now: float
    trace: Trace
    overtime: Overtime
    unheeded: int = 0
    order_at: float = 0.0
    """When the next order is to be sent; at once after a change, else as a heartbeat."""
    suspects: int = 0
    """Reducers whose means differed, and members that let the others wait (bits)."""
    said: Testimony = field(init=False)
    _number: int = 0
    _passed_on: int = 0
    _pinned: bool = False
    _complete: int = 0
    _reported: int = 0
    _holds: dict[int, tuple[int, ...] | None] = field(default_factory=dict)
    _heard_at: list[float] = field(default_factory=list)
    _blamed: list[int] = field(default_factory=list)
    _overslept_at: float | None = None
    _waiting: Waiting = field(init=False)
    _urging: Urging = field(init=False)
    _complaints: Complaints = field(init=False)
    _givers: list[int] = field(init=False)
    """For each share, who has made its means or repeated them (bits)."""

    def __post_init__(self) -> None:
        members = len(self.plan.members)
        self._heard_at = [self.now] * members
        self._passed_on = 0 if self.settled else -1
        self.order_at = self.now + self.plan.stall_timeout_s / HEARTBEATS
        self._blamed = [0] * members
        self._waiting = Waiting(self.overtime, of=members - 1)
        self._urging = Urging(self.overtime)
        self.said = Testimony(self.plan, self._me, unheeded=self.unheeded)
        self._complaints = Complaints(self.plan, self._me)
        self._givers = [1 << reducer for reducer in self.reducers]

    @property
    def salts(self) -> tuple[bytes, ...]:
        """Everybody is complete, and these are their salts; none while not."""
        return self.said.salts

    @property
    def unsealed(self) -> int:
        """Who is in, needs the means, and has not said what they are (bits)."""
        return self.said.unsealed(self.live)

    def my_turn(self) -> bool:
        """Whether I am to say what my means are: my question is on its way, and I have not."""
        mine = self.unsealed & 1 << self._me
        return bool(self.salts and mine) and (self.said.begun or self.unsealed == mine)

    @property
    def may_commit(self) -> bool:
        """Whether everybody who is in and needs the means holds the same ones, and they are enough."""
        return self._all_have_said and self._all_complete and len(set(self.said.opinions(self.live))) <= 1

    def commit(self) -> Commit:
        """When the round may be committed: what all say their means are."""
        seals = next(iter(self.said.opinions(self.live)), ())
        return Commit(self.plan.round, self.rank, tuple(self.versions), self.salts, seals)

    @property
    def hopeless(self) -> bool:
        """Whether too few are left."""
        return not quorum(self.plan, self.live)

    def heard(self, member: int, now: float) -> None:
        """Some message came from `member`."""
        self._heard_at[member] = now
        if now > self.order_at + self.plan.stall_timeout_s / (2 * HEARTBEATS):
            self._overslept_at = now

    def overslept(self, now: float) -> bool:
        """Whether the others had reason of late to take me for gone: I woke up too late for my order."""
        return self._overslept_at is not None and now < self._overslept_at + self.plan.stall_timeout_s

    def silent(self, now: float, *, me: int) -> list[int]:
        """Members of which nothing was heard for the stall timeout; each heartbeat asks for a word."""
        limit = now - self.plan.stall_timeout_s
        return [m for m in self.members() if m != me and self._heard_at[m] <= limit]

    def members(self) -> list[int]:
        """Who is in."""
        return [m for m in range(len(self.plan.members)) if self.live >> m & 1]

    def incomplete(self) -> list[int]:
        """Who is in and not done, although it needs the means; my own seals can always be made."""
        unsealed = self.unsealed & ~(1 << self._me) if self.salts else 0
        undone = self.live & self.said.receivers & ~self._complete | unsealed
        return [m for m in self.members() if undone >> m & 1]

    @property
    def _me(self) -> int:
        return self.plan.leaders[self.rank]

    @property
    def urges_me(self) -> bool:
        """Whether I lack means myself, and am to ask others for them."""
        return bool(self._urging.urged >> self._me & 1)

    def urge(self, now: float) -> None:
        """Whoever lacks means while the others are done is told to ask for them elsewhere."""
        self._urging.lack(self._lacking, now)
        if self._urging.urge(now):
            self._number += 1

    def blocking(self, now: float) -> list[int]:
        """Who lets all others wait without getting on, or for much longer than these have taken."""
        self._waiting.begin(self._awaited, now)
        found = self._waiting.too_long(now, began_at=self.now, patience_s=self.plan.stall_timeout_s)
        self.suspects |= bits_of(found)
        self.overtime.left(found, now)
        return found

    @property
    def _awaited(self) -> list[int] | None:
        """For whom all others wait; None: not enough of the others are done."""
        undone = self.incomplete()
        others = self.live & ~bits_of(undone)
        return undone if self.settled and self._me not in undone and quorum(self.plan, others) else None

    @property
    def _lacking(self) -> list[int]:
        """Who lacks means, maybe I myself; nobody, if not enough of the others lack none."""
        lacking = self.live & self.said.receivers & ~self._complete
        most = self._holding.bit_count() >= lacking.bit_count()  # helpers lack nothing, and hold nothing
        enough = self.settled and most and quorum(self.plan, self.live & ~lacking)
        return [m for m in self.members() if lacking >> m & 1] if enough else []

    @property
    def _holding(self) -> int:
        """Who is in and holds all means (bits)."""
        return self.live & self.said.receivers & self._complete

    @property
    def deadline(self) -> float:
        """When to send the next order, to urge somebody, or to go on without somebody."""
        at = earliest(self.order_at, self._waiting.deadline, self._urging.deadline)
        assert at is not None
        return at

    def exclude(self, members: Iterable[int]) -> None:
        """Go on without `members`.  Their shares move when somebody who needs them complains."""
        gone = bits_of(set(members)) & self.live
        if gone:
            self.live &= ~gone
            self._number += 1
            self._settle()

    def note(self, member: int, status: Status, now: float) -> None:
        """`member` (maybe the leader itself) says where it stands."""
        bit = 1 << member
        if not self._plausible(status) or not self.live & bit:
            self.trace.mark("averaging.drop.status")
            return
        self._reported |= bit
        self._holds[member] = status.versions if status.complete else None
        self._waiting.heard(member, status.lacking, now)
        if not self.settled:  # whom an earlier leader has excluded stays out
            self._adopt(status.versions, status.reducers)
            self.live &= from_bits(status.live) | bit
        current = status.complete and list(status.versions) == self.versions
        self._complete = self._complete | bit if current else self._complete & ~bit
        self.said.note(member, status, current=current)
        self._settle()
        self._waiting.begin(self._awaited, now)
        self._urging.lack(self._lacking, now)
        if self.settled and current:
            for share in self._complaints.open(self.versions, self.live & ~self._complete):
                self._answer(share)

    def ask_for_seals(self) -> None:
        """Once everybody is complete: make the key, and ask what they hold."""
        if not self.salts and self._all_complete:
            self._ask(self.said.all_salts())

    def judge(self) -> None:
        """When all have said what their means are, and not the same: see `Testimony.judge`."""
        if not self._all_have_said or len(set(self.said.opinions(self.live))) <= 1:
            return
        self.trace.mark("averaging.means_differ")
        liars, shares = self.said.judge(self.live, self._givers, pinned=self._pinned)
        self.suspects |= bits_of(liars)
        self.exclude(liars)
        for share in shares:
            self.suspects |= self._givers[share]
            others = [m for m in self.members() if m != self.reducers[share]]
            self._move(share, [m for m in others if not self._givers[share] >> m & 1] or others, anew=True)

    def complain(self, member: int, share: int, version: int) -> None:
        """`member` gets no means of this version of the share: somebody else must give them.

        That is a member that holds them, if there is one; else the share is reduced anew by another, as a new version,
        if enough complain of it (`Complaints`).
        """
        current = share < len(self.versions) and self.versions[share] == version and self.plan.chunks[share] > 0
        told = self.settled and current and bool(self.live >> member & 1)
        if not told or not self._complaints.hear(member, share, version):
            self.trace.mark("averaging.drop.complaint")
            return
        self._answer(share)

    def _answer(self, share: int) -> None:
        old, version = self.reducers[share], self.versions[share]
        without = self._complaints.by(share, version) | 1 << old
        holders = [m for m in self.members() if self._complete & ~without & 1 << m and self._receives(m)]
        if holders:
            self._move(share, [self._me] if self._gives_myself(share, holders) else holders, anew=False)
        elif self._pinned:
            self._blamed[old] += 1
        elif not self._stays(share, version) and self._complaints.suffice(share, version, live=self.live, reducer=old):
            self._move(share, [m for m in self.members() if m != old], anew=True)

    def _stays(self, share: int, version: int) -> bool:
        """Whether a share is not made anew: somebody holds all means, and only those whom I have urged lack them."""
        mine = self._complaints.by(share, version) >> self._me & 1
        return bool(self._urging.urged and self._holding) and not mine

    def _gives_myself(self, share: int, holders: Sequence[int]) -> bool:
        """Whether I give means that I hold to those that I have urged: then nobody else can be slow.

        By the plan I send each chunk of my share to all others; half as much is soon done.
        """
        urged = self._urging.urged.bit_count()
        mine = self.plan.chunks[self._me] * (len(self.plan.members) - 1)
        return urged > 0 and self._me in holders and 2 * urged * self.plan.chunks[share] <= mine

    def _move(self, share: int, among: Sequence[int], *, anew: bool) -> None:
        """Another of these (or the old one, if there are none) has the share; `anew`: its means are made again."""
        old = self.reducers[share]
        self._complaints.answered(share)
        self._blamed[old] += 1
        self.reducers[share] = min(among or [old], key=lambda m: self._reluctance(m, share))
        self._givers[share] = 1 << self.reducers[share] | (0 if anew else self._givers[share])
        self._number += 1
        if anew:
            self.versions[share] = max(self.versions[share] + 1, self.rank << RANK_SHIFT)
            self._begin_anew()

    def _begin_anew(self) -> None:
        self._complete = 0
        self.said.forget()
        self._waiting.restart()
        self._urging.restart()

    def changed(self, now: float) -> bool:
        """Whether something was decided since the last call; if so, an order is due."""
        if self._number == self._passed_on:
            return False
        self._passed_on = self._number
        self.order_at = now
        return True

    def order(self, now: float) -> Order:
        """The picture now, for everybody."""
        self.order_at = now + self.plan.stall_timeout_s / HEARTBEATS
        return Order(
            self.plan.round,
            self.rank,
            self._number,
            self.settled,
            tuple(self.versions),
            tuple(self.reducers),
            to_bits(self.live),
            self.salts,
            to_bits(self._urging.urged),
        )

    def _receives(self, member: int) -> bool:
        return self.plan.members[member].receives

    def _reluctance(self, member: int, share: int) -> tuple[int, bool, float, int]:
        """The member for which this is the least is the best to take over a share."""
        load = sum(self.plan.chunks[index] for index, reducer in enumerate(self.reducers) if reducer == member)
        up = self.plan.lines[member].up if self.plan.lines else 0
        seconds = (load + self.plan.chunks[share]) / max(up, 1)
        return self._blamed[member], not self.plan.members[member].reduces, seconds, member

    def _plausible(self, status: Status) -> bool:
        members = len(self.plan.members)
        return (
            len(status.versions) == members
            and len(status.reducers) == members
            and max(status.reducers) < members
            and max(status.versions) < min((self.rank + 1) << RANK_SHIFT, VERSION_MAX)
        )

    @property
    def _all_complete(self) -> bool:
        return self.settled and not self.live & self.said.receivers & ~self._complete and quorum(self.plan, self.live)

    @property
    def _all_have_said(self) -> bool:
        return bool(self.salts) and not self.unsealed

    def _ask(self, salts: tuple[bytes, ...]) -> None:
        self.said.ask(salts)
        self._waiting.restart()
        self._number += 1

    def _adopt(self, versions: Sequence[int], reducers: Sequence[int]) -> None:
        for share, (version, reducer) in enumerate(zip(versions, reducers, strict=True)):
            if version > self.versions[share] and self.plan.chunks[share]:
                self.versions[share] = version
                self.reducers[share] = reducer
                self._givers[share] = 1 << reducer
                self._begin_anew()
                self._number += 1

    def _settle(self) -> None:
        """After a takeover, go on once everybody who is in has spoken.

        An earlier leader can have committed only the newest versions, and only if a quorum held them complete.  Unless
        those who do not hold them are enough to rule that out, the versions stay as they are; and so does the key,
        since it can have committed only under salts that everybody has been told of who was in.
        """
        if self.settled or self.live & ~self._reported:
            return
        self.settled = True
        self._number += 1
        newest = tuple(self.versions)
        lacking = sum(1 << member for member, versions in self._holds.items() if versions != newest)
        self._complete = self._reported & self.live & ~lacking
        self._pinned = quorum(self.plan, (1 << len(self.plan.members)) - 1 & ~lacking)
        holders = [m for m in self.members() if self._complete >> m & 1]
        if self._all_complete and (salts := self.said.earlier(self.live, holders)):
            self._ask(salts)
