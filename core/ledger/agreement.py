"""What several donors say of the same past: of each number the lower median, so that no single one can raise any."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeVar

from core.api.snapshot import CurvePoint
from core.ledger.contributions import Ledger, LedgerRow

SAMPLES_OVER_TARGET: Final = 256
"""Upper bound on the samples of a round, in target batches: while a group forms the members go on.  With a small target
one computer has made 25 of them meanwhile."""
NAME_GIVERS: Final = 2
"""So many donors must give a peer's name before it is shown."""
T = TypeVar("T", int, float)


def agreed(ledgers: Sequence[Ledger], *, samples_max: int) -> Ledger:
    """The ledger that more than half of the donors bear out; of two the lesser, of one what it says.

    A ledger with more samples than there can be is left out.  Names are those that more than half give, of two at
    least: a name is its owner's, and a donor is not asked for ours.

    Args:
        ledgers: One of each donor.
        samples_max: Upper bound on the samples of all peers together.
    """
    told = [one for one in ledgers if sum(row.samples for row in one.rows().values()) <= samples_max]
    if not told:
        return Ledger()
    tables = [one.rows() for one in told]
    peers = {peer for table in tables for peer in table}
    rows = {peer: _row([table.get(peer, LedgerRow()) for table in tables]) for peer in peers}
    known = [one.rounds() for one in told]
    rounds = {key for counted, _ in known for key in counted}
    points = [{point.epoch: point for point in one.curve.points()} for one in told]
    epochs = sorted({epoch for table in points for epoch in table})
    return Ledger(
        rows=rows,
        rounds=[key for key in rounds if 2 * sum(key in counted for counted, _ in known) > len(told)],
        floor=_lower_median([floor for _, floor in known]),
        points=[_point(epoch, [table[epoch] for table in points if epoch in table]) for epoch in epochs],
    )


def _row(rows: Sequence[LedgerRow]) -> LedgerRow:
    names = Counter(row.name for row in rows if row.name)
    name, givers = max(names.items(), key=lambda one: (one[1], one[0]), default=("", 0))
    shared = givers >= NAME_GIVERS and 2 * givers > len(rows)
    return LedgerRow(
        samples=_lower_median([row.samples for row in rows]),
        epochs=_lower_median([row.epochs for row in rows]),
        rounds=_lower_median([row.rounds for row in rows]),
        reduced=_lower_median([row.reduced for row in rows]),
        relayed_bytes=_lower_median([row.relayed_bytes for row in rows]),
        name=name if shared else "",
        named=_lower_median([row.named for row in rows if row.name == name]) if shared else 0,
    )


def _point(epoch: int, points: Sequence[CurvePoint]) -> CurvePoint:
    training = [point.loss_training for point in points if point.loss_training is not None]
    heldout = [point.loss_heldout for point in points if point.loss_heldout is not None]
    return CurvePoint(epoch, _lower_median(training) if training else None, _lower_median(heldout) if heldout else None)


def _lower_median(numbers: Sequence[T]) -> T:
    return sorted(numbers)[(len(numbers) - 1) // 2]
