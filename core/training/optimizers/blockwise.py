"""Eight bits for a number, with one scale for a block of neighbours (Dettmers et al. 2022, "8-bit optimizers").

A number is divided by the greatest magnitude of its block of 256, and the nearest of the 256 values of a *dynamic* code
book stands for it: seven decades, each divided evenly, the finer the greater; zero; and one.  All of it is comparisons,
table look-ups and single operations, so codes have the same bits on every machine (`core.training.optimizers.exact`).
"""

# ruff: noqa: N806 - names of arrays end in their shapes

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from core.training.optimizers.exact import BLOCK, Vector
from core.training.optimizers.storage import Bounds, Full, places
from core.training.vectors.flat import Span

SHARING: Final = 256
"""Numbers that share a scale."""
SMALL: Final = 4096
"""A parameter of fewer numbers keeps all bits: together they are few, and they matter most."""
DECADES: Final = 7
BUCKET_BITS: Final = 16
"""Numbers that differ in no more than their last 16 bits are a bucket: no two limits between codes lie in one."""


def code_book(*, signed: bool) -> Vector:
    """The 256 values in order: the middles of 2^d equal parts of decade d, of twice as many where none is negative."""
    values = [Fraction(0), Fraction(1)]
    for decade in range(DECADES):
        parts = 2**decade * (1 if signed else 2)
        for part in range(parts):
            middle = (Fraction(1, 10) + Fraction(9, 10) * Fraction(2 * part + 1, 2 * parts)) / 10 ** (6 - decade)
            values += [middle, -middle] if signed else [middle]
    return np.array(sorted(float(value) for value in values), np.float32)


class Codes:
    """Finds the nearest value of a code book: a table says for each bucket, and one comparison decides within it."""

    def __init__(self, *, signed: bool) -> None:
        self.values = code_book(signed=signed)
        between = (self.values[1:].astype(np.float64) + self.values[:-1]) / 2
        limits = between.astype(np.float32)
        limits = np.where(limits > between, np.nextafter(limits, np.float32(-np.inf)), limits)
        self._limits = np.append(limits, np.float32(np.inf))
        """A float32 is nearer to the value after a limit where it is greater than the limit; it is rounded down."""
        first = np.arange(2 ** (32 - BUCKET_BITS), dtype=np.uint32) << BUCKET_BITS
        last = first | np.uint32(2**BUCKET_BITS - 1)
        lowest = np.where(first >> 31, last, first).view(np.float32)
        self._lowest_codes = np.searchsorted(limits, np.nan_to_num(lowest)).astype(np.uint8)

    def of(self, numbers_n: Vector) -> NDArray[np.uint8]:
        """The codes of numbers from -1 to 1."""
        codes_n = self._lowest_codes.take(numbers_n.view(np.uint32) >> BUCKET_BITS)
        codes_n += numbers_n > self._limits.take(codes_n)
        return codes_n


class EightBits:
    """Keeps eight bits of each number, and a scale for each `SHARING` of them; small parameters keep 32.

    Args:
        name: Name of the tensor of codes; those of scales and of small parameters are named after it.
        spans: The parameters, in the order of the flat vector.
        signed: Whether numbers may be negative.
    """

    def __init__(self, name: str, spans: Sequence[Span], *, signed: bool) -> None:
        large = [span for span in spans if span.numel >= SMALL]
        self._small = Full(f"{name}_small", [span for span in spans if span.numel < SMALL])
        self._codes = Codes(signed=signed)
        self._starts, numel = places(large)
        self._scale_starts, scales = places(large, per=SHARING)
        self._kept = torch.zeros(numel, dtype=torch.uint8)
        self._scales = torch.zeros(scales)
        self._numbers_B = np.zeros(BLOCK, np.float32)
        self._own = {name: self._kept, f"{name}_scales": self._scales} if numel else {}
        self.tensors = {**self._own, **self._small.tensors}

    def bounds(self, numbers: tuple[float, float]) -> Bounds:
        """Any code is possible; a scale is the magnitude of a number."""
        scales = dict.fromkeys(list(self._own)[1:], (0.0, numbers[1]))
        return {**scales, **self._small.bounds(numbers)}

    def read(self, block: slice) -> Vector:
        """The numbers of a block, which must be written back to be kept."""
        if block.start not in self._starts:
            return self._small.read(block)
        codes_n, scales_s = self._at(block)
        numbers_n = self._numbers_B[: len(codes_n)]
        self._codes.values.take(codes_n, out=numbers_n, mode="clip")
        self._rows(len(scales_s))[:] *= scales_s[:, None]
        return numbers_n

    def write(self, block: slice, numbers_n: Vector) -> None:
        """Keep the nearest that eight bits can say.

        Args:
            block: Where they lie in the flat vector.
            numbers_n: What `read` gave for this block last, changed in place.
        """
        if block.start not in self._starts:
            return
        codes_n, scales_s = self._at(block)
        self._numbers_B[len(numbers_n) : len(scales_s) * SHARING] = 0
        rows_sS = self._rows(len(scales_s))
        np.abs(rows_sS).max(axis=1, out=scales_s)
        rows_sS /= np.where(scales_s > 0, scales_s, np.float32(1))[:, None]
        codes_n[:] = self._codes.of(numbers_n)

    def _at(self, block: slice) -> tuple[NDArray[np.uint8], Vector]:
        count = block.stop - block.start
        start, scale_start = self._starts[block.start], self._scale_starts[block.start]
        codes_n = self._kept.numpy()[start : start + count]
        return codes_n, self._scales.numpy()[scale_start : scale_start - (-count // SHARING)]

    def _rows(self, count: int) -> Vector:
        """The numbers of the block in hand, one row for each scale."""
        return self._numbers_B[: count * SHARING].reshape(count, SHARING)
