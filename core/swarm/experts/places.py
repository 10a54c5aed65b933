"""Which experts a host takes, from finding a vacant place to leaving it, and what it says of them.

    vacant -> claimed: others are told, and the row is read again after a while
              -> vacant: somebody lives there, or has claimed it before
              -> loading: the worker has it from a file, or begins it anew
                 -> live
                    -> vacant: another one lives there and was first; or the host needs its room

What the worst peer gains: its claims keep a vacant place vacant for as long as it says so, at as many places as one
volunteer counts for (`ExpertNumbers.owner_share`).  Of two who live at one place the first stays; who says only later
to have been first, and was in no round with this peer, drives it away no more.  Keys that somebody has made up speak to
nobody, so they drive nobody away; where they leave nothing vacant, a host asks some of them for a word, and takes the
places of which none answers.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import inf
from random import Random
from typing import Final

from core.base.ids import Key, PeerId
from core.base.machine import Send, earliest
from core.dht.events import Found
from core.dht.events import Output as DhtOutput
from core.dht.node import DhtNode
from core.dht.readwrite import Put
from core.experts.grid import Place
from core.experts.hosting import Expert, ExpertHosted, HostStopped
from core.swarm.experts.other_hosts import OtherHosts, PlaceClaim, rank, row_of
from core.swarm.experts.records import (
    AGAIN_S,
    AGE_MAX,
    LIFETIME_S,
    WAIT_UNIT_S,
    ExpertRow,
    Mixture,
    bits_of,
    encode_row,
    row_key,
)
from core.swarm.words.messages import ExpertFileAsk

LOOK_S: Final = 10.0
"""Time between two looks for vacant places, and at one's own."""
CLAIMED_S: Final = (3.0, 6.0)
"""Time from a claim to the look at who else has claimed the place."""
LOOK_AGAIN_S: Final = 3.0
"""The same where a claim was lost, or somebody else seems to live at one's own place."""
LOADING_S: Final = 120.0
"""A worker that has not got an expert ready from its file within this time does not get it ready."""
TOGETHER_S: Final = 2.0
"""Rows that are to be told again so soon are told with one that is due: holders get fewer datagrams."""
SOON_S: Final = 0.5
"""What has changed is told after this time, with what changes meanwhile."""
READS_MAX: Final = 128
"""Number of rows that are read in one look while there is room."""
SURVEY_MAX: Final = 512
"""The same where people look."""
READS_FULL: Final = 8
"""The same where there is none."""
KNOWN_S: Final = 60.0
"""Who lived at a place when it was claimed is read of within this time."""
DOUBTED_MAX: Final = 4
"""Number of places that are doubted anew in one look."""
SHARE: Final = 4
"""Who wants n places draws among the first `SHARE` times n vacant ones, so that rows fill up."""


@dataclass(frozen=True, slots=True)
class PlaceTaken:
    """The worker is to get the expert of a place ready."""

    layer: int
    place: Place


@dataclass(frozen=True, slots=True)
class PlaceLeft:
    """The worker is to leave the expert of a place, to which nobody comes any more."""

    layer: int
    place: Place


class PlaceState(Enum):
    """How far a host is with a place."""

    CLAIMED = auto()
    LOADING = auto()
    LIVE = auto()


@dataclass(slots=True)
class _Held:
    state: PlaceState
    since: int
    until: float
    """When the state has to have ended; a live one has no end."""
    is_second: bool = False
    """Whether the last look has found another one that lived there first."""


PlaceOutput = DhtOutput | Send[ExpertFileAsk] | PlaceTaken | PlaceLeft


class ExpertPlaces:
    """Takes as many vacant places as are wanted, and keeps the others informed.

    Args:
        me: This peer.
        mixture: Its layers and their places.
        directory: Carries what hosts say.
        members: Who was in rounds with this peer.
        random: Draws among vacant places.
    """

    def __init__(
        self, me: PeerId, mixture: Mixture, *, directory: DhtNode, members: Container[PeerId], random: Random
    ) -> None:
        self._me = me
        self._grid = mixture.grid
        self._owner_most = mixture.owner_most
        self._directory = directory
        self._random = random
        rows = mixture.grid.prefixes(len(mixture.grid.sizes) - 1)
        self._order = [(layer, prefix) for prefix in rows for layer in range(mixture.layers)]
        """All rows, those first that are to be filled first."""
        self.rows = self._order[:SURVEY_MAX]
        """Those that people see."""
        self._key_of = {row: row_key(mixture.run, *row) for row in self._order}
        self._row_of = {key: row for row, key in self._key_of.items()}
        self.others = OtherHosts(me, mixture, members, random)
        self._doubted: set[Expert] = set()
        """Places where hosts were asked for a word: who has not given one takes none of them."""
        self._held: dict[Expert, _Held] = {}
        self._told: dict[Expert, float] = {}
        """When each row that others know of is to be told again."""
        self._reading: set[Key] = set()
        self._next_row = 0
        self._looked_at = -inf
        self._look_at: float | None = None
        self._kept: set[Expert] = set()
        self.wanted = 0
        """Number of experts that this host has room for."""
        self.wait_s = 0.0
        """Time that a call waits here."""

    @property
    def deadline(self) -> float | None:
        """When something is to be told, or looked at."""
        waits = (held.until for held in self._held.values())
        return earliest(self._look_at, min(self._told.values(), default=None), min(waits, default=None))

    def want(self, count: int, now: float, *, kept: Iterable[Expert] = ()) -> Sequence[PlaceOutput]:
        """Have room for `count` experts; 0: leave all of them, and tell so.

        Args:
            count: How many.
            now: Unix seconds.
            kept: Those of which states lie here: they are claimed first.
        """
        self.wanted = count
        self._kept = set(kept)
        self._look_at = now if count else None
        surplus = list(self._held)[count:]
        outputs: list[PlaceOutput] = [self.leave(place, now) for place in surplus]
        return outputs

    def worker(self, fact: PlaceTaken | ExpertHosted | HostStopped, now: float) -> None:
        """The worker is to get an expert ready; has it; or has none, and gets those ready again that are not left."""
        for named, held in self._held.items():
            if isinstance(fact, PlaceTaken) and named == (fact.layer, fact.place):
                held.until = now + LOADING_S
            elif isinstance(fact, ExpertHosted) and named == (fact.layer, fact.place):
                held.state, held.until = PlaceState.LIVE, inf
                self._tell_soon(named, now)
            elif isinstance(fact, HostStopped) and held.state is PlaceState.LIVE:
                held.state, held.until = PlaceState.LOADING, now + LOADING_S
                self._tell_soon(named, now)

    def leave(self, named: Expert, now: float) -> PlaceLeft:
        """Have the expert of a place no longer, whether the worker has it or not."""
        self._held.pop(named, None)
        self._tell_soon(named, now)
        return PlaceLeft(*named)

    def tick(self, now: float) -> Sequence[PlaceOutput]:
        """Look, decide and tell what is due."""
        outputs: list[PlaceOutput] = []
        for named, held in list(self._held.items()):
            if held.until > now:
                continue
            if held.state is PlaceState.LOADING:
                outputs.append(self.leave(named, now))
            else:  # a claim, which the look decides that begins now
                held.until = inf
                outputs += self.read([row_of(named)], now)
        if self._look_at is not None and self._look_at <= now:
            self._looked_at, self._look_at = now, now + LOOK_S * self._random.uniform(0.8, 1.2)
            outputs += self.read(self._to_look_at(), now)
        if min(self._told.values(), default=inf) <= now:
            due = [row for row, at in self._told.items() if at <= now + TOGETHER_S]
            outputs += self._directory.store_many([self._said(row, now) for row in due], now)
        return outputs

    def found(self, found: Found, now: float) -> Sequence[PlaceOutput] | None:
        """Take in what others say of a row; None: the key is not one of rows."""
        row = self._row_of.get(found.key)
        if row is None:
            return None
        self.others.heard(row, found, now)
        outputs: list[PlaceOutput] = []
        if any(row_of(named) == row for named in self._held):
            outputs += self._settle(row, now)
        if found.key in self._reading:
            self._reading.discard(found.key)
            if not self._reading:
                outputs += self._claim(now)
        return outputs

    # --- looks -------------------------------------------------------------------------------------------------------

    def _to_look_at(self) -> Iterable[Expert]:
        """Rows of its own, and others in turn: more while it has room, some to know whose experts it is to keep."""
        rows, most = {row_of(named) for named in self._held}, READS_FULL
        if len(self._held) < self.wanted:
            rows |= {row_of(named) for named in self._kept} & self._key_of.keys()
            most = READS_MAX
        turn = [*self._order[self._next_row :], *self._order[: self._next_row]][:most]
        self._next_row = (self._next_row + len(turn)) % len(self._order)
        return rows.union(turn)

    def read(self, rows: Iterable[Expert], now: float) -> Sequence[DhtOutput]:
        """Read anew what hosts say of some rows."""
        keys = sorted({self._key_of[row] for row in rows} - self._reading)
        self._reading.update(keys)
        return self._directory.get(keys, now) if keys else []

    def _claim(self, now: float) -> Sequence[PlaceOutput]:
        """Claim vacant places of the rows that were read; where there are too few, doubt some others."""
        missing = self.wanted - len(self._held)
        if missing <= 0:
            self._doubted.clear()
            return []
        own = Counter(layer for layer, _ in self._held)
        vacant, silent = self._vacant(missing, now)
        self._random.shuffle(vacant)
        vacant.sort(key=lambda named: named not in self._kept)
        for layer, place in vacant:
            if missing > 0 and own[layer] < self._owner_most:
                own[layer] += 1
                missing -= 1
                until = now + self._random.uniform(*CLAIMED_S)
                self._held[layer, place] = _Held(PlaceState.CLAIMED, int(now), until)
                self._tell_soon((layer, place), now)
        useful = [named for named in silent if missing and own[named[0]] < self._owner_most]
        doubted = self._random.sample(useful, min(DOUBTED_MAX, len(useful)))
        self._doubted.update(doubted)
        return [asked for named in doubted for asked in self.others.asked(silent[named])]

    def _vacant(self, missing: int, now: float) -> tuple[list[Expert], dict[Expert, list[PeerId]]]:
        """Enough vacant places of the rows that were read, and others, of whose hosts none has spoken to this peer."""
        vacant: list[Expert] = []
        silent: dict[Expert, list[PeerId]] = {}
        kept_rows = {row_of(named) for named in self._kept}
        others: dict[int, Mapping[Place, list[PlaceClaim]]] = {}
        for layer, prefix in self._order:
            if self.others.read_at.get((layer, prefix), -inf) < now - LOOK_S:
                continue
            if len(vacant) >= SHARE * missing and (layer, prefix) not in kept_rows:
                continue
            if layer not in others:
                others[layer] = self.others.of_layer(layer, now)
            places = ((*prefix, last) for last in range(self._grid.width(prefix)))
            for place in (place for place in places if (layer, place) not in self._held):
                hosts = [claim.host for claim in others[layer].get(place, [])]
                if any(map(self.others.is_real, hosts)):
                    continue
                if hosts and (layer, place) not in self._doubted:
                    silent[layer, place] = hosts
                else:
                    vacant.append((layer, place))
        return vacant, silent

    def _settle(self, row: Expert, now: float) -> Iterator[PlaceOutput]:
        """Compare what is held of a row with what others say of it."""
        others = self.others.of_layer(row[0], now)
        for named, held in [one for one in self._held.items() if row_of(one[0]) == row]:
            there = others.get(named[1], [])
            mine = held.since if now < held.since + AGE_MAX else 0, rank(named, self._me)
            lives = [claim.host for claim in there if claim.lives]
            first = [claim.host for claim in there if claim.first < mine]
            if held.state is PlaceState.CLAIMED and held.until == inf:
                if any(self.others.is_real(host) or named not in self._doubted for host in (*lives, *first)):
                    del self._held[named]
                    self._tell_soon(named, now)
                    self._look_at = earliest(self._look_at, self._looked_at + LOOK_AGAIN_S)  # for another one
                else:
                    held.state = PlaceState.LOADING  # it has an end when its copy is here, or is not to be had
                    yield PlaceTaken(*named)
            elif held.state is PlaceState.LIVE:
                is_new = held.is_second or now < held.since + KNOWN_S
                before = [host for host in first if host in lives and (is_new or host in self.others.members)]
                real = any(map(self.others.is_real, before))
                if real and held.is_second:
                    yield self.leave(named, now)
                elif not real:
                    yield from self.others.asked(before)
                if before and not held.is_second:
                    self._look_at = earliest(self._look_at, self._looked_at + LOOK_AGAIN_S)
                held.is_second = bool(before)

    # --- what is told ------------------------------------------------------------------------------------------------

    def _tell_soon(self, named: Expert, now: float) -> None:
        row = row_of(named)
        self._told[row] = min(self._told.get(row, inf), now + SOON_S)

    def _said(self, row: Expert, now: float) -> Put:
        """A row as it is now; one that has emptied is told for the last time."""
        held = {named: held for named, held in self._held.items() if row_of(named) == row}
        if now > self._told[row] + LIFETIME_S - AGAIN_S:  # the computer slept: others live there now, and were first
            for one in held.values():
                one.since = int(now)
        if held:
            self._told[row] = now + AGAIN_S - TOGETHER_S * self._random.random()
        else:
            del self._told[row]
        live = [named[1][-1] for named, one in held.items() if one.state is PlaceState.LIVE]
        ages = {named[1][-1]: min(AGE_MAX, max(0, int(now) - one.since)) for named, one in held.items()}
        value = ExpertRow(
            hosted=bits_of(live),
            claimed=bits_of(named[1][-1] for named in held if named[1][-1] not in live),
            wait=min(255, round(self.wait_s / WAIT_UNIT_S)),
            relayed=self._directory.client,
            ages=bytes(age for _, age in sorted(ages.items())),
        )
        return Put(self._key_of[row], encode_row(value), LIFETIME_S)
