"""Samples for all devices of a worker: rows in the order of the walk, and what became of each.

drawn -> a batch -> counted, in a sum of gradients -> out, in a contribution -> used
             |               |                             |
             '---------------+-----------------------------'-> put back: its gradient was dropped

A round may average a contribution while this worker is suspended or dead, or may have failed for this worker alone.  So
rows that were out when their gradients were forgotten are *in doubt*, until the next state tells: its ledger counts
this peer's samples (`core.ledger.board`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from core.tasks.task import Task
from core.text.order.bookmark import Bookmark
from core.text.order.data_pass import DrawnRow

B = TypeVar("B")
Rows = Sequence[DrawnRow]
OFFERED_MAX: Final = 64
"""Contributions since the last step of which is known which rows they held."""


@dataclass(frozen=True, slots=True)
class Drawn(Generic[B]):
    """A batch, and the rows that it was made of."""

    batch: B
    rows: Rows


class Samples(Protocol):
    """Where a learner's batches come from.  Its methods may be called from several threads."""

    def begin(self, task: Task, bookmark: Bookmark | None) -> None:
        """Make batches for a task, from where a bookmark stands, or anew; to be called once, before all others."""

    def of(self, size: Callable[[], int]) -> Iterator[Drawn[Any] | None]:
        """The batches of one device, for one thread; each sample goes to the device that asks next.

        Args:
            size: Asked before each batch for the number of its samples; where text lacks there may be fewer.

        Yields:
            A batch, or None where there was none for a moment.

        Raises:
            Problem: there is no text to learn from, to all devices.
        """

    def put_back(self, rows: Iterable[DrawnRow]) -> None:
        """The gradient of these rows was dropped: they are drawn again."""

    def use(self, rows: Iterable[DrawnRow]) -> None:
        """The contribution with these rows was absorbed."""

    def resolve(self, *, averaged: bool) -> None:
        """Learn whether the rows were averaged that the bookmark of `begin` has in doubt; else they are drawn again."""

    def bookmark(self, out: Rows = ()) -> Bookmark:
        """Where the walk stands: all that was not used is drawn again by a process that goes on there.

        Args:
            out: Rows that are in doubt: they are not drawn before `resolve`.
        """

    def rest(self) -> None:
        """Read and compute nothing until `go_on`."""

    def go_on(self) -> None:
        """After `rest`: read and compute again."""


class RowsInHand:
    """The rows whose gradients a worker holds: those that count, those that are out in a contribution, those in doubt.

    Args:
        samples: Where the rows came from.
    """

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._counted: list[DrawnRow] = []
        self._out: list[DrawnRow] = []
        self._in_doubt: list[DrawnRow] = []
        """Whose gradients are forgotten, and that were out."""
        self._offered: list[int] = []
        """Number of rows of each contribution since the last step; each begins with those of the one before."""

    @property
    def out(self) -> Rows:
        """Those of the contribution that is out."""
        return self._out

    def count(self, rows: Rows) -> None:
        """A gradient of these rows was added."""
        self._counted += rows

    def give_up(self, lost: list[Rows]) -> None:
        """The gradients of these rows are gone, and counted nowhere."""
        for rows in lost:
            self._samples.put_back(rows)
        lost.clear()

    def hand_over(self) -> None:
        """All that counts is in the contribution that is out now; what was in doubt is not in the state."""
        if self._in_doubt:
            self.resolve()
        self._samples.resolve(averaged=False)
        self.take_back()
        self._out, self._counted = self._counted, []
        self._offered = [*self._offered, len(self._out)][-OFFERED_MAX:]

    def take_back(self) -> None:
        """The round was aborted, as far as this worker knows: what was out counts again."""
        self._counted = self._out + self._counted
        self._out = []

    def absorb(self, *, keep: bool) -> None:
        """The contribution that was out is in the state.

        Args:
            keep: Whether what was added since counts for the next step; else it was dropped.
        """
        self._samples.use(self._out)
        self._out, self._offered = [], []
        if not keep:
            self.drop()

    def forget(self) -> None:
        """All gradients were forgotten: rows that were out are in doubt now, the others are drawn again."""
        self.take_back()
        most = max(self._offered, default=0)
        self._in_doubt += self._counted[:most]
        self._samples.put_back(self._counted[most:])
        self._counted = []

    def resolve(self, counted: int = 0) -> None:
        """The state tells what became of the rows in doubt.

        Args:
            counted: Samples that it counts for this peer beyond those of the state before: of the first contribution
                that held them, since a round may count fewer.  0: none were averaged.
        """
        done = min((rows for rows in self._offered if rows >= counted), default=0) if counted else 0
        self._samples.use(self._in_doubt[:done])
        self._samples.put_back(self._in_doubt[done:])
        self._samples.resolve(averaged=counted > 0)
        self._in_doubt, self._offered = [], []

    def drop(self) -> None:
        """All gradients were forgotten, and no state holds them: their rows are drawn again."""
        self.forget()
        self.resolve()
