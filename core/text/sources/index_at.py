"""The index that lies beside the shards of a source, and what follows from it for reading them in order."""

from contextlib import suppress
from pathlib import Path

import msgspec

from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.text.order.shard_index import INDEX_BYTES_MAX, INDEX_FILE, ShardIndex, read_index
from core.text.sources.cut_folder import CutFolder
from core.text.sources.source import Access, below, scheme_of


def index_at(source: DataSource, access: Access) -> ShardIndex | None:
    """The index that lies beside the shards of a source; None: none does, or no server gives one that can be used.

    Args:
        source: Its address is a folder, of this computer, a web server, a bucket or a data set; else nothing is asked.
        access: What may be used.

    Raises:
        BadInput: one lies on this computer that cannot be used.
    """
    if source.path:
        return index_of(Path(source.path) / INDEX_FILE) if Path(source.path, INDEX_FILE).is_file() else None
    if "://" in source.address and "{" not in source.address:
        with suppress(BadInput):  # what is wrong with the address, reading the source says
            data = CutFolder(source.address, access.secrets).read(INDEX_FILE, INDEX_BYTES_MAX + 1)
            return None if data is None else read_index(data, called=f"{source.address}/{INDEX_FILE}")
    return None


def index_of(path: Path) -> ShardIndex:
    """The index in a file of this computer.

    Raises:
        BadInput: it cannot be used.
    """
    with path.open("rb") as file:
        return read_index(file.read(INDEX_BYTES_MAX + 1), called=str(path))


def listed(source: DataSource, index: ShardIndex | None) -> DataSource:
    """A source whose shards lie on a web server, which lists no folders: with the names of all files of its index."""
    if index is None or scheme_of(source.address) not in {"http", "https"}:
        return source
    names = f"{{{0:05d}..{len(index) - 1:05d}}}.{index.ending}"
    return msgspec.structs.replace(source, address=below(source.address, names))
