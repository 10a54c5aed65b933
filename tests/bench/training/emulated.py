"""The paper's own emulation of late updates (Learning@home, section 4.2), written anew from its description."""

import heapq
from collections.abc import Iterable
from random import Random

import numpy as np
import torch
from torch import nn

from core.tasks.digits_cutting import CLASSES
from core.tasks.experts.blocks import feed_forward
from tests.bench.training.digit_runs import LAYERS, PIXELS, RATE, TOP, WIDTH, Images, Outcome, Setting, last_tenth


class Emulated(nn.Module):
    """All of a model that is not an expert; the dense one has four blocks of four times the work."""

    def __init__(self, experts: int, seed: int) -> None:
        super().__init__()
        self.into = nn.Linear(PIXELS, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))
        self.gates = nn.ModuleList(nn.Linear(WIDTH, experts // LAYERS) for _ in range(LAYERS if experts else 0))
        self.dense = nn.ModuleList(feed_forward(WIDTH, 9) for _ in range(0 if experts else LAYERS))
        self.last = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES))
        self.experts = [[feed_forward(WIDTH, 4) for _ in range(experts // LAYERS)] for _ in range(LAYERS)]
        self.random = Random(seed)

    def forward(self, pixels: torch.Tensor, failures: float = 0.0) -> torch.Tensor:
        """Scores of the classes.

        Args:
            pixels: From 0 to 1.
            failures: Share of the experts that do not answer this batch.
        """
        x: torch.Tensor = self.into(pixels)
        for layer, norm in enumerate(self.norms):
            rows = norm(x)
            if self.dense:
                x = x + self.dense[layer](rows)
                continue
            scores = self.gates[layer](rows)
            gone = torch.tensor([self.random.random() < failures for _ in range(scores.shape[1])])
            best, chosen = scores.masked_fill(gone, -torch.inf).topk(TOP, dim=1)
            mixed, weights = torch.zeros_like(x), best.softmax(1)
            for expert in torch.unique(chosen).tolist():
                row, column = (chosen == expert).nonzero(as_tuple=True)
                answers = self.experts[layer][expert](rows[row])
                mixed = mixed.index_add(0, row, weights[row, column].unsqueeze(1) * answers)
            x = x + mixed
        found: torch.Tensor = self.last(x)
        return found


class LateUpdates:
    """Updates of what all workers share, each of which comes later by a latency of its own.

    Args:
        parameters: What is shared.
        setting: Number of workers, and the mean latency.
        seed: Draws the latencies.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], setting: Setting, seed: int) -> None:
        self._parameters = list(parameters)
        self._optimizer = torch.optim.Adam(self._parameters, RATE, amsgrad=True, fused=True)
        self._setting, self._random = setting, Random(seed)
        self._coming: list[tuple[float, int, list[torch.Tensor]]] = []
        self._count = 0
        self._now = 0.0

    def begin(self) -> None:
        """Take the next update, if all workers are busy; then nothing stands in the gradients."""
        if self._count >= self._setting.workers:
            self._now, _, gradients = heapq.heappop(self._coming)
            for parameter, gradient in zip(self._parameters, gradients, strict=True):
                parameter.grad = gradient
            self._optimizer.step()
        for parameter in self._parameters:
            parameter.grad = None

    def end(self) -> None:
        """Send what stands in the gradients."""
        own = [torch.zeros_like(each) if each.grad is None else each.grad.clone() for each in self._parameters]
        late_s = self._random.expovariate(1 / self._setting.latency_s)
        heapq.heappush(self._coming, (self._now + late_s, self._count, own))
        self._count += 1


def emulated(setting: Setting, images: Images, *, seed: int, batches: int) -> Outcome:
    """A run of the paper's emulation.

    Args:
        setting: What is tried.
        images: What is learned.
        seed: All chance follows from it.
        batches: Number of batches.
    """
    torch.manual_seed(seed)
    model = Emulated(setting.experts, seed)
    updates = LateUpdates(model.parameters(), setting, seed)
    of_experts = [
        [torch.optim.Adam(expert.parameters(), RATE, amsgrad=True, fused=True) for expert in layer]
        for layer in model.experts
    ]
    source, losses = images.batches(seed), []
    for _ in range(batches):
        updates.begin()
        rows = torch.from_numpy(next(source).astype(np.int64))
        loss = nn.functional.cross_entropy(model(rows[:, 1:].float() / 255, setting.failures), rows[:, 0])
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss.item())
        for layer in of_experts:
            for one in layer:
                if any(each.grad is not None for group in one.param_groups for each in group["params"]):
                    one.step()
                    one.zero_grad()
        updates.end()
    with torch.no_grad():
        held = torch.from_numpy(images.held.astype(np.int64))
        scores = model(held[:, 1:].float() / 255)
    right = (scores.argmax(1) == held[:, 0]).double().mean().item()
    loss_held = nn.functional.cross_entropy(scores, held[:, 0]).item()
    return Outcome(accuracy=right, loss=loss_held, training_loss=last_tenth(losses))
