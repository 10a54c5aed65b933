import msgspec
import pytest
import torch

from core.base.manifest import OptimizerNumbers
from core.base.problems import BadInput
from core.training.flat import FlatParameters
from core.training.optimizers import optimizer_of
from core.training.optimizers.lamb import Lamb, learning_rate
from tests.unit.training.small import OPTIMIZER, PlainLamb, SmallTask


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("clamp", [10_000.0, 0.5])
def test_against_the_plain_algorithm(scale: float, clamp: float) -> None:
    numbers = msgspec.structs.replace(OPTIMIZER, clamp=clamp)
    ours, theirs = SmallTask().model(1), SmallTask().model(1)
    flat = FlatParameters(ours)
    lamb, reference = Lamb(numbers, flat), PlainLamb(list(theirs.parameters()), numbers)
    generator = torch.Generator().manual_seed(3)
    for epoch in range(12):
        gradient_N = scale * torch.randn(flat.numel, generator=generator)
        reference.step([span.of(gradient_N.clone()) for span in flat.spans])
        lamb.step(gradient_N, epoch)
        expected = torch.cat([p.detach().flatten() for p in theirs.parameters()])
        assert torch.allclose(flat.values_N, expected, rtol=1e-5, atol=1e-7), epoch


def test_the_schedule() -> None:
    numbers = OptimizerNumbers(learning_rate=0.4, warmup_epochs=4, total_epochs=12)
    rates = [learning_rate(numbers, epoch) for epoch in range(15)]
    assert rates[:4] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert rates[4:12] == pytest.approx([0.4 * left / 8 for left in range(8, 0, -1)])
    assert rates[12:] == [0, 0, 0]
    without = OptimizerNumbers(learning_rate=0.4, warmup_epochs=0, total_epochs=10)
    assert learning_rate(without, 0) == pytest.approx(0.4)


def test_a_zero_gradient_moves_nothing_but_the_decay() -> None:
    model = SmallTask().model(1)
    flat = FlatParameters(model)
    before = flat.values_N.clone()
    Lamb(msgspec.structs.replace(OPTIMIZER, weight_decay=0.0), flat).step(torch.zeros(flat.numel), 0)
    assert torch.equal(flat.values_N, before)


def test_an_optimiser_that_nobody_knows() -> None:
    with pytest.raises(BadInput, match="'magic'"):
        optimizer_of(msgspec.structs.replace(OPTIMIZER, name="magic"), FlatParameters(SmallTask().model(0)))
