"""Local steps: peers train by themselves for a while, then average how far each has come.

Federated averaging (McMahan et al. 2017) with an outer optimiser (Reddi et al. 2021), as in DiLoCo (Douillard et al.
2023).  A round carries as much as one of gradients does, and there is one for `steps` local steps.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, ClassVar

import torch
from msgspec import Meta

from core.base.manifest import Name, Number
from core.base.problems import BadInput
from core.training.optimizers import Optimizer, optimizer_of
from core.training.rules.rule import GradientSum, RuleNumbers, refuse_infinite
from core.training.vectors.flat import FlatParameters


class LocalNumbers(RuleNumbers, frozen=True, kw_only=True):
    """What a manifest says about local steps."""

    steps: Annotated[int, Meta(ge=1, le=10_000)] = 16
    """Local steps of a peer in one round, at most: H."""
    samples: Annotated[int, Meta(ge=1, le=1_000_000)] = 128
    """Samples of one local step."""
    optimizer: Annotated[dict[Name, Number], Meta(max_length=40)]
    """The optimiser of local steps, by `name`, and its numbers; its schedule counts epochs like every other."""


class LocalSteps:
    """Contributes the way back from where local steps have led to the shared parameters: a pseudo-gradient.

    A local step is taken whenever `samples` are there.  The last of the `steps` is taken when the contribution is
    handed over, with all samples since the one before: a fast peer's last step has a larger batch, so that it goes no
    farther away than the others, none of its samples is lost, and it never waits.  The local optimiser's state is this
    peer's own: it outlives rounds, but not the process.

    The manifest's optimiser takes one step with the mean.
    """

    Numbers: ClassVar[type[RuleNumbers]] = LocalNumbers

    def __init__(
        self, numbers: LocalNumbers, parameters: FlatParameters, optimizer: Optimizer, *, overlaps: bool
    ) -> None:
        if overlaps:
            raise BadInput(
                "Local steps cannot go on while a round is averaged, as this collaboration's manifest wants.",
                hint="Ask the organiser for one without `delayed`.",
            )
        self._numbers = numbers
        self._parameters = parameters
        self._outer = optimizer
        self._inner = optimizer_of(numbers.optimizer, parameters)
        self._shared_N = parameters.values_N.clone()
        self._batch = GradientSum(torch.zeros_like(parameters.values_N))
        self.batch_max: int | None = numbers.samples
        """A batch with the samples of several local steps would lead to one."""
        self.single = None
        """The way that several steps have led has no noise scale."""
        self.epoch = 0
        """Steps that the collaboration has taken to where the parameters stand."""
        self._steps = 0
        """Local steps since the shared state."""
        self._taken = 0
        """Local steps since the start of the process."""
        self._stepped = 0
        """Samples of the local steps since the shared state."""
        self._stepped_loss = 0.0
        """Their losses added up."""
        self.ahead = 0

    @property
    def samples(self) -> int:
        """Samples added since the shared state, those of local steps included."""
        return self._stepped + self._batch.samples

    @property
    def loss(self) -> float:
        """Their mean loss, each at the parameters of its own local step; 0 while there are none."""
        return (self._stepped_loss + self._batch.loss) / self.samples if self.samples else 0.0

    @property
    def dropped(self) -> int:
        """Batches whose gradient was not finite, since the start."""
        return self._batch.dropped

    @property
    def vectors(self) -> list[torch.Tensor]:
        """The shared parameters, and the batch of the next local step."""
        return [self._shared_N, self._batch.gradients_N]

    def begin(self, epoch: int) -> None:
        """Forget the way that was gone: the parameters now stand at the shared state."""
        self._shared_N.copy_(self._parameters.values_N)
        self._parameters.gradients_N.zero_()
        self._batch.clear()
        self.epoch, self._steps, self._stepped, self._stepped_loss = epoch, 0, 0, 0.0

    def add(self, *, samples: int, loss: float) -> bool:
        """Add one batch's gradient, and take a local step if it is due; returns whether the batch counted."""
        counted = self._batch.add(self._parameters.gradients_N, samples=samples, loss=loss)
        if self._batch.samples >= self._numbers.samples and self._steps < self._numbers.steps - 1:
            self._step()
        return counted

    def take(self, other: GradientSum) -> None:
        """Add what another device has added up, to the next local step."""
        self._batch.take(other)

    def hand_over(self) -> torch.Tensor:
        """Take the last local step; then shared parameters less local ones, shape (N,)."""
        if self._batch.samples:
            self._step()
        return (self._shared_N - self._parameters.values_N).cpu()

    def take_back(self) -> None:
        """Nothing to do: the local parameters stay where they are, and the next contribution starts there."""

    def absorb(self, mean_N: torch.Tensor) -> None:
        """Go back to the shared parameters, and take the outer optimiser's step from there.

        Raises:
            WorkerProblem: the mean is not finite; nothing has changed.
        """
        refuse_infinite(mean_N)
        self._parameters.values_N.copy_(self._shared_N)
        self._outer.step(mean_N, taken=self.epoch, epoch=self.epoch)
        self.begin(self.epoch + 1)

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Put the shared parameters in the place of the local ones for a while."""
        local_N = self._parameters.values_N.clone()
        self._parameters.values_N.copy_(self._shared_N)
        try:
            yield
        finally:
            self._parameters.values_N.copy_(local_N)

    def _step(self) -> None:
        self._inner.step(self._batch.mean().cpu(), taken=self._taken, epoch=self.epoch)
        self._steps += 1
        self._taken += 1
        self._stepped += self._batch.samples
        self._stepped_loss += self._batch.loss
        self._batch.clear()
