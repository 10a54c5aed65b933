"""Small DHT worlds in which everything goes wrong, with checkers: thousands of them, one for each seed."""

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from random import Random
from typing import Any, Final

from core.base.ids import PeerId
from core.dht.settings import DhtSettings
from tests.sim.checkers import CheckFailed
from tests.sim.dht.judge import KEYS, LONG_S, DhtJudge, key_of
from tests.sim.dht.liars import LyingDht
from tests.sim.dht.swarm import Population
from tests.sim.world.links import LinkSettings, chance
from tests.sim.world.node import End

TROUBLE_S: Final = 90.0
CALM_S: Final = 75.0
"""The longest rest that a silent peer is given, and a little more."""


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
        population = Population(peers=drawn.peers, clients=drawn.clients, skew_s=drawn.skew_s)
        self.swarm = LyingDht(seed, population, links=drawn.links, settings=drawn.dht, liars=drawn.liars)
        self._random: Random = self.swarm.world.chance("small")
        self._judge = DhtJudge(self.swarm, drawn.dht, random=self._random, loss=drawn.links.loss, skew_s=drawn.skew_s)
        self._calm = False

    def run(self) -> SmallVerdict:
        """To the end, or to the first thing that is wrong."""
        problem, at_s = "", None
        try:
            self._join()
            self._trouble()
            self._settle()
            self._judge.judge()
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
            stored=self._judge.stored,
            read=self._judge.read,
            found_at_the_end=self._judge.found,
            lost=self._judge.lost,
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
            self._judge.check_reads()

    def _settle(self) -> None:
        self._calm = True
        self.swarm.world.heal()
        self.swarm.world.run(CALM_S)
        self._judge.check_reads()

    def _write(self) -> None:
        """A peer writes, or overwrites, its value under a key; a store of something shorter-lived is one too."""
        if self._calm:
            return
        random, world = self._random, self.swarm.world
        peer = random.choice(list(self.swarm.up))
        if world.nodes[peer].frozen_until <= world.now:
            self._judge.store(peer, key_of(random.randrange(KEYS)), random.choice([20.0, 60.0, LONG_S, LONG_S]))
        world.agenda.after(random.expovariate(1 / 4.0), self._write)

    def _look(self) -> None:
        if self._calm:
            return
        random, world = self._random, self.swarm.world
        peer = random.choice(list(self.swarm.up))
        if world.nodes[peer].frozen_until <= world.now:
            self._judge.get(peer, key_of(random.randrange(KEYS)), quorum=random.choice([None, None, 1, 2]))
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
