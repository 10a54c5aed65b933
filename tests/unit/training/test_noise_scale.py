"""The noise scale of gradients whose mean and covariance are known."""

import numpy as np
import pytest
import torch

from core.training.rules.rule import GradientSum
from core.training.vectors.noise_scale import NoiseScale, SquaredNorm

NUMEL = 40


@pytest.mark.parametrize(("spread", "batch", "target"), [(2.0, 8, 64), (10.0, 4, 512), (0.5, 16, 48)])
def test_noise_scale_is_the_covariance_over_the_gradient(spread: float, batch: int, target: int) -> None:
    """Samples are drawn from a normal distribution; the closed form is tr(S) / |G|^2."""
    generator = np.random.default_rng(5)
    true_N = generator.normal(size=NUMEL)
    deviations_N = spread * generator.uniform(0.2, 2.0, NUMEL)
    noise = NoiseScale()
    assert noise.samples is None
    found = []
    for _ in range(300):
        samples_TN = true_N + deviations_N * generator.normal(size=(target, NUMEL))
        single = np.mean([np.square(part.mean(0)).sum() for part in np.split(samples_TN, target // batch)])
        noise.add(SquaredNorm(float(single), batch), SquaredNorm(float(np.square(samples_TN.mean(0)).sum()), target))
        found.append(noise.samples)
    expected = np.square(deviations_N).sum() / np.square(true_N).sum()
    assert np.median(found[50:]) == pytest.approx(expected, rel=0.1)


def test_unequal_batches_count_by_their_samples() -> None:
    """Each batch's squared norm is |G|^2 + tr(S) / n on average; here it is exactly that."""
    gradient, noise, sizes = 3.0, 24.0, (1, 2, 5)
    added = GradientSum(torch.zeros(1))
    for size in sizes:
        length = (gradient + noise / size) ** 0.5
        assert added.add(torch.tensor([length]), samples=size, loss=0.0)
    scale = NoiseScale()
    scale.add(added.single, SquaredNorm(gradient + noise / 100, 100))
    assert scale.samples == pytest.approx(noise / gradient, rel=1e-6)
    added.take(GradientSum(torch.zeros(1), samples=8, squares=8 * (gradient + noise / 8), batches=1))
    scale.add(added.single, SquaredNorm(gradient + noise / 100, 100))
    assert scale.samples == pytest.approx(noise / gradient, rel=1e-6)
    added.clear()
    assert added.single is None


def test_nothing_is_told_by_one_size_or_by_noise_alone() -> None:
    noise = NoiseScale()
    noise.add(SquaredNorm(2.0, 8), SquaredNorm(1.0, 8))
    assert noise.samples is None
    noise.add(SquaredNorm(8.0, 1), SquaredNorm(0.5, 8))
    assert noise.samples is None
