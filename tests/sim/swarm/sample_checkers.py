"""Rules of the samples themselves: each counts once, and none is more than one step old."""

from typing import Any

from core.base.ids import PeerId
from core.swarm.words.orders import RoundRecord
from core.swarm.words.states import StateName
from tests.sim.checkers import Checker, Violation
from tests.sim.swarm.samples import Contributed, Stretch
from tests.sim.swarm.worker import Absorbed
from tests.sim.world.node import Node

Part = tuple[PeerId, Stretch]


class Contributions:
    """The samples of each peer's contributions."""

    def __init__(self) -> None:
        self._made: dict[tuple[PeerId, StateName], list[tuple[float, tuple[Stretch, ...]]]] = {}

    def add(self, peer: PeerId, contributed: Contributed, now: float) -> None:
        """A worker handed this over."""
        self._made.setdefault((peer, contributed.before), []).append((now, contributed.stretches))

    def of(self, peer: PeerId, before: StateName, samples: int, *, began_at: float) -> tuple[Stretch, ...]:
        """The stretches of a contribution on top of a state, to a round that began at some time.

        It is the last that was handed over before, of those with so many samples as it counts for, or with more, whose
        weight was cut.

        Raises:
            Violation: the peer never made such a contribution.
        """
        if not samples:
            return ()
        made = self._made.get((peer, before), [])
        fitting = [(at, parts) for at, parts in made if sum(stretch.samples for stretch in parts) >= samples]
        if not fitting:
            raise Violation(f"{samples} samples of {peer.hex()[:8]} are counted, which it never handed over")
        return next((parts for at, parts in reversed(fitting) if at <= began_at), fitting[0][1])


class EachSampleOnce(Checker):
    """On the way to any state no sample counts twice, none that a step left over is lost, and none is older than that.

    A step takes samples of its own state, and of the one before those that were computed while that one's round was on.
    """

    def __init__(self) -> None:
        self._contributions = Contributions()
        self._records: dict[PeerId, tuple[RoundRecord, float]] = {}
        """What each was led by last, and when that round began."""
        self._parents: dict[StateName, StateName] = {}
        self._counted: dict[StateName, list[Part]] = {}
        self.samples = 0
        """Counted in all rounds that led to a state."""
        self.stale = 0
        """Those of them that were one step old."""

    def said(self, node: Node, output: Any, now: float) -> None:
        """A worker contributes, a round was committed, or a worker absorbs its mean."""
        match output:
            case Contributed():
                self._contributions.add(node.peer, output, now)
            case RoundRecord():
                self._records[node.peer] = output, now - output.seconds
            case Absorbed() if output.name not in self._counted:
                record, began_at = self._records.get(node.peer, (None, 0.0))
                if record is not None and record.name == output.name:
                    self._count(output, record, began_at)

    def _count(self, absorbed: Absorbed, record: RoundRecord, began_at: float) -> None:
        parts = [
            (PeerId(peer), stretch)
            for peer, samples in record.members
            for stretch in self._contributions.of(PeerId(peer), absorbed.before, samples, began_at=began_at)
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
