"""Sources opened as a reader opens them, and what comes of them."""

from typing import Any

import pytest

from core.base.data_source import DataSource
from core.text.sources.opening import open_source
from core.text.sources.source import Access, SourceTrouble, TextShards


def opened(address: str = "hf://datasets/someone/words", access: Access | None = None, **fields: Any) -> TextShards:
    return open_source(DataSource(address=address, **fields), access or Access())


def texts(source: TextShards) -> list[str]:
    shards = range(len(source.listing().shards))
    return [text for shard in shards for piece in source.read(shard) for text in piece.texts]


def trouble(source: TextShards) -> SourceTrouble:
    with pytest.raises(SourceTrouble) as caught:
        texts(source)
    return caught.value
