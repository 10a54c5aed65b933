"""How many samples one forward and backward pass takes: a matter of each machine, for gradients add up exactly.

It is found while training, and nothing is computed in vain: a size that is tried trains like any other.
"""

import contextlib
import math
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec
import psutil
from msgspec import Meta

from core.base.problems import Problem, WorkerProblem
from core.system.atomic_files import make_directory, read_bounded, write_atomic

TIMINGS: Final = 8
"""Passes of one size that are timed before it is judged; the fastest counts, for other programs only slow them down."""
GAIN: Final = 1.1
"""Gain in speed per sample for which a size is worth its memory."""
PASS_S: Final = 0.25
"""Upper bound on a pass's work: a round, a pause and the end of a batch wait for it."""
BUSY_PASS_S: Final = 0.75
"""Upper bound on a pass's time beside other programs: a worker that takes a second to stand still is ended."""
AGAIN_S: Final = 60.0
"""Seconds of passes after which a size is looked for anew: the computer may have been busy with something else."""
FREE_SHARE: Final = 0.5
"""Part of the free memory that passes may take: the person's programs need some, too."""
_SAID: Final = ("out of memory", "can't allocate memory", "alloc_failed", "could not create a primitive")
"""What the allocators of processor, MPS and CUDA's libraries say, who have no exception of their own for it."""


def lacked_memory(error: Exception) -> bool:
    """Whether an exception of torch says that memory ran out."""
    return isinstance(error, MemoryError) or any(words in str(error).lower() for words in _SAID)


def samples_that_fit(sample_bytes: int) -> float:
    """How many more samples a pass on the processor may take now.

    Linux ends a process that takes more memory than there is, so the processor's is looked at before; a graphics
    card's runs out with an exception.

    Args:
        sample_bytes: Bytes of each sample.
    """
    return float(FREE_SHARE * psutil.virtual_memory().available / max(sample_bytes, 1))


class _Speed(NamedTuple):
    """Samples a second."""

    of_work: float
    of_time: float

    @property
    def most(self) -> float:
        """Samples that a pass may take at this speed."""
        return min(PASS_S * self.of_work, BUSY_PASS_S * self.of_time)


FITS_MAX: Final = 16
"""Upper bound on the entries for other devices, models and versions of torch; the last ones found stay."""
FILE_BYTES_MAX: Final = 64 * 1024


class BatchFit(msgspec.Struct, frozen=True):
    """How passes of one model are best computed on one device."""

    size: Annotated[int, Meta(ge=1, le=2**31)]
    """Samples of one pass."""


class KeptFits:
    """A file with a fit for each key.  It saves time and nothing else: where it cannot be used, one goes without.

    Args:
        path: The file.
        key: Names what the fit is about.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path = path
        self._key = key
        self.fit = self._read().get(key)
        """What was found last; None: nothing yet."""

    def keep(self, fit: BatchFit) -> None:
        """Write what was found, if it is new."""
        if fit == self.fit:
            return
        self.fit = fit
        others = {key: value for key, value in self._read().items() if key != self._key}
        kept = dict([*others.items(), (self._key, fit)][-FITS_MAX:])
        try:
            make_directory(self._path.parent)
            write_atomic(self._path, msgspec.json.format(msgspec.json.encode(kept)))
        except Problem as problem:
            sys.stderr.write(f"{problem}\n")

    def _read(self) -> dict[str, BatchFit]:
        with contextlib.suppress(Problem, ValueError):  # msgspec's errors are ValueErrors
            return msgspec.json.decode(read_bounded(self._path, FILE_BYTES_MAX) or b"{}", type=dict[str, BatchFit])
        return {}


class MicroBatch:
    """Doubles the size while samples come faster, then halves it while they come hardly slower than with the best one.

    It begins with one sample, and goes from there to the task's number if that takes no longer than a pass may; or
    where it was the last time.  Two sizes take turns until one of them is better, so that a computer that is slow for
    a while slows down both.  Where a pass's work is known besides its duration, that is compared: on a busy processor
    only short passes are ever left alone, so they would look faster.  Where memory does not suffice for one sample,
    layers are recomputed.  Batches are made ahead, so those of an earlier size still come for a while: each timing
    counts for its own size.

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
        """Samples of a pass, by what is known."""
        self.room = math.inf
        """Samples of a batch for which memory has not run out."""
        self._turn, self._settled = False, False
        self._begin_anew()
        self._settled = found is not None

    @property
    def fit(self) -> BatchFit | None:
        """What was found; None while it is looked for."""
        return BatchFit(self.size) if self._settled else None

    def next_size(self) -> int:
        """Samples of the batch that is made now."""
        self._turn = not self._turn
        return self._other if self._turn and not self._settled else self.size

    def fix(self, samples: int) -> None:
        """Have passes take a number of samples from now on, and look for no better size."""
        self.size = self._most = samples
        self.room, self._settled = float(samples), True

    def keep_within(self, room: Callable[[], float]) -> None:
        """Take no more samples than there is room for, besides what holds already.

        Args:
            room: How many more samples may be taken now.
        """
        fits, more = room(), self._more
        self._more = lambda: min(more(), room())
        self.recompute = self.recompute or fits < 1
        self.size = int(max(1, min(self.size, fits)))
        settled = self._settled
        self._begin_anew()
        self._settled = settled

    def took(self, samples: int, seconds: float, work_s: float | None = None) -> None:
        """Note the samples and the time of a pass.

        Args:
            samples: Number of the pass's samples.
            seconds: From its beginning to its end.
            work_s: Those in which it computed; None: all of them.
        """
        if self._settled:
            self._settled_s += seconds
            if self._settled_s >= AGAIN_S and self.room == math.inf:
                self._begin_anew()
            return
        self._timed[samples].append(_Speed(*(samples / max(s, 1e-9) for s in (work_s or seconds, seconds))))
        pair = [self._timed[size] for size in (self.size, self._other)]
        if min(map(len, pair)) >= TIMINGS:
            self._judge(*(_Speed(*map(max, zip(*speeds, strict=True))) for speeds in pair))

    def ran_out(self, samples: int) -> None:
        """Memory did not suffice for these samples: from now on a pass takes half of them, and no more.

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
        self._timed: dict[int, list[_Speed]] = defaultdict(list)
        self._other = self.size
        """With which the size takes turns; the size itself at first, until its speed is known."""
        self._compared = {self.size}
        self._settled = False
        self._settled_s = 0.0
        """Seconds of passes since it settled."""
        self._best = 0.0
        """The most samples a second of work, of all sizes that were tried."""

    def _judge(self, speed: "_Speed", other_speed: "_Speed") -> None:
        """Take the better of the two sizes, and find one to compare it with."""
        self._best = max(self._best, speed.of_work, other_speed.of_work)
        if self._other > self.size:
            better = other_speed.of_work >= GAIN * speed.of_work
        else:
            better = self.size > speed.most or GAIN * other_speed.of_work >= self._best
        grows = self._other >= self.size and better
        if better:
            self.size, speed = self._other, other_speed
        half = max(1, self.size // 2)
        self._other = self._grown(speed.most) if grows else half
        if self._other in self._compared:
            self._other = half
        self._settled = self._other in self._compared
        self._compared.add(self._other)
        self._timed.clear()

    def _grown(self, most: float) -> int:
        """The size that is tried next: from one sample straight to what suits most machines, else twice as many."""
        grown = max(2, self._first) if self.size == 1 else 2 * self.size
        fits = min(self._most, most, self.size + self._more())
        while grown > max(fits, self.size):
            grown //= 2
        return grown
