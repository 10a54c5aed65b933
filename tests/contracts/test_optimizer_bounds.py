"""What every optimiser's tensors can hold: a stranger's state beyond that is refused."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from core.base.problems import Damaged
from core.training.optimizers import optimizer_of
from core.training.vectors.flat import FlatParameters
from tests.contracts.variants import MANIFEST, VARIANTS, checkpoints, made, numbers_of, take

NAMES = tuple(VARIANTS)


def bounded_tensors() -> Iterator[tuple[str, int, str]]:
    for name in NAMES:
        for width in (3, 128):  # eight bits are for parameters of 4,096 numbers and more
            optimizer = optimizer_of(numbers_of(name), FlatParameters(torch.nn.Linear(width, width)))
            yield from ((name, width, tensor) for tensor in optimizer.bounds)


def test_second_moments_have_bounds() -> None:
    found = {(name, tensor) for name, _, tensor in bounded_tensors() if tensor.startswith("v")}
    plain = {(name, "v") for name in NAMES if not name.startswith("sgd") and not name.endswith("8 bits")}
    eight = {(name, tensor) for name in NAMES if name.endswith("8 bits") for tensor in ("v_scales", "v_small")}
    assert found == plain | eight


@pytest.mark.parametrize(("name", "width", "tensor"), [*bounded_tensors()])
@pytest.mark.parametrize("end", [0, 1])
def test_state_beyond_its_bounds_is_refused(name: str, width: int, tensor: str, end: int, tmp_path: Path) -> None:
    """One number of a stranger's file; what is held stays."""
    flat = FlatParameters(torch.nn.Linear(width, width))
    optimizer = optimizer_of(numbers_of(name), flat)
    edge = np.float32(optimizer.bounds[tensor][end])
    beyond = np.nextafter(edge, np.float32((-1) ** (end + 1) * np.inf))
    optimizer.state[tensor].view(-1)[-1] = float(edge if np.isfinite(edge) else np.finfo(np.float32).max)
    kept = checkpoints(tmp_path / "held", optimizer, flat)
    kept.load(kept.save(1, MANIFEST).result().path)
    optimizer.state[tensor].view(-1)[-1] = float(beyond)
    path = checkpoints(tmp_path / "given", optimizer, flat).save(2, MANIFEST).result().path
    optimizer.state[tensor].view(-1)[-1] = 0.0
    before = {key: held.clone() for key, held in optimizer.state.items()}
    with pytest.raises(Damaged, match="something else than this model's state"):
        kept.load(path)
    assert all(torch.equal(optimizer.state[key], held) for key, held in before.items())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_no_honest_state_is_beyond_its_bounds(name: str, scale: float, tmp_path: Path) -> None:
    flat = FlatParameters(torch.nn.Linear(128, 128))
    optimizer, rising = optimizer_of(numbers_of(name, total_epochs=500), flat), torch.ones(flat.numel)
    for epoch in range(60):
        optimizer.step(scale * rising, taken=epoch, epoch=epoch)
    kept = checkpoints(tmp_path, optimizer, flat)
    kept.load(kept.save(60, MANIFEST).result().path)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("sgd")])
@pytest.mark.parametrize("end", [0, 1])
def test_steps_from_every_edge_lead_to_numbers(name: str, end: int) -> None:
    optimizer, flat = made(name)
    for tensor, bounds in optimizer.bounds.items():
        optimizer.state[tensor].fill_(max(-1e38, min(1e38, bounds[end])))
    take(optimizer, flat, range(1))
    assert torch.isfinite(flat.values_N).all()
