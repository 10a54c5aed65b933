"""LAMB in its two ways, each against an independent implementation."""

import math

import pytest
import torch

from core.base.schedule import learning_rate
from core.training.optimizers.lamb import Lamb, LambNumbers
from core.training.vectors.flat import FlatParameters
from tests.unit.training.small import OPTIMIZER, PlainLamb, SmallTask

STEPS = 1000
SAHAJBERT = {"debias": "outside", "warmup_start": 0.0, "warmup_epochs": 50, "total_epochs": 1500, "beta2": 0.999}
"""As S000's code runs LAMB (its section 4.2), with a shorter schedule."""


class Theirs:
    """`torch_optimizer.Lamb` as S000's code sets it up, in double precision."""

    def __init__(self, parameters: list[torch.nn.Parameter], numbers: LambNumbers) -> None:
        library = pytest.importorskip("torch_optimizer", reason="torch-optimizer is a dependency of developers")
        groups = [
            {"params": [p for p in parameters if p.ndim > 1], "weight_decay": numbers.weight_decay},
            {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
        ]
        betas = (numbers.beta1, numbers.beta2)
        self.optimizer = library.Lamb(
            groups, lr=numbers.learning_rate, betas=betas, eps=1e-6, clamp_value=10_000, debias=True
        )
        from transformers.optimization import get_linear_schedule_with_warmup

        self.scheduler = get_linear_schedule_with_warmup(self.optimizer, numbers.warmup_epochs, numbers.total_epochs)
        self.parameters, self.norm = parameters, numbers.max_grad_norm

    def step(self, gradients: list[torch.Tensor]) -> None:
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient
        torch.nn.utils.clip_grad_norm_(self.parameters, self.norm)
        self.optimizer.step()
        self.scheduler.step()


def apart(numbers: LambNumbers, reference: type[PlainLamb] | type[Theirs]) -> list[float]:
    """How far a reference in double precision is from ours after each step, in units of the way that it has gone."""
    ours, theirs = SmallTask().model(1), SmallTask().model(1).double()
    flat = FlatParameters(ours)
    start_N = flat.values_N.double()
    lamb, plain = Lamb(numbers, flat), reference(list(theirs.parameters()), numbers)
    generator, found = torch.Generator().manual_seed(3), []
    for epoch in range(STEPS):
        gradient_N = torch.randn(flat.numel, generator=generator)
        plain.step([span.of(gradient_N.double()) for span in flat.spans])
        lamb.step(gradient_N, taken=epoch, epoch=epoch)
        expected_N = torch.cat([p.detach().flatten() for p in theirs.parameters()])
        way = float(torch.dist(start_N, expected_N))
        found.append(float(torch.dist(flat.values_N.double(), expected_N)) / (way or 1.0))
    return found


@pytest.mark.parametrize("reference", [Theirs, PlainLamb])
def test_lamb_with_bias_outside_is_that_of_sahajbert(reference: type[PlainLamb] | type[Theirs]) -> None:
    distances = apart(LambNumbers(**(OPTIMIZER | SAHAJBERT)), reference)
    assert distances[0] == 0  # the schedule begins at 0
    assert max(distances) < 1e-4  # of a way that is hardly longer than what float32 tells apart
    assert distances[-1] < 3e-6


def test_lamb_with_bias_inside_is_that_of_the_paper() -> None:
    numbers = LambNumbers(**(OPTIMIZER | {"total_epochs": 1500}))
    assert apart(numbers, PlainLamb)[-1] < 3e-6


@pytest.mark.parametrize(("step", "share"), [(1, 0.316), (10, 0.153), (100, 0.31), (1000, 0.80)])
def test_early_steps_are_shorter_with_bias_outside(step: int, share: float) -> None:
    """The same moments and the same parameters: only where the bias is removed differs."""
    moved = []
    for debias in ("inside", "outside"):
        torch.manual_seed(0)
        flat = FlatParameters(torch.nn.Linear(30, 20, bias=False))
        numbers = LambNumbers(name="lamb", warmup_epochs=0, total_epochs=10**9, weight_decay=0.0, debias=debias)
        lamb = Lamb(numbers, flat)
        gradient_N = torch.full((flat.numel,), 1 / math.sqrt(flat.numel))
        lamb.state["m"].copy_((1 - 0.9 ** (step - 1)) * gradient_N)  # what the same gradient leaves there each time
        lamb.state["v"].copy_((1 - 0.999 ** (step - 1)) * gradient_N**2)
        before_N = flat.values_N.clone()
        lamb.step(gradient_N, taken=step - 1, epoch=0)
        moved.append(float(torch.dist(before_N, flat.values_N)))
    assert moved[1] / moved[0] == pytest.approx(share, rel=0.02)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("clamp", [10_000.0, 0.5])
def test_lamb_follows_the_plain_algorithm(scale: float, clamp: float) -> None:
    numbers = LambNumbers(**(OPTIMIZER | {"clamp": clamp}))
    ours, theirs = SmallTask().model(1), SmallTask().model(1)
    flat = FlatParameters(ours)
    lamb, reference = Lamb(numbers, flat), PlainLamb(list(theirs.parameters()), numbers)
    generator = torch.Generator().manual_seed(3)
    for epoch in range(12):
        gradient_N = scale * torch.randn(flat.numel, generator=generator)
        reference.step([span.of(gradient_N.clone()) for span in flat.spans])
        lamb.step(gradient_N, taken=epoch, epoch=epoch)
        expected = torch.cat([p.detach().flatten() for p in theirs.parameters()])
        assert torch.allclose(flat.values_N, expected, rtol=1e-5, atol=1e-7), epoch


def test_the_rate_rises_and_falls_linearly() -> None:
    numbers = LambNumbers(name="lamb", learning_rate=0.4, warmup_epochs=4, total_epochs=12)
    rates = [learning_rate(numbers, epoch) for epoch in range(15)]
    assert rates[:4] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert rates[4:12] == pytest.approx([0.4 * left / 8 for left in range(8, 0, -1)])
    assert rates[12:] == [0, 0, 0]
    without = LambNumbers(name="lamb", learning_rate=0.4, warmup_epochs=0, total_epochs=10)
    assert learning_rate(without, 0) == pytest.approx(0.4)
