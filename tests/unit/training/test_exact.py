"""The arithmetic of exact steps, against plain Python."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from core.training.optimizers.exact import BLOCK, Norm, blocks, on_cpu, power


@pytest.mark.parametrize("count", [1, 2, 3, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_a_norm_is_that_of_the_exact_sum(count: int) -> None:
    vector = np.random.default_rng(count).normal(size=count).astype(np.float32)
    vector *= np.exp2(np.arange(count) % 90).astype(np.float32)
    norm = Norm()
    for _ in range(2):
        for block in blocks(0, count):
            norm.add(vector[block])
        assert norm.take() == pytest.approx(math.sqrt(math.fsum(float(x) ** 2 for x in vector)), rel=1e-14)


@pytest.mark.parametrize("count", [5, *range(16_385, 50_000, 4001)])
def test_sums_have_one_order(count: int) -> None:
    """Another order changes a sum's last bits, which a step hides nearly always when it rounds to 24 bits.

    Beside three large numbers the ones count only where they are added up before: each order loses others.
    """
    vector = np.ones(count, np.float32)
    vector[np.random.default_rng(count).integers(0, count, 3)] = 2.0**27
    sums = [0.0] * 16_384
    for place, number in enumerate(vector.tolist()):
        sums[place % len(sums)] += number * number
    while len(sums) > 1:
        half = len(sums) // 2
        sums = [low + high for low, high in zip(sums[:half], sums[half:], strict=True)]
    norm = Norm()
    for block in blocks(0, count):
        norm.add(vector[block])
    assert norm.take() == math.sqrt(sums[0])


def test_a_norm_neither_overflows_nor_vanishes() -> None:
    norm = Norm()
    for number in (3e38, 1e-45):
        norm.add(np.full(4, number, np.float32))
        assert norm.take() == pytest.approx(2 * float(np.float32(number)))


def test_blocks_cover_a_range_once() -> None:
    covered = [place for block in blocks(7, 2 * BLOCK + 9) for place in range(block.start, block.stop)]
    assert covered == list(range(7, 2 * BLOCK + 9))
    assert not list(blocks(5, 5))


@pytest.mark.parametrize("base", [0.0, 0.5, 0.9, 0.999, 1 - 2**-53])
def test_powers_are_those_of_exact_fractions(base: float) -> None:
    for exponent in (0, 1, 2, 3, 10, 63, 1000):
        assert power(base, exponent) == pytest.approx(float(Fraction(base) ** exponent), rel=1e-12)
    assert 0 <= power(base, 10**12) <= 1


def test_powers_have_one_order() -> None:
    """These bits came from roundings of exact fractions; the C libraries of some systems have others."""
    assert power(0.999, 1000).hex() == "0x1.788526411edacp-2"


def test_parameters_of_another_device_are_fetched_and_given_back() -> None:
    class Elsewhere:
        """A vector that numpy cannot see."""

        def __init__(self) -> None:
            self.held_N = torch.zeros(3)

        def cpu(self) -> torch.Tensor:
            return self.held_N.clone()

        def copy_(self, values_N: torch.Tensor) -> None:
            self.held_N.copy_(values_N)

    elsewhere = Elsewhere()
    with on_cpu(SimpleNamespace(values_N=elsewhere)) as values_N:
        values_N[:] = 2
        assert not elsewhere.held_N.any()
    assert elsewhere.held_N.tolist() == [2, 2, 2]
