"""A worker's data without its model: draws batches, absorbs now and then, and keeps an account; killed at any moment.

    python -m tests.process.streaming_child FOLDER SEED PASSES

FOLDER has `begin`, the frame for the reader.  `account-N` holds the samples of the N-th contribution that was averaged,
and `mark` the last N, with the bookmark that belongs to it, and the samples that are out.  Every second contribution
that was out at a kill was averaged without this process.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import msgspec

from core.base.manifest import read_manifest
from core.base.signing import Ed25519Verifier
from core.reading.frames import BeginReading
from core.system.atomic_files import write_atomic
from core.text.order.bookmark import BOOKMARK, Bookmark
from core.text.order.data_pass import DrawnRow
from core.training.samples.samples import Rows, RowsInHand
from core.training.samples.streamed import StreamedSamples

Name = tuple[int, int, int, int]


def name_of(row: DrawnRow) -> Name:
    """Source, pass, shard and row."""
    return row.source, row.part.number, row.block.key.shard, row.block.key.first + row.row


class Disk:
    """What a process leaves to the next one."""

    def __init__(self, folder: Path, samples: StreamedSamples) -> None:
        self._folder = folder
        self._samples = samples
        self.number = 0
        self.bookmark: Bookmark | None = None
        self.was_out: list[Any] = []
        """Samples that are in doubt."""
        if (folder / "mark").exists():
            self.number, data, self.was_out = msgspec.msgpack.decode((folder / "mark").read_bytes())
            self.bookmark = BOOKMARK.decode(data)

    def averaged(self, account: list[Any]) -> None:
        """Another contribution, with these samples, is in the state."""
        self.number += 1
        write_atomic(self._folder / f"account-{self.number}", msgspec.msgpack.encode(account))
        self.mark()

    def mark(self, rows: Rows = (), account: Sequence[Any] = ()) -> None:
        """Write down where the walk stands, and what is out."""
        bookmark = BOOKMARK.encode(self._samples.bookmark(rows))
        write_atomic(self._folder / "mark", msgspec.msgpack.encode((self.number, bookmark, account)))


def main(folder: Path, seed: int, passes: int) -> None:
    begin = msgspec.msgpack.decode((folder / "begin").read_bytes(), type=BeginReading)
    manifest = read_manifest(Path(begin.manifest_path).read_bytes(), Ed25519Verifier())
    samples = StreamedSamples(manifest, 1, begin=begin)
    disk = Disk(folder, samples)
    samples.begin(SimpleNamespace(batch=lambda rows, seeds: (rows.tolist(), seeds.tolist())), disk.bookmark)  # type: ignore[arg-type]
    hand, random, held, out = RowsInHand(samples), Random(seed), [], []
    doubtful = disk.was_out
    for drawn in samples.of(lambda: random.randint(1, 40)):
        if drawn is None:
            continue
        hand.count(drawn.rows)
        held += list(zip(map(name_of, drawn.rows), *drawn.batch, strict=True))
        if doubtful:
            hand.forget()
            hand.resolve(counted=seed % 2)
            if seed % 2:
                disk.averaged(doubtful)
            held, doubtful = [], []
        chance = random.random()
        if chance < 0.1:  # a round begins; computing goes on
            hand.hand_over()
            out, held = out + held, []
            disk.mark(hand.out, out)
        elif chance < 0.13:  # it is aborted
            hand.take_back()
            held, out = out + held, []
        elif chance < 0.16:  # another state is loaded
            hand.drop()
            held, out = [], []
        elif chance < 0.4 and out:  # it is committed
            hand.absorb(keep=True)
            disk.averaged(out)
            if min(name[1] for name, *_ in out) >= passes:
                samples.reader.close()
                return
            out = []


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
