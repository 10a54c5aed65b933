"""How far people's parts lie from the others', as this computer's reducers have seen it."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.moderation import PartsView
from core.averaging.distances import PEERS_MAX, DistanceBook, PartsSeen
from core.base.ids import PeerId
from core.base.problems import Problem
from core.system.atomic_files import read_bounded, set_aside, write_atomic

_LOG = logging.getLogger(__name__)
DISTANCES: Final = "distances.json"
_BYTES_MAX: Final = 512 * PEERS_MAX
_Key = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


def read_distances(path: Path) -> dict[PeerId, PartsSeen]:
    """What was seen of each key, the latest last; a damaged file is set aside and counts as empty.

    Args:
        path: The charter's `distances.json`.
    """
    try:
        data = read_bounded(path, _BYTES_MAX)
        rows = {} if data is None else msgspec.json.decode(data, type=dict[_Key, PartsSeen])
    except ValueError:
        set_aside(path)
        return {}
    return {PeerId(bytes.fromhex(key)): row for key, row in rows.items()}


class SeenParts:
    """Keeps in a charter what the backbone has seen of members' parts.

    Args:
        folder: The charter's.
        book: What its reducers see; it goes on from what was kept.
    """

    def __init__(self, folder: Path, book: DistanceBook) -> None:
        self._path = folder / DISTANCES
        self._book = book
        book.restore(read_distances(self._path))
        self._kept = dict(book.rows)

    def save(self) -> None:
        """Write down what there is, if it is new."""
        rows = dict(self._book.rows)
        if rows == self._kept:
            return
        self._kept = rows
        try:
            write_atomic(self._path, msgspec.json.encode({peer.hex(): row for peer, row in rows.items()}))
        except Problem as problem:
            _LOG.warning("how far members' parts lie from each other is not kept: %s", problem)


def parts_view(rows: Iterable[PartsSeen | None]) -> PartsView | None:
    """What was seen of all computers of a person; None: nothing.

    Args:
        rows: Of each computer; None: nothing was seen of it.
    """
    seen = sum((row for row in rows if row is not None), PartsSeen())
    if not seen.rounds:
        return None
    looks = max(1, seen.looks)
    return PartsView(
        rounds=seen.rounds,
        numbers=min(1.0, seen.numbers / seen.rounds),
        ratio=seen.ratios / looks,
        cosine=seen.cosines / looks,
        clipped=min(1.0, seen.clipped / looks),
        dropped=seen.dropped,
    )
