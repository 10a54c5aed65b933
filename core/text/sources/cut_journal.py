"""What is known of a cut: how it is done, how far it is, and where in the source each shard begins.

It lies beside the shards.  A cut that was killed goes on from it, and one shard that was lost is made again from it.
"""

from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from core.base.data_source import SHARDS_MAX, DataSource
from core.base.problems import BadInput
from core.text.order.shard_index import ShardIndex

JOURNAL_FILE: Final = ".cut.json"
"""Hidden, so that a folder of shards that is read without its index holds nothing but text."""
JOURNAL_BYTES_MAX: Final = 64 * 1024 * 1024


class TextPlace(NamedTuple):
    """A place between two texts of a source."""

    shard: int
    """Number of a shard of the source."""
    texts: int
    """Number of texts of that shard before the place, those that filters leave out among them."""


class CutShard(msgspec.Struct, frozen=True, kw_only=True):
    """A shard that was cut and written."""

    begin: TextPlace
    end: TextPlace
    size: int
    documents: int
    characters: int
    root: bytes


class CutJournal(msgspec.Struct, frozen=True, kw_only=True):
    """How a source is cut, and what of it is done."""

    format: Annotated[int, Meta(ge=1, le=1)] = 1
    source: DataSource
    listing: bytes
    """Digest of the source's own shards: where it is another one, places mean something else."""
    ending: Literal["jsonl", "jsonl.gz", "jsonl.zst"]
    shard_bytes: int
    """What the first shard weighs at least; it says how many characters all shards have."""
    shards: Annotated[tuple[CutShard, ...], Meta(max_length=SHARDS_MAX)] = ()
    whole: bool = False

    @property
    def characters(self) -> int:
        """What each shard has; 0: the first one will tell."""
        return self.shards[0].characters if self.shards else 0

    def is_of(self, other: "CutJournal") -> bool:
        """Whether it is about the same source, cut alike."""
        begun = msgspec.structs.replace(self, shards=(), whole=False)
        return begun == msgspec.structs.replace(other, shards=(), whole=False)

    def index(self, mirrors: tuple[str, ...] = ()) -> ShardIndex:
        """The index of the shards that are done."""
        return ShardIndex(
            ending=self.ending,
            mirrors=mirrors,
            sizes=tuple(shard.size for shard in self.shards),
            documents=tuple(shard.documents for shard in self.shards),
            characters=tuple(shard.characters for shard in self.shards),
            roots=b"".join(shard.root for shard in self.shards),
        )

    def encode(self) -> bytes:
        """The journal as the bytes of its file."""
        return msgspec.json.encode(self)


def read_journal(data: bytes, *, called: str) -> CutJournal:
    """The journal in a file.

    Raises:
        BadInput: it is not one.
    """
    try:
        return msgspec.json.decode(data, type=CutJournal)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        message = "{called} cannot be used: {error}."
        raise BadInput(message, called, error, hint="Cut the text into another folder, or delete this one.") from error
