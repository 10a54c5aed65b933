"""A worker's data without its model: draws batches, absorbs now and then, and keeps an account; killed at any moment.

    python -m tests.process.streaming_child FOLDER SEED PASSES

FOLDER has `begin`, the frame for the reader.  `account-N` holds the samples of the N-th contribution that was absorbed,
and `mark` the last N, with the bookmark that belongs to it.
"""

import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace

import msgspec

from core.base.manifest import read_manifest
from core.base.signing import Ed25519Verifier
from core.data.bookmark import BOOKMARK
from core.data.data_pass import DrawnRow
from core.reading.frames import BeginReading
from core.system.atomic_files import write_atomic
from core.training.samples import RowsInHand
from core.training.streamed import StreamedSamples

Name = tuple[int, int, int, int]


def name_of(row: DrawnRow) -> Name:
    """Source, pass, shard and row."""
    return row.source, row.part.number, row.block.key.shard, row.block.key.first + row.row


def main(folder: Path, seed: int, passes: int) -> None:
    begin = msgspec.msgpack.decode((folder / "begin").read_bytes(), type=BeginReading)
    manifest = read_manifest(Path(begin.manifest_path).read_bytes(), Ed25519Verifier())
    number, mark = 0, None
    if (folder / "mark").exists():
        number, data = msgspec.msgpack.decode((folder / "mark").read_bytes(), type=tuple[int, bytes])
        mark = BOOKMARK.decode(data)
    samples = StreamedSamples(manifest, 1, begin=begin)
    samples.begin(SimpleNamespace(batch=lambda rows, seeds: (rows.tolist(), seeds.tolist())), mark)  # type: ignore[arg-type]
    hand, random, held, out = RowsInHand(samples), Random(seed), [], []
    for drawn in samples.of(lambda: random.randint(1, 40)):
        if drawn is None:
            continue
        hand.count(drawn.rows)
        names = [
            (row.source, row.part.number, row.block.key.shard, row.block.key.first + row.row) for row in drawn.rows
        ]
        held += list(zip(names, *drawn.batch, strict=True))
        chance = random.random()
        if chance < 0.1:  # a round begins; computing goes on
            hand.hand_over()
            out, held = out + held, []
        elif chance < 0.13:  # it is aborted
            hand.take_back()
            held, out = out + held, []
        elif chance < 0.16:  # another state is loaded
            hand.drop()
            held, out = [], []
        elif chance < 0.4 and out:  # it is committed
            hand.absorb(keep=True)
            number += 1
            write_atomic(folder / f"account-{number}", msgspec.msgpack.encode(out))
            write_atomic(folder / "mark", msgspec.msgpack.encode((number, BOOKMARK.encode(samples.bookmark()))))
            if min(name[1] for name, *_ in out) >= passes:
                samples.close()
                return
            out = []


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
