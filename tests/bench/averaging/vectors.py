"""The vectors that the peers of `python -m tests.bench averaging` average, and their exact mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.base.arrays import np


def contribution(index: int, numel: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The vector of peer number `index`, shape (numel,)."""
    return np.random.default_rng(index).standard_normal(numel, dtype=np.float32)


def samples_of(index: int) -> int:
    """The weight of number `index`; no two are equal."""
    return 1000 + 100 * index


def exact_mean(givers: Sequence[int], numel: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The weighted mean of the vectors of these, shape (numel,)."""
    total = np.zeros(numel)
    for index in givers:
        total += samples_of(index) * contribution(index, numel).astype(np.float64)
    total /= sum(samples_of(index) for index in givers)
    return total


def layout_of(numel: int) -> tuple[int, ...]:
    """Sizes of the tensors of a simulated model: matrices of a million numbers, each with a bias of a thousand."""
    matrix, bias = 1 << 20, 1 << 10
    pairs, rest = divmod(numel, matrix + bias)
    return (*(size for _ in range(pairs) for size in (matrix, bias)), rest)


def error_of(result: np.ndarray[Any, Any], exact: np.ndarray[Any, Any]) -> float:
    """The relative error of a mean."""
    return float(np.linalg.norm(result - exact) / np.linalg.norm(exact))
