"""Samples without a reader: batches that are given, and an account of what became of each sample."""

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from random import Random
from typing import Any

import numpy as np

from core.base.content import digest
from core.base.manifest import Manifest
from core.reading.rows import open_cutter
from core.tasks import task_of
from core.tasks.task import Blobs, Task
from core.text.order.bookmark import Bookmark
from core.text.order.chance import key_of, stream
from core.text.order.documents import is_held_out
from core.text.sources.texts import texts_of
from core.training.samples.samples import Drawn

Opened = Callable[[int], Iterator[Any]]


class GivenSamples:
    """See `core.training.samples.samples.Samples`; a "row" is the number of a sample, counted as they are drawn.

    Args:
        seed: Of the batches.
        opened: The batches of a seed; None: the task's own `batches`, which tasks of tests have.
    """

    def __init__(self, seed: int = 0, opened: Opened | None = None) -> None:
        self.seed = seed
        self.used: list[int] = []
        self.back: list[int] = []
        """Put back; they are not drawn again."""
        self.in_doubt: list[int] = []
        """As the last bookmark has it."""
        self.drawn = 0
        self.stalled = False
        self.rests = False
        self._opened = opened
        self._stream: Iterator[Any] = iter(())
        self._turn = threading.Lock()
        self._ended: BaseException | None = None

    def begin(self, task: Task, bookmark: Bookmark | None) -> None:
        """Another order after each bookmark."""
        opened: Any = self._opened or task.batches  # type: ignore[attr-defined]
        begun = 0 if bookmark is None else bookmark.mixed
        self._stream = opened(int.from_bytes(digest(f"{self.seed} {begun}".encode())[:8], "big"))

    def of(self, size: Callable[[], int]) -> Iterator[Drawn[Any] | None]:
        while True:
            with self._turn:
                if self._ended is not None:
                    raise self._ended
                size()
                try:
                    batch = None if self.stalled else next(self._stream)
                except StopIteration:
                    return
                except BaseException as error:
                    self._ended = error
                    raise
                numbers = range(self.drawn, self.drawn + (batch.samples if batch is not None else 0))
                self.drawn = numbers.stop
            yield None if batch is None else Drawn(batch, numbers)  # type: ignore[arg-type]

    def put_back(self, rows: Iterable[Any]) -> None:
        with self._turn:
            self.back += rows

    def use(self, rows: Iterable[Any]) -> None:
        with self._turn:
            self.used += rows

    def resolve(self, *, averaged: bool) -> None: ...

    def bookmark(self, out: Iterable[Any] = ()) -> Bookmark:
        self.in_doubt = list(out)
        return Bookmark(b"", len(self.used), ())

    def rest(self) -> None:
        self.rests = True

    def go_on(self) -> None:
        self.rests = False


def text_rows(manifest: Manifest, blobs: Blobs) -> np.ndarray:
    """The rows of a manifest's text."""
    sources = (texts_of(source) for source in manifest.sources)
    found = (one for each in sources for one in each.sampled(Random(0)) if not is_held_out(one))
    return np.stack(list(open_cutter(manifest, blobs).cut(found, Random(1))))


def text_batches(manifest: Manifest, blobs: Blobs, seed: int, size: int | None = None) -> Iterator[Any]:
    """Batches of a manifest's text, pass after pass, in an order that follows from a seed."""
    task, rows = task_of(manifest, blobs), text_rows(manifest, blobs)
    size = min(size or task.micro_batch, len(rows))
    for number in count():
        order = np.random.default_rng((seed, number)).permutation(len(rows))
        seeds = stream(key_of(b"test", seed, number), order)
        for at in range(0, len(order) - size + 1, size):
            yield task.batch(rows[order[at : at + size]], seeds[at : at + size])
