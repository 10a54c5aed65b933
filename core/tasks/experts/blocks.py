"""The blocks that are experts, wherever they lie: at hosts, or in the own process.

A block takes rows and gives as many rows of the same width.  It keeps nothing from one call to the next, and what it
gives for one row does not depend on the others: a host computes the rows of many trainers together.  So a block has
no batch normalisation and no dropout.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import torch
from torch import nn


def feed_forward(width: int, factor: int) -> nn.Module:
    """The feed-forward block of Learning@home, 4.1: three linear layers, with normalisation and ReLU between them.

    Args:
        width: Numbers of a row.
        factor: How many times as wide the two inner layers are.
    """
    inner = factor * width
    return nn.Sequential(
        nn.Linear(width, inner),
        nn.LayerNorm(inner),
        nn.ReLU(),
        nn.Linear(inner, inner),
        nn.LayerNorm(inner),
        nn.ReLU(),
        nn.Linear(inner, width),
    )


BLOCKS: Final[Mapping[str, Callable[[int, int], nn.Module]]] = MappingProxyType({"ffn": feed_forward})
"""By the name that a manifest gives a block, what makes one of a width and a factor."""


def new_expert(block: str, *, width: int, factor: int, seed: int) -> nn.Module:
    """A block with numbers that depend on the seed alone: two hosts that begin the same place anew begin alike.

    Args:
        block: Its name in `BLOCKS`.
        width: Numbers of a row.
        factor: How many times as wide its inner layers are.
        seed: Decides the numbers; torch's own generator is as before afterwards.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return BLOCKS[block](width, factor)
