"""Small DHT worlds in which everything goes wrong, with checkers: thousands of them, one for each seed."""

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from random import Random
from typing import Any, Final

from core.base.ids import Key, PeerId, distance, hashed_key, node_key
from core.dht.messages import Record
from core.dht.settings import DhtSettings
from core.sim.checkers import CheckFailed
from core.sim.dht_swarm import TimedOperation
from core.sim.liars import LyingDht
from core.sim.links import LinkSettings, chance
from core.sim.node import End
from core.sim.probes import reachable_bytes

KEYS: Final = 6
TROUBLE_S: Final = 90.0
CALM_S: Final = 75.0
"""The longest rest that a silent peer is given, and a little more."""
LONG_S: Final = 600.0
ENDED_S: Final = 12.0
HELD_BY_LEAST: Final = 3
"""Number of nearest peers with a record from which every peer must find it once the world is calm."""
NEAREST_MISSED_MAX: Final = 1
"""Number of nearest peers that may lack a record just stored: two datagrams in a row may get lost."""
LOSSY: Final = 0.02
NEAREST_MISSED_MAX_LOSSY: Final = 3
"""Where more datagrams than `LOSSY` get lost: with 5 %, each of the nearest is missed by one store of a hundred."""
NODE_BYTES_MAX: Final = 1024 * 1024
LATE_S: Final = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallSettings:
    """Parameters of a small world, drawn from its seed."""

    peers: int
    links: LinkSettings
    clients: float
    skew_s: float
    up_s: float | None
    """Mean life of a peer; None: forever."""
    divided: bool
    frozen: bool
    dht: DhtSettings
    liars: float = 0.0
    """Share of the peers that lie."""

    @classmethod
    def drawn(cls, seed: int) -> "SmallSettings":
        """The world of a seed, from calm to all at once."""
        random = chance(seed, "settings")
        calm = cls(
            peers=round(16 * 4 ** (random.random() ** 2)),
            links=LinkSettings(
                loss=random.choice([0.0, 0.0033, 0.01, 0.05]),
                duplicate=random.choice([0.0, 0.001, 0.02]),
                jitter_s=random.choice([0.002, 0.008, 0.040]),
            ),
            clients=random.choice([0.0, 0.0, 0.2, 0.4]),
            skew_s=random.choice([0.0, 2.0, 30.0]),
            up_s=random.choice([None, 60.0, 240.0]),
            divided=random.random() < 0.3,
            frozen=random.random() < 0.3,
            dht=DhtSettings(paths=random.choice([1, 1, 2]), bundle=random.random() < 0.8),
        )
        slow, liars = random.choice([0.0, 0.0, 0.2]), random.choice([0.0, 0.0, 0.1, 0.2])
        return replace(calm, links=replace(calm.links, slow=slow), liars=liars)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallVerdict:
    """Result of one small world, and its counts."""

    seed: int
    ok: bool
    problem: str
    at_s: float
    peers: int
    stored: int
    read: int
    found_at_the_end: int
    lost: int
    """Live records that were not found at the end, as too few of the nearest peers held them still."""
    messages: int
    marks: dict[str, int] = field(default_factory=dict)
    """Counts of dropped messages and the like, over the living nodes."""
    digest: str

    def as_dict(self) -> dict[str, Any]:
        """The verdict in a form for JSON."""
        return asdict(self)


class SmallWorld:
    """The world of one seed.

    Some peers write and overwrite their values under shared keys while peers come and go, datagrams get lost and the
    network is divided; others read.  Then all is calm, and everything that is held is read again.
    """

    def __init__(self, seed: int, settings: SmallSettings | None = None) -> None:
        self.seed = seed
        self.settings = settings or SmallSettings.drawn(seed)
        drawn = self.settings
        self.swarm = LyingDht(
            seed,
            drawn.peers,
            links=drawn.links,
            settings=drawn.dht,
            clients=drawn.clients,
            skew_s=drawn.skew_s,
            liars=drawn.liars,
        )
        self._random: Random = self.swarm.world.chance("small")
        self._written: dict[tuple[Key, PeerId], list[tuple[float, bytes]]] = {}
        """Each owner's values under each key, in the order of writing, with the true time of their end."""
        self._reading: list[tuple[TimedOperation, float]] = []
        self._calm = False
        self._stored = self._read = self._found = self._lost = 0

    def run(self) -> SmallVerdict:
        """To the end, or to the first thing that is wrong."""
        problem, at_s = "", None
        try:
            self._join()
            self._trouble()
            self._settle()
            self._judge()
        except CheckFailed as failed:
            problem, at_s = failed.text, failed.time
        world = self.swarm.world
        marks: Counter[str] = Counter()
        for peer in self.swarm.up:
            marks.update(self.swarm.traces[peer].counts())
        return SmallVerdict(
            seed=self.seed,
            ok=not problem,
            problem=problem,
            at_s=round(world.elapsed_s if at_s is None else at_s, 3),
            peers=self.settings.peers,
            stored=self._stored,
            read=self._read,
            found_at_the_end=self._found,
            lost=self._lost,
            messages=world.messages,
            marks={name: count for name, count in sorted(marks.items()) if name.startswith("dht.drop")},
            digest=world.digest.hex(),
        )

    # --- what happens ------------------------------------------------------------------------------------------------

    def _join(self) -> None:
        for _ in self.swarm.join_all():
            pass
        self.swarm.world.run(10.0)

    def _trouble(self) -> None:
        agenda, settings, random = self.swarm.world.agenda, self.settings, self._random
        agenda.after(random.uniform(0, 1), self._write)
        agenda.after(random.uniform(1, 5), self._look)
        if settings.up_s is not None:
            for peer in list(self.swarm.up):
                agenda.after(random.expovariate(1 / settings.up_s), self._goes, peer)
        if settings.divided:
            agenda.after(random.uniform(10, 40), self._divide)
        if settings.frozen:
            agenda.after(random.uniform(5, 60), self._freeze)
        for _ in range(int(TROUBLE_S / 5)):
            self.swarm.world.run(5.0)
            self._check_reads()

    def _settle(self) -> None:
        self._calm = True
        self.swarm.world.heal()
        self.swarm.world.run(CALM_S)
        self._check_reads()

    def _write(self) -> None:
        """A peer writes, or overwrites, its value under a key; a store of something shorter-lived is one too."""
        if self._calm:
            return
        random, world = self._random, self.swarm.world
        peer = random.choice(list(self.swarm.up))
        if world.nodes[peer].frozen_until <= world.now:
            self._store(peer, _key(random.randrange(KEYS)), random.choice([20.0, 60.0, LONG_S, LONG_S]))
        world.agenda.after(random.expovariate(1 / 4.0), self._write)

    def _store(self, peer: PeerId, key: Key, lifetime_s: float) -> TimedOperation:
        earlier = self._written.setdefault((key, peer), [])
        value = b"%d of %s" % (len(earlier), peer.hex()[:8].encode())
        ends = max([self.swarm.world.now + lifetime_s, *(end for end, _ in earlier)])
        earlier.append((ends, value))
        self._stored += 1
        return self.swarm.store(peer, key, value, lifetime_s=lifetime_s)

    def _look(self) -> None:
        if self._calm:
            return
        random, world = self._random, self.swarm.world
        peer = random.choice(list(self.swarm.up))
        if world.nodes[peer].frozen_until <= world.now:
            operation = self.swarm.get(peer, _key(random.randrange(KEYS)), quorum=random.choice([None, None, 1, 2]))
            self._reading.append((operation, world.nodes[peer].skew_s))
        world.agenda.after(random.expovariate(1 / 5.0), self._look)

    def _goes(self, peer: PeerId) -> None:
        if self._calm or peer not in self.swarm.up or len(self.swarm.up) <= self.settings.peers // 2:
            return
        random, agenda = self._random, self.swarm.world.agenda
        self.swarm.end(peer, random.choice(list(End)))
        agenda.after(random.uniform(1, 20), self._comes, peer)

    def _comes(self, peer: PeerId) -> None:
        """The same peer again, or a new one in its stead."""
        if self._calm:
            return
        peer = peer if self._random.random() < 0.7 else self.swarm.newcomers(1)[0]
        self.swarm.begin(peer, self.swarm.some_seeds())
        assert self.settings.up_s is not None
        self.swarm.world.agenda.after(self._random.expovariate(1 / self.settings.up_s), self._goes, peer)

    def _divide(self) -> None:
        if not self._calm:
            some = self._random.sample(list(self.swarm.up), self._random.randint(1, len(self.swarm.up) - 1))
            self.swarm.world.divide(some)
            self.swarm.world.agenda.after(self._random.uniform(5, 40), self.swarm.world.heal)

    def _freeze(self) -> None:
        if not self._calm:
            self.swarm.world.freeze(self._random.choice(list(self.swarm.up)), self._random.uniform(1, 20))

    # --- what must hold ----------------------------------------------------------------------------------------------

    def _check_reads(self) -> None:
        """Check that each record read was written by its owner, is the only one of its subkey, and has not expired."""
        for operation, skew_s in self._reading:
            if operation.ended is None:
                continue
            self._read += 1
            subkeys = [record.subkey for record in operation.records]
            if len(subkeys) != len(set(subkeys)):
                self._fail(f"two records of one subkey under {operation.key.hex()[:8]}")
            for record in operation.records:
                self._check_record(operation.key, record)
                if record.expires_ms / 1000 < operation.ended + skew_s - LATE_S:
                    late_s = operation.ended + skew_s - record.expires_ms / 1000
                    self._fail(f"a value was given {late_s:.3f} s after it had expired by the reader's clock")
        self._reading = [(operation, skew_s) for operation, skew_s in self._reading if operation.ended is None]

    def _check_record(self, key: Key, record: Record) -> None:
        owner = PeerId(record.subkey)
        if record.value not in {value for _, value in self._written.get((key, owner), ())}:
            self._fail(f"{record.value!r} was read under {key.hex()[:8]}, its owner never wrote it")

    def _judge(self) -> None:
        """All is calm: what several living peers hold is found, in its newest form, by everybody."""
        swarm, random = self.swarm, self._random
        for number in range(KEYS):
            key = _key(number)
            holders = self._holders(key)
            operation = swarm.get(random.choice(swarm.honest()), key)
            swarm.world.run(ENDED_S)
            if operation.ended is None:
                self._fail("a get in a calm world did not end")
            given = {PeerId(record.subkey): record.value for record in operation.records}
            for (where, owner), versions in self._written.items():
                if where != key or versions[-1][0] < swarm.world.now + 2 * self.settings.skew_s:
                    continue
                self._judge_one(owner, versions[-1][1], given.get(owner), holders)
        self._judge_nearest()
        size = max(reachable_bytes(swarm.machine(peer)) for peer in swarm.honest()[:2])
        if size > NODE_BYTES_MAX:
            self._fail(f"a node holds {size} bytes")

    def _judge_one(
        self, owner: PeerId, newest: bytes, given: bytes | None, holders: dict[tuple[PeerId, bytes], int]
    ) -> None:
        held_by = holders.get((owner, newest), 0)
        if given == newest:
            self._found += 1
        elif held_by >= HELD_BY_LEAST:
            self._fail(f"{newest!r} is held by {held_by} of the nearest peers, a reader was given {given!r}")
        else:
            self._lost += 1

    def _judge_nearest(self) -> None:
        """A value that is stored over another now lies with the peers that are truly nearest, found by brute force."""
        swarm, key = self.swarm, hashed_key(b"calm", self.seed.to_bytes(8, "big"))
        writer = self._random.choice(swarm.honest())
        for _ in range(2):
            operation = self._store(writer, key, LONG_S)
            swarm.world.run(ENDED_S)
            if operation.ended is None or not operation.replicas:
                self._fail("a store in a calm world did not end, or nobody holds it")
        newest = self._written[key, writer][-1][1]
        servers = sorted(swarm.servers(), key=lambda peer: distance(node_key(peer), key))
        nearest = servers[: self.settings.dht.replicas]
        asked = [peer for peer in nearest if peer not in swarm.liars]
        lacking = [
            peer
            for peer in asked
            if newest not in {record.value for record in swarm.machine(peer).records.get(key, swarm.world.now).values()}
        ]
        if len(lacking) > (NEAREST_MISSED_MAX if self.settings.links.loss <= LOSSY else NEAREST_MISSED_MAX_LOSSY):
            self._fail(f"{len(lacking)} of the {len(asked)} peers nearest to a key lack the record just stored there")

    def _holders(self, key: Key) -> dict[tuple[PeerId, bytes], int]:
        """How many of the peers that a reader asks, the truly nearest ones, hold each value under the key.

        Liars hold nothing.
        """
        held: Counter[tuple[PeerId, bytes]] = Counter()
        servers = sorted(self.swarm.servers(), key=lambda peer: distance(node_key(peer), key))
        for peer in servers[: self.settings.dht.read_width]:
            if peer in self.swarm.liars:
                continue
            node = self.swarm.world.nodes[peer]
            for record in self.swarm.machine(peer).records.get(key, node.local(self.swarm.world.now)).values():
                held[PeerId(record.subkey), record.value] += 1
        return dict(held)

    def _fail(self, text: str) -> None:
        raise CheckFailed(self.seed, self.swarm.world.elapsed_s, text)


def _key(number: int) -> Key:
    return hashed_key(b"small", bytes([number]))
