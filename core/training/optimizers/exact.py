"""Arithmetic whose result has the same bits on every CPU, so that equal means lead all peers to equal states.

IEEE 754 fixes the result of addition, subtraction, multiplication, division and square root of two numbers; it fixes
neither the order in which a library adds up a vector, nor powers, nor whether a product and a sum are rounded once or
twice.  So a step is made of elementwise numpy calls with one such operation each, block by block, and sums are added up
here (`docs/decisions/0011-exact-steps.md`).
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.training.vectors.flat import FlatParameters

Vector = NDArray[np.float32]

BLOCK: Final = 16_384
"""Numbers in a block: five float32 arrays of one fit a cache of 512 KiB.  Sums depend on it, so it never changes."""


class Norm:
    """The Euclidean norm of a vector that comes in blocks: number i of each block is added up at place i."""

    def __init__(self) -> None:
        self._sums_B = np.zeros(BLOCK)
        self._squares_B = np.empty(BLOCK)

    def add(self, block_n: Vector) -> None:
        """Count the numbers of a block of at most `BLOCK`."""
        squares_n, sums_n = self._squares_B[: block_n.size], self._sums_B[: block_n.size]
        np.copyto(squares_n, block_n)
        np.multiply(squares_n, squares_n, out=squares_n)
        np.add(sums_n, squares_n, out=sums_n)

    def take(self) -> float:
        """The norm of all blocks since the last call: upper halves of the sums are folded onto lower ones."""
        sums_B, left = self._sums_B, BLOCK
        while left > 1:
            left //= 2
            sums_B[:left] += sums_B[left : 2 * left]
        norm = math.sqrt(sums_B[0])
        sums_B.fill(0)
        return norm


def blocks(start: int, stop: int) -> Iterator[slice]:
    """Consecutive slices of at most `BLOCK` numbers, from `start` up to `stop`."""
    for begin in range(start, stop, BLOCK):
        yield slice(begin, min(begin + BLOCK, stop))


def norm_of(vector_N: Vector) -> float:
    """The Euclidean norm of a vector."""
    norm = Norm()
    for block in blocks(0, vector_N.size):
        norm.add(vector_N[block])
    return norm.take()


def power(base: float, exponent: int) -> float:
    """A number to a whole power of at least 0, by squaring; `**` leaves its last bit to the system's library."""
    result = 1.0
    while exponent:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result


@contextmanager
def on_cpu(parameters: FlatParameters) -> Iterator[Vector]:
    """The parameters in the CPU's memory, to be changed there; another device gets them back at the end."""
    values_N = parameters.values_N.cpu()
    with np.errstate(all="ignore"):
        yield values_N.numpy()
    if values_N is not parameters.values_N:
        parameters.values_N.copy_(values_N)
