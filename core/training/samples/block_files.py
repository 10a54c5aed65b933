"""The files in which a reader keeps rows, mapped into memory where rows are read from them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.text.order.data_pass import DrawnRow
from core.text.order.shard_order import BlockPlace


class BlockFiles:
    """The files of blocks that are in use, by source and place."""

    def __init__(self) -> None:
        self._paths: dict[tuple[int, BlockPlace], str] = {}
        self._mapped: dict[tuple[int, BlockPlace], NDArray[Any]] = {}

    def put(self, source: int, place: BlockPlace, path: str) -> None:
        """A block lies in this file now."""
        key = (source, place)
        if self._paths.get(key) != path:
            self._mapped.pop(key, None)
            self._paths[key] = path

    def drop(self, source: int, place: BlockPlace) -> None:
        """A block is not needed any more."""
        self._mapped.pop((source, place), None)
        self._paths.pop((source, place), None)

    def read(self, rows: Sequence[DrawnRow]) -> NDArray[Any] | DrawnRow:
        """What the rows hold, one below the other; or one of them whose file cannot be read."""
        found = []
        for row in rows:
            key = (row.source, row.block.key)
            mapped = self._mapped.get(key)
            if mapped is None or row.row >= len(mapped):
                try:
                    mapped = self._mapped[key] = _mapped(Path(self._paths[key]))
                    found.append(mapped[row.row])
                except (OSError, ValueError, KeyError, IndexError):
                    self.drop(*key)
                    return row
            else:
                found.append(mapped[row.row])
        return np.stack(found)


def _mapped(path: Path) -> NDArray[Any]:
    return np.asarray(np.load(path, mmap_mode="r"))
