"""The list of a cut source's shards: what each weighs and its digest, so that a shard from anywhere can be checked.

A collaboration's signed manifest names the index among its blobs (`DataSource.index`), so what the index says, the
organiser has signed.  Of each shard it holds one root: the digest of the digests of its chunks of 256 KiB
(`core.base.content`).  The digests themselves come with the shard, from whoever sends it, and are checked against the
root at once; then each chunk is checked as it arrives, from as many peers as there are.  So a shard costs about 45
bytes of index, 190 KB for 4,096 of them; with all digests in it an index of shards of 4 MB would be twelve times that.

What the worst organiser gains: volunteers read bytes of his choice from where he says, as without an index.  What the
worst peer gains who sends a shard: 8 KB of digests, or one chunk, in vain; both are his own, so he is known.
"""

import hashlib
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from core.base.content import CHUNK_BYTES, DIGEST_BYTES, root_digest
from core.base.data_source import ADDRESS_LETTERS, SHARDS_MAX, DataSource
from core.base.problems import BadInput

SHARD_BYTES_MAX: Final = 64 * 1024 * 1024
"""Upper bound on a shard as it lies there: a peer holds whole ones, and reads one before it computes with it."""
MIRRORS_MAX: Final = 8
INDEX_BYTES_MAX: Final = SHARDS_MAX * (DIGEST_BYTES + 3 * 9) + 64 * 1024
"""Upper bound on an index: one of all shards there can be, with the longest numbers."""
COUNT_MAX: Final = 2**40
INDEX_FILE: Final = "index.potluck"
"""Name of the index's own file beside the shards."""

Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]
Counts = Annotated[tuple[Count, ...], Meta(max_length=SHARDS_MAX)]
Address = Annotated[str, Meta(min_length=1, max_length=ADDRESS_LETTERS)]


class IndexedShard(msgspec.Struct, frozen=True, kw_only=True):
    """One shard, as an index has it."""

    number: int
    name: str
    """Name of its file, to be put after an address with a slash between."""
    size: int
    """Size of the file, bytes."""
    root: bytes
    documents: int
    characters: int
    """Characters of all its texts together, as they stand there."""


class ShardIndex(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """All shards of a source that was cut (`potluck data cut`): files of JSON lines with the text in `text`."""

    format: Annotated[int, Meta(ge=1, le=1)] = 1
    ending: Literal["jsonl", "jsonl.gz", "jsonl.zst"] = "jsonl.zst"
    mirrors: Annotated[tuple[Address, ...], Meta(max_length=MIRRORS_MAX)] = ()
    """Further addresses where the same shards lie, beside the source's own."""
    sizes: Annotated[tuple[Annotated[int, Meta(ge=1, le=SHARD_BYTES_MAX)], ...], Meta(max_length=SHARDS_MAX)]
    """Size of each shard, bytes."""
    documents: Counts
    characters: Counts
    roots: Annotated[bytes, Meta(max_length=SHARDS_MAX * DIGEST_BYTES)]
    """Root digests of the shards, one after the other."""

    def __len__(self) -> int:
        """How many shards it lists in all."""
        return len(self.sizes)

    def __post_init__(self) -> None:
        if not len(self.sizes) == len(self.documents) == len(self.characters) == len(self.roots) / DIGEST_BYTES:
            raise ValueError("each shard has a size, a number of documents and of characters, and a root")
        for mirror in self.mirrors:
            DataSource(address=mirror)  # refuses what no reader could use, or must not

    def shard(self, number: int) -> IndexedShard:
        """The shard of a number, from 0.

        Raises:
            IndexError: no shard has that number.
        """
        if not 0 <= number < len(self):
            raise IndexError(number)
        return IndexedShard(
            number=number,
            name=f"{number:05d}.{self.ending}",
            size=self.sizes[number],
            root=self.roots[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES],
            documents=self.documents[number],
            characters=self.characters[number],
        )

    @property
    def size(self) -> int:
        """Bytes of all its shards together."""
        return sum(self.sizes)

    def encode(self) -> bytes:
        """The index as a file; equal indexes give equal bytes."""
        return msgspec.msgpack.encode(self)


def read_index(data: bytes, *, called: str = "The index of shards") -> ShardIndex:
    """The index in a file, which may be a stranger's.

    Args:
        data: The file.
        called: How sentences call it.

    Raises:
        BadInput: it is not an index, or of another version.
    """
    if len(data) > INDEX_BYTES_MAX:
        raise BadInput(
            "{called} has {count} bytes; {most} are the most.", called, f"{len(data):,}", f"{INDEX_BYTES_MAX:,}"
        )
    try:
        return msgspec.msgpack.decode(data, type=ShardIndex)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        hint = "Cut the text again with `potluck data cut`, or update Potluck."
        raise BadInput("{called} cannot be used: {error}.", called, error, hint=hint) from error


class ShardHash:
    """The digests of a shard that comes in parts of any length."""

    def __init__(self) -> None:
        self.size = 0
        """Bytes so far."""
        self._digests: list[bytes] = []
        self._chunk = hashlib.blake2b(digest_size=DIGEST_BYTES)

    def update(self, part: bytes | memoryview) -> None:
        """Take the part that follows those before."""
        view = memoryview(part)
        while view:
            taken = view[: CHUNK_BYTES - self.size % CHUNK_BYTES]
            self._chunk.update(taken)
            self.size += len(taken)
            if self.size % CHUNK_BYTES == 0:
                self._digests.append(self._chunk.digest())
                self._chunk = hashlib.blake2b(digest_size=DIGEST_BYTES)
            view = view[len(taken) :]

    @property
    def digests(self) -> list[bytes]:
        """Digests of the chunks so far, including a last short one."""
        return [*self._digests, *([self._chunk.digest()] if self.size % CHUNK_BYTES else [])]

    def is_of(self, shard: IndexedShard) -> bool:
        """Whether what came is that shard, whole."""
        return self.size == shard.size and root_digest(self.digests) == shard.root
