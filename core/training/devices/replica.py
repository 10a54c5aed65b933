"""The model on one device, and all that computes gradients with it there."""

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import torch

from core.api.settings import CPU
from core.base.content import digest
from core.tasks.task import Batch, Task
from core.training.devices.backprop import Backprop
from core.training.devices.devices import title_of
from core.training.devices.micro_batch import KeptFits, MicroBatch, lacked_memory, samples_that_fit
from core.training.devices.precision import precision_on
from core.training.samples.read_ahead import ReadAhead
from core.training.samples.samples import Drawn, Samples
from core.training.vectors.flat import FlatParameters

SPEED_MEMORY: Final = 0.1
"""Weight of the newest batch in the smoothed speed."""
MADE_S: Final = 0.25
"""How long a pass waits for a smaller batch in the place of one that memory does not suffice for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """What passes have in common on all devices of a worker."""

    task: Task
    model: Callable[[], torch.nn.Module]
    """Makes one; its parameters are those of the first device."""
    samples: Samples
    samples_max: int
    """Upper bound on the samples of one pass."""
    precision: str
    """The manifest's."""
    fits: Path
    """The file in which the sizes of passes are kept."""
    clock: Callable[[], float]
    """Seconds that only go forward."""


class Adds(Protocol):
    """Takes the gradient of one batch that a pass has left in the parameters, and clears it."""

    def __call__(self, drawn: Drawn[Batch], loss: float) -> bool:
        """Add it, weighted by the batch's samples; returns whether it was finite, so that it counted."""


class Replica:
    """A model on one device.  It computes in one thread at a time, and batches are made for it in another one.

    Args:
        passes: What is the same on other devices.
        model: Lies on the device.
        parameters: The model's, as vectors.
        device: As torch calls it.
    """

    def __init__(self, passes: Passes, model: torch.nn.Module, parameters: FlatParameters, device: str) -> None:
        task = passes.task
        precision = precision_on(device, passes.precision).precision
        self.device = device
        """As torch calls it."""
        self.parameters = parameters
        self.backprop = Backprop(task, model, parameters, precision)
        """Computes gradients."""
        self.compiles = False
        """Whether layers shall be compiled, once it is known how many samples a pass takes."""
        self._fits = KeptFits(passes.fits, _about_fit(parameters, device, precision.name))
        self.micro_batch = MicroBatch(
            task.micro_batch,
            most=passes.samples_max,
            room=partial(samples_that_fit, task.sample_bytes) if device == CPU else lambda: math.inf,
            found=self._fits.fit,
        )
        """How many samples a pass takes on this device."""
        self.data: ReadAhead[Drawn[Batch]] = ReadAhead(partial(passes.samples.of, self.micro_batch.next_size))
        """The device's batches, made from its `start` on."""
        self.samples_per_s = 0.0
        self.idle_s = 0.0
        """How long passes have waited for other devices so far."""
        self._passes = passes
        self._samples = passes.samples
        self._clock = passes.clock
        self._works_here = device == CPU and sys.platform != "win32"
        """Whether the time of the thread that computes tells the work of a pass; Windows counts it in 16 ms."""

    def another(self, device: str) -> "Replica":
        """The same on another device; its parameters are still to be set.

        Raises:
            RuntimeError: it cannot be used, or has no room.
        """
        model = self._passes.model().to(device)
        return Replica(self._passes, model, FlatParameters(model), device)

    def compute(self, add: Adds) -> bool:
        """Compute one batch's gradient and have it added.

        Args:
            add: Called when the gradient stands in the parameters.

        Returns:
            Whether it counted: a gradient that is not finite does not, nor one for which memory did not suffice.

        Raises:
            BadInput: there is nothing to learn from.
            WorkerProblem: memory does not suffice for a single sample.
        """
        began, waited_s = self._clock(), self.data.waited_s + self.idle_s
        worked = time.thread_time()
        drawn = next(self.data)
        batch = drawn.batch
        while batch.samples > self.micro_batch.room:  # made before memory ran short
            self._samples.put_back(drawn.rows)
            if not self.data.wait(MADE_S):
                return False
            drawn = next(self.data)
            batch = drawn.batch
        try:
            if self.micro_batch.recompute:
                self.backprop.recompute()
            counted = add(drawn, self.backprop.run(batch))
            if not counted:  # not finite: it would be drawn for ever
                self._samples.use(drawn.rows)
        except (RuntimeError, MemoryError) as error:
            self._samples.put_back(drawn.rows)
            if not lacked_memory(error):
                raise
            self.parameters.gradients_N.zero_()
            if torch.accelerator.is_available():
                torch.accelerator.empty_cache()
            self.micro_batch.ran_out(batch.samples)
            return False
        seconds = self._clock() - began
        work_s = time.thread_time() - worked if self._works_here else None
        self.micro_batch.took(batch.samples, seconds - (self.data.waited_s + self.idle_s - waited_s), work_s)
        if self.compiles and self.micro_batch.fit is not None:
            self.backprop.compile()
            self.compiles = False
        self.measure(batch.samples, seconds)
        return counted

    def keep_fit(self) -> None:
        """Keep what was found out about the size of a pass for the next start; replicas share the file."""
        if self.micro_batch.fit is not None:
            self._fits.keep(self.micro_batch.fit)

    def measure(self, samples: int, seconds: float) -> None:
        """Let the time of a batch count for the smoothed speed."""
        speed = samples / max(seconds, 1e-9)
        old = self.samples_per_s
        self.samples_per_s = (
            speed if not old else math.exp((1 - SPEED_MEMORY) * math.log(old) + SPEED_MEMORY * math.log(speed))
        )


def _about_fit(parameters: FlatParameters, device: str, precision: str) -> str:
    """What is found out about passes is about this model on this device, in this version of torch."""
    model = digest(repr(parameters.spans).encode()).hex()[:16]
    return " / ".join((title_of(device), precision, f"torch {torch.__version__}", f"model {model}"))
