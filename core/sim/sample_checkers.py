"""Rules of the samples themselves: each counts once, and none is more than one step old."""

from typing import Any

from core.base.ids import PeerId
from core.sim.checkers import Checker, Violation
from core.sim.node import Node
from core.sim.samples import Contributed, Stretch
from core.sim.worker import Absorbed
from core.swarm.orders import RoundRecord
from core.swarm.states import StateName

Part = tuple[PeerId, Stretch]


class Contributions:
    """The samples of each peer's contributions."""

    def __init__(self) -> None:
        self._made: dict[tuple[PeerId, StateName], dict[bytes, tuple[Stretch, ...]]] = {}

    def add(self, peer: PeerId, contributed: Contributed) -> None:
        """A worker handed this over."""
        self._made.setdefault((peer, contributed.before), {})[contributed.round] = contributed.stretches

    def of(self, peer: PeerId, absorbed: Absorbed, samples: int) -> tuple[Stretch, ...]:
        """The stretches of a contribution to the round of a mean, which counts there for `samples` samples.

        It is the one that was handed over for this round, or else for another: the newest that has so many, or more,
        whose weight was cut.

        Raises:
            Violation: the peer never made such a contribution.
        """
        if not samples:
            return ()
        made = self._made.get((peer, absorbed.before), {})
        sizes = {round_id: sum(stretch.samples for stretch in parts) for round_id, parts in made.items()}
        fitting = [round_id for round_id, size in sizes.items() if size == samples]
        fitting += [round_id for round_id, size in sizes.items() if size >= samples and round_id == absorbed.round]
        fitting = fitting or [round_id for round_id, size in sizes.items() if size >= samples]
        if not fitting:
            raise Violation(f"{samples} samples of {peer.hex()[:8]} are counted, which it never handed over")
        return made[fitting[-1]]


class EachSampleOnce(Checker):
    """On the way to any state no sample counts twice, none that a step left over is lost, and none is older than that.

    A step takes samples of its own state, and of the one before those that were computed while that one's round was on.
    """

    def __init__(self) -> None:
        self._contributions = Contributions()
        self._records: dict[PeerId, RoundRecord] = {}
        self._parents: dict[StateName, StateName] = {}
        self._counted: dict[StateName, list[Part]] = {}
        self.samples = 0
        """Counted in all rounds that led to a state."""
        self.stale = 0
        """Those of them that were one step old."""

    def said(self, node: Node, output: Any, now: float) -> None:
        """A worker contributes, a round was committed, or a worker absorbs its mean."""
        del now
        match output:
            case Contributed():
                self._contributions.add(node.peer, output)
            case RoundRecord():
                self._records[node.peer] = output
            case Absorbed() if output.name not in self._counted:
                record = self._records.get(node.peer)
                if record is not None and record.name == output.name:
                    self._count(output, record)

    def _count(self, absorbed: Absorbed, record: RoundRecord) -> None:
        parts = [
            (PeerId(peer), stretch)
            for peer, samples in record.members
            for stretch in self._contributions.of(PeerId(peer), absorbed, samples)
        ]
        parent = self._parents.get(absorbed.before)
        for peer, stretch in parts:
            self.samples += stretch.samples
            if stretch.at == absorbed.before:
                continue
            self.stale += stretch.samples
            if stretch.at != parent:
                raise Violation(f"{peer.hex()[:8]} contributes what is older than one step to {absorbed.name.epoch}")
            counted = [known for other, known in self._counted[absorbed.before] if other == peer]
            end = max((known.first + known.samples for known in counted if _same(known, stretch)), default=0)
            if stretch.first < end:
                raise Violation(
                    f"samples of {peer.hex()[:8]} count in epoch {absorbed.name.epoch} and in the one before"
                )
            if stretch.first > end and counted:  # a contribution that never arrived is lost, and the record says so
                raise Violation(f"{peer.hex()[:8]} lost samples between epoch {absorbed.name.epoch} and the one before")
        self._parents[absorbed.name] = absorbed.before
        self._counted[absorbed.name] = parts


def _same(one: Stretch, other: Stretch) -> bool:
    """Whether one worker computed both with the same parameters."""
    return (one.life, one.at) == (other.life, other.at)
