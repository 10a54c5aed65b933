"""Rounds one after the other among members that train one model, some of which lie; what honest ones come to."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final
from unittest.mock import patch

import msgspec
import numpy as np

from core.averaging.aggregators import Aggregator, WeightedMean
from core.averaging.allreduce.share_map import ShareMap
from core.averaging.allreduce.vectors import Vectors
from core.averaging.balance.traffic import Line
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.commit.judgement import Judgement, Ruling
from core.averaging.matchmaking.division import divide
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.penalties import Kind, Penalties
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.signing import Signing
from core.codecs.registry import codec_of
from tests.attacks.means.lies import FalseMeans, Lie
from tests.attacks.means.luck import Luck, struck_by
from tests.attacks.means.problem import Learned, Problem
from tests.sim.rounds.fleet_plan import RoundTask, fleet_plan
from tests.sim.rounds.run import Round
from tests.sim.swarm.clipped_means import Chunk, off_by
from tests.sim.world.signing import SimSigner, SimVerifier

SAMPLES: Final = (48, 80)
"""Least and most that a member computes in a round."""
WEIGHT_SHARE: Final = 0.02
"""As `found` writes it."""
BYTES_PER_S: Final = 1e6
PAUSE_S: Final = 12.0
"""Between two rounds."""
FALSE: Final = 0.02
"""Times the common radius, and more, by which the pulls of a share's parts must be off for its mean to be false."""
NAMED: Final = (Kind.DIFFERED, Kind.DOUBTED, Kind.LATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Who is in the rounds of a series."""

    members: int
    liars: int = 0
    lie: Lie = field(default_factory=lambda: Lie(name="honest"))
    proven: bool = True
    """Whether means are proven, and bounded by each member's own part."""
    clipped: bool = True
    codec: str = "raw"
    chunks: int = 2
    """In each share, where all members have one."""
    seed: int = 0

    @property
    def places(self) -> frozenset[int]:
        """Those of the liars: none is the first, the others come evenly."""
        return frozenset(1 + number * self.members // max(1, self.liars) for number in range(self.liars))


@dataclass
class Counts:
    """What honest members came to, over a series."""

    rounds: int = 0
    committed: int = 0
    """Rounds that an honest member finished."""
    false: int = 0
    """Number of these with a mean that is not that of its parts."""
    remade: int = 0
    """Number of these with a share that was made anew."""
    split: int = 0
    """Number of these in which honest members hold different means."""
    stayed: Counter[str] = field(default_factory=Counter)
    """How often honest members did not finish a round that others finished: all, and those with whom all was well.

    So it must be with the coordinator as well.
    """
    lacking: int = 0
    """Honest members' chunks that are in no mean."""
    chunks: int = 0
    """Chunks that they gave."""
    named: Counter[str] = field(default_factory=Counter)
    """In how many rounds some honest member held something against a liar, by the kind, each liar for itself."""
    wronged: Counter[str] = field(default_factory=Counter)
    """The same against an honest member with which all was well in that round."""
    unlucky: Counter[str] = field(default_factory=Counter)
    """The same against an honest member that died, slept or lost a link in that round."""
    confused: Counter[str] = field(default_factory=Counter)
    """What honest members that died, slept or lost a link in a round held against others that are honest."""
    spared: int = 0
    """How often honest members got no share, for what a leader held against them."""
    shares: int = 0
    """Shares that liars were given."""
    furthest: float = 0.0
    """Greatest of what a committed share was off, over its radius."""


class Series:
    """Rounds of one group.

    Args:
        group: Who is in it.
        luck: What goes wrong beside lies; None: nothing.
        problem: What they learn; None: the small text model.
    """

    def __init__(self, group: Group, *, luck: Luck | None = None, problem: Learned | None = None) -> None:
        self.group = group
        self.counts = Counts()
        self.losses: dict[int, float] = {}
        """The held-out loss by the number of steps, where it was looked at."""
        self.problem: Learned = problem or Problem(group.seed)
        self._luck = luck or Luck()
        self._task = RoundTask(
            numel=self.problem.numel,
            chunk_numel=-(-self.problem.numel // (group.chunks * group.members)),
            codec=group.codec,
            stall_timeout_s=6.0,
            round_timeout_s=30.0,
        )
        self._lines = [Line(up_bytes_per_s=BYTES_PER_S, down_bytes_per_s=BYTES_PER_S)] * group.members
        self._random = np.random.default_rng(group.seed)
        self._now = 1000.0
        self._turn = 0
        self.peers = self._bare_plan([1] * group.members, [1.0] * group.members).peers
        self.ledgers = {
            place: Penalties(peer, round_timeout_s=self._task.round_timeout_s)
            for place, peer in enumerate(self.peers)
            if place not in group.places
        }
        """What honest members hold against others."""

    def run(self, rounds: int, *, look_at: Sequence[int] = ()) -> "Series":
        """Let rounds happen.

        Args:
            rounds: How many.
            look_at: Numbers of steps after which the held-out loss is looked at.
        """
        with self._switched():
            for _ in range(rounds):
                self.round()
                if self.problem.steps in look_at and self.problem.steps not in self.losses:
                    self.losses[self.problem.steps] = self.problem.held_out_loss()
        return self

    def round(self) -> Round:
        """One round: every member computes, most of them give it, and what was committed becomes a step."""
        number, group = self.counts.rounds, self.group
        samples = self._random.integers(*SAMPLES, size=group.members, endpoint=True).tolist()
        given = np.array([self.problem.gradient(m, n, number) for m, n in enumerate(samples)])
        norms = [float(np.linalg.norm(row)) for row in given]
        for place in group.places:
            if group.lie.give is not None:
                given[place] = group.lie.give(given[place], self._random)
                samples[place] = round(group.lie.claims * sum(SAMPLES) / 2)
        given.flags.writeable = False
        plan = self._plan(samples, norms)
        round_ = Round(plan, self._lines, self._task, contributions=given, machine=self._machine)
        mishaps = self._luck.mishaps(number, sorted(self.ledgers))
        round_.late_s = self._luck.late_s
        round_.run(mishaps)
        self.counts.rounds += 1
        self._learn(plan, round_, struck_by(mishaps))
        self._now += PAUSE_S
        return round_

    # --- inside ---

    def _bare_plan(self, samples: Sequence[int], norms: Sequence[float]) -> Plan:
        shares = [self._task.chunk_total, *[0] * (self.group.members - 1)]
        plan = fleet_plan(self._lines, self._task, seed=self.group.seed, chunks=shares, samples=samples)
        rows = zip(plan.members, norms, strict=True)
        members = tuple(msgspec.structs.replace(row, norm=norm) for row, norm in rows)
        return msgspec.structs.replace(plan, members=members, weight_share=WEIGHT_SHARE)

    def _plan(self, samples: Sequence[int], norms: Sequence[float]) -> Plan:
        """The next round's: a member leads it that most honest ones follow, and plans by what it remembers."""
        leader = next(place for place in self._in_turn() if self._is_followed(self.peers[place]))
        self._turn = leader + 1
        bare = self._bare_plan(samples, norms)
        if leader in self.ledgers:
            members = tuple(self.ledgers[leader].without_excluded(bare.members, self._now))
            bare = msgspec.structs.replace(bare, members=members)
            self.counts.spared += sum(members[place].spared for place in self.ledgers)
        chunks, portions = divide(bare)
        order = (leader, *(place for place in range(self.group.members) if place != leader))
        name = self.counts.rounds.to_bytes(32, "big")
        self.counts.shares += sum(bool(chunks[place]) for place in self.group.places)
        return msgspec.structs.replace(bare, round=name, chunks=chunks, portions=portions, leaders=order)

    def _in_turn(self) -> Iterator[int]:
        yield from ((self._turn + step) % self.group.members for step in range(self.group.members))
        yield min(self.ledgers)

    def _is_followed(self, peer: PeerId) -> bool:
        follow = [ledger.may_lead(peer, self._now) for ledger in self.ledgers.values()]
        return 2 * sum(follow) > len(follow)

    def _machine(self, plan: Plan, place: int, round_: Round) -> Any:
        lies, lie, peer = place in self.group.places, self.group.lie, plan.peers[place]
        own, result = round_.contributions[place], round_.results[place]
        aggregator: Aggregator = self._luck.aggregator(place) if self.group.clipped else WeightedMean()
        if lies and lie.change is not None:
            aggregator = FalseMeans(lie.change, own=own, result=result)
        work = RoundInput(
            own,
            result,
            codec_of(plan.codec, (plan.numel,)),
            aggregator=aggregator,
            secret=bytes([place]),
            identity=Signing(SimSigner(peer), SimVerifier()) if self.group.proven and self.group.clipped else None,
        )
        if not lies:
            work = replace(work, remembered=self.ledgers[place].remembered(plan.peers, self._now))
        machine = Butterfly(peer, plan, work, trace=round_.traces[place])
        return lie.kind(machine, Place(plan.peers, place)) if lies and lie.kind is not None else machine

    def _learn(self, plan: Plan, round_: Round, struck: frozenset[int]) -> None:
        """What honest members that lived make of the end of a round, and the step that follows from it."""
        counts = self.counts
        there = [place for place in self.ledgers if place not in round_.dead]
        holders = [place for place in there if isinstance(round_.ends[place], RoundFinished)]
        named = set[tuple[str, PeerId, bool]]()
        for place in there:
            end, ledger = round_.ends[place], self.ledgers[place]
            if isinstance(end, RoundFinished):
                seen, leader = end.outcome.seen, round_.machines[place].leader
                ledger.committed(plan, end.outcome.versions, leader, self._now, seen=seen)
                ended_at = self._now + end.outcome.seconds
                ledger.patience.committed(plan, end.outcome, ended_at, me=plan.peers[place])
                named |= {(kind.value, peer, place in struck) for kind in NAMED for peer in seen.get(kind, ())}
            elif isinstance(end, RoundFailed):
                ledger.failed(plan, end.suspects, self._now)
                named |= {("made it fail", peer, place in struck) for peer in end.suspects}
        for kind, peer, confused in named:
            place = plan.peers.index(peer)
            if place in self.group.places:
                counts.named[kind] += not confused
            elif confused:
                counts.confused[kind] += 1
            else:
                (counts.unlucky if place in struck else counts.wronged)[kind] += 1
        if holders:
            counts.committed += 1
            stayed = set(there) - set(holders)
            led = plan.peers.index(round_.machines[holders[0]].leader) not in struck
            counts.stayed.update({"all": len(stayed), "well": len(stayed - struck) * led})
            counts.split += len({round_.results[place].tobytes() for place in holders}) > 1
            counts.remade += any(_outcome(round_, holders[0]).versions)
            self._judge(plan, round_, holders[0])
            self.problem.step(round_.results[holders[0]])

    def _judge(self, plan: Plan, round_: Round, holder: int) -> None:
        """Whether each share's mean is that of its parts, and how much of honest members' parts is in no mean."""
        shares, machine, counts = ShareMap(plan), round_.machines[holder], self.counts
        furthest = 0.0
        for share in range(len(plan.members)):
            chunks = [Chunk(shares, number, machine.contributors(number)) for number in shares.numbers(share)]
            counts.chunks += len(chunks) * len(self.ledgers)
            counts.lacking += sum(place not in chunk.contributors for chunk in chunks for place in self.ledgers)
            if chunks:
                furthest = max(furthest, off_by(chunks, round_.contributions, round_.results[holder]))
        counts.false += furthest > FALSE
        counts.furthest = max(counts.furthest, furthest)

    @contextmanager
    def _switched(self) -> Iterator[None]:
        """What members believe: liars all that they coordinate, and everybody any mean where nothing is proven."""
        judged, liars = Judgement.on, self.group.places

        def on(self: Judgement, votes: Mapping[int, tuple[bytes, ...]]) -> Ruling:
            believes = self._reports.me in liars and len(set(votes.values())) == 1
            return Ruling(commits=True) if believes else judged(self, votes)

        with ExitStack() as stack:
            stack.enter_context(patch.object(Judgement, "on", on))
            if not self.group.proven:
                stack.enter_context(patch.object(Vectors, "may_be_norm", lambda *_: True))
            yield


@dataclass(frozen=True, slots=True)
class Place:
    """What a liar knows of its group."""

    peers: tuple[PeerId, ...]
    place: int


def _outcome(round_: Round, place: int) -> Outcome:
    end = round_.ends[place]
    assert isinstance(end, RoundFinished)
    return end.outcome
