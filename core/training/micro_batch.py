"""How many samples one forward and backward pass takes: a matter of each machine, for gradients add up exactly.

It is found while training, and nothing is computed in vain: a size that is tried trains like any other.
"""

import math
import sys
from collections import defaultdict
from statistics import median
from typing import Final

from core.base.problems import WorkerProblem

TIMINGS: Final = 8
"""Passes of one size that are timed before it is judged; their median counts."""
GAIN: Final = 1.1
"""So much faster per sample is a size that is worth its memory."""
PASS_S: Final = 0.25
"""A pass may take so long: a round, a pause and the end of a batch wait for it."""


AGAIN: Final = 2000
"""Passes after which a size is looked for anew: the computer may have been busy with something else."""
_SAID: Final = ("out of memory", "can't allocate memory", "alloc_failed")
"""What the allocators of processor, MPS and CUDA's libraries say, who have no exception of their own for it."""


def lacked_memory(error: Exception) -> bool:
    """Whether an exception of torch says that memory ran out."""
    return isinstance(error, MemoryError) or any(words in str(error).lower() for words in _SAID)


class MicroBatch:
    """Doubles the size while samples come faster, and halves it where a pass takes too long or memory runs short.

    Batches are made ahead, so those of an earlier size still come for a while: each timing counts for its own size.

    Args:
        first: The size to begin with, at least 1.
        most: The largest size, so that the samples of a step are not overshot by much.
    """

    def __init__(self, first: int, *, most: int) -> None:
        self.size = max(1, min(first, most))
        """Samples of the batches that are made from now on."""
        self._most = most
        self.room = math.inf
        """Samples of a batch for which memory has not run out."""
        self._speeds: dict[int, list[float]] = defaultdict(list)
        self._best = self.size
        self._settled = False
        self._passes = 0
        """Since it settled."""

    def took(self, samples: int, seconds: float) -> None:
        """A pass over so many samples took so long."""
        if self._settled:
            self._passes += 1
            if self._passes >= AGAIN and self.room == math.inf:
                self._speeds.clear()
                self._passes, self._settled = 0, False
            return
        if samples != self.size:
            return
        speeds = self._speeds[samples]
        speeds.append(samples / max(seconds, 1e-9))
        if len(speeds) >= TIMINGS:
            self._judge()

    def ran_out(self, samples: int) -> None:
        """Memory did not suffice for so many samples: from now on it is half of them, and no more.

        Raises:
            WorkerProblem: it was a single one.
        """
        if samples == 1:
            raise WorkerProblem(
                "This computer's memory does not suffice to train this model.",
                hint="Close other programs, or choose another device: potluck settings device cpu",
            )
        self.room = self._most = samples // 2
        self.size = min(self.size, self._most)
        self._settled = True
        sys.stderr.write(f"Memory did not suffice for {samples} samples at once; now there are {self.size}.\n")

    def _judge(self) -> None:
        speed = {size: median(speeds) for size, speeds in self._speeds.items() if len(speeds) >= TIMINGS}
        if self.size / speed[self.size] > PASS_S and self.size > 1:
            self.size = self._best = self.size // 2
            self._settled = self.size in speed
        elif self.size < self._best or (self.size > self._best and speed[self.size] < GAIN * speed[self._best]):
            self.size, self._settled = self._best, True
        else:
            self._best = self.size
            grown = 2 * self.size
            fits = grown <= self._most and grown / speed[self.size] <= PASS_S
            self._settled = not fits or grown in speed
            self.size = self.size if self._settled else grown
