"""Where an optimiser keeps a number for each number of some parameters, whole or in eight bits, and in which bounds."""

import math
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

import torch

from core.training.optimizers.exact import Vector, blocks
from core.training.vectors.flat import Span

Bounds = Mapping[str, tuple[float, float]]
"""Least and greatest number that a tensor can hold, by its name in the state."""
NOT_NEGATIVE: Final = (0.0, math.inf)


def running_mean(norm_max: float) -> tuple[float, float]:
    """The bounds of a running mean of gradients of at most this norm; twice as wide, for roundings."""
    return -2 * norm_max, 2 * norm_max


class Storage(Protocol):
    """Keeps numbers, block by block of the flat vector (`core.training.optimizers.exact.blocks`)."""

    @property
    def tensors(self) -> Mapping[str, torch.Tensor]:
        """What it consists of, by the names in a checkpoint; always the same tensors, none of them empty."""

    def bounds(self, numbers: tuple[float, float]) -> Bounds:
        """What its tensors can hold where the numbers that are kept lie within these."""

    def read(self, block: slice) -> Vector:
        """The numbers of a block of one parameter, to be changed in place until the next block is read."""

    def write(self, block: slice, numbers_n: Vector) -> None:
        """Keep what `read` gave for this block, as it is now."""


class Full:
    """Keeps all 32 bits.

    Args:
        name: Name of the tensor.
        spans: The parameters, in the order of the flat vector.
    """

    def __init__(self, name: str, spans: Iterable[Span]) -> None:
        self._places, numel = places(spans)
        self._tensor = torch.zeros(numel)
        self.tensors = {name: self._tensor} if numel else {}

    def bounds(self, numbers: tuple[float, float]) -> Bounds:
        """Those of the numbers themselves."""
        return dict.fromkeys(self.tensors, numbers)

    def read(self, block: slice) -> Vector:
        """A view of what is kept."""
        start = self._places[block.start]
        numbers_n: Vector = self._tensor.numpy()[start : start + block.stop - block.start]
        return numbers_n

    def write(self, block: slice, numbers_n: Vector) -> None:
        """Nothing to do: what `read` gave is what is kept."""


def places(spans: Iterable[Span], *, per: int = 1) -> tuple[dict[int, int], int]:
    """Where blocks lie in a tensor that has something for some parameters only, one after the other.

    Args:
        spans: The parameters.
        per: How many numbers of one parameter share an entry of the tensor.

    Returns:
        The place of each block's first entry, by the block's start in the flat vector; and the tensor's length.
    """
    found, end = {}, 0
    for span in spans:
        for block in blocks(span.start, span.stop):
            found[block.start] = end
            end += -(-(block.stop - block.start) // per)
    return found, end
