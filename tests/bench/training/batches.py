"""Batches of a collaboration's text for loops that are measured."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from core.base.manifest import Manifest
from core.reading.frames import BeginReading
from core.tasks.task import Task
from core.training.samples.streamed import StreamedSamples


@contextmanager
def batches_of(manifest: Manifest, task: Task, begin: BeginReading, *, seed: int, size: int) -> Iterator[Iterator[Any]]:
    """Batches without end, for loops that keep no account of what they learn from.

    Args:
        manifest: Names the sources.
        task: Makes the batches.
        begin: For a reader of their own.
        seed: Seed of their order.
        size: Samples of each; fewer where a text ends.
    """
    samples = StreamedSamples(manifest, seed, begin=begin)
    samples.begin(task, None)
    try:
        yield _used_at_once(samples, size)
    finally:
        samples.reader.close()


def _used_at_once(samples: StreamedSamples, size: int) -> Iterator[Any]:
    for drawn in samples.of(lambda: size):
        if drawn is not None:
            samples.use(drawn.rows)
            yield drawn.batch
