"""How many samples one forward and backward pass takes: a matter of each machine, for gradients add up exactly.

It is found while training, and nothing is computed in vain: a size that is tried trains like any other.
"""

import math
import sys
from collections import defaultdict
from collections.abc import Callable
from statistics import median
from typing import Final

import psutil

from core.base.problems import WorkerProblem
from core.training.kept import BatchFit

TIMINGS: Final = 8
"""Passes of one size that are timed before it is judged; their median counts."""
GAIN: Final = 1.1
"""So much faster per sample is a size that is worth its memory."""
PASS_S: Final = 0.25
"""A pass may take so long: a round, a pause and the end of a batch wait for it."""
AGAIN: Final = 2000
"""Passes after which a size is looked for anew: the computer may have been busy with something else."""
FREE_SHARE: Final = 0.5
"""Of the memory that is free, what passes may take: the person's programs need some, too."""
_SAID: Final = ("out of memory", "can't allocate memory", "alloc_failed")
"""What the allocators of processor, MPS and CUDA's libraries say, who have no exception of their own for it."""


def lacked_memory(error: Exception) -> bool:
    """Whether an exception of torch says that memory ran out."""
    return isinstance(error, MemoryError) or any(words in str(error).lower() for words in _SAID)


def samples_that_fit(sample_bytes: int) -> float:
    """How many more samples a pass on the processor may take now.

    Linux ends a process that takes more memory than there is, so the processor's is looked at before; a graphics
    card's runs out with an exception.

    Args:
        sample_bytes: Of each.
    """
    return float(FREE_SHARE * psutil.virtual_memory().available / max(sample_bytes, 1))


class MicroBatch:
    """Doubles the size while samples come faster, and halves it where a pass takes too long or memory runs short.

    It begins with one sample, and goes from there to the task's number if that takes no longer than a pass may; or
    where it was the last time.  Where memory does not suffice for one sample, layers are recomputed.  Batches are made
    ahead, so those of an earlier size still come for a while: each timing counts for its own size.

    Args:
        first: The size that suits most machines, at least 1.
        most: The largest size, so that the samples of a step are not overshot by much.
        room: How many more samples there is memory for now.
        found: The last time; None: nothing yet.
    """

    def __init__(
        self,
        first: int,
        *,
        most: int,
        room: Callable[[], float] = lambda: math.inf,
        found: BatchFit | None = None,
    ) -> None:
        fits, self._more = room(), room
        self._first, self._most, self._limit = max(1, min(first, most)), most, most
        self.recompute = fits < 1
        """Whether layers are computed again in the backward pass, so that a sample takes less memory."""
        self.size = int(max(1, min(found.size, most, fits))) if found else 1
        """Samples of the batches that are made from now on."""
        self.room = math.inf
        """Samples of a batch for which memory has not run out."""
        self._speeds: dict[int, list[float]] = defaultdict(list)
        self._best = self.size
        self._settled = found is not None
        self._passes = 0
        """Since it settled."""

    @property
    def fit(self) -> BatchFit | None:
        """What was found; None while it is looked for."""
        return BatchFit(self.size) if self._settled else None

    def took(self, samples: int, seconds: float) -> None:
        """A pass over so many samples took so long."""
        if self._settled:
            self._passes += 1
            if self._passes >= AGAIN and self.room == math.inf:
                self._begin_anew()
            return
        if samples != self.size:
            return
        speeds = self._speeds[samples]
        speeds.append(samples / max(seconds, 1e-9))
        if len(speeds) >= TIMINGS:
            self._judge()

    def ran_out(self, samples: int) -> None:
        """Memory did not suffice for so many samples: from now on it is half of them, and no more.

        Where it was a single one, layers are recomputed from now on.

        Raises:
            WorkerProblem: they are already.
        """
        if samples > 1:
            self.room = self._most = samples // 2
            self.size = min(self.size, self._most)
            self._settled = True
            sys.stderr.write(f"Memory did not suffice for {samples} samples at once; now there are {self.size}.\n")
            return
        if self.recompute:
            raise WorkerProblem(
                "This computer's memory does not suffice to train this model.",
                hint="Close other programs, or choose another device: potluck settings device cpu",
            )
        self.recompute = True
        self.room, self._most = math.inf, self._limit
        self._begin_anew()
        sys.stderr.write("Memory did not suffice for one sample; from now on its layers are computed twice.\n")

    def _begin_anew(self) -> None:
        self._speeds.clear()
        self._passes, self._settled = 0, False

    def _judge(self) -> None:
        speed = {size: median(speeds) for size, speeds in self._speeds.items() if len(speeds) >= TIMINGS}
        if self.size / speed[self.size] > PASS_S and self.size > 1:
            self.size = self._best = self.size // 2
            self._settled = self.size in speed
        elif self.size < self._best or (self.size > self._best and speed[self.size] < GAIN * speed[self._best]):
            self.size, self._settled = self._best, True
        else:
            self._best = self.size
            grown = self._grown(speed[self.size])
            self._settled = grown == self.size or grown in speed
            self.size = self.size if self._settled else grown

    def _grown(self, samples_per_s: float) -> int:
        """The size that is tried next: from one sample straight to what suits most machines, else twice as many."""
        grown = max(2, self._first) if self.size == 1 else 2 * self.size
        fits = min(self._most, PASS_S * samples_per_s, self.size + self._more())
        while grown > max(fits, self.size):
            grown //= 2
        return grown
