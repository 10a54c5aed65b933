"""What the contract suite tries: each optimiser of `OPTIMIZERS`, with the numbers that change what it does."""

from collections.abc import Iterator
from pathlib import Path

import torch

from core.base.content import digest
from core.training.optimizers import OPTIMIZERS, Optimizer, optimizer_of
from core.training.states.checkpoint import Checkpoints
from core.training.vectors.flat import FlatParameters
from tests.unit.training.small import SmallTask

VARIANTS: dict[str, dict[str, object]] = {
    "lamb": {"name": "lamb"},
    "lamb, bias outside": {"name": "lamb", "debias": "outside"},
    "lamb, 8 bits": {"name": "lamb", "bits": 8},
    "adamw": {"name": "adamw"},
    "adamw, spike guard": {"name": "adamw", "spike_guard": 6.0},
    "adamw, 8 bits": {"name": "adamw", "bits": 8},
    "sgd": {"name": "sgd"},
    "sgd, larc": {"name": "sgd", "nesterov": False, "weight_decay": 0.01, "trust": 0.2},
    "muon": {"name": "muon", "weight_decay": 0.01},
}
EXACT = tuple(title for title, numbers in VARIANTS.items() if OPTIMIZERS[str(numbers["name"])].exact)
SCHEDULE = {"learning_rate": 0.03, "warmup_epochs": 3, "total_epochs": 12, "max_grad_norm": 2.0}
MANIFEST = digest(b"manifest")


def numbers_of(name: str, **changes: object) -> dict[str, object]:
    return {**VARIANTS[name], **SCHEDULE, **changes}


def made(name: str, **changes: object) -> tuple[Optimizer, FlatParameters]:
    flat = FlatParameters(SmallTask().model(1))
    return optimizer_of(numbers_of(name, **changes), flat), flat


def gradients(numel: int, *, scale: float = 1.0, seed: int = 3) -> Iterator[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield scale * torch.randn(numel, generator=generator)


def take(optimizer: Optimizer, flat: FlatParameters, steps: range) -> None:
    """Steps with gradients that follow from their numbers."""
    stream = gradients(flat.numel)
    for epoch, gradient_N in zip(range(steps.stop), stream, strict=False):
        if epoch in steps:
            optimizer.step(gradient_N, taken=epoch, epoch=epoch)


def checkpoints(folder: Path, optimizer: Optimizer, flat: FlatParameters) -> Checkpoints:
    return Checkpoints(folder, manifest=MANIFEST, parameters=flat, state=optimizer.state, bounds=optimizer.bounds)
