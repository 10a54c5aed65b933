"""Shards that lie beside their index on the organiser's computer: they are read there, and their address is not asked.

So a collaboration can be founded before its shards are served, or where only `potluck backbone --shards` gives them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.system.file_chunks import file_chunks
from core.text.order.shard_index import INDEX_BYTES_MAX, ShardHash, ShardIndex, read_index
from core.text.sources.opening import open_indexed
from core.text.sources.source import Access, Listing, Piece


class ShardsBeside:
    """The shards of an index that all lie in one folder (`core.text.sources.source.TextShards`).

    Args:
        source: As a recipe has it.
        index: Its index.
        folder: Where the shards lie.

    Raises:
        BadInput: the filters cannot be used.
    """

    network: Final = False

    def __init__(self, source: DataSource, index: ShardIndex, folder: Path) -> None:
        here = msgspec.structs.replace(source, address=str(folder))
        self._shards = open_indexed(here, msgspec.structs.replace(index, mirrors=()), Access(folder=folder))
        self._index = index
        self._folder = folder

    def listing(self) -> Listing:
        """What the index lists."""
        return self._shards.listing()

    def read(self, shard: int, block: int = 0, *, copy: Path | None = None) -> Iterator[Piece]:
        """The texts of a shard, which is checked first (`TextShards.read`).

        Raises:
            BadInput: its file cannot be read, or is not what the index says.
        """
        listed = self._index.shard(shard)
        path = copy or self._folder / listed.name
        found = ShardHash()
        try:
            for chunk in file_chunks(path):
                found.update(chunk)
        except OSError as error:
            said = f"{path} cannot be read: {error.strerror}."
            raise BadInput(said, hint="Check that the file belongs to you.") from error
        if not found.is_of(listed):
            raise BadInput(
                f"{path} does not match the index beside it.",
                hint=f"Copy it again, or make it again with: potluck data verify {self._folder} --again",
            )
        yield from self._shards.read(shard, block, copy=path)


def shards_beside(source: DataSource) -> ShardsBeside | None:
    """The shards of a recipe's source that lie beside its index; None: it has none, or one of them is not there.

    A folder of this computer that the recipe names is read itself: whether it is there, founding shall tell.

    Raises:
        BadInput: the index or the filters cannot be used.
    """
    path = Path(source.index)
    if not source.index or source.path or not path.is_file():
        return None
    with path.open("rb") as file:
        index = read_index(file.read(INDEX_BYTES_MAX + 1), called=str(path))
    whole = all((path.parent / index.shard(number).name).is_file() for number in range(len(index)))
    return ShardsBeside(source, index, path.parent) if whole else None
