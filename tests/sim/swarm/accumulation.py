"""What a simulated worker has computed and not handed over, or handed over and not seen averaged."""

from core.swarm.words.states import StateName
from tests.sim.swarm.samples import Stretch

BATCH = 4
"""Samples that a worker computes at a time."""


class Accumulation:
    """Samples of one worker, which trains or stands still.

    Args:
        life: The worker's life.
        speed: Samples a second.
        at: The state that it holds.
    """

    def __init__(self, life: int, *, speed: float, at: StateName) -> None:
        self._life = life
        self._speed = speed
        self._at = at
        self._samples = 0
        """Computed at the state that is held, and not absorbed; the stint that goes on is not counted yet."""
        self._first = 0
        """Computed at this state before those, and absorbed or under way."""
        self._kept: tuple[Stretch, ...] = ()
        """Computed at the state before, and to be contributed with the next ones."""
        self._out: tuple[Stretch, ...] | None = None
        """The contribution that is being averaged, if computing goes on."""
        self._training_since: float | None = None

    @property
    def training(self) -> bool:
        """Whether samples are being computed."""
        return self._training_since is not None

    @property
    def out(self) -> bool:
        """Whether a contribution is being averaged while computing goes on."""
        return self._out is not None

    def count(self, now: float) -> int:
        """Number of samples accumulated since the last contribution that went out or mean that was absorbed."""
        since = self._training_since
        return self._samples + (0 if since is None else int((now - since) * self._speed / BATCH) * BATCH)

    def aside(self) -> int:
        """Number of samples in the contribution that is out, or else those of the state before."""
        return sum(stretch.samples for stretch in (self._kept if self._out is None else self._out))

    def train(self, now: float) -> None:
        """Compute from now on."""
        self._training_since = now

    def pause(self, now: float) -> None:
        """Stand still."""
        self._samples = self.count(now)
        self._training_since = None

    def stretches(self) -> tuple[Stretch, ...]:
        """Return the stretches of the next contribution, as long as nothing is trained."""
        new = (Stretch(self._life, self._at, self._first, self._samples),) if self._samples else ()
        return (*self._kept, *new)

    def give_out(self) -> None:
        """The next contribution is out: what is computed from now on counts for the one after it."""
        self._out, self._kept = self.stretches(), ()
        self._first, self._samples = self._first + self._samples, 0

    def take_back(self, now: float) -> None:
        """A contribution that is out counts again, with all that came meanwhile."""
        if self._out is not None:
            self.pause(now)
            self._kept = tuple(stretch for stretch in self._out if stretch.at != self._at)
            again = sum(stretch.samples for stretch in self._out if stretch.at == self._at)
            self._first, self._samples, self._out = self._first - again, self._samples + again, None

    def hold(self, at: StateName, *, kept: tuple[Stretch, ...] = ()) -> None:
        """Another state is held; of what was computed before, only `kept` counts for it."""
        self._at = at
        self._samples, self._first, self._kept, self._out = 0, 0, kept, None
        self._training_since = None
