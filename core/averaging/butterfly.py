"""A round of butterfly all-reduce with a coordinator that can be succeeded (Diskin et al. 2021, section 3.2).

A round is an all-reduce (`core.averaging.allreduce`), which is committed in two phases when all members hold all means
(`core.averaging.commit`).  What fails, and what follows:

- a sender: its part of the mean ends there; the means say whose parts they hold, so everybody knows what is missing;
- a reducer: a member that lacks its means asks others for them, or the coordinator gives the share to another member
  as a new version, and all parts of that share are sent again;
- the coordinator: the next in the plan's order takes over; what may be committed stays as it is;
- too many (see `commit.coordinator.quorum`): the rest leaves the round, contributions are untouched;
- the time: a round without a Commit by its deadline has failed.

So all who finish hold the same mean bit for bit, whichever member dies, whatever link breaks, and whichever lies.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.averaging.allreduce.all_reduce import AllReduce
from core.averaging.allreduce.share_map import ShareMap
from core.averaging.allreduce.vectors import RoundContext, VectorInput, Vectors
from core.averaging.bandwidth.demand import planned_s, transfers_of
from core.averaging.commit.fingerprints import Fingerprints, Vote, plan_name
from core.averaging.commit.participant import RoundParticipant
from core.averaging.commit.phases import Phase
from core.averaging.commit.proof import Proof
from core.averaging.commit.sums import Sums
from core.averaging.failure_detector import Timetable
from core.averaging.messages import PROVEN_MAX, Commit, Leaving, Mean, Members, Open, Part, RoundMessage
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished, outcome_of
from core.averaging.penalties import NOTHING, Kind, Observations, Remembered
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace, earliest
from core.base.signing import Signing
from core.base.wire import Message

LATE_MAX: Final = 64
"""Number of words of each member that are heard once the round is over for this one: a successor's orders come three
times in a stall timeout.  Each may be answered by the Commit, to all, which takes 52 KB of 28 members."""
Outputs = list[Send[Message] | RoundFinished | RoundFailed]


@dataclass(frozen=True, slots=True)
class RoundInput(VectorInput):
    """What a member brings to a round: its vectors, and what it knows itself."""

    secret: bytes = b""
    """Bytes that no other member can guess: they make this member's nonces.  The same ones may serve many rounds."""
    remembered: Remembered = NOTHING
    """With which members this one has less patience."""
    identity: Signing | None = None
    """With which this member proves means that are clipped; None: they are not proven."""


class Butterfly:
    """One member's side of one round.  After its end it still answers: keep it until the next round begins.

    Args:
        me: This member.
        plan: A plan that has been checked (`check_plan`).
        work: What this member brings, and how numbers travel and are averaged.
        trace: Counts misuse and incidents.

    Raises:
        ValueError: the plan lacks this member, or a vector is missing or of the wrong shape or type.
    """

    def __init__(self, me: PeerId, plan: Plan, work: RoundInput, *, trace: Trace) -> None:
        self.plan = plan
        shares = ShareMap(plan)
        vectors = Vectors(shares, shares.place(me), work)
        clips = work.identity is not None and work.aggregator.clip and work.carry is None
        proven = bool(clips) and len(plan.members) <= PROVEN_MAX
        self._context = RoundContext(
            shares, shares.place(me), vectors, work.aggregator, trace, proven=proven, distances=work.distances
        )
        self._work = work
        self._late = Counter[PeerId]()
        """Words of each member since the round has ended for this one, requests for means aside."""
        self._running: RunningRound | None = None

    def start(self, now: float) -> Outputs:
        """The owner begins the round, once and before any event, and sends what it returns."""
        self._running = RunningRound(self._context, self._work, now)
        return self._running.begin(now)

    def leave(self) -> Outputs:
        """End the round for this member, and tell the others at once."""
        return [] if self._running is None else self._running.leave()

    def handle(self, event: Received[RoundMessage] | Tick | Lost, now: float) -> Outputs:
        """A message, a Tick or a lost link moves the round on; before `start` all of them are dropped."""
        if self._running is None:
            self._context.trace.mark("averaging.drop.early")
            return []
        match event:
            case Received(sender=sender, message=message) if not self._is_late(sender, message):
                return self._running.receive(sender, message, now)
            case Received():
                self._context.trace.mark("averaging.drop.late_word")
                return []
            case Tick():
                return self._running.tick(now)
            case Lost(peer=peer):
                return self._running.lose(peer, now)

    def _is_late(self, sender: PeerId, message: RoundMessage) -> bool:
        """Whether a member has said enough since the round ended."""
        if self.deadline is None and sender in self.plan.peers and not isinstance(message, Part):
            self._late[sender] += 1
        return self._late[sender] > LATE_MAX

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        return None if self._running is None else self._running.deadline

    @property
    def leader(self) -> PeerId:
        """The coordinator that this member follows."""
        return self.plan.peers[self.plan.leaders[0] if self._running is None else self._running.end.succession.leader]

    def concerns(self, round_id: bytes) -> bool:
        """Whether messages of the round with this id are for this machine."""
        return round_id == self.plan.round

    def in_doubt(self) -> Outcome | None:
        """What the others have come to, if all that this member missed is the Commit; None: it is not in doubt."""
        return None if self._running is None else self._running.in_doubt()

    def settle(self) -> None:
        """They have: what the codec has lost is carried on, as by all who have finished."""
        if self._running is not None:
            self._running.settle()

    def contributors(self, number: int) -> Members:
        """Members whose parts are in the mean of chunk `number` of the whole vector; empty while it is missing."""
        share, shares = self._context.shares.share_of(number), self._context.shares
        lane = None if self._running is None else self._running.data.lanes[share]
        return frozenset() if lane is None else lane.contributors(number - shares.first[share])

    @property
    def open_chunks(self) -> int:
        """Number of chunks that wait for parts here; bounded by the windows."""
        reducers = {} if self._running is None else self._running.data.reducers
        return sum(len(reducer.pending) for reducer in reducers.values())


class RunningRound:
    """A round that has begun.

    Args:
        context: What it works on.
        work: What this member brings to it.
        now: When it begins, unix seconds.
    """

    def __init__(self, context: RoundContext, work: RoundInput, now: float) -> None:
        self._context = context
        self._plan = plan = context.shares.plan
        self._name = plan_name(plan)
        self._began_at = now
        remembered, places = work.remembered, context.shares.places
        waits = {place: remembered.waits[peer] for place, peer in enumerate(plan.peers) if peer in remembered.waits}
        ignored, usually_s = places(remembered.vote_ignored), planned_s(plan, usual=remembered.usual)
        timetable = Timetable(now, usually_s, plan.stall_timeout_s, plan.round_timeout_s, waits)
        self.data = AllReduce(context, name=self._name, timetable=timetable, transfers=transfers_of(plan, context.me))
        proof = None
        if context.proven and work.identity is not None:
            sums = Sums(context, self.data.lanes, self.data.reducers)
            proof = Proof(context, self.data.lanes, sums, plan=self._name, identity=work.identity)
        self._votes = Fingerprints(context, self._name, self.data.lanes, secret=work.secret, proof=proof)
        self.end = RoundParticipant(context, self.data, self._votes, timetable=timetable, vote_ignored=ignored)
        self._astray: Members = frozenset()
        self._ended = False

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        if self._ended:
            return None
        return earliest(self._began_at + self._plan.round_timeout_s, self.end.deadline, self.data.deadline)

    # --- events ---

    def begin(self, now: float) -> Outputs:
        """Tell everybody, and send what can leave."""
        return self._advance([*self.data.start()], now)

    def leave(self) -> Outputs:
        """This member's owner ends the round."""
        return [] if self._ended else self._abort("this computer left the round", named=False)

    def receive(self, sender: PeerId, message: RoundMessage, now: float) -> Outputs:
        """A message goes to the part of the round that it is for; one of another round is dropped."""
        shares, end = self._context.shares, self.end
        member = shares.place(sender) if sender in shares.peers else self._context.me
        if message.round != self._plan.round or member == self._context.me:
            self._context.trace.mark("averaging.drop.foreign")
            return []
        if self._ended and end.standing.phase is not Phase.COMMITTED:
            if isinstance(message, Commit):  # what this member held may have been committed all the same
                end.take(member, message, now)
                if end.standing.phase is Phase.SETTLED:
                    self.settle()
            return []
        end.succession.heard(member, now)
        match message:
            case Part():
                return self._progress(self.data.on_part(member, message, now), now)
            case Mean():
                return self._progress(self.data.on_mean(member, message, now), now)
            case Open() if message.plan != self._name:
                self._context.trace.mark("averaging.drop.plan")
                known, self._astray = member in self._astray, self._astray | {member}
                return [] if known else self.lose(sender, now)  # the two have nothing to do with each other
            case Open():
                return [*self.data.on_open(member, message)]
            case Leaving():
                return [*end.take(member, message, now), *self.lose(sender, now)]
            case _:
                return self._advance([*end.take(member, message, now)], now)

    def tick(self, now: float) -> Outputs:
        """Time may make members overdue, and aborts the round at the plan's timeout."""
        if self._ended:
            return []
        if now >= self._began_at + self._plan.round_timeout_s:
            return self._abort("the round's time is over", late=True)
        return self._advance([*self.data.tick(now)], now)

    def lose(self, peer: PeerId, now: float) -> Outputs:
        """The link to a peer has ended, or it has left the round."""
        if peer not in self._context.shares.peers:
            return []
        member = self._context.shares.place(peer)
        if self._ended:
            return [*self.end.lose(member, now)]
        self._context.trace.mark("averaging.member_lost")
        return self._advance([*self.data.lose(member), *self.end.lose(member, now)], now)

    def in_doubt(self) -> Outcome | None:
        """The outcome that the others may have committed; None: this member is not in doubt."""
        vote = self._votes.vote if self.end.standing.phase is Phase.IN_DOUBT else None
        return None if vote is None else self._outcome(vote, self.data.lanes.present(len(self._plan.members)))

    def settle(self) -> None:
        """The round is committed: what its codec has lost is carried on."""
        self._context.vectors.commit(self.data.lanes.contributors())
        for reducer in self.data.reducers.values():
            reducer.used.clear()

    # --- what follows ---

    def _progress(self, outputs: Sequence[Send[Message]], now: float) -> Outputs:
        """Data moved: the commit is concerned only once everything is here."""
        done = self.end.standing.phase is Phase.COLLECTING and not self.data.lacking
        return self._advance([*outputs], now) if done else [*outputs]

    def _advance(self, outputs: Outputs, now: float) -> Outputs:
        if self._ended:
            return outputs
        standing = self.end.standing
        if not standing.over:
            outputs += self.end.advance(now)
        commit = self.end.commit
        if standing.phase is Phase.COMMITTED and commit is not None:
            self._ended = True
            self.settle()
            same, seconds = self._outcome(commit, commit.present), now - self._began_at
            seen = self._observations(commit)
            waited, needing = waited_s(self._plan.peers, self.data), self._context.shares.receivers
            left_out = frozenset(self._plan.peers[member] for member in needing if not commit.nonces[member])
            scaled = self.data.gather.own_scaled + sum(reducer.own_scaled for reducer in self.data.reducers.values())
            same = replace(same, seconds=seconds, seen=seen, waited=waited, left_out=left_out, own_scaled=scaled)
            return [*outputs, RoundFinished(same)]
        return outputs + self._abort(self.end.reason) if standing.over else outputs

    def _abort(self, reason: str, *, late: bool = False, named: bool = True) -> Outputs:
        """Leave the round; `named`: say which members made it fail."""
        self._ended = True
        for reducer in self.data.reducers.values():
            reducer.used.clear()
        self.end.abort(reason, late=late)
        peers = tuple(self._plan.peers[member] for member in sorted(self._suspects() if named else ()))
        return [
            *self._context.send(self.end.others, Leaving(self._plan.round)),
            RoundFailed(self._plan.round, reason, peers),
        ]

    def _suspects(self) -> Members:
        """Members that made the round fail, as far as this one has observed.

        None whose link ended: that can happen to anybody, and costs little; except reducers that were late before: they
        would else be done with it by hanging up.  A member that would name more than half of the others, and more than
        one, is itself the reason.
        """
        others = len(self._plan.members) - 1
        found = (self.end.suspects - self.end.succession.lost) | self.data.gather.late
        if 2 * len(self._astray) >= max(others, 1):  # nobody else can have made two plans
            found |= {self._plan.leaders[0]}
        found -= {self._context.me}
        return found if len(found) <= max(1, others // 2) else frozenset()

    def _observations(self, commit: Commit) -> Observations:
        coordinator, gather = self.end.succession.mine, self.data.gather
        # Any link may end; but a helper whose share was made anew has cost more than it gave.
        gone = {member for member in gather.gone - self._context.shares.receivers if commit.versions[member]}
        differed = doubted = frozenset[int]()
        if coordinator is not None:
            differed, doubted = coordinator.judgement.differed, coordinator.judgement.doubted
        kinds = {Kind.LATE: gather.late | gone | self._votes.liars, Kind.DIFFERED: differed, Kind.DOUBTED: doubted}
        return {kind: frozenset(self._plan.peers[member] for member in members) for kind, members in kinds.items()}

    def _outcome(self, vote: Vote | Commit, present: Sequence[int]) -> Outcome:
        bits = self._votes.bits(vote)
        return outcome_of(self._context.shares, present=present, versions=vote.versions, bits=bits)


def waited_s(peers: Sequence[PeerId], data: AllReduce) -> dict[PeerId, float]:
    """How long one member has waited for parts of each other one when few were missing, in seconds."""
    spent: defaultdict[PeerId, float] = defaultdict(float)
    for reducer in data.reducers.values():
        for member, seconds in reducer.detector.waited_s.items():
            spent[peers[member]] += seconds
    return spent
