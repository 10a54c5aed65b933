"""A child process of the contract suite: the digests of what optimisers make of fixed steps, as JSON.

    python -m tests.contracts.step_digests NAME ...

Each optimiser steps several times over, on one and on two threads, with its arrays at several places in memory.  All
numbers that go in come from integers, so they have the same bits on every machine.
"""

import hashlib
import json
import sys

import numpy as np
import torch

from core.training.optimizers import optimizer_of
from core.training.vectors.flat import FlatParameters
from tests.contracts.variants import EXACT, VARIANTS

SCALES = (2.0**-9, 2.0**-70, 2.0**40, 1.0, 2.0**-4, 2.0**-12, 2.0**-1, 2.0**-6)
"""Scales of the gradient, step by step: squares underflow with the second, the third is clipped."""
FIRST_STEP = 40
NUMBERS = {"learning_rate": 0.03, "warmup_epochs": 43, "total_epochs": 300, "max_grad_norm": 1.7}


class Uneven(torch.nn.Module):
    """Parameters that fill neither blocks nor vector registers."""

    def __init__(self) -> None:
        super().__init__()
        shapes = {"one": (1,), "matrix": (389, 107), "bias": (387,), "small": (3, 5), "scale": (1001,)}
        for name, shape in shapes.items():
            self.register_parameter(name, torch.nn.Parameter(torch.zeros(shape)))


def numbers_between(low: float, high: float, *, count: int, generator: np.random.Generator) -> torch.Tensor:
    """Numbers of an even distribution."""
    steps = generator.integers(0, 2**24, count, dtype=np.int32).astype(np.float32)
    return torch.from_numpy(steps * np.float32((high - low) / 2**24) + np.float32(low))


def moved(tensor_N: torch.Tensor, places: int) -> torch.Tensor:
    """A copy so many numbers behind an aligned address."""
    return torch.empty(len(tensor_N) + places, dtype=tensor_N.dtype)[places:].copy_(tensor_N)


def step_digest(name: str, *, places: int = 0) -> str:
    """The digest of parameters and state after the steps.

    Args:
        name: Of the variant.
        places: How far the arrays lie from aligned addresses, in numbers.
    """
    generator = np.random.Generator(np.random.PCG64(7))
    flat = FlatParameters(Uneven())
    flat.values_N.copy_(numbers_between(-0.5, 0.75, count=flat.numel, generator=generator))
    optimizer = optimizer_of({**VARIANTS[name], **NUMBERS}, flat)
    for tensor_N in (flat.values_N, *optimizer.state.values()):
        tensor_N.set_(moved(tensor_N, places))
    for epoch, scale in enumerate(SCALES, FIRST_STEP):
        gradient_N = numbers_between(-scale, scale, count=flat.numel, generator=generator)
        gradient_N[: flat.numel // 5] = 0
        optimizer.step(moved(gradient_N, places), taken=epoch - FIRST_STEP, epoch=epoch)
    digest = hashlib.blake2b(digest_size=16)
    for _, tensor_N in sorted({**optimizer.state, "parameters": flat.values_N}.items()):
        assert torch.isfinite(tensor_N).all()
        digest.update(tensor_N.numpy().tobytes())
    return digest.hexdigest()


def main(names: list[str]) -> None:
    """Write the digests by variant and variation, and the vector instructions that numpy uses."""
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for threads, distances in ((1, (0, 1, 2, 7)), (2, (1,))):
        torch.set_num_threads(threads)
        for name in names:
            for places in distances:
                found[name][f"{threads} threads, {places} places off"] = step_digest(name, places=places)
    extensions = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    sys.stdout.write(json.dumps({"extensions": extensions, "digests": found}))


if __name__ == "__main__":
    main(sys.argv[1:] or list(EXACT))
