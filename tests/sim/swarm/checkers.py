"""Rules that hold in every collaboration, whatever goes wrong."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.averaging.allreduce.share_map import ShareMap, gives_chunk
from core.averaging.plan import Plan, chunk_count
from core.averaging.receipts.exchange import Receipted
from core.averaging.receipts.receipt import check_receipt
from core.base.ids import PeerId
from core.base.problems import ProofProblem
from core.codecs.registry import FEEDBACK, codec_of
from core.swarm.words.epoch import Phase
from core.swarm.words.orders import Absorb, RoundLost, RoundRecord
from core.swarm.words.states import StateName
from tests.sim.checkers import Checker, Violation
from tests.sim.probes import reachable_bytes
from tests.sim.swarm.clipped_means import Chunk, pull_of
from tests.sim.swarm.sample_checkers import Contributions
from tests.sim.swarm.samples import Contributed, mean_gradient
from tests.sim.swarm.settings import CLIPPED
from tests.sim.swarm.state_checkers import phases, state_text
from tests.sim.swarm.swarm import Swarm, state_of
from tests.sim.swarm.worker import Absorbed
from tests.sim.swarm.worker_settings import layout_of
from tests.sim.world.node import Node
from tests.sim.world.signing import SimVerifier

PATIENCE_S = 150.0
"""Upper bound on an epoch, seconds, or four times the time that the computers need, if that is longer."""
NODE_BYTES_MAX = 4 * 1024 * 1024
ROUNDINGS = 4
"""Number of times that a codec may round a number of the mean: as a part and as a mean, in each of two stages."""
SUM_ERROR = 1e-4
"""Upper bound on the error of the sums, which is all that is left where the codec is exact."""
PULLS = 4.0
"""Number of tolerances of a number, and of its chunk's root, by which pulls may be off: of parts, mean and radius."""
VISIBLE = 20
"""Number of tolerances below which the weight of a contribution leaves no trace in the numbers."""


class WholeMeans(Checker):
    """A mean is the weighted mean of the members that its record names, except for chunks recorded as missing.

    A member with a partial contribution is in those chunks only.

    Args:
        swarm: The simulated collaboration.
        plan_of: Returns the plan of the last round of a node; None: all members contributed fully.
    """

    def __init__(self, swarm: Swarm, plan_of: Callable[[Node], Plan | None] = lambda _: None) -> None:
        settings = swarm.settings
        self._plan_of = plan_of
        self._numel = settings.parameters
        self._chunk = settings.chunk_numel
        self._clipped = settings.aggregator == CLIPPED
        self._tolerance = tolerance_of(settings.codec, settings.parameters)
        self._records: dict[PeerId, tuple[RoundRecord, Plan | None, float]] = {}
        """What each was led by last, by which plan, and when that round began."""
        self._contributions = Contributions()
        self._checked: dict[StateName, tuple[bytes, RoundRecord]] = {}
        self.truncated = 0
        """Rounds whose record names missing parts."""

    def said(self, node: Node, output: Any, now: float) -> None:
        """A worker contributes, a round was committed, or a worker absorbs its mean."""
        match output:
            case Contributed():
                self._contributions.add(node.peer, output, now)
            case RoundRecord():
                self._records[node.peer] = output, self._plan_of(node), now - output.seconds
            case Absorbed():
                self._check(node, output)

    def _check(self, node: Node, absorbed: Absorbed) -> None:
        record, plan, began_at = self._records.get(node.peer, (None, None, 0.0))
        if record is None or record.name != absorbed.name:
            raise Violation(f"{node} absorbs {state_text(absorbed.name)}, its round led to something else")
        mean = absorbed.mean.tobytes()
        known = self._checked.get(absorbed.name)
        if known is not None:
            if known[0] != mean:
                raise Violation(f"{node} absorbs another mean than others at {state_text(absorbed.name)}")
            if (known[1].members, known[1].missing) != (record.members, record.missing):
                raise Violation(f"{node} has another record than others of {state_text(absorbed.name)}")
            return
        self._checked[absorbed.name] = (mean, record)
        self.truncated += bool(record.missing)
        if self._tolerance is not None and self._clipped:
            self._compare_clipped(node, absorbed, record, plan, began_at)
        elif self._tolerance is not None:
            expected = self._expected(node, absorbed, record, plan, began_at)
            chunk = self._chunk if plan is None else plan.chunk_numel
            self._compare(absorbed, record, wrong=np.abs(expected - absorbed.mean) > self._tolerance, chunk=chunk)

    def _expected(
        self, node: Node, absorbed: Absorbed, record: RoundRecord, plan: Plan | None, began_at: float
    ) -> NDArray[np.float64]:
        total = sum(samples for _, samples in record.members)
        if not total:
            raise Violation(f"{node} absorbs a mean of nobody at {state_text(absorbed.name)}")
        added, weight = np.zeros(self._numel, dtype=np.float64), np.zeros(self._numel)
        for peer, samples in record.members:
            stretches = self._contributions.of(peer, absorbed.before, samples, began_at=began_at)
            here = samples * self._given(PeerId(peer), plan)
            added += mean_gradient(peer, stretches, self._numel).astype(np.float64) * here
            weight += here
        return np.divide(added, weight, out=np.zeros(self._numel), where=weight > 0)

    def _compare_clipped(
        self, node: Node, absorbed: Absorbed, record: RoundRecord, plan: Plan | None, began_at: float
    ) -> None:
        """Look whether the pulls of all planned parts cancel in each chunk, but for those that lack some."""
        if plan is None:
            raise Violation(f"{node} absorbs a clipped mean without a plan at {state_text(absorbed.name)}")
        counted, given = dict(record.members), np.zeros((len(plan.members), self._numel))
        for place, peer in enumerate(plan.peers):
            samples = counted.get(peer, 0)
            stretches = self._contributions.of(peer, absorbed.before, samples, began_at=began_at)
            given[place] = mean_gradient(peer, stretches, self._numel)
        shares, off = ShareMap(plan), 0
        for number in range(plan.chunk_total):
            members = frozenset(m for m in shares.givers_of(number) if plan.peers[m] in counted)
            pull, radius = pull_of(Chunk(shares, number, members), given, absorbed.mean)
            size = plan.span(number).stop - plan.span(number).start
            off += pull > PULLS * (self._tolerance or 0.0) * size**0.5 + SUM_ERROR * radius
        lacking = sum(count for peer, count in record.missing if peer in counted)
        if off > lacking:
            raise Violation(
                f"the mean of {state_text(absorbed.name)} is not the clipped one in {off} of {plan.chunk_total} "
                f"chunks; the record says {lacking} parts are missing"
            )

    def _given(self, peer: PeerId, plan: Plan | None) -> NDArray[np.float64]:
        """1 where the plan has the peer's contribution in the mean."""
        given = np.ones(self._numel)
        if plan is None or not plan.portions or peer not in plan.peers:
            return given
        member = plan.peers.index(peer)
        for chunk in range(plan.chunk_total):
            given[plan.span(chunk)] = gives_chunk(plan.epoch, member, chunk, plan.portion(member))
        return given

    def _compare(self, absorbed: Absorbed, record: RoundRecord, *, wrong: NDArray[np.bool_], chunk: int) -> None:
        total = sum(samples for _, samples in record.members)
        chunks = chunk_count(self._numel, chunk)
        differing = sum(bool(wrong[i * chunk : (i + 1) * chunk].any()) for i in range(chunks))
        weights = {peer: samples / total for peer, samples in record.members}
        lacking = [count for peer, count in record.missing if peer in weights]
        least = VISIBLE * (self._tolerance or 0.0)
        visible = [count for peer, count in record.missing if weights.get(peer, 0.0) >= least]
        if not max(visible, default=0) <= differing <= sum(lacking):
            raise Violation(
                f"the mean of {state_text(absorbed.name)} differs from what its record says in {differing} of {chunks} "
                f"chunks; the record says {lacking} are missing"
            )


class OneOutcome(Checker):
    """A round leads all that take its step to one state: a network that falls apart leaves one half at most a quorum.

    Not bound are a leader that commits two things, and a grid, some of whose groups may miss what others got.

    Args:
        splitters: Liars that commit two things.
        plan_of: Returns the plan of the last round of a node.
    """

    def __init__(self, splitters: Collection[PeerId], plan_of: Callable[[Node], Plan | None]) -> None:
        self._splitters = frozenset(splitters)
        self._plan_of = plan_of
        self._led_to: dict[bytes, StateName] = {}

    def said(self, node: Node, output: Any, now: float) -> None:
        """Compare where a round leads a member with where it has led others."""
        del now
        if not isinstance(output, Absorb):
            return
        plan, name = self._plan_of(node), output.record.name
        if plan is None or plan.round != output.round or plan.stages > 1 or plan.leader in self._splitters:
            return
        if self._led_to.setdefault(output.round, name) != name:
            raise Violation(f"{node} is led to {state_text(name)}, others by the same round to another state")


class ReceiptsAgree(Checker):
    """Receipts of one round say the same on all members and prove themselves; nobody honest contradicts anybody.

    On a grid a block may be out of reach for one group and not for another: then the names of their states differ.

    Args:
        splitters: Liars that commit two things: what the halves of their groups sign differs.
        plan_of: Returns the plan of the last round of a node.
    """

    def __init__(
        self, splitters: Collection[PeerId] = (), plan_of: Callable[[Node], Plan | None] = lambda _: None
    ) -> None:
        self._splitters = frozenset(splitters)
        self._plan_of = plan_of
        self._grids = set[bytes]()
        self._statements: dict[bytes, bytes] = {}
        self.kept = 0
        self.signatures = 0

    def said(self, node: Node, output: Any, now: float) -> None:
        """Check that each complete receipt is valid and agrees with others."""
        del now
        plan = self._plan_of(node) if isinstance(output, RoundRecord) else None
        if plan is not None and plan.stages > 1:
            self._grids.add(plan.round)
        if not isinstance(output, Receipted):
            return
        receipt = output.receipt
        try:
            check_receipt(receipt, SimVerifier())
        except ProofProblem as problem:
            raise Violation(f"{node} has an invalid receipt: {problem}") from problem
        if self._splitters.intersection(receipt.statement.members):
            return
        grid = receipt.statement.round in self._grids
        said = receipt.statement.round + (receipt.statement.lineage if grid else b"")
        known = self._statements.setdefault(said, receipt.statement.digest)
        if (receipt.contradictions and not grid) or known != receipt.statement.digest:
            raise Violation(f"{node} says something else of its round than others")
        self.kept += 1
        self.signatures += len(receipt.attestations)


class EpochsEnd(Checker):
    """As long as computers train, epochs end."""

    def __init__(self, swarm: Swarm) -> None:
        self._swarm = swarm
        self._best: StateName | None = None
        self._since = 0.0
        self._chances = 0.0
        self.slowest_s = 0.0
        """The longest that any epoch took."""
        self.lost: Counter[str] = Counter()
        """Number of members that left a round without the mean, by reason."""

    def said(self, node: Node, output: Any, now: float) -> None:
        """Note each round that failed, with its reason."""
        del node, now
        if isinstance(output, RoundLost):
            self.lost[output.reason] += 1

    def looked(self, nodes: Iterable[Node], now: float) -> None:
        """Check the duration of the epoch, once a second."""
        del nodes
        swarm = self._swarm
        best = swarm.best()
        done = best is not None and swarm.settings.ends and best.epoch >= swarm.settings.epochs
        if done or swarm.world.links.divided or best is None or self._best is None or best.epoch != self._best.epoch:
            if self._since and best is not None:
                self.slowest_s = max(self.slowest_s, now - self._since)
            self._best, self._since, self._chances = best, now, 0.0
            return
        self._chances += sum(v.speed for v in swarm.training()) / swarm.target_samples
        if self._chances > 4 and now - self._since > PATIENCE_S:
            raise Violation(f"epoch {best.epoch + 1} does not end: {phases(swarm.training())}")


class BoundedMemory(Checker):
    """The memory of each machine is bounded."""

    def __init__(self, swarm: Swarm, *, interval_s: float = 5.0) -> None:
        self._padding = 4 * swarm.settings.padding_bytes
        self._interval_s = interval_s
        self._next = 0.0
        self._turn = 0
        self.largest_bytes = 0

    def looked(self, nodes: Iterable[Node], now: float) -> None:
        """Now and then, one node after the other: all that its machine holds on to."""
        living = list(nodes)
        if now < self._next or not living:
            return
        self._next = now + self._interval_s
        self._turn += 1
        node = living[self._turn % len(living)]
        size = reachable_bytes(node.machine)
        self.largest_bytes = max(self.largest_bytes, size)
        if size > NODE_BYTES_MAX + self._padding:
            raise Violation(f"{node} holds {size} bytes")


def tolerance_of(codec: str, numel: int) -> float | None:
    """By how much a mean of `numel` numbers may differ from the exact one, for what a codec does to such numbers.

    None: one with feedback makes up for earlier rounds, so its numbers are not compared.
    """
    if codec in FEEDBACK:
        return None
    numbers, decoded = np.random.default_rng(0).standard_normal(numel, dtype=np.float32), np.empty(numel, np.float32)
    used = codec_of(codec, layout_of(numel))
    used.decode_into(used.encode(numbers), decoded)
    return SUM_ERROR + ROUNDINGS * float(np.abs(numbers - decoded).max())


def last_plan(node: Node) -> Plan | None:
    """The plan of the round that a participant was in last."""
    participant: Any = node.machine
    plan: Plan | None = participant.rounds.plan
    return plan


def all_agree(swarm: Swarm) -> bool:
    """Whether all that train hold the same state."""
    return len({state_of(volunteer) for volunteer in swarm.training()}) <= 1


def all_finished(swarm: Swarm) -> bool:
    """Whether all that train have done the last epoch."""
    return all((view := v.view()) is not None and view.phase is Phase.FINISHED for v in swarm.training())
