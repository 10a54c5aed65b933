"""One expert at its host: answers rows, and learns from the gradients of its answers within bounds."""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from core.base.mixture import ExpertNumbers, ExpertOptimizer
from core.training.experts.bounds import (
    STALE_BUCKETS,
    VERSION_MAX,
    Rows,
    UpdateShares,
    UsualNorm,
    row_norms,
    stale_bucket,
)

FUSED: Final = frozenset({"cpu", "cuda"})
"""Kinds of devices on which torch takes the step of all tensors in one pass."""


@dataclass(frozen=True, slots=True)
class GradientCall:
    """A trainer's gradients in a batch: which rows, whose they are, and how old their forward answer is."""

    rows: slice
    account: bytes
    counted: bool
    seen: int


class NotFiniteRows(Exception):  # noqa: N818 - an outcome, not an error
    """What an expert gives for some rows is not finite; it has learned nothing of their batch.

    Args:
        finite: For each row, whether it is.
    """

    def __init__(self, finite: Sequence[bool]) -> None:
        super().__init__("not finite")
        self.finite = finite


class HostedExpert:
    """One expert: answers rows, and learns from the gradients of its answers.

    Args:
        module: Its block.
        numbers: The manifest's.
        device: Where it computes, as torch calls it.
        usual: The usual norm of gradients in its layer.
    """

    def __init__(self, module: torch.nn.Module, numbers: ExpertNumbers, *, device: str, usual: UsualNorm) -> None:
        self.module = module.to(device)
        self.version = 0
        """Number of updates that have led to it, on this computer and others."""
        self.updates = 0
        """Number of updates that it has taken here."""
        self.stale = [0] * STALE_BUCKETS
        """Number of backward calls by how late they were (`stale_bucket`)."""
        self.clipped_rows = self.weightless_rows = 0
        self._numbers = numbers
        self._device = device
        self._usual = usual
        self._parameters = list(self.module.parameters())
        self._optimizer = _optimizer(self._parameters, numbers.optimizer, device)
        self._shares = UpdateShares(rows=numbers.step_rows, calls=numbers.step_calls)

    def forward(self, x_RN: Rows) -> Rows:
        """The expert's answers to rows, shape (R, N).

        Raises:
            NotFiniteRows: some have none.
        """
        with torch.no_grad():
            y_RN = self.module(torch.from_numpy(x_RN).to(self._device))
        _check(y_RN)
        return _numpy(y_RN)

    def backward(self, x_RN: Rows, g_RN: Rows, calls: Sequence[GradientCall], *, now: float) -> Rows:
        """The gradient of rows, shape (R, N), as autograd gives it; the expert learns within its bounds.

        Args:
            x_RN: The rows.
            g_RN: The gradient of their answers, that of the sum of the samples' losses.
            calls: Whose rows they are; all rows are somebody's.
            now: Seconds of a clock that only goes forward.

        Raises:
            NotFiniteRows: some have no answer; nothing was learned.
        """
        x = torch.from_numpy(x_RN).to(self._device).requires_grad_()
        g = torch.from_numpy(g_RN).to(self._device)
        y = self.module(x)
        _check(y)
        scales_R = self._scales(g_RN, calls, now)
        if scales_R.min() == 1:
            y.backward(g)
            assert x.grad is not None
            dx = x.grad
        else:
            # Rows that weigh nothing are answered all the same, so the rows' gradient and the parameters' differ.
            (dx,) = torch.autograd.grad(y, x, g, retain_graph=True)
            if scales_R.any():
                y.backward(g * torch.from_numpy(scales_R).to(self._device)[:, None], inputs=self._parameters)
        if self._shares.is_due:
            self._step()
        return _numpy(dx)

    @property
    def is_finite(self) -> bool:
        """Whether all of its parameters are finite numbers."""
        return all(bool(torch.isfinite(parameter).all()) for parameter in self._parameters)

    def tensors(self) -> dict[str, torch.Tensor]:
        """Its parameters by name; they change with it."""
        return dict(self.module.state_dict())

    def set_to(self, tensors: Mapping[str, torch.Tensor], version: int) -> None:
        """Go on from these parameters, by name, with an optimiser that remembers nothing."""
        self.module.load_state_dict(tensors)
        self._optimizer = _optimizer(self._parameters, self._numbers.optimizer, self._device)
        self._clear()
        self.version = version

    def move(self, device: str) -> None:
        """Go to a device, with what the optimiser remembers."""
        self.module.to(device)
        for parameter in self._parameters:
            if parameter.grad is not None:
                parameter.grad = parameter.grad.to(device)
        self._optimizer.load_state_dict(self._optimizer.state_dict())  # takes it to where the parameters are
        self._device = device

    def _scales(self, g_RN: Rows, calls: Sequence[GradientCall], now: float) -> Rows:
        """By how much each row counts for the update: its norm, its age, and its account's share bound it."""
        norms_R = row_norms(g_RN)
        for call in calls:
            self._usual.heard(call.account, norms_R[call.rows])
        scales_R = self._usual.scales(norms_R)
        self.clipped_rows += int((scales_R < 1).sum())
        for call in calls:
            late = self.version - call.seen
            self.stale[stale_bucket(late)] += 1
            rows, weight = call.rows.stop - call.rows.start, 0.0
            if late <= self._numbers.staleness:
                size = self._usual.size(norms_R[call.rows])
                weight = self._shares.weight(call.account, rows, size=size, counted=call.counted, now=now)
            self.weightless_rows += rows if weight == 0 else 0
            scales_R[call.rows] *= np.float32(weight)
        return scales_R

    def _step(self) -> None:
        """Take the update by the mean gradient; one that is not finite is dropped."""
        gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        norm = float(torch.nn.utils.get_total_norm(gradients)) / self._shares.total
        if math.isfinite(norm):
            numbers = self._numbers.optimizer
            factor = min(1.0, numbers.max_grad_norm / max(norm, 1e-30)) / self._shares.total
            torch._foreach_mul_(gradients, factor)
            warmth = min(1.0, (self.version + 1) / max(1, numbers.warmup_updates))
            for group in self._optimizer.param_groups:
                group["lr"] = numbers.learning_rate * warmth
            self._optimizer.step()
            self.version = min(self.version + 1, VERSION_MAX)
            self.updates += 1
        self._clear()

    def _clear(self) -> None:
        self._optimizer.zero_grad(set_to_none=False)
        self._shares.updated()


def _optimizer(
    parameters: Sequence[torch.nn.Parameter], numbers: ExpertOptimizer, device: str
) -> torch.optim.Optimizer:
    fused = device.partition(":")[0] in FUSED
    rate, decay = numbers.learning_rate, numbers.weight_decay
    if numbers.name == "sgd":
        return torch.optim.SGD(parameters, lr=rate, momentum=numbers.momentum, weight_decay=decay, fused=fused)
    betas = (numbers.beta1, numbers.beta2)
    return torch.optim.AdamW(parameters, lr=rate, betas=betas, eps=numbers.epsilon, weight_decay=decay, fused=fused)


def _check(y_RN: torch.Tensor) -> None:
    y_RN = y_RN.detach()
    if math.isfinite(float(y_RN.sum())):
        return  # so are all, at a tenth of the cost of looking at each
    finite_R = torch.isfinite(y_RN).all(dim=1)
    if not bool(finite_R.all()):
        raise NotFiniteRows(finite_R.tolist())


def _numpy(rows_RN: torch.Tensor) -> Rows:
    rows: Rows = rows_RN.detach().cpu().numpy()
    return rows
