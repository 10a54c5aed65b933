"""What the balance of a round starts from, and what comes out."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One member of a group: its line to the network and what it may do.  All rates are above 0."""

    up_bytes_per_s: float
    down_bytes_per_s: float
    samples_per_s: float = 0.0
    """What it computes (s_i); 0 for a helper, which has no contribution."""
    gives: bool = True
    """Has a contribution to send.  False: a helper, or a peer without samples."""
    reduces: bool = True
    """May be given a share.  False: client mode."""
    receives: bool = True
    """Needs the mean.  False: a helper without a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a round averages, as far as its duration depends on it: length, bytes a number, target batch."""

    numel: int
    """Numbers in the vector (P)."""
    part_bytes: float
    """Of one number on its way to a reducer, as the codec writes it."""
    mean_bytes: float
    """Of one number on its way back."""
    target_samples: int = 0
    """The target batch (B); 0: everybody gives all it has, only the lines count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """How a round is divided.  Equal input gives equal output on one machine; others verify, they do not recompute."""

    weights: tuple[int, ...]
    """Each member's share of the reducing, in whole numbers of any sum: for `apportion`."""
    gifts: tuple[int, ...]
    """How many 256ths of its chunks each member gives; `WHOLE_GIFT`: all (c_i = 1), 0: none (c_i = 0)."""
    seconds: float
    """How long the round takes where nothing but the lines counts."""


def apportion(total: int, weights: Sequence[int]) -> tuple[int, ...]:
    """Divide `total` things by whole weights (Hagenbach-Bischoff: quota w * (total + 1) / W, then highest averages).

    The same on every machine: whole numbers only, ties go to the lower index.

    Raises:
        ValueError: a negative weight, or none above 0.
    """
    whole = sum(weights)
    if whole <= 0 or min(weights) < 0:
        raise ValueError("weights must not be negative, and one must be above 0")
    seats = [max(0, -(-weight * (total + 1) // whole) - 1) for weight in weights]
    while sum(seats) < total:
        best = 0
        for index in range(1, len(weights)):
            if weights[index] * (seats[best] + 1) > weights[best] * (seats[index] + 1):
                best = index
        seats[best] += 1
    return tuple(seats)
