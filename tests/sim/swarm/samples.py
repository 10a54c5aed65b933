"""Simulated computing: samples in stretches, and the gradients that follow from them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.base.ids import PeerId
from core.swarm.words.states import StateName


@dataclass(frozen=True, slots=True)
class Stretch:
    """Samples that one worker computed one after the other, all with the same parameters."""

    life: int
    """The worker's life: drawn at its start."""
    at: StateName
    first: int
    """How many it had computed at this state before."""
    samples: int


@dataclass(frozen=True, slots=True)
class Contributed:
    """To the checkers: a worker hands over these samples, on top of this state."""

    before: StateName
    stretches: tuple[Stretch, ...]


def gradient(peer: PeerId, before: StateName, samples: int, numel: int, *, first: int = 0) -> NDArray[np.float32]:
    """A peer's contribution after some samples: it follows from these arguments alone, so a checker can make it again.

    Args:
        peer: The peer.
        before: Name of the state with the parameters.
        samples: Number of samples.
        numel: Length of the vector.
        first: Number of samples at this state in an earlier contribution.
    """
    place = first.to_bytes(8, "big") if first else b""
    name = hashlib.blake2b(peer + before.lineage + samples.to_bytes(8, "big") + place, digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(name, "big")).standard_normal(numel, dtype=np.float32)


def mean_gradient(peer: PeerId, stretches: Sequence[Stretch], numel: int) -> NDArray[np.float32]:
    """The contribution of a peer that has computed these stretches; zeros for none."""
    total = sum(stretch.samples for stretch in stretches)
    mean = np.zeros(numel, dtype=np.float32)
    for stretch in stretches:
        share = np.float32(stretch.samples / total)
        mean += share * gradient(peer, stretch.at, stretch.samples, numel, first=stretch.first)
    return mean
