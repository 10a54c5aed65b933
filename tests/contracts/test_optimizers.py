"""What every optimiser must do.

A new optimiser: one line in `OPTIMIZERS`, `VARIANTS` and `REFERENCES`, and, where it is exact, one in `DIGESTS`.
"""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from core.base.problems import BadInput
from core.base.schedule import learning_rate
from core.training.optimizers import OPTIMIZERS, optimizer_of
from core.training.optimizers.lamb import LambNumbers
from core.training.vectors.flat import FlatParameters
from tests.contracts.bounds import unbounded
from tests.contracts.variants import EXACT, MANIFEST, SCHEDULE, VARIANTS, checkpoints, gradients, made, numbers_of, take
from tests.unit.training.small import PlainLamb, SmallTask

NAMES = tuple(VARIANTS)
DIGESTS = {
    "lamb": "41c122d68fbc9523d6c6a4ca3def2e96",
    "lamb, bias outside": "ec9d0947f0c2988667e7ae14b6713397",
    "lamb, 8 bits": "ea5ca0de78d73fbe630f5784a931f845",
    "adamw, spike guard": "5b59ad896f2a1743cf770d8f210d71d8",
    "adamw": "706da4611a6f0ad4fd07c6b3b386512a",
    "adamw, 8 bits": "f8234201be62240f8570c6001d2c53b4",
    "sgd": "829a928446f568f5ec2f91acf9e64fb4",
    "sgd, larc": "04e15ba31900450737e2721484c5bba3",
}
"""Digests of the steps of `tests.contracts.step_digests`, by optimiser: a step gives these bits on every machine."""
EXTENSIONS = np.show_config(mode="dicts")["SIMD Extensions"]
"""Vector instructions that numpy can use beyond its baseline, from the oldest to the newest."""
HERE = EXTENSIONS.get("found", [])
MACHINES = [
    pytest.param({}, id="this machine"),
    pytest.param({"ATEN_CPU_CAPABILITY": "default"}, id="torch without vector instructions"),
    *(
        pytest.param({"NPY_DISABLE_CPU_FEATURES": ",".join(HERE[place:])}, id=f"numpy before {name}")
        for place, name in enumerate(HERE)
    ),
    *(
        pytest.param({}, id=f"numpy before {name}", marks=pytest.mark.skip(reason=f"this CPU has no {name}"))
        for name in EXTENSIONS.get("not found", [])
    ),
]
"""Computers of several generations, as variables of a child's environment."""
STEPS = 9
Reference = Callable[[list[torch.nn.Parameter], dict], Callable[[list[torch.Tensor]], None]]


def of_torch(make: Callable[[list[torch.nn.Parameter], dict], torch.optim.Optimizer]) -> Reference:
    """An optimiser of torch, with torch's own clipping, and the schedule set from outside."""

    def reference(parameters: list[torch.nn.Parameter], numbers: dict) -> Callable[[list[torch.Tensor]], None]:
        optimizer, epochs = make(parameters, numbers), iter(range(1000))
        kind = OPTIMIZERS[numbers["name"]].Numbers

        def step(gradients: list[torch.Tensor]) -> None:
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            torch.nn.utils.clip_grad_norm_(parameters, numbers["max_grad_norm"])
            rate = learning_rate(kind(**numbers), next(epochs))
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()

        return step

    return reference


def adamw(parameters: list[torch.nn.Parameter], numbers: dict) -> torch.optim.Optimizer:
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": 0.01},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=numbers["learning_rate"], betas=(0.9, 0.999), eps=1e-8)


def larc(parameters: list[torch.nn.Parameter], numbers: dict) -> torch.optim.Optimizer:
    """Gradients are scaled before the step, tensor by tensor, as Apex does without `clip`."""
    optimizer = torch.optim.SGD(parameters, lr=numbers["learning_rate"], momentum=0.9)

    def scale(*_: object) -> None:
        for parameter in parameters:
            decay = 0.01 if parameter.ndim > 1 else 0.0
            value, gradient = parameter.detach().norm(), parameter.grad.norm()
            if value and gradient:
                ratio = 0.2 * value / (gradient + decay * value + 1e-8)
                parameter.grad = (parameter.grad + decay * parameter.detach()) * ratio

    optimizer.register_step_pre_hook(scale)
    return optimizer


class PlainMuon(torch.optim.Optimizer):
    """Muon for matrices, whose singular values go through the polynomial one by one; AdamW of torch for all else."""

    def __init__(self, parameters: list[torch.nn.Parameter], numbers: dict) -> None:
        super().__init__(parameters, {"lr": numbers["learning_rate"]})
        self.momenta = {p: torch.zeros_like(p, dtype=torch.float64) for p in parameters if p.ndim > 1}
        others = [p for p in parameters if p.ndim < 2]
        self.adamw = torch.optim.AdamW(others, lr=1.0, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)

    @torch.no_grad()
    def step(self) -> None:
        rate = self.param_groups[0]["lr"]
        self.adamw.param_groups[0]["lr"] = 0.015 * rate
        self.adamw.step()
        for parameter, momentum in self.momenta.items():
            gradient = parameter.grad.double()
            momentum.copy_(0.95 * momentum + 0.05 * gradient)
            left, values, right = torch.linalg.svd(0.95 * momentum + 0.05 * gradient, full_matrices=False)
            values = values / values.square().sum().sqrt()
            for _ in range(5):
                values = 3.4445 * values - 4.775 * values**3 + 2.0315 * values**5
            rows, columns = parameter.shape
            update = max(1, rows / columns) ** 0.5 * left @ values.diag() @ right
            parameter.copy_((1 - 0.01 * rate) * parameter.double() - rate * update)


REFERENCES: dict[str, Reference] = {
    "lamb": lambda parameters, numbers: PlainLamb(parameters, LambNumbers(**numbers)).step,
    "lamb, bias outside": lambda parameters, numbers: PlainLamb(parameters, LambNumbers(**numbers)).step,
    "lamb, 8 bits": lambda parameters, numbers: PlainLamb(parameters, LambNumbers(**numbers)).step,
    "adamw": of_torch(adamw),
    "adamw, spike guard": of_torch(adamw),
    "adamw, 8 bits": of_torch(adamw),
    "sgd": of_torch(lambda p, numbers: torch.optim.SGD(p, lr=numbers["learning_rate"], momentum=0.9, nesterov=True)),
    "sgd, larc": of_torch(larc),
    "muon": of_torch(PlainMuon),
}
"""An independent implementation of each, with the numbers that `Numbers` has by default.

Eight bits change nothing here, where all parameters are small: `tests/unit/training/test_blockwise.py` has large ones.
"""


def test_every_optimizer_has_a_reference() -> None:
    assert tuple(REFERENCES) == NAMES
    assert {numbers["name"] for numbers in VARIANTS.values()} == set(OPTIMIZERS)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_steps_equal_those_of_the_reference(name: str, scale: float) -> None:
    optimizer, flat = made(name)
    theirs = list(SmallTask().model(1).parameters())
    reference = REFERENCES[name](theirs, numbers_of(name))
    for epoch, gradient_N in zip(range(STEPS), gradients(flat.numel, scale=scale), strict=False):
        reference([span.of(gradient_N.clone()) for span in flat.spans])
        optimizer.step(gradient_N, taken=epoch, epoch=epoch)
        expected = torch.cat([parameter.detach().flatten() for parameter in theirs])
        assert torch.allclose(flat.values_N, expected, rtol=1e-5, atol=1e-6), epoch


@pytest.mark.parametrize("name", NAMES)
def test_many_steps_stay_with_the_reference_in_double_precision(name: str) -> None:
    """Roundings to 24 bits stay below three millionths of the way that was gone."""
    optimizer, flat = made(name, total_epochs=500)
    start_N = flat.values_N.double()
    theirs = list(SmallTask().model(1).double().parameters())
    reference = REFERENCES[name](theirs, numbers_of(name, total_epochs=500))
    for epoch, gradient_N in zip(range(400), gradients(flat.numel), strict=False):
        reference([span.of(gradient_N.double()) for span in flat.spans])
        optimizer.step(gradient_N, taken=epoch, epoch=epoch)
    expected_N = torch.cat([parameter.detach().flatten() for parameter in theirs])
    assert torch.dist(flat.values_N.double(), expected_N) < 3e-6 * torch.dist(start_N, expected_N)


@functools.cache
def digests_on(machine: tuple[tuple[str, str], ...]) -> dict[str, dict]:
    """What `tests.contracts.step_digests` prints in a child with these variables in its environment."""
    child = subprocess.run(
        [sys.executable, "-m", "tests.contracts.step_digests", *EXACT],
        env=os.environ | dict(machine),
        capture_output=True,
        check=True,
    )
    return json.loads(child.stdout)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("machine", MACHINES)
def test_an_exact_step_has_the_same_bits_on_every_machine(name: str, machine: dict[str, str]) -> None:
    found = digests_on(tuple(machine.items()))
    assert not set(found["extensions"]) & set(machine.get("NPY_DISABLE_CPU_FEATURES", "").split(","))
    variations = found["digests"][name]
    assert variations == dict.fromkeys(variations, DIGESTS[name])


@pytest.mark.parametrize("name", NAMES)
def test_equal_gradients_give_equal_bits(name: str) -> None:
    (one, flat_one), (two, flat_two) = made(name), made(name)
    for optimizer, flat in ((one, flat_one), (two, flat_two)):
        take(optimizer, flat, range(STEPS))
    assert torch.equal(flat_one.values_N, flat_two.values_N)
    assert one.state.keys() == two.state.keys()
    assert all(torch.equal(one.state[key], two.state[key]) for key in one.state)


@pytest.mark.parametrize("name", NAMES)
def test_state_begins_at_zero_and_keeps_its_tensors(name: str) -> None:
    optimizer, flat = made(name)
    before = dict(optimizer.state)
    assert not any(tensor.any() for tensor in before.values())
    assert all("/" not in key and key != "parameters" for key in before)
    take(optimizer, flat, range(2))
    assert all(optimizer.state[key] is before[key] for key in optimizer.state)
    assert all(tensor.any() for tensor in optimizer.state.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_holds_the_state_by_name(name: str, tmp_path: Path) -> None:
    optimizer, flat = made(name)
    take(optimizer, flat, range(2))
    kept = load_file(checkpoints(tmp_path, optimizer, flat).save(2, MANIFEST).result().path)
    vectors = {key: tensor for key, tensor in optimizer.state.items() if tensor.shape == flat.values_N.shape}
    spans = {f"{key}/{span.name}": span.of(vector) for key, vector in vectors.items() for span in flat.spans}
    spans |= {key: tensor for key, tensor in optimizer.state.items() if key not in vectors}
    assert kept.keys() == spans.keys() | {f"parameters/{span.name}" for span in flat.spans}
    assert all(torch.equal(kept[key], tensor) for key, tensor in spans.items())


@pytest.mark.parametrize("name", NAMES)
def test_a_latecomer_with_the_checkpoint_steps_like_the_others(name: str, tmp_path: Path) -> None:
    (old, flat_old), (new, flat_new) = made(name), made(name)
    take(old, flat_old, range(4))
    path = checkpoints(tmp_path / "old", old, flat_old).save(4, MANIFEST).result().path
    checkpoints(tmp_path / "new", new, flat_new).load(path)
    for optimizer, flat in ((old, flat_old), (new, flat_new)):
        take(optimizer, flat, range(4, STEPS))
    assert torch.equal(flat_old.values_N, flat_new.values_N)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_moves_once_the_schedule_has_ended(name: str) -> None:
    optimizer, flat = made(name)
    before = flat.values_N.clone()
    optimizer.step(next(gradients(flat.numel)), taken=0, epoch=SCHEDULE["total_epochs"])
    assert torch.equal(flat.values_N, before)


@pytest.mark.parametrize("name", NAMES)
def test_steps_go_down_a_slope(name: str) -> None:
    """Half the squared distance to a point: its gradient is the way to that point."""
    optimizer, flat = made(name, learning_rate=0.01, max_grad_norm=1e9)
    goal_N = next(gradients(flat.numel, seed=8))
    before = torch.dist(flat.values_N, goal_N)
    for epoch in range(10):
        optimizer.step(flat.values_N - goal_N, taken=epoch, epoch=epoch)
    assert torch.dist(flat.values_N, goal_N) < before


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_number_has_both_bounds(name: str) -> None:
    assert not unbounded(OPTIMIZERS[name].Numbers)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "change", [{"learning_rate": 0}, {"learning_rate": 1e9}, {"learning_rate": "x"}, {"total_epochs": 0}, {"trick": 1}]
)
def test_numbers_out_of_bounds_are_refused(name: str, change: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="do not fit the optimiser"):
        made(name, **change)


@pytest.mark.parametrize("numbers", [{"name": "magic"}, {}, {"name": 7}])
def test_names_that_no_optimizer_has_are_refused(numbers: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="does not know the optimiser"):
        optimizer_of(numbers, FlatParameters(SmallTask().model(0)))
