"""What the worker is told of one source."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from core.api.data_state import DataCode
from core.reading.block_file import Seal
from core.reading.block_store import BlockKey
from core.reading.frames import BlockReady, FilesLeftOut, Flowing, Opened, ReadFrame, Stalled, Unreadable
from core.text.sources.source import LeftOut, Listing, SourceTrouble

NAME_LETTERS: Final = 200
"""Letters of a file's name that are told, from its end."""


class SourceNews:
    """Makes frames of what happens to one source.

    Args:
        source: Its place in the manifest.
        say: Sends a frame to the worker.
    """

    def __init__(self, source: int, say: Callable[[ReadFrame], None]) -> None:
        self._source = source
        self._say = say
        self._stalled = False
        self._told: set[tuple[str, DataCode]] = set()

    def opened(self, listing: Listing) -> None:
        """It is listed, so its shards can be wanted."""
        for left in listing.left_out:
            self.left_out(left)
        self.flows()
        self._say(Opened(source=self._source, shards=len(listing.shards), name=listing.digest))

    def left_out(self, left: LeftOut) -> None:
        """A file of it is not read, or records are not: told once, for a file is read in parts, and again and again."""
        if (left.name, left.code) in self._told:
            return
        self._told.add((left.name, left.code))
        name = left.words[-NAME_LETTERS:]
        self._say(FilesLeftOut(source=self._source, files=len(self._told), name=name, code=left.code))

    def block(self, key: BlockKey, path: Path, seal: Seal, *, whole: bool) -> None:
        """There are rows that can be drawn."""
        self._say(
            BlockReady(
                source=self._source,
                shard=key.shard,
                first=key.first,
                rows=seal.rows,
                path=str(path),
                whole=whole,
                last=seal.last,
            )
        )

    def unreadable(self, shard: int, trouble: SourceTrouble) -> None:
        """A shard cannot be read on."""
        self._say(Unreadable(source=self._source, shard=shard, code=trouble.code, arguments=trouble.arguments))

    def stalled(self, trouble: SourceTrouble, retry_s: float) -> None:
        """Note that nothing is available for a number of seconds."""
        self._stalled = True
        arguments = {**trouble.arguments, "retry_s": round(retry_s)}
        self._say(Stalled(source=self._source, code=trouble.code, arguments=arguments, retry_s=retry_s))

    def flows(self) -> None:
        """It gives, which is said where it was stalled."""
        if self._stalled:
            self._stalled = False
            self._say(Flowing(source=self._source))
