"""Chance that follows from numbers: what is drawn for a sample is the same in every batch, process and year.

The n-th number of a stream is a function of the stream's seed and n alone: SplitMix64 (Steele, Lea and Flood 2014,
"Fast splittable pseudorandom number generators", figure 15), whose state is the seed plus n steps.

Letters of shapes: B samples.
"""

# ruff: noqa: N803 - names of arrays end in their shapes

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.base.content import digest

Seeds = NDArray[np.uint64]

_STEP: Final = 0x9E3779B97F4A7C15
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)
_ROW_BITS: Final = 40
"""Bits for the row in a sample's place in its source; the shard has the others."""
_MASK: Final = 2**64 - 1


def key_of(*names: bytes | int) -> int:
    """A seed for a stream that these names alone decide, 64 bits."""
    parts = (name if isinstance(name, bytes) else name.to_bytes(16, "big", signed=True) for name in names)
    return int.from_bytes(digest(b"".join(len(part).to_bytes(4, "big") + part for part in parts))[:8], "big")


def stream(seed: int, indices: NDArray[np.integer]) -> NDArray[np.uint64]:
    """The numbers of a stream at these indices, 64 bits each; those of one stream all differ."""
    return _numbers(np.uint64(seed & _MASK), indices)


def sample_seeds(pass_key: int, shards_B: NDArray[np.int64], rows_B: NDArray[np.int64]) -> Seeds:
    """A seed for each sample of a pass, all different.

    Args:
        pass_key: Key of the pass through the source (`pass_key_of`).
        shards_B: The samples' shards.
        rows_B: Their places in these.
    """
    return stream(pass_key, (shards_B.astype(np.uint64) << np.uint64(_ROW_BITS)) | rows_B.astype(np.uint64))


def pass_key_of(collaboration: bytes, source: int, number: int) -> int:
    """What all seeds of one pass through one source follow from.

    Args:
        collaboration: Its manifest's id.
        source: Place of the source in the manifest.
        number: Number of the pass, from 0 on.
    """
    return key_of(b"samples", collaboration, source, number)


def uniform(seeds: Seeds, indices: NDArray[np.int64]) -> NDArray[np.float64]:
    """Draws of samples, uniform in [0, 1): of each seed the one with that index; both are broadcast.

    A sample's n-th draw does not depend on which draws are asked for, nor on other samples.
    """
    return (_numbers(seeds, indices) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _numbers(seeds: Seeds | np.uint64, indices: NDArray[np.integer]) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        return _mixed(seeds + (indices.astype(np.uint64) + np.uint64(1)) * np.uint64(_STEP))


def _mixed(states: NDArray[np.uint64]) -> NDArray[np.uint64]:
    states = (states ^ (states >> np.uint64(30))) * _MIX_1
    states = (states ^ (states >> np.uint64(27))) * _MIX_2
    return states ^ (states >> np.uint64(31))
