"""The coordinate-wise trimmed mean (Yin, Chen, Ramchandran, Bartlett 2018, definition 2)."""

import numpy as np

from core.averaging.aggregators.aggregator import Parts, Vector


class TrimmedMean:
    """For each number, the weighted mean of the parts without the smallest and the largest of them.

    Fewer than `trim` of all parts, with whatever numbers, move the result by no more than the others' own spread.

    Args:
        trim: Share of the parts that is left out at each end, 0 to below 0.5; of n parts floor(trim n) are.

    Raises:
        ValueError: `trim` is not within these bounds.
    """

    def __init__(self, trim: float = 0.2) -> None:
        if not 0 <= trim < 0.5:
            raise ValueError(f"a trimmed mean that leaves out {trim} at each end")
        self._trim = trim

    def aggregate(self, parts: Parts, out: Vector) -> None:
        """Write the trimmed mean of the parts to `out`."""
        rows = np.empty((len(parts), out.size), dtype=np.float32)
        weights = np.empty(len(parts), dtype=np.float32)
        for place, (weight, values) in enumerate(parts):
            rows[place], weights[place] = values, weight
        cut = int(self._trim * len(parts))
        order = np.argsort(rows, axis=0, kind="stable")[cut : len(parts) - cut]
        kept = weights[order]
        with np.errstate(over="ignore", invalid="ignore"):
            np.multiply(np.take_along_axis(rows, order, axis=0), kept, out=rows[: len(kept)])
            np.divide(rows[: len(kept)].sum(axis=0), kept.sum(axis=0), out=out)
