"""A task of a few numbers, and an independent LAMB."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from core.api.score import Score
from core.base.manifest import PAPER_LAMB, Manifest
from core.tasks.task import Evaluation, Losses
from core.training.learner import Learner
from core.training.optimizers.lamb import LambNumbers
from tests.unit.training.given_samples import GivenSamples

OPTIMIZER = PAPER_LAMB | {
    "learning_rate": 0.05,
    "beta2": 0.98,
    "weight_decay": 0.02,
    "max_grad_norm": 0.5,
    "warmup_epochs": 3,
    "total_epochs": 50,
}
LAMB = LambNumbers(**OPTIMIZER)
MANIFEST = Manifest(name="t", organiser="t", task="small", optimizer=OPTIMIZER, authority="00" * 32)


@dataclass(frozen=True)
class Points:
    x: torch.Tensor
    y: torch.Tensor

    @property
    def samples(self) -> int:
        return len(self.x)


class SmallTask:
    """Regression by a small network; seeds give batches of different sizes."""

    loss_name = "squared error"
    loss_unit = ""
    guesses = ""
    micro_batch = 8
    sample_tokens = 0

    def model(self, seed: int) -> torch.nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed % 2**31)
            return torch.nn.Sequential(
                torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 2)
            )

    sample_bytes = 0

    def layers(self, model: torch.nn.Module) -> list[torch.nn.Module]:
        return [model]

    def batches(self, seed: int, size: Callable[[], int] | None = None) -> Iterator[Points]:
        generator = torch.Generator().manual_seed(seed % 2**31)
        while True:
            count = int(torch.randint(1, 9, (), generator=generator))
            x = torch.randn(count, 6, generator=generator)
            yield Points(x, torch.stack([x[:, 0] * x[:, 1], x[:, 2].sin()], 1))

    def loss(self, model: torch.nn.Module, batch: Points) -> Losses:
        loss = (model(batch.x) - batch.y).square().sum(1).mean()
        return Losses(objective=loss, reported=loss.detach())

    def evaluate(self, model: torch.nn.Module) -> Evaluation:
        with torch.no_grad():
            loss = self.loss(model, next(self.batches(99))).reported.item()
            return Evaluation(Score(loss), {"zeros": Score(1.5)})


def ticking(step_s: float = 0.1):
    """A clock that goes on by itself."""
    now = [0.0]

    def clock() -> float:
        now[0] += step_s
        return now[0]

    return clock


def learner(
    states: Path,
    *,
    seed: int = 0,
    task: SmallTask | None = None,
    manifest: Manifest = MANIFEST,
    devices: Sequence[str] = ("cpu",),
) -> Learner:
    task = task or SmallTask()
    samples = GivenSamples(seed)
    return Learner(task=task, manifest=manifest, states=states, samples=samples, devices=devices, clock=ticking())


class PlainLamb:
    """LAMB tensor by tensor in double precision: the paper's algorithm 2, or the bias removed from the rate."""

    def __init__(self, parameters: list[torch.nn.Parameter], numbers: LambNumbers = LAMB) -> None:
        self.parameters = parameters
        self.numbers = numbers
        self.m = [torch.zeros_like(p, dtype=torch.float64) for p in parameters]
        self.v = [torch.zeros_like(p, dtype=torch.float64) for p in parameters]
        self.t = 0

    def step(self, gradients: list[torch.Tensor]) -> None:
        n = self.numbers
        self.t += 1
        norm = sum(float((g.double() ** 2).sum()) for g in gradients) ** 0.5
        shrink = min(1.0, n.max_grad_norm / norm)
        from_zero = n.warmup_start == 0.0
        warm = (self.t - from_zero) / n.warmup_epochs if self.t <= n.warmup_epochs else 1.0
        decay = (n.total_epochs - self.t + 1) / (n.total_epochs - n.warmup_epochs)
        rate = n.learning_rate * min(warm, decay, 1.0)
        for p, gradient, m, v in zip(self.parameters, gradients, self.m, self.v, strict=True):
            g = gradient.double() * shrink
            m.copy_(n.beta1 * m + (1 - n.beta1) * g)
            v.copy_(n.beta2 * v + (1 - n.beta2) * g * g)
            m_bias, v_bias, bias = 1 - n.beta1**self.t, 1 - n.beta2**self.t, 1.0
            if n.debias == "outside":
                m_bias, v_bias, bias = 1.0, 1.0, v_bias**0.5 / m_bias
            update = (m / m_bias) / ((v / v_bias) ** 0.5 + n.epsilon)
            w = p.detach().double()
            if p.ndim > 1:
                update = update + n.weight_decay * w
            w_norm, u_norm = min(float(w.norm()), n.clamp), float(update.norm())
            ratio = w_norm / u_norm if w_norm > 0 and u_norm > 0 else 1.0
            with torch.no_grad():
                p.copy_(w - rate * bias * ratio * update)
