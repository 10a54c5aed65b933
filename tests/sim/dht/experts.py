"""`python -m tests.sim experts`: how long a trainer seeks experts, among peers in three regions of the world.

Hosts tell in the real DHT machines which places of a layer they have, three of them in each row.  Then trainers that
have read nothing seek the best places for a batch, one after the other, with the program's own reader; and once more,
with what they have read.  With `--silent` a share of the peers is gone without a word before that.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.base.ids import Key, PeerId
from core.dht.events import Found
from core.dht.events import Output as DhtOutput
from core.dht.settings import DhtSettings
from core.experts.grid import ExpertGrid
from core.experts.table import ExpertTable
from core.swarm.experts.other_hosts import OtherHosts
from core.swarm.experts.reading import ExpertReader, ExpertsSought
from core.swarm.experts.records import LIFETIME_S, QUOTAS, ExpertRow, Mixture, bits_of, encode_row, row_key, rows_in
from tests.sim.dht.swarm import DhtSwarm, Population
from tests.sim.world.latency import Matrix

SIDE: Final = 32
"""Coordinates in each of two dimensions: 1,024 places, in rows of 32."""
OWNERS: Final = 3
"""Hosts of each row."""
BATCH, TOP = 64, 4
BETWEEN_MS: Final = ((20.0, 65.0, 138.0), (65.0, 20.0, 75.0), (138.0, 75.0, 20.0))
"""Round trips within a region and between three of them."""
SITES_OF_EACH: Final = 10
CALM_S: Final = 60.0
PATIENCE_S: Final = 30.0
SHARES, BETWEEN_S = 5, 2.0
"""Rows are told anew by fifths, one before each search, so that a host says each about every 11 s, as it does."""
BOUNDS_MS: Final[Mapping[int, float]] = {100: 150.0, 1_000: 220.0, 10_000: 300.0}
"""What a cold search is to take at most, by number of peers."""
PAPER_MS: Final[Mapping[int, str]] = {100: "317 ± 58", 1_000: "528 ± 127", 10_000: "764 ± 106"}
"""What the paper says of its beam search, with 100, 1,000 and 10,000 peers."""


class SeekingSwarm(DhtSwarm):
    """A DHT in which some peers seek experts."""

    def __init__(self, seed: int, peers: int) -> None:
        sites = [region for region in range(3) for _ in range(SITES_OF_EACH)]
        rows = [[BETWEEN_MS[a][b] / 1000 * (i != j) for j, b in enumerate(sites)] for i, a in enumerate(sites)]
        settings = DhtSettings(quotas=QUOTAS)
        super().__init__(seed, Population(peers=peers), latency=Matrix(rows), settings=settings)
        self.readers: dict[PeerId, ExpertReader] = {}
        self.sought: dict[int, tuple[float, NDArray[np.int32]]] = {}
        """By ticket: when it was answered, and what."""
        self.heard_owners: dict[Key, set[PeerId]] = {}
        """By key of a row that somebody has read last: who is named in it."""

    def _heard(self, peer: PeerId, event: Any) -> None:
        super()._heard(peer, event)
        if isinstance(event, Found) and (reader := self.readers.get(peer)) is not None:
            self.heard_owners[event.key] = {owner for owner, _, _ in rows_in(event)}
            self.take(peer, reader.found(event, self.now(peer)) or ())

    def tell(self, hosted: Sequence[tuple[PeerId, Key, bytes]]) -> None:
        """Hosts that are there say what they host, for as long as the program's say it."""
        for host, key, said in hosted:
            if host in self.up:
                self.store(host, key, said, lifetime_s=LIFETIME_S)

    def now(self, peer: PeerId) -> float:
        """What a peer's clock says."""
        return self.world.nodes[peer].local(self.world.now)

    def take(self, peer: PeerId, outputs: Sequence[DhtOutput | ExpertsSought]) -> None:
        """Carry out what a reader wants."""
        for output in outputs:
            if isinstance(output, ExpertsSought):
                self.sought[output.ticket] = self.world.now, output.places
            else:
                self.world.driver.perform(self.world.nodes[peer], [output])

    def reader(self, peer: PeerId, mixture: Mixture) -> ExpertReader:
        """A reader that has read nothing, with the DHT of a peer."""
        tables = {0: ExpertTable(mixture.grid, mixture.owner_most)}
        self.readers[peer] = ExpertReader(mixture, tables, self.machine(peer), OtherHosts(peer, mixture, (), Random(0)))
        return self.readers[peer]

    def seek(self, peer: PeerId, ticket: int, scores: NDArray[np.float32]) -> float:
        """Seek the best places of a batch; returns how long it took, seconds."""
        began, reader = self.world.now, self.readers[peer]
        self.take(peer, reader.seek(ticket, 0, scores, TOP, self.now(peer)))
        while ticket not in self.sought and self.world.now < began + PATIENCE_S:
            self.world.run(0.001)
            if reader.deadline is not None and reader.deadline <= self.now(peer):
                self.take(peer, reader.tick(self.now(peer)))
        return self.sought[ticket][0] - began if ticket in self.sought else PATIENCE_S


def run(args: argparse.Namespace) -> int:
    """The command; 0 where all searches were as quick and as good as they are to be."""
    good = True
    for peers in args.peers:
        for silent in (0.0, *([args.silent] if args.silent else [])):
            found = searched(peers, silent=silent, searches=args.searches, seed=args.seed)
            bound = BOUNDS_MS.get(peers, 300.0) * (2 if silent else 1)
            good &= found["cold_ms"] <= bound and found["warm_ms"] < 20 and not found["owners_missed"]
            said = json.dumps({"event": "experts", **found}) if args.json else _sentence(found, bound)
            sys.stdout.write(said + "\n")
            sys.stdout.flush()
    return 0 if good else 1


def searched(peers: int, *, silent: float, searches: int, seed: int) -> dict[str, Any]:
    """Figures of one world.

    Args:
        peers: How many there are.
        silent: Share of them that is gone before the searches.
        searches: How many trainers seek, each for the first time and then again.
        seed: Decides everything.
    """
    random, swarm = Random(seed), SeekingSwarm(seed, peers)
    for _ in swarm.join_all():
        pass
    swarm.world.run(CALM_S)
    grid = ExpertGrid((SIDE, SIDE), SIDE * SIDE)
    mixture = Mixture(bytes(32), 1, grid, owner_most=grid.live)
    hosted = _hosted(swarm, mixture, random)
    owners = {key: {host for host, of, _ in hosted if of == key} for _, key, _ in hosted}
    for share in range(int(PATIENCE_S / BETWEEN_S)):
        swarm.tell(hosted[share % SHARES :: SHARES])
        swarm.world.run(BETWEEN_S)
    readers = random.sample(list(swarm.up), min(searches, len(swarm.up)))
    others = [peer for peer in swarm.up if peer not in set(readers)]
    for peer in random.sample(others, int(silent * len(swarm.up))):
        swarm.end(peer)
    cold, warm, wrong, missed = [], [], 0, 0
    chances = np.random.default_rng(seed)
    for ticket, peer in enumerate(readers):
        swarm.tell(hosted[ticket % SHARES :: SHARES])
        swarm.heard_owners.clear()
        swarm.reader(peer, mixture)
        scores = chances.normal(0, 1, (BATCH, 2 * SIDE)).astype(np.float32)
        cold.append(1000 * swarm.seek(peer, 2 * ticket, scores))
        wrong += _wrong(swarm, 2 * ticket, scores)
        swarm.world.run(BETWEEN_S)
        missed += sum(len((owners[key] & swarm.up.keys()) - heard) for key, heard in swarm.heard_owners.items())
        began = time.perf_counter()
        apart = swarm.seek(peer, 2 * ticket + 1, scores)
        warm.append(1000 * (apart + time.perf_counter() - began))
        del swarm.readers[peer]
    return {
        "peers": peers,
        "silent": silent,
        "searches": len(cold),
        "cold_ms": round(float(np.mean(cold)), 1),
        "cold_sd_ms": round(float(np.std(cold)), 1),
        "warm_ms": round(float(np.mean(warm)), 2),
        "samples_not_best": wrong,
        "owners_missed": missed,
    }


def _hosted(swarm: SeekingSwarm, mixture: Mixture, random: Random) -> Sequence[tuple[PeerId, Key, bytes]]:
    """What hosts say of the rows, each with the row's key."""
    everybody = list(swarm.up)
    return [
        (host, row_key(mixture.run, 0, (row,)), encode_row(ExpertRow(bits_of(range(number, SIDE, OWNERS)))))
        for row in range(SIDE)
        for number, host in enumerate(random.sample(everybody, OWNERS))
    ]


def _wrong(swarm: SeekingSwarm, ticket: int, scores: NDArray[np.float32]) -> int:
    """Number of samples that were not given their best places, where all places have an expert."""
    if ticket not in swarm.sought:
        return len(scores)
    places = swarm.sought[ticket][1]
    totals = (scores[:, :SIDE, None] + scores[:, None, SIDE:]).reshape(len(scores), -1)
    best = np.sort(totals, axis=1)[:, -TOP:].sum(1)
    got = np.take_along_axis(totals, places.clip(min=0), axis=1).sum(1)
    return int((got < best - 1e-4).sum())


def _sentence(found: Mapping[str, Any], bound: float) -> str:
    silent = f", {found['silent']:.0%} of them silent" if found["silent"] else ""
    paper = f"; the paper: {PAPER_MS[found['peers']]}" if found["peers"] in PAPER_MS else ""
    samples, cold = found["searches"] * BATCH, f"{found['cold_ms']} ± {found['cold_sd_ms']} ms"
    return (
        f"{found['peers']} peers{silent}: cold {cold} (at most {bound:.0f}{paper}),"
        f" warm {found['warm_ms']} ms; {found['samples_not_best']} of {samples} samples not their best, "
        f"{found['owners_missed']} owners missed"
    )
