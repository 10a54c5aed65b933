"""One sample of a collaboration, made again from its number: what anybody gets who recomputes it."""

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec

from core.base.content import digest
from core.base.manifest import read_manifest
from core.base.problems import BadInput
from core.base.signing import Ed25519Verifier
from core.reading.rows import Counts, OpenShard, RowMaker, open_cutter
from core.tasks.cutter import Row
from core.tasks.task import Blobs
from core.text.order.filters import read_filters
from core.text.order.shard_index import read_index
from core.text.sources.opening import open_indexed, open_source
from core.text.sources.requests import SampleRequest
from core.text.sources.source import Access, Piece, SourceTrouble
from core.text.sources.texts import problem_of_trouble
from core.training.programs.child import given_secrets, say

EVERY = 1000
"""Rows between two reports."""


class Sampled(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="sampled"):
    """A sample's row; what is drawn for the sample (masks, swapped order) follows from its number and the pass."""

    collaboration: str
    source: str
    """Its address."""
    shard: str
    """What the shard is called."""
    row: tuple[int, ...]
    digest: str
    """Digest of the row's numbers as 32 bits each, the lowest byte first."""
    text: str
    """What it says."""


def sampled(asked: SampleRequest) -> Sampled:
    """Read a shard until the row is there.

    Raises:
        BadInput: there is no such source, shard or row, or it cannot be read.
        NotTrusted: the manifest's signature is wrong.
    """
    manifest = read_manifest(Path(asked.manifest).read_bytes(), Ed25519Verifier())
    if asked.source >= len(manifest.sources):
        count = len(manifest.sources)
        raise BadInput(
            "The collaboration has no source {source}.", asked.source, count - 1, hint="Sources are 0 to {count}."
        )
    source = manifest.sources[asked.source]
    blobs = Blobs(Path(asked.blobs), manifest.blobs)
    cutter = open_cutter(manifest, blobs)
    folder = Path(asked.folder) if asked.folder else None
    access = Access(folder=folder, secrets=given_secrets())
    filters = read_filters(source.filters)
    maker = RowMaker(manifest.chance, asked.source, cutter, filters, Counts(), threading.Lock())
    try:
        with tempfile.TemporaryDirectory(prefix="potluck-") as scratch:
            fetched = open_indexed(source, read_index(blobs.read(source.index)), access) if source.index else None
            shards = fetched or open_source(source, access)
            names = [shard.name for shard in shards.listing().shards]
            if asked.shard >= len(names):
                raise BadInput(
                    "The source has no shard {shard}.", asked.shard, len(names) - 1, hint="Shards are 0 to {count}."
                )
            copy = None if fetched is None else Path(scratch) / names[asked.shard]
            if fetched is not None and copy is not None:
                fetched.fetch(asked.shard, copy, lambda: None)
            row = _row(shards.read(asked.shard, copy=copy), maker, asked)
    except SourceTrouble as trouble:
        raise problem_of_trouble(trouble) from trouble
    numbers = row.astype("<u4")
    return Sampled(
        collaboration=manifest.id.hex(),
        source=source.address,
        shard=names[asked.shard],
        row=tuple(numbers.tolist()),
        digest=digest(numbers.tobytes()).hex(),
        text=cutter.text_of(row),
    )


def _row(pieces: Iterator[Piece], maker: RowMaker, asked: SampleRequest) -> Row:
    count = 0
    for row in _rows(pieces, maker, asked.shard):
        if count == asked.row:
            return row
        count += 1
        if count % EVERY == 0:
            say("progress", text=f"Making rows: {count:,}", fraction=count / (asked.row + 1))
    message = "The shard has {count} rows, so none has the number {row}."
    raise BadInput(message, f"{count:,}", f"{asked.row:,}", hint="Rows count from 0.")


def _rows(pieces: Iterator[Piece], maker: RowMaker, shard: int) -> Iterator[Row]:
    """All rows of a shard, block by block."""
    reading = OpenShard(shard, block=0, first=0, pieces=pieces)
    while not reading.ended:
        yield from maker.rows(reading, lambda: None)
