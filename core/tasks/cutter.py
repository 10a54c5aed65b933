"""How a task makes rows of documents: the part of a task that the reader needs, without torch.

A module that is named in `core.base.tasks.CUTTERS` has a function `open_cutter(manifest, blobs) -> Cutter`.
"""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.text.order.documents import Document

Row = NDArray[np.uint16] | NDArray[np.uint32]


class Cutter(Protocol):
    """Cuts documents into rows, all equally wide."""

    @property
    def width(self) -> int:
        """Numbers of a row; what they mean is the task's business."""

    @property
    def numbers_max(self) -> int:
        """Upper bound on a number of a row: up to 65,535 rows are kept in 16 bits, else in 32."""

    @property
    def tokens(self) -> int:
        """Tokens of a row, for speeds that people are shown."""

    def cut(self, documents: Iterable[Document], chance: Random) -> Iterator[Row]:
        """The rows of the documents of one block, in order; equal documents and chances give equal rows everywhere.

        Args:
            documents: Those for training.
            chance: For where to cut; it follows from collaboration, source, shard and block.
        """

    def text_of(self, row: Row) -> str:
        """What a row says, for people: a blank line stands where the task has divided it."""
