"""The order in which a peer draws its samples: passes through all sources, mixed by their shares (S000, appendix I.4).

Nothing here reads: the walk says which blocks of rows are wanted, hears which are there, and says which row comes next.
It follows from the collaboration's name, the peer's seed, and when blocks have come.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from core.text.order.bookmark import Bookmark, resolved
from core.text.order.chance import key_of, uniform
from core.text.order.data_pass import BUFFER_ROWS, DataPass, DrawnRow
from core.text.order.source_walk import Request, SourceWalk


class Walk:
    """Draws this peer's samples from passes through all sources, and says which blocks it wants.

    Args:
        collaboration: What its chance follows from (`core.base.manifest.Manifest.chance`).
        shares: How often a sample is drawn from each source, relative to the others.
        seed: This peer's.
        bookmark: Where an earlier process stood; None: at the beginning.
        buffer_rows: Rows in a full shuffle buffer.
        steady: Whether to wait for rows rather than let the order follow from when they come, besides what cannot be
            read.  A batch then has at most `core.text.order.data_pass.FIRST` samples.
    """

    def __init__(
        self,
        collaboration: bytes,
        shares: Sequence[float],
        seed: int,
        bookmark: Bookmark | None = None,
        *,
        buffer_rows: int = BUFFER_ROWS,
        steady: bool = False,
    ) -> None:
        self._steady = steady
        self.collaboration = collaboration
        usable = bookmark is not None and bookmark.collaboration == collaboration
        marks = bookmark.sources if bookmark is not None and usable and len(bookmark.sources) == len(shares) else None
        key = (collaboration, seed)
        self.sources = [
            SourceWalk(number, key, marks[number] if marks else None, buffer_rows=buffer_rows)
            for number in range(len(shares))
        ]
        self._shares = np.array(shares, np.float64)
        self._mixed = bookmark.mixed if bookmark is not None and marks else 0
        self._mix_seed = np.array(key_of(b"mix", *key), np.uint64)

    @property
    def buffered(self) -> int:
        """Number of rows that can be drawn without anything being read."""
        return sum(source.buffered for source in self.sources)

    @property
    def is_empty(self) -> bool:
        """Whether no source has a single row."""
        return all(source.is_empty for source in self.sources)

    def draw(self, count: int) -> list[DrawnRow]:
        """The next rows, as many as are asked for; fewer where sources are stalled; none where it is worth waiting.

        A source that is stalled, or has no text, is passed over: samples come from the others, by their shares.
        """
        drawn: list[DrawnRow] = []
        begun = self._mixed
        while len(drawn) < count:
            able = np.array([not source.is_passed_over for source in self.sources])
            if not able.any():
                break
            limits = np.where(able, self._shares, 0.0).cumsum()
            chances = uniform(self._mix_seed, np.arange(self._mixed, self._mixed + count - len(drawn)))
            picks = np.searchsorted(limits, chances * limits[-1], side="right")
            found, lacks = self._picked(np.minimum(picks, np.flatnonzero(able)[-1]))
            drawn += found
            self._mixed += len(found)
            if lacks is not None and not lacks.is_passed_over:
                if lacks.is_coming:
                    self.put_back(drawn)
                    self._mixed = begun  # the same sources are chosen again: what is slow is no rarer
                    return []
                break
        return drawn

    def put_back(self, rows: Iterable[DrawnRow]) -> None:
        """The gradient of these rows was dropped: they are drawn again."""
        for drawn in rows:
            drawn.part.buffer.put_back(drawn.block, drawn.row)

    def use(self, rows: Iterable[DrawnRow]) -> None:
        """The contribution with these rows was absorbed."""
        for part, drawn in _by_pass(rows):
            self.sources[part.source].use(part, drawn)

    def resolve(self, *, averaged: bool) -> None:
        """It is known now whether rows were averaged that an earlier process had handed over; else they come again."""
        for source in self.sources:
            rows, source.in_doubt = source.in_doubt, []
            (self.use if averaged else self.put_back)(rows)
            if source.earlier is not None:
                source.earlier = resolved(source.earlier, averaged=averaged)

    def requests(self) -> list[Request]:
        """What is to be said to the reader, since the last call."""
        return [request for source in self.sources for request in source.requests()]

    def bookmark(self, out: Sequence[DrawnRow] = ()) -> Bookmark:
        """Where the peer stands: what was used, and nothing else, is not drawn again.

        Args:
            out: Rows that are in doubt.
        """
        return Bookmark(self.collaboration, self._mixed, tuple(source.mark(out) for source in self.sources))

    def _picked(self, picks: NDArray[np.intp]) -> tuple[list[DrawnRow], SourceWalk | None]:
        """Rows of these sources, in their order, up to the first source that has none left, and that one."""
        counts = np.bincount(picks, minlength=len(self.sources)).tolist()
        if self._steady:
            for source, count in zip(self.sources, counts, strict=True):
                if count and source.is_coming and not source.passes.settle(count):
                    return [], source
        rows = [iter(source.draw(count)) for source, count in zip(self.sources, counts, strict=True)]
        drawn: list[DrawnRow] = []
        for pick in picks.tolist():
            row = next(rows[pick], None)
            if row is None:
                self.put_back(left for rest in rows for left in rest)
                return drawn, self.sources[pick]
            drawn.append(row)
        return drawn, None


def _by_pass(rows: Iterable[DrawnRow]) -> Iterator[tuple[DataPass, list[DrawnRow]]]:
    found: dict[int, list[DrawnRow]] = defaultdict(list)
    for row in rows:
        found[id(row.part)].append(row)
    return ((drawn[0].part, drawn) for drawn in found.values())
