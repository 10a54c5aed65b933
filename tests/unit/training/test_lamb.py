import pytest
import torch

from core.base.schedule import learning_rate
from core.training.flat import FlatParameters
from core.training.optimizers.lamb import Lamb, LambNumbers
from tests.unit.training.small import OPTIMIZER, PlainLamb, SmallTask


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
