"""Between which numbers a tensor of an optimiser's state can lie; nothing beyond was ever computed."""

import math
from collections.abc import Mapping
from typing import Final

Bounds = Mapping[str, tuple[float, float]]
"""Least and greatest number that a tensor can hold, by its name in the state."""
NOT_NEGATIVE: Final = (0.0, math.inf)


def running_mean(norm_max: float) -> tuple[float, float]:
    """The bounds of a running mean of gradients of at most this norm; twice as wide, for roundings."""
    return -2 * norm_max, 2 * norm_max
