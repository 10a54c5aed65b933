"""Bounds of the numbers that strangers name, alike in all messages, records and files, and of tables that they fill.

Those of numbers need no proof: beyond them no honest peer is.  `msgspec` refuses NaN where it refuses numbers that are
too small.
"""

from collections import OrderedDict
from typing import Annotated, Final, TypeVar

from msgspec import Meta

K = TypeVar("K")
V = TypeVar("V")
EPOCH_MAX: Final = 2**31 - 1
"""Upper bound on the number of an epoch: a step a second for 68 years, and 32 bits everywhere."""
FOLLOWED_EPOCH_MAX: Final = EPOCH_MAX // 2
"""Upper bound on the epoch of a state that a peer takes over: own steps never lead from there beyond `EPOCH_MAX`."""
SAMPLES_MAX: Final = 1 << 40
"""Upper bound on the samples that one member brings: sums of a group's still fit 64 bits."""
LOSS_MAX: Final = 1e9
"""Upper bound on a loss, and on its opposite: a model with a greater one has diverged."""
LOSS_FACTOR: Final = 3.0
"""Factor, or nats, by which a loss may differ from a known loss of about the same state."""
NORM_MAX: Final = 1e18
"""Upper bound on the norm of a contribution or of a part of it: a model with a greater gradient has diverged, and sums
of numbers within it are finite."""
USERNAME_BYTES_MAX: Final = 64
"""Upper bound on the name of a person in a pass, bytes."""

Epoch = Annotated[int, Meta(ge=0, le=EPOCH_MAX)]
Samples = Annotated[int, Meta(ge=0, le=SAMPLES_MAX)]
SamplesPerS = Annotated[float, Meta(ge=0, le=1e12)]
Loss = Annotated[float, Meta(ge=-LOSS_MAX, le=LOSS_MAX)]
Norm = Annotated[float, Meta(ge=0, le=NORM_MAX)]


def is_loss(number: float) -> bool:
    """Whether others would accept the number as a loss: not NaN or infinity."""
    return -LOSS_MAX <= number <= LOSS_MAX


def is_near(loss: float, known: float) -> bool:
    """Whether a loss that somebody tells may be of about the same state as one that is known; both in nats."""
    return abs(loss - known) <= LOSS_FACTOR * max(1.0, abs(known))


def remember(table: OrderedDict[K, V], key: K, value: V, limit: int) -> None:
    """Put an entry at the end of a table, and forget the oldest where there are more than `limit`."""
    table[key] = value
    table.move_to_end(key)
    if len(table) > limit:
        table.popitem(last=False)
