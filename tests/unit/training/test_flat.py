import pytest
import torch

from core.training.vectors.flat import FlatParameters


def test_parameters_and_gradients_are_views_of_the_vectors() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4))
    before = [p.detach().clone() for p in model.parameters()]
    flat = FlatParameters(model)
    assert flat.numel == 12 + 4 + 4 + 4
    assert torch.equal(flat.values_N, torch.cat([p.flatten() for p in before]))
    x = torch.randn(5, 3)
    model(x).square().sum().backward()
    expected = torch.autograd.grad(model(x).square().sum(), list(model.parameters()))
    assert torch.allclose(flat.gradients_N, torch.cat([g.flatten() for g in expected]))
    flat.values_N.zero_()
    assert all(not p.any() for p in model.parameters())
    assert [span.name for span in flat.spans] == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert flat.spans[1].of(torch.arange(24.0)).tolist() == [12, 13, 14, 15]


def test_tied_parameters_are_counted_once() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    model[1].weight = model[0].weight
    assert FlatParameters(model).numel == 9 + 3 + 3


def test_only_float32_can_be_flat() -> None:
    with pytest.raises(ValueError, match="float32"):
        FlatParameters(torch.nn.Linear(2, 2).double())
    with pytest.raises(ValueError, match="parameters"):
        FlatParameters(torch.nn.ReLU())
