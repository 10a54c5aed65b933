"""A source for what reads it once and in order: asked again while it does not answer, or answers wrongly.

Shards of it that cannot be read are left out, and told, while any other can be.
"""

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Final

from core.api.data_state import DataCode, why_stalled
from core.base.back_off import BackOff
from core.system.memory_bound import GROWTH_BYTES_MAX, OWN, bounded
from core.text.sources.source import LeftOut, Listing, Piece, ShardUnreadable, SourceStalled, TextShards

RETRY_S: Final = 2.0
RETRY_S_MAX: Final = 20.0
FIRST_S: Final = 30.0
"""How long a source is asked that has not answered yet, seconds: its address may be wrong."""
PATIENCE_S: Final = 300.0
"""How long one is asked that did."""
WRONG_ANSWERS: Final = 2
"""Wrong answers in a row of a server that is asked again; one in between is a slip."""
_ASKED_AGAIN: Final = frozenset({DataCode.NO_ANSWER, DataCode.WRONG_ANSWER})

Tell = Callable[[str], None]
"""Told in a sentence why nothing comes, and when the source is asked again."""


def untold(_: str) -> None:
    """Nobody waits for what is read (`Tell`)."""


class PatientShards:
    """A source whose server may be silent for a while (`core.text.sources.source.TextShards`).

    Args:
        shards: The source.
        tell: Told while it is silent.
        lose: Told of each shard that cannot be read on, once; None: reading ends there.
        wait: Returns after a number of seconds.
        now: The time in seconds.
    """

    def __init__(
        self,
        shards: TextShards,
        tell: Tell,
        lose: Callable[[LeftOut], None] | None = None,
        *,
        wait: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shards = shards
        self._tell = tell
        self._lose = lose
        self._failed: set[int] = set()
        self._wait = wait
        self._now = now
        self._failures = BackOff[str](first=RETRY_S, longest=RETRY_S_MAX, random=Random())  # noqa: S311 - jitter
        self._silent_since: float | None = None
        self._patience_s = FIRST_S
        self._wrong = 0
        """Wrong answers in a row."""

    @property
    def network(self) -> bool:
        """Whether reading it takes the network."""
        return self._shards.network

    def listing(self) -> Listing:
        """What the source has, once it answers (`TextShards.listing`)."""
        while True:
            try:
                with OWN.growing(GROWTH_BYTES_MAX):
                    found = self._shards.listing()
            except MemoryError as error:
                raise ShardUnreadable(DataCode.TOO_LARGE, name="The list of its files") from error
            except SourceStalled as trouble:
                self._stand(trouble)
            else:
                self._answered()
                return found

    def read(self, shard: int, block: int = 0, *, copy: Path | None = None) -> Iterator[Piece]:
        """The texts of a shard from the beginning of a block on (`TextShards.read`).

        Raises:
            SourceStalled: it cannot be read on now.
            ShardUnreadable: it cannot be read on at all, and nobody is told, or there is no other one.
        """
        try:
            yield from self._read(shard, block, copy)
        except ShardUnreadable as trouble:
            known = shard in self._failed
            self._failed.add(shard)
            shards = self.listing().shards
            if self._lose is None or len(self._failed) == len(shards):
                raise
            if not known:
                self._lose(LeftOut(shards[shard].name, trouble.code, first=trouble.why))

    def _read(self, shard: int, block: int, copy: Path | None) -> Iterator[Piece]:
        given = 0
        """Pieces of the block that were given already."""
        while True:
            again = given
            try:
                for piece in bounded(self._shards.read(shard, block, copy=copy)):
                    self._answered()
                    if again and piece.block == block:
                        again -= 1
                        continue
                    again, given = 0, given + 1 if piece.block == block else 1
                    block = piece.block
                    yield piece
            except SourceStalled as trouble:
                self._stand(trouble)
            except MemoryError as error:
                raise ShardUnreadable(DataCode.TOO_LARGE, name=self.listing().shards[shard].name) from error
            else:
                return

    def _answered(self) -> None:
        if self._silent_since is not None:
            self._failures.clear("")
        self._silent_since, self._patience_s, self._wrong = None, PATIENCE_S, 0

    def _stand(self, trouble: SourceStalled) -> None:
        """Wait until it is time to ask again.

        Raises:
            SourceStalled: asking again does not help, or was done for long enough.
        """
        now = self._now()
        self._silent_since = now if self._silent_since is None else self._silent_since
        left_s = self._silent_since + self._patience_s - now
        self._wrong += trouble.code == DataCode.WRONG_ANSWER
        if trouble.code not in _ASKED_AGAIN or left_s <= 0 or self._wrong > WRONG_ANSWERS:
            raise trouble
        wait_s = min(left_s, self._failures.fail("", now) - now)
        host = str(trouble.arguments.get("host", ""))
        self._tell(str(why_stalled(trouble.code, {"host": host, "seconds": math.ceil(wait_s)})))
        self._wait(wait_s)
