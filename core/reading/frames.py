"""Frames between worker and reader on the reader's pipe: 4 bytes of length, then MessagePack (`core.workers.frames`).

The reader is the worker's own child, so neither is a stranger; what strangers can send is in the shards.
"""

from typing import Annotated, Self

import msgspec
from msgspec import Meta

from core.base.data_source import SHARDS_MAX, SOURCES_MAX
from core.base.problems import Problem, Sentence

Source = Annotated[int, Meta(ge=0, lt=SOURCES_MAX)]
Shard = Annotated[int, Meta(ge=0, lt=SHARDS_MAX)]
Count = Annotated[int, Meta(ge=0)]
Arguments = dict[str, str | int | float]
"""Arguments of a code, for the sentence that people are shown."""


class ReadFrame(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the frames of both directions."""


# --- worker to reader ------------------------------------------------------------------------------------------------


class BeginReading(ReadFrame, frozen=True, kw_only=True, tag="begin"):
    """First frame: open all sources, answer Opened for each."""

    manifest_path: str
    blobs_dir: str
    blocks_dir: str
    """Where blocks are kept, a folder of this collaboration alone; the reader alone writes and deletes in it."""
    disk_bytes: Count
    """Upper bound on all that lies in these folders, bytes."""
    spare_dirs: tuple[str, ...] = ()
    """Further folders with files that go where room is needed: what other collaborations left."""
    folder: str = ""
    """The folder or file that the person has named, absolute; no other one of this computer is read."""
    near: bool = False
    """Whether text may lie in this computer's own network (`core.text.sources.source.Access`)."""
    desk_url: str = ""
    """Where the engine's desk answers (`core.reading.desk`); empty: there is none, and nothing is limited or shared."""
    desk_token: str = ""
    secrets: dict[str, str] = {}
    """What the keyring holds for sources, by the name that it has there; never written anywhere."""


class Want(ReadFrame, frozen=True, kw_only=True, tag="want"):
    """Make the next block of one of these shards, the first that can be had; takes the place of the wish before.

    One wish is for one block: when that is whole, the reader waits for the next wish, and keeps open what it reads.  So
    the worker decides how far the reader is ahead.  A block that is being made, of a shard that is named here again, is
    the block that is meant; a shard that is left out here is given up.
    """

    source: Source
    shards: tuple[tuple[Shard, Count], ...]
    """In order of preference, each with the row from which on it is wanted; rows before it are skipped, not said."""


class Remake(ReadFrame, frozen=True, kw_only=True, tag="remake"):
    """A block is needed that an earlier process made: say it again from its file, or make it again."""

    source: Source
    shard: Shard
    first: Count


class Drop(ReadFrame, frozen=True, kw_only=True, tag="drop"):
    """All rows of a block are averaged: its file may go, where the disk's limit asks for it."""

    source: Source
    shard: Shard
    first: Count


class Rest(ReadFrame, frozen=True, kw_only=True, tag="rest"):
    """Read and compute nothing until Go."""


class GoOn(ReadFrame, frozen=True, kw_only=True, tag="go"):
    """After Rest: read and compute again."""


# --- reader to worker ------------------------------------------------------------------------------------------------


class Opened(ReadFrame, frozen=True, kw_only=True, tag="opened"):
    """A source is listed, so its shards can be wanted."""

    source: Source
    shards: Annotated[int, Meta(ge=0, le=SHARDS_MAX)]
    name: bytes
    """Digest of names and sizes of its shards: another one means that numbers of shards mean something else now."""


class BlockReady(ReadFrame, frozen=True, kw_only=True, tag="block"):
    """Rows [first, first + rows) of a shard lie in a file; the same block is said again as it grows."""

    source: Source
    shard: Shard
    first: Count
    rows: Count
    path: str
    """A file in numpy's format `.npy`, of shape (rows or more, width)."""
    whole: bool
    """The block grows no further."""
    last: bool
    """The block is whole and the shard's last; a shard without any row has one block of 0 rows."""


class Unreadable(ReadFrame, frozen=True, kw_only=True, tag="unreadable"):
    """A shard cannot be read on, now or later: what of it was not said yet is left out of this pass."""

    source: Source
    shard: Shard
    code: str
    arguments: Arguments = {}


class FilesLeftOut(ReadFrame, frozen=True, kw_only=True, tag="files-left-out"):
    """Files of a source that are not read: they hold no text, or cannot be read.  All else of their shards is."""

    source: Source
    files: Count
    """How many so far."""
    name: str
    """The newest of them."""
    code: str
    """Why that one is not read: `core.api.data_state.DataCode`."""


class Stalled(ReadFrame, frozen=True, kw_only=True, tag="stalled"):
    """Nothing that is wanted of a source can be had now; the reader tries again by itself."""

    source: Source
    code: str
    """`core.api.data_state.DataCode`."""
    arguments: Arguments = {}
    retry_s: float = 0.0


class Flowing(ReadFrame, frozen=True, kw_only=True, tag="flowing"):
    """A source that was Stalled gives again."""

    source: Source


class Tally(ReadFrame, frozen=True, kw_only=True, tag="tally"):
    """What the reader has done so far; at most once a second."""

    bytes_read: Count
    """From files and from the network, as they lie there."""
    network_bytes: Count
    """Those of them that came from the network, peers not counted."""
    documents: Count
    left_out: Count
    """Documents that filters left out."""
    rows: Count
    stored_bytes: Count
    """Bytes of the blocks on the disk."""
    reading: str = ""
    """What is read now, for people: the end of an address or a file's name."""


class ReadFailed(ReadFrame, frozen=True, kw_only=True, tag="failed"):
    """The reader ends because of a problem."""

    code: str
    message: Sentence
    hint: Sentence

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """The problem, to be raised by who hears of it."""
        return cls(code=problem.code, message=problem.sentence, hint=problem.advice)


ToReader = BeginReading | Want | Remake | Drop | Rest | GoOn
ToTrainer = Opened | BlockReady | Unreadable | FilesLeftOut | Stalled | Flowing | Tally | ReadFailed
