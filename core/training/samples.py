"""Samples for all devices of a worker: rows in the order of the walk, and what became of each.

drawn -> a batch -> counted, in a sum of gradients -> out, in a contribution -> used
             |               |                             |
             '---------------+-----------------------------'-> put back: its gradient was dropped
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from core.data.bookmark import Bookmark
from core.data.data_pass import DrawnRow
from core.tasks.task import Task

B = TypeVar("B")
Rows = Sequence[DrawnRow]


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

    def bookmark(self) -> Bookmark:
        """Where the walk stands: all that was not used is drawn again by a process that goes on there."""

    def rest(self) -> None:
        """Read and compute nothing until `go_on`."""

    def go_on(self) -> None:
        """After `rest`: read and compute again."""


class RowsInHand:
    """The rows whose gradients a worker holds: those that count, and those that are out in a contribution.

    Args:
        samples: Where the rows came from.
    """

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._counted: list[DrawnRow] = []
        self._out: list[DrawnRow] = []

    def count(self, rows: Rows) -> None:
        """A gradient of these rows was added, or was not finite, so that they are never learned from."""
        self._counted += rows

    def give_up(self, lost: list[Rows]) -> None:
        """The gradients of these rows are gone, and counted nowhere."""
        for rows in lost:
            self._samples.put_back(rows)
        lost.clear()

    def hand_over(self) -> None:
        """All that counts is in the contribution that is out now."""
        self.take_back()
        self._out, self._counted = self._counted, []

    def take_back(self) -> None:
        """The round was aborted: what was out counts again."""
        self._counted = self._out + self._counted
        self._out = []

    def absorb(self, *, keep: bool) -> None:
        """The contribution that was out is in the state.

        Args:
            keep: Whether what was added since counts for the next step; else it was dropped.
        """
        self._samples.use(self._out)
        self._out = []
        if not keep:
            self.drop()

    def drop(self) -> None:
        """All gradients were forgotten: their rows are drawn again."""
        self.take_back()
        self._samples.put_back(self._counted)
        self._counted = []
