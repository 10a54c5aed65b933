"""Where the bytes of a shard lie: at its origin, or in a file that the engine or this reader has fetched."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol


class Copies(Protocol):
    """Says which shard to read next, and where."""

    def choose(self, wanted: Sequence[int], *, look: Callable[[], None]) -> tuple[int, Path | None]:
        """One of the shards that are wanted, in order of preference, and a file with its bytes where there is one.

        Raises:
            SourceStalled: none can be had now.
            ShardUnreadable: it cannot be had at all.
        """

    def done(self, shard: int) -> None:
        """A shard is read to its end, or given up: its file may go."""


class AtOrigin:
    """Shards that lie where the manifest says, and nowhere else."""

    def choose(self, wanted: Sequence[int], *, look: Callable[[], None]) -> tuple[int, Path | None]:  # noqa: ARG002
        """The first of the shards that are wanted."""
        return wanted[0], None

    def done(self, shard: int) -> None:
        """Nothing is kept, so nothing goes."""
