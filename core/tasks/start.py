"""How parameters start: from integers and single roundings, so that they have the same bits on every computer."""

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

Model = TypeVar("Model", bound=torch.nn.Module)
GRID = 1024
"""Logarithms and quantiles are rounded to this grid, because computers do not agree on their last digits."""
QUANTILES = 2**16
SPREAD = 0.05
"""Standard deviation of the numbers with which the small models start."""


def log_shares(counts: Sequence[int]) -> torch.Tensor:
    """Natural logarithms of how frequent each of several things is, float32; of none counted, as if it were one."""
    smoothed = np.array(counts, np.float64) + 1
    return torch.from_numpy((np.round(np.log(smoothed / smoothed.sum()) * GRID) / GRID).astype(np.float32))


def start_evenly(name: str, parameter: torch.Tensor, *, spread: float, generator: np.random.Generator) -> None:
    """Zeros for biases, ones for the scales of layer norms, evenly spread numbers for all else.

    Args:
        name: Name of the parameter; a vector whose name ends in "bias" is one.
        parameter: Is overwritten; float32 on the CPU.
        spread: Standard deviation of the numbers.
        generator: Drawn from for matrices only.
    """
    with torch.no_grad():
        if parameter.ndim < 2:
            parameter.fill_(0.0 if name.endswith("bias") else 1.0)
            return
        steps = generator.integers(-(2**23), 2**23, tuple(parameter.shape), dtype=np.int32)
        factor = np.float32(spread * math.sqrt(3.0) / 2**23)
        parameter.copy_(torch.from_numpy(steps.astype(np.float32) * factor))


def start_normally(name: str, parameter: torch.Tensor, *, spread: float, generator: np.random.Generator) -> None:
    """Like `start_evenly`, with numbers of a normal distribution: one of its quantiles each, drawn by its place."""
    with torch.no_grad():
        if parameter.ndim < 2:
            start_evenly(name, parameter, spread=spread, generator=generator)
            return
        drawn = generator.integers(0, QUANTILES, tuple(parameter.shape), dtype=np.int32)
        parameter.copy_(torch.from_numpy(_quantiles()[drawn] * np.float32(spread)))


@cache
def _quantiles() -> NDArray[np.float32]:
    """The quantiles of the normal distribution in the middle of as many equal shares, rounded to the grid."""
    inverse = NormalDist().inv_cdf
    return np.array(
        [round(inverse((place + 0.5) / QUANTILES) * GRID) / GRID for place in range(QUANTILES)], dtype=np.float32
    )


def started(model: Model, *, seed: int) -> Model:
    """A model on the CPU, all its parameters started with `SPREAD`; the same seed gives the same bits everywhere."""
    generator = np.random.Generator(np.random.PCG64(seed))
    for name, parameter in model.named_parameters():
        start_evenly(name, parameter, spread=SPREAD, generator=generator)
    return model
