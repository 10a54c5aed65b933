"""What a clipped mean is by its definition, in float64 and pair by pair: not how the program finds it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.averaging.aggregators import MEDIAN_LEAST
from core.averaging.allreduce.share_map import ShareMap
from core.averaging.messages import Members

RADIUS_MOST = 4.0
"""Times the common radius with which a part of few samples pulls at most."""
TYPICAL_PART = 0.5
Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of the means."""

    shares: ShareMap
    number: int
    contributors: Members


def off_by(chunks: Sequence[Chunk], contributions: NDArray[np.float32], found: NDArray[np.float32]) -> float:
    """How hard the parts of a share pull at its mean, over how far from it they pull; of a true one about 0.

    Args:
        chunks: Those of the share.
        contributions: What each member gave; shape (members, numel).
        found: The mean of the whole vector.
    """
    pulls, radii = 0.0, 0.0
    for chunk in chunks:
        pull, radius = pull_of(chunk, contributions, found)
        pulls, radii = pulls + pull**2, radii + radius**2
    return math.sqrt(pulls / radii) if radii else (0.0 if not pulls else math.inf)


def pull_of(chunk: Chunk, contributions: NDArray[Any], found: NDArray[np.float32]) -> tuple[float, float]:
    """The norm of what all parts of a chunk pull with at its mean, and their common radius.

    Args:
        chunk: The chunk.
        contributions: What each member gave; shape (members, numel).
        found: The mean of the whole vector.
    """
    members, span = sorted(chunk.contributors), chunk.shares.plan.span(chunk.number)
    mean = found[span].astype(np.float64)
    if not members:
        return float(np.linalg.norm(mean)), 0.0
    rows: Rows = contributions[members, span].astype(np.float64)
    weights = np.array([chunk.shares.samples[member] for member in members], dtype=np.float64)
    samples = np.array([chunk.shares.plan.members[member].samples for member in members], dtype=np.float64)
    typical = chunk.shares.typical(members, mean.size)
    ways = rows - mean
    away = np.linalg.norm(ways, axis=1)
    if len(members) < MEDIAN_LEAST:
        return float(np.linalg.norm(weights / weights.sum() @ ways)), typical
    size = np.sort(samples)[len(samples) // 2]
    apart = np.linalg.norm(rows[:, None] - rows, axis=2) * np.sqrt(np.minimum.outer(samples, samples) / size)
    half = min(sorted(np.delete(row, i))[(len(row) - 2) // 2] for i, row in enumerate(apart))
    radius = max(half / math.sqrt(2), TYPICAL_PART * typical)
    reach = radius * np.minimum(RADIUS_MOST, np.sqrt(size / samples))
    near = np.minimum(1.0, np.divide(reach, away, out=np.ones_like(away), where=away > 0))
    return float(np.linalg.norm((weights / weights.sum() * near) @ ways)), radius
