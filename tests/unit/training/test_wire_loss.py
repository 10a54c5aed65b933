"""What u8 on the way to experts and back costs: losses after 500 steps, beside those with raw numbers.

Which experts a sample is given to changes with the smallest of differences, so that two runs differ by more than the
codec does; many seeds, and images with so much noise that losses stay far from 0, tell.
"""

from itertools import count
from statistics import fmean, stdev

import numpy as np
import pytest
import torch

from core.base.mixture import ExpertNumbers
from core.training.devices.precision import FP32
from core.training.flights.calls import LocalExperts
from core.training.flights.flights import Flights
from core.training.flights.passes import TrunkPasses
from core.training.vectors.flat import FlatParameters
from tests.unit.training.mixtures import KeptField, images, small_digits

NOISE = 250.0
STEPS, ROWS, SEEDS = 500, 32, 8


class SteppedField(KeptField):
    """Takes a step of Adam with each gradient."""

    def __init__(self, parameters: FlatParameters, batches) -> None:
        super().__init__(parameters, batches)
        self.trunk = torch.nn.Parameter(parameters.values_N)
        self.trunk.grad = torch.zeros_like(self.trunk)
        self.optimizer = torch.optim.Adam([self.trunk], 3e-3)

    def land(self, drawn, loss: float) -> bool:
        assert self.trunk.grad is not None
        self.trunk.grad.copy_(self.parameters.gradients_N)
        self.optimizer.step()
        self.epoch += 1
        return super().land(drawn, loss)


def held_out_loss(codec: str, seed: int, *, steps: int) -> float:
    sizes = {"layers": 2, "grid": (2, 4), "live": 8, "top": 2, "spare": 0, "width": 16, "factor": 2}
    numbers = ExpertNumbers(**sizes, codec=codec, step_rows=16)
    task = small_digits(numbers, held_out=2000, noise=NOISE)
    trunk = task.model(seed)
    drawn = (images(ROWS, 100_000 * seed + number, noise=NOISE) for number in count())
    field = SteppedField(FlatParameters(trunk), (task.batch(rows, np.zeros(ROWS, np.uint64)) for rows in drawn))
    experts = LocalExperts(numbers, bytes([seed]) * 32, device="cpu", clock=lambda: 0.0)
    flights = Flights(TrunkPasses(task, trunk, numbers, FP32), experts, field, most=1)
    while len(field.landed) < steps:
        flights.turn()
    flights.drop()
    flights.measure()
    while (found := flights.measured) is None:
        flights.turn(begin=False)
    return found.score.loss


@pytest.mark.long
def test_u8_costs_less_than_a_hundredth_of_the_loss() -> None:
    pairs = [[held_out_loss(codec, seed, steps=STEPS) for codec in ("raw", "u8")] for seed in range(1, SEEDS + 1)]
    ratios = [u8 / raw for raw, u8 in pairs]
    error = stdev(ratios) / SEEDS**0.5
    print(f"raw {fmean(raw for raw, _ in pairs):.4f}, u8 / raw {fmean(ratios):.4f} +- {error:.4f}")  # noqa: T201
    assert fmean(ratios) <= 1.01 + 2 * error


def test_u8_is_what_arrives_at_experts() -> None:
    raw, u8 = (held_out_loss(codec, 1, steps=5) for codec in ("raw", "u8"))
    assert raw != u8
    assert u8 == pytest.approx(raw, rel=0.05)
