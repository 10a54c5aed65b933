"""The lists of shards that a manifest names, as a peer reads them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from core.base.content import digest
from core.base.problems import BadInput
from core.session.shards import indexes_of
from core.text.order.shard_index import ShardIndex


def listed(folder: Path, *sizes: tuple[int, ...]) -> Any:
    """What `indexes_of` looks at of a manifest whose indexes, one for each source, give shards of one digest sizes."""
    blobs = {}
    for place, one in enumerate(sizes):
        count = (1,) * len(one)
        index = ShardIndex(sizes=one, documents=count, characters=count, roots=bytes(32) * len(one))
        data = msgspec.msgpack.encode(index)
        blobs[str(place)] = digest(data).hex()
        (folder / blobs[str(place)]).write_bytes(data)
    return SimpleNamespace(sources=[SimpleNamespace(index=name) for name in blobs], blobs=blobs)


@pytest.mark.parametrize("sizes", [[(5, 6)], [(5,), (6,)]])
def test_one_shard_of_two_sizes_is_refused(tmp_path: Path, sizes: list[tuple[int, ...]]) -> None:
    with pytest.raises(BadInput, match="one shard two sizes"):
        indexes_of(listed(tmp_path, *sizes), tmp_path)


def test_one_shard_in_two_places_is_read(tmp_path: Path) -> None:
    assert len(indexes_of(listed(tmp_path, (5, 5), (5,)), tmp_path)) == 2
