"""The learning rate of each epoch, and where a collaboration ends: numbers of the manifest that engine and worker read.

All of it is made of single additions, multiplications and divisions, so that a rate has the same bits on every machine
(`core.training.optimizers.exact`); a system's own cosine has not.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

SINE_TERMS = 12
"""Terms of the sine's series: on a quarter of a turn the next one is smaller than a float64 can tell."""


class ScheduleNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """A rate that rises to the full one, falls from there, and ends or stays at a floor.

    One step with the collaboration's mean is one epoch.  A default is part of every manifest that leaves the number
    out, so it never changes.
    """

    learning_rate: Annotated[float, Meta(gt=0, le=10)] = 0.00176
    warmup_epochs: Annotated[int, Meta(ge=0, le=10**9)] = 5000
    """Epochs in which the rate rises by as much each, up to the full rate."""
    warmup_start: Annotated[float, Meta(ge=0, le=1)] | msgspec.UnsetType = msgspec.UNSET
    """Where it begins, as a share of the full rate: 0 as in S000's code.  Absent means one of these rises."""
    total_epochs: Annotated[int, Meta(gt=0, le=10**9)] = 125_000
    """When the rate has fallen to the floor."""
    schedule: Literal["linear", "cosine", "stable", "constant"] = "linear"
    """How it falls: evenly; along half a cosine (Loshchilov and Hutter 2017); evenly, but only within the last
    `decay_epochs` (warm-up, stable, decay: Hu et al. 2024); all at once at the end."""
    decay_epochs: Annotated[int, Meta(ge=0, le=10**9)] = 0
    floor: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """The share of the full rate to which it falls, and with which it goes on.  With 0 nothing moves any more after
    `total_epochs`, so the collaboration is finished there."""


def learning_rate(numbers: ScheduleNumbers, epoch: int) -> float:
    """The rate of a step.

    Args:
        numbers: From the manifest.
        epoch: Steps that the collaboration has taken before.
    """
    if isinstance(numbers.warmup_start, msgspec.UnsetType):
        warm = (epoch + 1) / max(numbers.warmup_epochs, 1)
    else:
        risen = epoch / numbers.warmup_epochs if numbers.warmup_epochs else 1.0
        warm = numbers.warmup_start + (1 - numbers.warmup_start) * risen
    above = numbers.floor + (1 - numbers.floor) * _left(numbers, epoch)
    return numbers.learning_rate * min(1.0, warm, above)


def end_of(*optimizers: Mapping[str, object]) -> int | None:
    """The epoch at which the collaboration is finished, because a rate is 0 from there on; None: it goes on for ever.

    Args:
        optimizers: A manifest's, with their numbers; those that cannot be read are the worker's to refuse.
    """
    ends = [numbers.total_epochs for numbers in map(_read, optimizers) if numbers is not None and not numbers.floor]
    return min(ends, default=None)


def _read(numbers: Mapping[str, object]) -> ScheduleNumbers | None:
    try:
        return msgspec.convert(numbers, ScheduleNumbers)
    except msgspec.ValidationError:
        return None


def _left(numbers: ScheduleNumbers, epoch: int) -> float:
    """What is left of the way down to the floor, from 1 to 0."""
    left, falls = numbers.total_epochs - epoch, numbers.total_epochs - numbers.warmup_epochs
    if left <= 0:
        return 0.0
    match numbers.schedule:
        case "linear":
            return min(1.0, left / max(falls, 1))
        case "cosine":
            return _half_cosine(min(1.0, left / max(falls, 1)))
        case "stable":
            return min(1.0, left / max(numbers.decay_epochs, 1))
        case "constant":
            return 1.0


def _half_cosine(left: float) -> float:
    """(1 - cos(pi left)) / 2 for 0 to 1, by the series of the sine of pi (left - 1/2)."""
    angle = math.pi * (left - 0.5)
    term = total = angle
    for place in range(1, SINE_TERMS):
        term *= -angle * angle / (2 * place * (2 * place + 1))
        total += term
    return min(1.0, max(0.0, (1 + total) / 2))
