"""A source whose shards were cut and listed with their digests (`core.text.order.shard_index`): each a whole file.

A shard is read from a file of this computer only, that a peer has sent or that was fetched from an origin; either is
checked before any of it is read, so that what is trained on is what the organiser has signed.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

from core.api.data_state import DataCode
from core.base.data_source import MEMBERS, DataSource
from core.system.file_chunks import file_chunks
from core.text.order.filters import read_filters
from core.text.order.shard_index import IndexedShard, ShardHash, ShardIndex
from core.text.sources.buckets import bucket_of
from core.text.sources.file_shards import numbered_pieces, read_file
from core.text.sources.folder import named_path
from core.text.sources.hub import resolved_url, web_of_hub
from core.text.sources.records import Bytes, Columns, json_texts
from core.text.sources.source import (
    Access,
    Listing,
    Origin,
    Piece,
    Shard,
    ShardUnreadable,
    SourceStalled,
    SourceTrouble,
    authorization,
    below,
    listing_digest,
    scheme_of,
    secret_name,
)
from core.text.sources.web import Web

_JSON: Final = ".jsonl"


class IndexedShards:
    """The shards of an index (`core.text.sources.source.TextShards`).

    Args:
        source: As the manifest has it.
        index: Its index, as the manifest's blob has it.
        access: What it may use.

    Raises:
        BadInput: an address or the filters cannot be used.
    """

    def __init__(self, source: DataSource, index: ShardIndex, access: Access) -> None:
        self._index = index
        self._access = access
        self._columns = Columns("text", tuple(sorted(read_filters(source.filters).columns)))
        own = () if source.address == MEMBERS else (source.address,)
        self._origins = [origin_of(address, access, seen=source.address) for address in (*own, *index.mirrors)]
        self.network = not own or any(scheme_of(address) for address in (*own, *index.mirrors))

    def listing(self) -> Listing:
        """What the index lists; nothing is asked."""
        shards = [self._index.shard(number) for number in range(len(self._index))]
        digest = listing_digest((shard.root.hex(), shard.size) for shard in shards)
        return Listing(tuple(Shard(shard.name, shard.size) for shard in shards), digest)

    def size_bytes(self, shard: int) -> int:
        """Length of a shard's file, as the index has it."""
        return self._index.sizes[shard]

    def read(self, shard: int, block: int = 0, *, copy: Path | None = None) -> Iterator[Piece]:
        """The texts of a shard from the beginning of a block on (`TextShards.read`).

        Args:
            shard: Its number.
            block: The block to begin with.
            copy: A file with its bytes, which were checked.
        """
        listed = self._index.shard(shard)
        if copy is None:
            raise SourceStalled(DataCode.MISSING, name=listed.name)
        codec = Path(listed.name).suffix
        file = Bytes(listed.name, listed.size, lambda start, end: read_file(copy, start, end))
        try:
            yield from numbered_pieces(json_texts(file, "" if codec == _JSON else codec, self._columns), block)
        except ShardUnreadable as trouble:
            if not copy.exists():
                raise SourceStalled(DataCode.MISSING, name=listed.name) from trouble
            raise

    def fetch(self, shard: int, path: Path, look: Callable[[], None]) -> None:
        """Bring a shard from its origin, or from a mirror of it, and check it.

        What an earlier try has brought is gone on with.

        Args:
            shard: Its number.
            path: Where its file goes.
            look: Called now and then; what it raises ends it.

        Raises:
            SourceStalled: no origin gives it now.
            ShardUnreadable: no origin has it, or they have other bytes.
            OSError: the disk is full.
        """
        listed = self._index.shard(shard)
        part = path.with_suffix(".part")
        troubles: list[SourceTrouble] = [] if self._origins else [SourceStalled(DataCode.NO_MEMBER, name=listed.name)]
        for origin in self._origins:
            begun = part.exists()
            trouble = self._tried(origin, listed, part, look)
            if begun and not part.exists() and trouble is not None:  # another mirror's beginning was damaged
                trouble = self._tried(origin, listed, part, look)
            if trouble is None:
                part.replace(path)
                return
            troubles.append(trouble)
        raise next((trouble for trouble in troubles if isinstance(trouble, SourceStalled)), troubles[-1])

    def _tried(
        self, origin: Origin, listed: IndexedShard, part: Path, look: Callable[[], None]
    ) -> SourceTrouble | None:
        """Have one origin give what lacks of a shard; None: it is whole.  What cannot become the shard is deleted."""
        try:
            if self._brought(origin, listed, part, look).is_of(listed):
                return None
            trouble = ShardUnreadable(DataCode.WRONG_BYTES, name=listed.name)
        except SourceStalled as stalled:
            return stalled
        except ShardUnreadable as unreadable:
            trouble = unreadable
        if trouble.code != DataCode.MISSING:
            part.unlink(missing_ok=True)
        return trouble

    def _brought(self, origin: Origin, listed: IndexedShard, part: Path, look: Callable[[], None]) -> ShardHash:
        hashed = ShardHash()
        if part.exists():
            for chunk in file_chunks(part):
                hashed.update(chunk)
        with part.open("ab") as file:
            for chunk in origin(listed.name, listed.size, hashed.size) if hashed.size < listed.size else ():
                look()
                file.write(chunk)
                hashed.update(chunk)
                self._access.count(len(chunk))
                if hashed.size > listed.size:
                    break
        return hashed


def origin_of(address: str, access: Access, *, seen: str) -> Origin:
    """A server that gives files at an address.

    Args:
        address: A folder of this computer, or of a server, bucket or data set.
        access: What may be used.
        seen: The source's own address: nobody was shown its mirrors, so they lead into nobody's own network.

    Raises:
        BadInput: this version cannot read there, or may not.
    """
    scheme = scheme_of(address)
    if scheme in {"http", "https"}:
        secret = access.secrets.get(secret_name(address), "")
        web = Web(address, access, headers=authorization(secret), seen=seen)
        return lambda name, size, start: web.read(below(address, quote(name)), start, None, size=size)
    if scheme == "hf":
        hub = web_of_hub(address, access)
        return lambda name, size, start: hub.read(resolved_url(address, "main", name), start, None, size=size)
    if scheme:
        bucket = bucket_of(address, access)
        return lambda name, size, start: bucket.read(f"{bucket.path}/{name}", start, size or None)
    folder = named_path(address, access)
    return lambda name, _, start: read_file(folder / name, start, None)
