"""Batches of rows that a reader has said, and rows of batches that nobody takes."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from core.reading.frames import BeginReading, BlockReady, Opened
from core.training.samples.streamed import StreamedSamples
from core.workers.frames import framed
from tests.unit.training.small import MANIFEST

SAYS = (
    "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read()); sys.stdout.flush(); sys.stdin.buffer.read()"
)
ROWS = 40


class Rows:
    """A task whose batches are the rows themselves."""

    def batch(self, rows_BR, _):
        return rows_BR


def batch_of(batches: Iterator[Any]) -> list[int]:
    while (drawn := next(batches)) is None:
        pass
    return drawn.batch[:, 0].tolist()


def test_rows_that_nobody_takes_are_drawn_again(tmp_path: Path) -> None:
    block, said = tmp_path / "block.npy", tmp_path / "said"
    np.save(block, np.arange(ROWS, dtype=np.uint16).reshape(ROWS, 1))
    ready = BlockReady(source=0, shard=0, first=0, rows=ROWS, path=str(block), whole=True, last=True)
    said.write_bytes(framed(Opened(source=0, shards=1, name=b"list")) + framed(ready))
    begin = BeginReading(manifest_path="", blobs_dir="", blocks_dir="", disk_bytes=0)
    samples = StreamedSamples(MANIFEST, 1, begin=begin, command=[sys.executable, "-c", SAYS, str(said)])
    try:
        samples.begin(Rows(), None)  # type: ignore[arg-type]
        given_up, other = samples.of(lambda: 8), samples.of(lambda: 8)
        assert len(batch_of(given_up)) == 8
        given_up.close()
        seen: list[int] = []
        while len(seen) < ROWS:
            seen += batch_of(other)
    finally:
        samples.reader.close()
    assert sorted(seen) == list(range(ROWS))
