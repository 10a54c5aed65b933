"""Who gave what, and the losses: a part of the state, as it follows from the rounds that led there.

All members of a round hold the same statement about it (`core.averaging.receipts.receipt.statement_of`), so all count
alike, and the ledger has the same bytes on all of them.  It lies in the checkpoint, under the state's digest: who takes
over a state takes over its ledger, and who gives up steps gives up what it counted for them.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low
from types import MappingProxyType
from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from core.api.snapshot import CurvePoint
from core.averaging.weights import LEAD
from core.base.bounds import EPOCH_MAX, Epoch, Loss
from core.base.ids import Peer32, PeerId
from core.base.problems import WireProblem
from core.base.state_header import LEDGER_BYTES_MAX
from core.base.wire import Schema
from core.ledger.credits import COUNT_MAX, OTHERS, added
from core.swarm.words.orders import RoundRecord


class Curve:
    """The loss curve: one point by epoch.

    Args:
        points: Known points.
    """

    POINTS_MAX: ClassVar = 2000
    """Kept.  Beyond it every second point goes, those with a held-out loss last."""
    POINTS_SHOWN: ClassVar = 500

    def __init__(self, points: Iterable[CurvePoint] = ()) -> None:
        self._points = {point.epoch: point for point in points}

    def record(self, point: CurvePoint) -> None:
        """Note a point; a field that is None leaves what was known of that epoch."""
        old = self._points.get(point.epoch, CurvePoint(point.epoch, None))
        self._points[point.epoch] = CurvePoint(
            point.epoch,
            old.loss_training if point.loss_training is None else point.loss_training,
            old.loss_heldout if point.loss_heldout is None else point.loss_heldout,
        )
        if len(self._points) > self.POINTS_MAX:
            self._points = {kept.epoch: kept for kept in thinned(self.points(), self.POINTS_MAX // 2)}

    @property
    def heldout_epoch(self) -> int:
        """The last epoch whose held-out loss is known; -1: none is."""
        return max((epoch for epoch, point in self._points.items() if point.loss_heldout is not None), default=-1)

    def points(self) -> list[CurvePoint]:
        """All points of the curve, oldest first."""
        return [self._points[epoch] for epoch in sorted(self._points)]

    def thinned(self) -> list[CurvePoint]:
        """At most 500 points of the curve, oldest first."""
        return thinned(self.points(), self.POINTS_SHOWN)


def thinned(points: list[CurvePoint], limit: int) -> list[CurvePoint]:
    """At most `limit` (at least 2) of `points`: the first, the last, and evenly from between.

    Within each stretch a point with a held-out loss is preferred, as there are few of them.
    """
    if len(points) <= limit:
        return points
    inner, stretches = points[1:-1], limit - 2
    chosen: list[CurvePoint] = [points[0]]
    for i in range(stretches):
        stretch = inner[i * len(inner) // stretches : (i + 1) * len(inner) // stretches]
        chosen.append(next((point for point in reversed(stretch) if point.loss_heldout is not None), stretch[-1]))
    return [*chosen, points[-1]]


ROWS_MAX: Final = 10_000
"""Peers with rows of their own; beyond them the half that gave least is summed together."""
SAMPLES_OVER_TARGET: Final = 256
"""Upper bound on what a member is credited with in a round, in target batches: while a group forms the members go on.
With a small target one computer has made 25 of them meanwhile."""

_Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]


class LedgerRow(msgspec.Struct, frozen=True, array_like=True):
    """One peer's contributions, summed over all rounds that led to the state."""

    samples: _Count = 0
    epochs: _Count = 0
    """Rounds in whose mean samples of its are."""
    rounds: _Count = 0
    """In whose mean it had a part, or some of which it reduced."""
    reduced: _Count = 0
    """Numbers of means that it made."""

    def __add__(self, other: "LedgerRow") -> "LedgerRow":
        return LedgerRow(
            added(self.samples, other.samples),
            added(self.epochs, other.epochs),
            added(self.rounds, other.rounds),
            added(self.reduced, other.reduced),
        )


class _LedgerFile(msgspec.Struct, frozen=True, array_like=True):
    rows: Annotated[list[tuple[Peer32, LedgerRow]], Meta(max_length=ROWS_MAX + 1)]
    """In ascending order of the keys."""
    points: Annotated[list[tuple[Epoch, Loss | None, Loss | None]], Meta(max_length=Curve.POINTS_MAX)]
    """Epoch, training loss, held-out loss."""


_SCHEMA: Final = Schema(_LedgerFile, named="a ledger", bytes_max=LEDGER_BYTES_MAX)


class Ledger:
    """What the rounds that led to a state come to.  It never changes: each round leads to another one.

    Args:
        rows: Sums, by peer.
        points: The loss curve.
    """

    def __init__(
        self, rows: Mapping[PeerId, LedgerRow] = MappingProxyType({}), points: Iterable[CurvePoint] = ()
    ) -> None:
        self.rows = MappingProxyType(dict(rows))
        self.curve = Curve(points)

    def after(self, record: RoundRecord, *, target_samples: int) -> "Ledger":
        """The ledger of the state that a round leads to; the same on all that hold this one.

        Args:
            record: What the round came to.
            target_samples: Target batch of the collaboration, which bounds what a round counts for.
        """
        rows = dict(self.rows)
        samples = [deed.samples for deed in record.deeds if deed.samples]
        for deed in record.deeds:
            if deed.chunks or deed.reduced:
                peer = PeerId(deed.peer)
                credited = min(deed.samples, _most(deed.samples, of=samples, target_samples=target_samples))
                row = LedgerRow(credited, int(deed.samples > 0), 1, deed.reduced)
                rows[peer] = rows.get(peer, LedgerRow()) + row
        following = Ledger(_bounded(rows), self.curve.points())
        following.curve.record(CurvePoint(record.name.epoch - 1, record.loss))
        looked = {point.epoch for point in following.curve.points() if point.loss_heldout is not None}
        for epoch, loss in record.heldout:
            if epoch not in looked:  # the first word stands
                following.curve.record(CurvePoint(epoch, None, loss))
        return following

    def row(self, peer: PeerId) -> LedgerRow:
        """One peer's sums; zeros for an unknown peer."""
        return self.rows.get(peer, LedgerRow())

    def givers(self) -> list[PeerId]:
        """Peers whose samples were in means, those last that were in most rounds."""
        gave = [peer for peer, row in self.rows.items() if row.samples and peer != OTHERS]
        return sorted(gave, key=lambda peer: self.rows[peer].epochs)

    def to_bytes(self) -> bytes:
        """The one encoding of it."""
        points = [(point.epoch, point.loss_training, point.loss_heldout) for point in self.curve.points()]
        return _SCHEMA.encode(_LedgerFile(sorted(self.rows.items()), points))

    @classmethod
    def from_bytes(cls, data: bytes, *, epoch_max: int = EPOCH_MAX) -> "Ledger":
        """Decode a ledger; no bytes are an empty one.

        Args:
            data: From its `to_bytes`.
            epoch_max: Epoch of its state: nothing later can be in it.

        Raises:
            WireProblem: it is not a ledger, or not of this state.
        """
        if not data:
            return cls()
        file = _SCHEMA.decode(data)
        peers, epochs = [peer for peer, _ in file.rows], [epoch for epoch, *_ in file.points]
        if peers != sorted(set(peers)) or epochs != sorted(set(epochs)):
            raise WireProblem("a ledger whose rows or points are not in order")
        if epochs and epochs[-1] > epoch_max:
            raise WireProblem(f"a ledger that knows of epoch {epochs[-1]}, after {epoch_max}")
        return cls({PeerId(peer): row for peer, row in file.rows}, (CurvePoint(*point) for point in file.points))


def _most(samples: int, *, of: Sequence[int], target_samples: int) -> int:
    """Upper bound on what a member is credited with in a round.

    The past, by which members judge claims, is not in a record; the others' samples are.  A pair of strangers, one of
    which leads the round and writes what it likes, is the usual case in which they have judged nothing yet.

    Args:
        samples: Those of the member.
        of: Those of all members with any.
        target_samples: Target batch of the collaboration.
    """
    most = SAMPLES_OVER_TARGET * target_samples
    others = list(of)
    if samples in others:
        others.remove(samples)
    return min(most, int(LEAD * max(target_samples, median_low(others)))) if others else most


def _bounded(rows: dict[PeerId, LedgerRow]) -> dict[PeerId, LedgerRow]:
    """No more rows than `ROWS_MAX`, and the same sums."""
    if len(rows) <= ROWS_MAX:
        return rows
    ordered = sorted(rows.items(), key=lambda item: (item[0] != OTHERS, -item[1].samples, -item[1].rounds, item[0]))
    kept = dict(ordered[: ROWS_MAX // 2])
    kept[OTHERS] = sum((row for _, row in ordered[ROWS_MAX // 2 :]), kept.get(OTHERS, LedgerRow()))
    return kept
