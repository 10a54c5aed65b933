"""What a trainer knows of the hosts of a layer: whose expert lives where, as long as they say so."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from core.base.arrays import np
from core.base.ids import PeerId
from core.experts.grid import ExpertGrid, Place

if TYPE_CHECKING:
    from numpy.typing import NDArray

REFRESH_S = 15.0
"""Age from which a row that is in use is read again; a host says anew who lives there every 10 s, for 30 s."""
USED_S = 60.0
"""A row that no search has looked at for so long is not read again."""
RANK_MAX = (1 << 64) - 1
FAILURES_MAX = 2
FORGOTTEN_S = 60.0
"""A place that has failed so often is left out for this long, and a row that was empty is not read again."""


@dataclass(frozen=True, slots=True)
class RowNews:
    """What one host says of one row."""

    bits: int
    """Bit n: an expert lives at coordinate n."""
    until: float
    """When it ends, Unix seconds."""
    wait_s: float = 0.0
    """Time that a call waits there."""
    relayed: bool = False
    """Whether it is reached through another peer only."""


@dataclass(slots=True)
class _Row:
    hosts: Mapping[PeerId, RowNews]
    read_at: float
    used_at: float
    settled_until: float = 0.0
    """Until then it is known who lives in it, unless there is news."""


@dataclass(slots=True)
class _Failed:
    count: int = 0
    until: float = 0.0


@dataclass(slots=True)
class ExpertTable:
    """The rows of a layer that were read.

    What the worst host gains: it counts for `owner_most` places at most, whatever it claims; a place at which it does
    not answer is asked twice, and then not for a minute.

    Attributes:
        grid: The layer's places.
        owner_most: Number of places at which one host counts.
        now: Unix seconds; its owner sets it before it asks.
    """

    grid: ExpertGrid
    owner_most: int
    now: float = 0.0
    _rows: dict[Place, _Row] = field(default_factory=dict)
    _alive: "NDArray[np.bool_] | None" = None
    """Whether an expert lives at each place, as far as rows are settled."""
    _failed: dict[Place, _Failed] = field(default_factory=dict)
    _lost: dict[PeerId, float] = field(default_factory=dict)
    """By host whose connection broke: when the last of what it had said until then ends."""
    _claimed: "dict[PeerId, dict[Place, NDArray[np.uint64]]]" = field(default_factory=dict)
    """By host and row: the ranks of the places that it says to host, in an order by chance."""
    _last: dict[PeerId, int] = field(default_factory=dict)
    """The last rank at which a host counts that claims more places than it may."""

    def heard(self, prefix: Place, hosts: Mapping[PeerId, RowNews]) -> None:
        """Take what was read of a prefix, in place of what was known of it.

        Args:
            prefix: All coordinates but the last, or fewer, where the grid has three dimensions.
            hosts: By host; what has ended, and bits of no place, are left out.
        """
        width, before = self.grid.width(prefix), self._rows.get(prefix)
        kept = {}
        for host, hosted in hosts.items():
            bits = hosted.bits & ((1 << width) - 1)
            if bits and hosted.until > self.now:
                kept[host] = RowNews(bits, hosted.until, hosted.wait_s, hosted.relayed)
        self._rows[prefix] = _Row(kept, self.now, self.now if before is None else before.used_at)
        if len(prefix) == len(self.grid.sizes) - 1:
            known = {} if before is None else before.hosts
            for host in {*known, *kept}:
                was, now = (row[host].bits if host in row else 0 for row in (known, kept))
                if was != now:
                    self._claims(host, prefix, now)

    def lost(self, host: PeerId) -> None:
        """The connection to a host broke: no search names its places, until it says anew that they live there."""
        self._lost = {one: until for one, until in self._lost.items() if until > self.now}
        rows = [row for row in self._rows.values() if host in row.hosts]
        for row in rows:
            row.settled_until = 0.0
            self._lost[host] = max(self._lost.get(host, 0.0), row.hosts[host].until)

    def _claims(self, host: PeerId, prefix: Place, bits: int) -> None:
        """A host claims other places of a row than before; where it claims too many, it may count elsewhere now."""
        claimed = self._claimed.setdefault(host, {})
        claimed.pop(prefix, None)
        if bits:
            claimed[prefix] = np.array([claim_rank(host, (*prefix, bit)) for bit in bits_in(bits)], np.uint64)
        was, last = self._last.pop(host, RANK_MAX), RANK_MAX
        if sum(map(len, claimed.values())) > self.owner_most:
            ranks = np.partition(np.concatenate(list(claimed.values())), self.owner_most - 1)
            last = self._last[host] = int(ranks[self.owner_most - 1])
        if not claimed:
            del self._claimed[host]
        for row, ranks in claimed.items() if was != last else ():
            if row in self._rows and ((ranks > min(was, last)) & (ranks <= max(was, last))).any():
                self._rows[row].settled_until = 0.0

    def after(self, prefix: Place) -> Sequence[int] | None:
        """Coordinates after a prefix under which an expert lives, in their order; None: it has to be read."""
        if not prefix and len(self.grid.sizes) > 1:
            return range(self.grid.width(()))
        row = self._rows.get(prefix)
        if row is None:
            return None
        row.used_at = self.now
        alive = [hosted.bits for hosted in row.hosts.values() if hosted.until > self.now]
        if not alive and self.now >= row.read_at + FORGOTTEN_S:
            return None
        if not alive and row.hosts and self.now >= row.read_at + REFRESH_S:
            return None  # they may have said it anew
        if len(prefix) < len(self.grid.sizes) - 1:
            return sorted({bit for bits in alive for bit in bits_in(bits)})
        every = {(*prefix, bit) for bits in alive for bit in bits_in(bits)}
        return sorted(place[-1] for place in every if not self._is_out(place) and self._is_reached(row, place))

    @property
    def live(self) -> int:
        """Number of places at which an expert lives that is not left out now."""
        rows = ((prefix, row) for prefix, row in self._rows.items() if len(prefix) == len(self.grid.sizes) - 1)
        return sum(len(self.after(prefix) or ()) for prefix, row in rows if row.hosts)

    def hosts(self, place: Place) -> list[PeerId]:
        """The hosts of a place, those first that answer soonest by their own word."""
        row = self._rows.get(place[:-1])
        if row is None:
            return []
        there = [
            (hosted.relayed, hosted.wait_s, host)
            for host, hosted in row.hosts.items()
            if hosted.until > self.now
            and hosted.bits >> place[-1] & 1
            and (
                host not in self._last
                or _rank(self._claimed[host][place[:-1]], hosted.bits, place[-1]) <= self._last[host]
            )
        ]
        return [host for _, _, host in sorted(there)]

    def failed(self, place: Place) -> None:
        """Nobody has answered for a place: after `FAILURES_MAX` times it is left out for a while."""
        failed = self._failed.setdefault(place, _Failed())
        failed.count += 1
        if failed.count >= FAILURES_MAX:
            failed.until = self.now + FORGOTTEN_S
            if place[:-1] in self._rows:
                self._rows[place[:-1]].settled_until = 0.0

    def forgive(self, after_s: float) -> None:
        """Leave no place out any more for what failed so long ago: nobody else is left to ask."""
        for place, failed in list(self._failed.items()):
            if failed.until and failed.until - FORGOTTEN_S + after_s <= self.now:
                self.answered(place)
                if place[:-1] in self._rows:
                    self._rows[place[:-1]].settled_until = 0.0

    def answered(self, place: Place) -> None:
        """Forget what has failed at a place: somebody has answered for it."""
        self._failed.pop(place, None)

    def wants(self, prefix: Place, *, empty_s: float = FORGOTTEN_S) -> bool:
        """Whether a prefix is to be read beside the work: it was never read, or long ago and is in use.

        Args:
            prefix: All coordinates but the last, or fewer.
            empty_s: Age from which it is read again where nobody was found.
        """
        row = self._rows.get(prefix)
        if row is None:
            return True
        rest_s = REFRESH_S if row.hosts else empty_s
        return self.now >= row.read_at + rest_s and self.now < row.used_at + USED_S

    def best(self, scores: "NDArray[np.float32]", count: int) -> "NDArray[np.int32] | None":
        """The best places of several samples at once, which are exact; None: not all rows were read.

        Args:
            scores: The gate's, of all coordinates of one dimension after the other, shape (samples, all coordinates).
            count: How many are wanted for each sample.

        Returns:
            Numbers of places, shape (samples, count), the best first; -1: there are no more.
        """
        rows = [(prefix, self._rows.get(prefix)) for prefix in self.grid.prefixes(len(self.grid.sizes) - 1)]
        if self._alive is None:
            self._alive = np.zeros(self.grid.live, np.bool_)
        for prefix, row in rows:
            if row is None:
                return None
            row.used_at = self.now
            if row.settled_until <= self.now:
                first = self.grid.number(prefix)
                self._alive[first : first + self.grid.width(prefix)] = False
                self._alive[[first + after for after in self.after(prefix) or ()]] = True
                row.settled_until = self._settled_until(prefix, row)
        living = np.flatnonzero(self._alive)
        places = np.full((len(scores), count), -1, np.int32)
        found = min(count, len(living))
        if found:
            totals, first = np.zeros((len(scores), len(living)), np.float32), 0
            for size, coordinates in zip(self.grid.sizes, self.grid.coordinates(living), strict=True):
                totals += scores[:, first : first + size][:, coordinates]
                first += size
            top = np.argpartition(-totals, found - 1, axis=1)[:, :found]
            order = np.take_along_axis(-totals, top, 1).argsort(1, kind="stable")
            places[:, :found] = living[np.take_along_axis(top, order, 1)]
        return places

    def _settled_until(self, prefix: Place, row: _Row) -> float:
        """When somebody in a row may live no longer, or again."""
        ends = [hosted.until for hosted in row.hosts.values() if hosted.until > self.now]
        ends += [failed.until for place, failed in self._failed.items() if place[:-1] == prefix and failed.until]
        return min(ends, default=float("inf"))

    def _is_out(self, place: Place) -> bool:
        failed = self._failed.get(place)
        if failed is None or failed.count < FAILURES_MAX:
            return False
        if self.now >= failed.until:
            del self._failed[place]
            return False
        return True

    def _is_reached(self, row: _Row, place: Place) -> bool:
        """Whether a host of a place has said so since its connection broke, if it did."""
        return any(row.hosts[host].until > self._lost.get(host, 0.0) for host in self.hosts(place))


def bits_in(bits: int) -> Iterator[int]:
    """Numbers of the bits that are set, the lowest first."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def claim_rank(host: PeerId, place: Place) -> int:
    """Where a place stands in the order, by chance, of what one host claims; at most `RANK_MAX`."""
    return int.from_bytes(blake2b(host + bytes(place), digest_size=8).digest())


def _rank(ranks: "NDArray[np.uint64]", bits: int, last: int) -> int:
    """The rank of one of a row's places that a host claims, by the ranks of all of them."""
    return int(ranks[(bits & ((1 << last) - 1)).bit_count()])
