"""Finds the experts that a trainer's samples are to go to, by what hosts say in the DHT.

Once all rows of a layer are known, the best places are exact and cost no message; until then a search reads the rows
that it meets (`core.experts.grid`), all that it lacks in one call, and takes what is known when its time is over.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from core.base.arrays import np
from core.base.ids import Key
from core.base.machine import earliest
from core.dht.events import Found
from core.dht.events import Output as DhtOutput
from core.dht.node import DhtNode
from core.experts.grid import Place, best_places
from core.experts.table import FORGOTTEN_S, ExpertTable
from core.swarm.experts.other_hosts import OtherHosts
from core.swarm.experts.records import Mixture, row_key, row_news

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEARCH_S: Final = 0.4
"""A search takes what is known after this time, seconds."""
QUORUM: Final = 2
"""Number of holders that end a read: a row has several owners, whom one holder may not all know."""
READS_MAX: Final = 128
"""Number of rows that are read at a time: a holder of all of them answers 200 requests a second."""
SEARCHES_MAX: Final = 512
"""Number of searches that wait: as many as flights may; those of flights that have ended are the oldest."""
EMPTY_S: Final = 5.0
"""Age from which an empty row is read again, and a place that failed is asked again, while a search waits for somebody
to host an expert."""
LOOK_S: Final = 1.0
"""Time between two looks for rows that are to be read beside the searches."""


@dataclass(frozen=True, slots=True, eq=False)
class ExpertsSought:
    """The places that were sought.

    Attributes:
        ticket: Of the search.
        places: Numbers of places (`ExpertGrid.number`), int32, shape (samples, count), the best first; -1: there are
            no more.
    """

    ticket: int
    places: "NDArray[np.int32]"


@dataclass(slots=True)
class _Search:
    ticket: int
    layer: int
    scores: "NDArray[np.float32]"
    count: int
    began: float
    until: float
    lacking: set[Place] = field(default_factory=set)


class ExpertReader:
    """Keeps the tables of all layers, and searches them.

    Args:
        mixture: Its layers and their places.
        tables: One for each layer, by number.
        directory: Carries what hosts say.
        others: Knows whose words count.
    """

    def __init__(
        self, mixture: Mixture, tables: Mapping[int, ExpertTable], directory: DhtNode, others: OtherHosts
    ) -> None:
        grid = self._grid = mixture.grid
        self._others = others
        self._tables = tables
        self._directory = directory
        self._prefixes = [prefix for length in range(1, len(grid.sizes)) for prefix in grid.prefixes(length)] or [()]
        """All that are read: rows, and in three dimensions what they begin with."""
        self._keys = {
            row_key(mixture.run, layer, prefix): (layer, prefix) for layer in tables for prefix in self._prefixes
        }
        self._keys_of = {named: key for key, named in self._keys.items()}
        self._reading: dict[Key, float] = {}
        """When each read that goes on began."""
        self._searches: list[_Search] = []
        self._look_at: float | None = None

    @property
    def deadline(self) -> float | None:
        """When a search takes what is known, or rows are to be read again."""
        return earliest(self._look_at, min((search.until for search in self._searches), default=None))

    def seek(
        self, ticket: int, layer: int, scores: "NDArray[np.float32]", count: int, now: float
    ) -> Sequence[DhtOutput | ExpertsSought]:
        """Search the best places for samples; `ExpertsSought` follows, at once or within `SEARCH_S`.

        Where nobody hosts any expert of the layer it follows as soon as somebody does.

        Args:
            ticket: Names the search.
            layer: Number of the layer.
            scores: The gate's, of all coordinates of all dimensions, shape (samples, sum of the grid's sizes).
            count: Number of places for each sample.
            now: Unix seconds.
        """
        self._look_at = now if self._look_at is None else self._look_at
        search = _Search(ticket, layer, scores, count, now, now + SEARCH_S)
        self._searches = [*self._searches[1 - SEARCHES_MAX :], search]
        return self._go_on(search, now)

    def tick(self, now: float) -> Sequence[DhtOutput | ExpertsSought]:
        """End searches whose time is over; read what was read long ago, and what was never read."""
        outputs: list[DhtOutput | ExpertsSought] = []
        for search in [search for search in self._searches if search.until <= now]:
            outputs += self._go_on(search, now)
        if self._look_at is not None and self._look_at <= now:
            self._look_at = now + LOOK_S
            wanted = []
            for layer, table in self._tables.items():
                table.now = now
                if any(one.layer == layer and one.began + LOOK_S <= now for one in self._searches):
                    table.forgive(EMPTY_S)
                empty_s = EMPTY_S if self.lacks(now) is not None else FORGOTTEN_S
                wanted += [(layer, prefix) for prefix in self._prefixes if table.wants(prefix, empty_s=empty_s)]
            outputs += self._read(wanted, now)
        return outputs

    def found(self, found: Found, now: float) -> Sequence[DhtOutput | ExpertsSought] | None:
        """Take in a row that was read; None: the key is not one of rows."""
        if found.key not in self._keys:
            return None
        self._reading.pop(found.key, None)
        layer, prefix = self._keys[found.key]
        self._tables[layer].now = now
        words = self._others.words(prefix, found)
        self._tables[layer].heard(prefix, {host: row_news(row, until, counts) for host, row, until, counts in words})
        outputs: list[DhtOutput | ExpertsSought] = []
        for search in [one for one in self._searches if one.layer == layer and prefix in one.lacking]:
            search.lacking.discard(prefix)
            if not search.lacking:
                outputs += self._go_on(search, now)
        return outputs

    def _go_on(self, search: _Search, now: float) -> Sequence[DhtOutput | ExpertsSought]:
        """Look with what is known; read what is lacking, if there is time."""
        table = self._tables[search.layer]
        table.now = now
        places = table.best(search.scores, search.count)
        if places is None:
            places, search.lacking = self._known(search, table)
            if search.lacking and now < search.until:
                return self._read([(search.layer, prefix) for prefix in sorted(search.lacking)], now)
        if len(places) and (places[:, 0] < 0).any():  # nobody hosts any expert of this layer
            search.until = now + LOOK_S
            return []
        self._searches.remove(search)
        return [ExpertsSought(search.ticket, places)]

    def forget(self) -> None:
        """Nobody needs what is sought any more."""
        self._searches.clear()

    def lacks(self, now: float) -> int | None:
        """Number of the first layer that has no expert that anybody knows of; None: no search waits for one."""
        return min((one.layer for one in self._searches if one.began + LOOK_S <= now), default=None)

    def _known(self, search: _Search, table: ExpertTable) -> "tuple[NDArray[np.int32], set[Place]]":
        """The best places as far as they are known, and what is to be read for better ones."""
        places = np.full((len(search.scores), search.count), -1, np.int32)
        lacking: set[Place] = set()
        ends = np.cumsum(self._grid.sizes)[:-1]
        for sample, scores in enumerate(search.scores):
            heads = [head.tolist() for head in np.split(scores, ends)]
            sought = best_places(heads, table, self._grid, search.count)
            lacking.update(sought.unknown)
            for rank, (_, place) in enumerate(sought.places):
                places[sample, rank] = self._grid.number(place)
        return places, lacking

    def _read(self, named: Iterable[tuple[int, Place]], now: float) -> Sequence[DhtOutput]:
        """Read rows that are not being read, as many as may be read at a time."""
        room = READS_MAX - len(self._reading)
        keys = [key for key in (self._keys_of[one] for one in named) if key not in self._reading][: max(0, room)]
        self._reading |= dict.fromkeys(keys, now)
        return self._directory.get(keys, now, quorum=QUORUM) if keys else []
