"""Which states of experts lie in whose files, as hosts say it in the DHT (`core.swarm.experts.records`)."""

from collections import OrderedDict, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from random import Random
from typing import Final

from core.base.bounds import remember
from core.base.ids import Key, PeerId
from core.dht.events import Found
from core.dht.events import Output as DhtOutput
from core.dht.node import DhtNode
from core.dht.readwrite import Put
from core.experts.hosting import Expert
from core.swarm.experts.other_hosts import row_of
from core.swarm.experts.records import (
    COPIES_LIFETIME_S,
    COPIES_MAX,
    ExpertCopy,
    Mixture,
    copies_in,
    copies_key,
    encode_copies,
)
from core.swarm.words.states import StateFile

AGAIN_S: Final = 240.0
"""Time after which copies that have not changed are told again."""
SOON_S: Final = 1.0
REFUSED_MAX: Final = 1_024
"""Upper bound on the files that are remembered to be of no use."""


@dataclass(frozen=True, slots=True, eq=False)
class CopyHere:
    """The state of an expert lies in a file of this computer."""

    expert: Expert
    version: int
    file: StateFile
    saved: int = 0
    """When it was written, or has come, Unix seconds; 0: not known."""


class CopyNews:
    """Which copies others have, as read last, and telling which ones lie here.

    Args:
        me: This peer.
        mixture: Its layers and their places, and the size of an expert.
        directory: The DHT.
        copies: Those that lie here.
        members: Who was in rounds with this peer.
        random: Spreads what many do.
    """

    def __init__(
        self,
        me: PeerId,
        mixture: Mixture,
        *,
        directory: DhtNode,
        copies: Mapping[Expert, CopyHere],
        members: Container[PeerId],
        random: Random,
    ) -> None:
        self._me = me
        self._run, self._grid, self._size_max = mixture.run, mixture.grid, mixture.file_bytes
        self._directory = directory
        self._copies = copies
        self._members = members
        self._random = random
        self._rows: dict[Key, Expert] = {}
        """Rows that were read, by key."""
        self.known: dict[Expert, dict[PeerId, ExpertCopy]] = {}
        """What others have, as read last."""
        self._refused: OrderedDict[bytes, None] = OrderedDict()
        """Digests of files that this peer's worker could not use."""
        self._told: dict[Expert, float] = {}
        """When each row is to be told again."""

    @property
    def deadline(self) -> float | None:
        """When copies are to be told, Unix seconds."""
        return min(self._told.values(), default=None)

    def changed(self, row: Expert, now: float) -> None:
        """Another copy of a row lies here."""
        self._told[row] = min(self._told.get(row, inf), now + SOON_S)

    def read(self, rows: Sequence[Expert], now: float) -> Sequence[DhtOutput]:
        """Read which copies of these rows there are."""
        keys = {copies_key(self._run, *row): row for row in rows}
        self._rows |= keys
        return self._directory.get(list(keys), now) if keys else []

    def found(self, found: Found) -> Expert | None:
        """Take in what was read; returns the row, or None: nobody asked for this key here."""
        row = self._rows.get(found.key)
        if row is None:
            return None
        self.known = {expert: known for expert, known in self.known.items() if row_of(expert) != row}
        width = self._grid.width(row[1])
        for owner, copy in copies_in(found):
            fits = copy.size <= self._size_max and copy.last < width
            if fits and owner != self._me and copy.digest not in self._refused:
                self.known.setdefault((row[0], (*row[1], copy.last)), {})[owner] = copy
        return row

    def newer(self, expert: Expert) -> list[tuple[ExpertCopy, list[PeerId]]]:
        """Copies that are newer than what lies here, and who has each.

        First what the most have of those that were in rounds with this peer, then the most of all, then the newest; of
        the owners first those that were in rounds.
        """
        here, found = self._copies.get(expert), defaultdict[tuple[int, bytes, int], list[PeerId]](list)
        copies = {}
        for owner, copy in self.known.get(expert, {}).items():
            if here is None or copy.version > here.version:
                found[copy.file].append(owner)
                copies[copy.file] = copy
        known = {file: sum(owner in self._members for owner in owners) for file, owners in found.items()}
        most = sorted(found, key=lambda file: (known[file], len(found[file]), file[0]), reverse=True)
        return [(copies[file], sorted(found[file], key=lambda owner: owner not in self._members)) for file in most]

    def other(self, expert: Expert, host: PeerId) -> ExpertCopy | None:
        """What its host has, unless it lies here; its version does not count, for it is the host's word alone."""
        here, copy = self._copies.get(expert), self.known.get(expert, {}).get(host)
        return copy if copy is not None and (here is None or copy.digest != here.file.digest) else None

    def forget(self, expert: Expert, wrong: ExpertCopy) -> None:
        """A copy is not to be had."""
        known = self.known.get(expert, {})
        self.known[expert] = {owner: copy for owner, copy in known.items() if copy.file != wrong.file}

    def refuse(self, expert: Expert, digest: bytes) -> None:
        """A file is not of this expert, or is damaged: no offer of it counts any more."""
        remember(self._refused, digest, None, REFUSED_MAX)
        known = self.known.get(expert, {})
        self.known[expert] = {owner: copy for owner, copy in known.items() if copy.digest != digest}

    def tell(self, now: float) -> Sequence[DhtOutput]:
        """Tell the copies of rows that are due."""
        due = [row for row, at in self._told.items() if at <= now]
        self._told |= {row: now + AGAIN_S * self._random.uniform(0.8, 1.0) for row in due}
        puts = [put for row in due for put in self._said(row)]
        return self._directory.store_many(puts, now) if puts else []

    def _said(self, row: Expert) -> Iterator[Put]:
        """The copies of a row, as many records as they take."""
        copies = [
            ExpertCopy(expert[1][-1], one.version, one.file.digest, one.file.size_bytes, one.saved)
            for expert, one in sorted(self._copies.items())
            if row_of(expert) == row
        ]
        for number in range(max(1, -(-len(copies) // COPIES_MAX))):
            value = encode_copies(copies[number * COPIES_MAX : (number + 1) * COPIES_MAX])
            yield Put(copies_key(self._run, *row), value, COPIES_LIFETIME_S, self._me + bytes((number,)))
