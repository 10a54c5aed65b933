"""What every aggregator can do."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Aggregator(Protocol):
    """Collects the parts of one chunk and makes one vector of them.

    Args:
        numel: Numbers in the chunk.
    """

    def __init__(self, numel: int) -> None: ...

    def add(self, values: NDArray[np.float32], weight: float, scratch: NDArray[np.float32]) -> bool:
        """Take a part of shape (numel,), which is not changed and not kept.

        Args:
            values: The part.
            weight: More than 0.
            scratch: Room of the same shape; may be overwritten, and may be `values` itself.

        Returns:
            False: the part holds something that is no finite number; it was left out.
        """

    def finish(self) -> NDArray[np.float32]:
        """The result, shape (numel,); zeros when no part was taken.  Call once."""
