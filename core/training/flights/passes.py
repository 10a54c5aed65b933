"""The trunk's part of a pass, stage by stage; each stage is computed anew for the backward pass.

A model that is cut where experts answer gives the gradients of one whole graph: what goes into a stage, what experts
have answered and what comes back from them is all that passes from one stage to another.

Letters of shapes: R rows, W numbers of a row, K experts that a row is given to.
"""

# ruff: noqa: N803, N806, N815 - names of arrays end in their shapes

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from core.base.mixture import ExpertNumbers
from core.experts.grid import ExpertGrid
from core.experts.queue import CallKind
from core.tasks.experts.gate import PlaceScores, mixed
from core.tasks.experts.stages import MixtureTask
from core.tasks.task import Batch, Evaluation
from core.training.devices.precision import Precision
from core.training.experts.bounds import NORM_MAX, NORM_RATIO_MAX, UsualNorm
from core.training.flights.calls import AskExpert

SIZE_RATIO_MAX: Final = 4.0
"""A row of an answer that is larger, in usual ones, is scaled down to this."""
SIZE_RATIO_BLAMED: Final = 100.0
"""A host whose rows are larger than that is asked less often, where a gradient is not finite; honest ones had 33."""
NONE: Final = -1
"""In the place of a place: no expert."""


@dataclass(slots=True)
class Passed:
    """What a flight keeps of a layer."""

    x: torch.Tensor
    """What goes into it."""
    rows_RW: torch.Tensor
    """What its experts get."""
    places_RK: torch.Tensor
    """Numbers of the experts that were asked, the best of each row first."""
    answers_RKW: torch.Tensor
    answered_RK: torch.Tensor
    versions: dict[int, int] = field(default_factory=dict)
    """By place: version of the expert that has answered."""

    def settle(self, top: int) -> bool:
        """Let no more than the best `top` answers of each row count; returns whether each row has one."""
        self.answered_RK &= self.answered_RK.cumsum(1) <= top
        return bool(self.answered_RK.any(1).all().item())


Answer = tuple[AskExpert, torch.Tensor]
"""A call, and the rows that have come back."""


class AnswerBounds:
    """How large answers are in one layer, and what they may count for: any numbers may come from a stranger.

    The size of a row is its norm; backward the ratio of its norm to that of the gradient that was sent.  What the worst
    host gains: a row counts for as much as one of `SIZE_RATIO_MAX` times the usual size.  What is usual is the median
    over places of the median of each one's last rows, so hosts of less than half of the places do not move it.
    """

    def __init__(self) -> None:
        self._usual = {kind: UsualNorm() for kind in CallKind}

    def bounded(self, answers: Sequence[Answer]) -> tuple[list[Answer], list[int]]:
        """Scale rows down to what one may count for.

        Args:
            answers: Those of one stage of a flight, which are all forward or all backward, and finite.

        Returns:
            The answers, and the calls of those that no honest expert gives.
        """
        sizes = [_sizes(ask, found_rW) for ask, found_rW in answers]
        for (ask, _), sizes_r in zip(answers, sizes, strict=True):
            self._usual[ask.kind].heard(b"%d" % ask.place, sizes_r.clip(max=NORM_MAX).astype(np.float32))
        bounded: list[Answer] = []
        blamed: list[int] = []
        for (ask, found_rW), sizes_r in zip(answers, sizes, strict=True):
            usual = self._usual[ask.kind].most / NORM_RATIO_MAX
            most = min(SIZE_RATIO_MAX * usual, NORM_MAX)
            is_above_r = sizes_r > most
            if is_above_r.any():
                if sizes_r.max() > SIZE_RATIO_BLAMED * usual:
                    blamed.append(ask.call)
                scales_r = np.where(is_above_r, most / np.maximum(sizes_r, most), 1)
                found_rW = found_rW * torch.from_numpy(scales_r).to(found_rW).unsqueeze(1)  # noqa: PLW2901
            bounded.append((ask, found_rW))
        return bounded, blamed


class TrunkGradient:
    """The gradient of the trunk's parameters, as it grows; parameters that nothing has reached take no memory.

    Args:
        parameters: The model's, in their order.
    """

    def __init__(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        self._parameters = parameters
        self._found: list[torch.Tensor | None] = [None] * len(parameters)

    def of(
        self, outputs: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Add what a stage gives to it, and return the gradients of the stage's inputs.

        Args:
            outputs: Of the stage.
            gradients: Theirs.
            inputs: Of the stage.
        """
        wanted = [*inputs, *self._parameters]
        found = torch.autograd.grad(outputs, wanted, gradients, allow_unused=True)
        for place, gradient in enumerate(found[len(inputs) :]):
            if gradient is not None:
                own = self._found[place]
                self._found[place] = gradient if own is None else own + gradient
        return [
            torch.zeros_like(one) if gradient is None else gradient
            for one, gradient in zip(inputs, found[: len(inputs)], strict=True)
        ]

    def put(self, factor: float) -> None:
        """Add it, times a factor, to the gradients that stand in the parameters."""
        for parameter, gradient in zip(self._parameters, self._found, strict=True):
            if gradient is not None:
                assert parameter.grad is not None
                parameter.grad.add_(gradient, alpha=factor)


class TrunkPasses:
    """What a trunk computes between the answers of experts.

    Args:
        task: Has the stages.
        model: The trunk.
        numbers: The mixture's.
        precision: Precision of the stages.
    """

    def __init__(self, task: MixtureTask, model: torch.nn.Module, numbers: ExpertNumbers, precision: Precision) -> None:
        self._task = task
        self._model = model
        self._stages = task.stages(model)
        self._precision = precision
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.numbers = numbers
        self.bounds = [AnswerBounds() for _ in range(numbers.layers)]
        """By layer: what answers of its experts may count for."""
        self.choices = PlaceScores(ExpertGrid(numbers.grid, numbers.live))
        self._shares: list[torch.Tensor | None] = [None] * numbers.layers
        """By layer: how the gate has chosen in the batches before."""

    @property
    def sample_bytes(self) -> int:
        """What a flight keeps of one sample."""
        return self._task.sample_bytes

    @property
    def held_out(self) -> Sequence[Batch]:
        """Batches of what nobody learns from."""
        return self._task.held_out

    def measured(self, found: Sequence[torch.Tensor]) -> Evaluation:
        """How well the model does, by what comes out of its last layer for each batch that is held out."""
        return self._task.measured(self._model, found)

    def gradient(self) -> TrunkGradient:
        """A gradient that nothing was added to."""
        return TrunkGradient(self._parameters)

    def first(self, batch: Batch) -> torch.Tensor:
        """What goes into the first layer."""
        with torch.no_grad(), self._computing():
            return self._stages.first(batch).float()

    def offer(self, layer: int, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The rows for a layer's experts, and the gate's scores."""
        with torch.no_grad(), self._computing():
            rows_RW, scores_RG = self._stages.gate(layer, x)
        return rows_RW.float(), scores_RG.float()

    def onward(self, layer: int, passed: Passed) -> torch.Tensor:
        """What goes into the next layer, by the experts' answers."""
        with torch.no_grad(), self._computing():
            return self._after(layer, passed, passed.x, passed.answers_RKW)[0].float()

    def last(self, x: torch.Tensor, batch: Batch, found: TrunkGradient) -> tuple[float, torch.Tensor]:
        """The loss that people are shown, and the gradient of what comes out of the last layer.

        Gradients are those of the sum of the samples' losses from here on.
        """
        x = x.detach().requires_grad_()
        with self._computing():
            losses = self._task.stages(self._model).last(x, batch)
        objective = losses.objective
        (gradient,) = found.of([objective], [objective.new_full((), batch.samples)], [x])
        return float(losses.reported.item()), gradient

    def back(
        self, layer: int, passed: Passed, gradient: torch.Tensor, found: TrunkGradient
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Go back through what follows a layer's experts.

        Args:
            layer: Number of the layer.
            passed: What is kept of it.
            gradient: Gradient of what goes into the next layer.
            found: Grows.

        Returns:
            The gradient of what goes into this layer, without what its experts will add; and that of their answers.
        """
        x, answers_RKW = passed.x.detach().requires_grad_(), passed.answers_RKW.detach().requires_grad_()
        with self._computing():
            onward, scores_RG = self._after(layer, passed, x, answers_RKW)
        imbalance, self._shares[layer] = self.choices.imbalance(scores_RG, self._shares[layer])
        weight = imbalance.new_full((), self.numbers.balance * len(x))
        to_x, to_answers = found.of([onward.float(), imbalance], [gradient, weight], [x, answers_RKW])
        return to_x, to_answers

    def back_rows(self, layer: int, x: torch.Tensor, gradient_RW: torch.Tensor, found: TrunkGradient) -> torch.Tensor:
        """Go back through what makes the rows for experts; returns the gradient of what goes into the layer."""
        x = x.detach().requires_grad_()
        with self._computing():
            rows_RW, _ = self._stages.gate(layer, x)
        return found.of([rows_RW.float()], [gradient_RW], [x])[0]

    def back_first(self, batch: Batch, gradient: torch.Tensor, found: TrunkGradient) -> None:
        """Go back through the first stage."""
        with self._computing():
            x = self._stages.first(batch)
        found.of([x.float()], [gradient], [])

    def _after(
        self, layer: int, passed: Passed, x: torch.Tensor, answers_RKW: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """What goes into the next layer, and the gate's scores."""
        _, scores_RG = self._stages.gate(layer, x)
        scores_RG = scores_RG.float()
        scores_RK = self.choices.of(scores_RG, passed.places_RK.clamp(min=0))
        return self._stages.after(layer, x, mixed(scores_RK, passed.answered_RK, answers_RKW)), scores_RG

    def _computing(self) -> torch.autocast:
        return self._precision.computing(next(iter(self._parameters)).device)


def _sizes(ask: AskExpert, found_rW: torch.Tensor) -> NDArray[np.float64]:
    """The size of each row of an answer."""
    sizes_r = torch.linalg.vector_norm(found_rW, dim=1, dtype=torch.float64)
    if ask.gradient_rW is not None:
        sizes_r = sizes_r / torch.linalg.vector_norm(ask.gradient_rW, dim=1, dtype=torch.float64).clamp(min=1e-30)
    sizes: NDArray[np.float64] = sizes_r.cpu().numpy()
    return sizes
