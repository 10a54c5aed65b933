"""Muon against torch's own, whose products are in bfloat16, and against its rule for what is not a hidden matrix."""

import pytest
import torch

from core.training.optimizers import optimizer_of
from core.training.optimizers.muon import orthogonal
from core.training.vectors.flat import FlatParameters

PLAIN = {"name": "muon", "learning_rate": 0.02, "warmup_epochs": 0, "total_epochs": 10**9, "max_grad_norm": 1e12}
SHAPES = [(48, 96), (96, 48), (64, 64)]


class Net(torch.nn.Module):
    """A hidden matrix between an embedding and a head."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.embeddings = torch.nn.Embedding(40, 24)
        self.hidden = torch.nn.Linear(24, 32)
        self.norm = torch.nn.LayerNorm(32)
        self.head = torch.nn.Linear(32, 40)


def gradients(flat: FlatParameters, steps: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(flat.numel, generator=generator) for _ in range(steps)]


@pytest.mark.parametrize("shape", SHAPES)
def test_matrices_move_as_with_muon_of_torch(shape: tuple[int, int]) -> None:
    torch.manual_seed(4)
    linear = torch.nn.Linear(shape[1], shape[0], bias=False)
    theirs = torch.nn.Parameter(linear.weight.detach().clone())
    start = theirs.detach().clone()
    flat = FlatParameters(linear)
    ours = optimizer_of(PLAIN | {"weight_decay": 0.1}, flat)
    reference = torch.optim.Muon([theirs], lr=0.02, weight_decay=0.1, momentum=0.95, nesterov=True)
    for taken, gradient_N in enumerate(gradients(flat, 20)):
        theirs.grad = gradient_N.view(shape).clone()
        reference.step()
        ours.step(gradient_N, taken=taken, epoch=taken)
    assert torch.dist(linear.weight, theirs) < 0.02 * torch.dist(start, theirs)


@pytest.mark.parametrize("shape", SHAPES)
def test_all_directions_become_about_as_long(shape: tuple[int, int]) -> None:
    """The polynomial leaves singular values of a hundredth and more between 0.6 and 1.3, and does not turn any."""
    left, _, right = torch.linalg.svd(
        torch.randn(*shape, generator=torch.Generator().manual_seed(6)), full_matrices=False
    )
    values = torch.linspace(1.0, 0.1, min(shape))
    found = left.T @ orthogonal(left @ values.diag() @ right) @ right.T
    assert ((found.diag() > 0.6) & (found.diag() < 1.3)).all()
    assert (found - found.diag().diag()).abs().max() < 1e-3


def test_embeddings_heads_and_vectors_take_adamws_step() -> None:
    net, other = Net(), Net()
    flat = FlatParameters(net)
    ours = optimizer_of(PLAIN, flat)
    others = [p for name, p in other.named_parameters() if name != "hidden.weight"]
    reference = torch.optim.AdamW(others, lr=0.015 * 0.02, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    for taken, gradient_N in enumerate(gradients(flat, 20)):
        for span, parameter in zip(flat.spans, other.parameters(), strict=True):
            parameter.grad = span.of(gradient_N).clone()
        reference.step()
        ours.step(gradient_N, taken=taken, epoch=taken)
    expected = dict(other.named_parameters())
    for name, parameter in net.named_parameters():
        assert torch.allclose(parameter, expected[name], rtol=1e-5, atol=1e-6) == (name != "hidden.weight"), name
    hidden = net.hidden.weight.numel()
    sizes = {name: tensor.numel() for name, tensor in ours.state.items()}
    assert sizes == {"momentum": hidden, "m": flat.numel - hidden, "v": flat.numel - hidden}


def test_manifest_names_what_takes_adamws_step() -> None:
    flat = FlatParameters(Net())
    assert "momentum" not in optimizer_of(PLAIN | {"adamw": "hidden, embed,head"}, flat).state
    everything = optimizer_of(PLAIN | {"adamw": ""}, flat).state
    assert everything["momentum"].numel() == 40 * 24 + 24 * 32 + 32 * 40
