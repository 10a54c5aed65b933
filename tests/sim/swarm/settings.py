"""What a simulated collaboration is like: drawn from a seed, or as a test wants it."""

from dataclasses import dataclass, field, fields, replace

from msgspec import UNSET

from core.base.manifest import AveragingNumbers
from core.codecs.registry import CODEC_NAMES
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.liars import LIES
from tests.sim.world.links import LOCAL, LinkSettings, chance

EPOCH_S = 8.0
"""How long an epoch takes with everybody here."""
PARTIAL_EPOCHS = 6
"""Number of epochs in which some plan has partial portions, once the lines are known."""
CLIPPED = "centered_clip"
CLIPPED_SHARE = 0.02
"""Upper bound on a member's share of the weight where parts are clipped, as a manifest among strangers has it."""
SLOW_BYTES_PER_S = (20e3, 320e3)
"""Uplinks on which the vector of such a world takes longer than its batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmSettings:
    """Parameters of a world.  `drawn` makes all kinds of worlds from their seeds."""

    peers: int
    """Volunteers; the backbone comes on top."""
    epochs: int
    churn: ChurnSettings
    links: LinkSettings = field(default_factory=LinkSettings)
    measured: bool = False
    """Whether peers measure their lines."""
    parameters: int = 128
    chunk_numel: int = 16
    codec: str = "raw"
    aggregator: str = "mean"
    delayed: bool = False
    """Whether computing goes on while a round is averaged."""
    step_s: tuple[float, float] = (0.05, 0.4)
    """Least and most that an optimiser step takes."""
    speeds: tuple[float, float] = (5.0, 50.0)
    """Samples a second of the slowest and the fastest computer."""
    epoch_s: float = EPOCH_S
    """How long an epoch's samples take to compute with everybody here."""
    padding_bytes: int = 0
    partial: bool = False
    """Whether plans may ask slow members for less than their contributions."""
    ends: bool = False
    """Whether the volunteers are to stop after `epochs`."""
    told_hosts: bool = True
    """Whether peers say in their reports where they are to be reached."""
    skew_s: float = 0.0
    """Clocks differ from the true time by up to this."""
    pause_s: float | None = None
    """Mean time until a volunteer's worker is stopped for a while; None: never."""
    backbone_s: float | None = None
    """Mean life of the backbone; None: forever."""
    partition_s: float | None = None
    """Mean time between two partitions; None: never."""
    aimed: float = 0.0
    """How often a peer that is asked for its contribution, or its leader, goes within the next two seconds."""
    aimed_partitions: float = 0.0
    """How often the network is divided instead, within two seconds after a peer was asked for its contribution."""
    freeze_s: float | None = None
    """Mean time until a computer stands still for a while, as under a closed lid; None: never."""
    blank: float = 0.1
    """How often a peer comes back with an empty disk."""
    helpers: int = 0
    """Number of the volunteers that have no trainer and reduce for the others; the backbone helps where any does."""
    relays: bool = False
    """Whether peers look for ways through routers, and carry for others."""
    copies: bool = False
    """Whether the backbone keeps copies of the model, and newcomers know it."""
    liars: tuple[str, ...] = ()
    """The lies of the first volunteers (`tests.sim.swarm.liars`); the others are honest."""
    failure_rate: float = 0.0
    """Share of the members that peers have seen fail in earlier rounds, as each begins: plans are grids by it."""

    @classmethod
    def drawn(cls, seed: int, *, peers: int, epochs: int, delayed: bool = False) -> "SwarmSettings":
        """A world of the kind that `seed` says: from calm to all at once."""
        random = chance(seed, "settings")
        helpers = min(peers - 1, random.choice([0, 0, 1, peers // 4]))
        liars = random.choices(sorted(LIES), k=min(random.choice([0, 0, 1, 2]), peers // 5))
        least = max(1, peers // 3, min(peers, helpers + 2 * len(liars) + 1))
        stormy = random.random() < 0.3
        churn = ChurnSettings(
            live=(least, max(least, peers - random.randint(0, peers // 4))),
            up_s=random.choice([60.0, 120.0, 240.0]),
            down_s=random.choice([5.0, 20.0, 40.0]),
            first_s=random.choice([1.0, 10.0, 30.0]),
        )
        loss = random.choice([0.0, 0.0033, 0.0033, 0.01, 0.05])
        distant = LinkSettings(
            loss=loss, duplicate=random.choice([0.0, 0.001, 0.02]), jitter_s=random.choice([0.002, 0.008, 0.040])
        )
        world = cls(
            peers=peers,
            epochs=epochs,
            churn=churn,
            links=LOCAL if random.random() < 0.1 else distant,
            parameters=random.choice([64, 128, 300]),
            chunk_numel=random.choice([4, 16, 64]),
            codec=random.choice(CODEC_NAMES),
            delayed=delayed,
            padding_bytes=random.choice([0, 0, 0, 600_000]),
            ends=random.random() < 0.5,
            told_hosts=random.random() < 0.5,
            skew_s=random.choice([0.0, 0.5, 2.0]),
            pause_s=random.choice([None, 120.0, 400.0]),
            backbone_s=random.choice([None, None, 60.0]),
            partition_s=random.choice([None, 60.0]) if stormy else None,
            aimed=random.choice([0.0, 0.03, 0.15]) if stormy else 0.0,
            aimed_partitions=random.choice([0.0, 0.5, 0.5]) if stormy else 0.0,
            freeze_s=random.choice([None, 60.0, 300.0]) if stormy else None,
            measured=random.random() < 0.5,
            helpers=helpers,
            liars=tuple(liars),
            failure_rate=random.choice([0.0, 0.0, 0.0, 0.3]),
            copies=chance(seed, "copies").random() < 0.3,
            aggregator=chance(seed, "aggregator").choice(["mean", "mean", CLIPPED]),
        )
        return world.with_slow_lines() if random.random() < 0.15 else world

    def with_slow_lines(self) -> "SwarmSettings":
        """The same with lines so slow and so different that plans ask some members for less than all they have.

        Lines are known after a round or two, so such a world lasts for more epochs, and its peers stay for longer.
        """
        return replace(
            self,
            epochs=max(self.epochs, PARTIAL_EPOCHS),
            churn=replace(self.churn, up_s=240.0),
            links=replace(self.links, loss=min(self.links.loss, 0.01), uplink_bytes_per_s=SLOW_BYTES_PER_S),
            parameters=32_768,
            chunk_numel=2048,
            delayed=True,
            partial=True,
            measured=True,
            epoch_s=3.0,
            padding_bytes=0,
        )

    @property
    def averaging(self) -> AveragingNumbers:
        """What the manifest says of averaging."""
        return AveragingNumbers(
            codec=self.codec,
            chunk_numel=self.chunk_numel,
            delayed=True if self.delayed else UNSET,
            partial=True if self.partial else UNSET,
            aggregator=self.aggregator,
            weight_share=CLIPPED_SHARE if self.aggregator == CLIPPED else UNSET,
        )

    @property
    def drawn_fields(self) -> dict[str, object]:
        """What distinguishes this world from the plainest one, by the names of the fields, in a form for JSON."""
        plain = SwarmSettings(peers=self.peers, epochs=self.epochs, churn=self.churn)
        names = [one.name for one in fields(self) if one.name not in {"peers", "epochs", "churn", "links"}]
        return {name: value for name in names if (value := getattr(self, name)) != getattr(plain, name)}
