"""The averaging experiments of S000, section 4, with the real machines: its fleets, its vectors, its comparisons.

The paper's numbers stand beside this program's and enter no result but two: how long sixteen T4s compute for a step,
and how much of the averaging is hidden behind that.  The paper does not say it; its first two ratios of figure 4 do
(`fitted`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from statistics import fmean, pstdev
from types import MappingProxyType
from typing import Final

from core.averaging.balance.portions import best_portions
from core.averaging.balance.solver import round_seconds, share_chunks
from core.averaging.balance.traffic import Line, Work, fleet
from core.averaging.grid.layout import lay_out
from core.codecs.registry import CODECS
from tests.sim.rounds.fleet_plan import RoundTask, shares
from tests.sim.rounds.fleets import with_time
from tests.sim.rounds.network import NetworkSettings
from tests.sim.rounds.report import simulate_round

MBIT: Final = 1e6 / 8
RESNET50_NUMEL: Final = 25_600_000
ALBERT_NUMEL: Final = 17_800_000
CODEC: Final = "fp16"
WORKERS: Final = 16
GROUP: Final = 256
"""Members of one group at most."""
REAL_CHUNK: Final = 16
"""Numbers that really are computed of each chunk."""
CHUNK_MESSAGES: Final = 80_000
"""Approximate upper bound on the messages of a round: with more members the chunks are larger."""
STAGE_CHUNKS: Final = 12
"""Chunks for each member of a small group: a stage has many groups."""


class Strategy(StrEnum):
    """Kind of assignment of shares to reducers."""

    ALL_REDUCE = "all-reduce"
    """Everybody the same."""
    PARAMETER_SERVER = "parameter server"
    """The member with the fastest line everything."""
    ADAPTIVE = "adaptive"
    """The balance's shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Averaged:
    """Rounds of one fleet with one strategy."""

    seconds: float
    """Mean over the rounds."""
    deviation: float
    """Standard deviation over the rounds, as a part of the mean."""
    bound_s: float
    """Duration of these shares where only the lines count, seconds."""


def line(mbit_s: float, **flags: bool) -> Line:
    """A symmetric line of `mbit_s` Mbit/s."""
    return Line(up_bytes_per_s=mbit_s * MBIT, down_bytes_per_s=mbit_s * MBIT, **flags)


SERVER: Final = (line(1000),) * 8
WORKSTATION: Final = (line(200),) * 16
TABLE1: Final = MappingProxyType(
    {
        "8 x 1 Gb/s": SERVER,
        "16 x 200 Mb/s": WORKSTATION,
        "8 x 1 Gb/s + 16 x 200 Mb/s": SERVER + WORKSTATION,
        "16 x 200 Mb/s + 1 helper x 2.5 Gb/s": (*WORKSTATION, line(2500, gives=False)),
    }
)
"""The fleets of table 1. The available text does not name them: three are from memory, the fourth is this program's."""

TABLE1_CLAIMS: Final = MappingProxyType(
    {
        "8 x 1 Gb/s": "adaptive averaging does not affect the performance",
        "16 x 200 Mb/s": "adaptive averaging does not affect the performance",
        "8 x 1 Gb/s + 16 x 200 Mb/s": "1.9 times faster",
    }
)
"""The text's claims about it."""

HIGH_BANDWIDTH: Final = (line(25_000),) * WORKERS
HETEROGENEOUS: Final = (line(200),) * 4 + (line(100),) * 8 + (line(50),) * 4
HELPERS: Final = (line(1000, gives=False),) * 4
PART_TIME: Final = 8
PART_TIME_LINE: Final = line(100)
"""The paper does not say which lines the part-time peers have; this is the others' median."""


def chunk_numel(numel: int, members: int) -> int:
    """A chunk so small that shares can be told apart, and so large that the round stays cheap.

    There are a multiple of the members: equal shares are then equal to the chunk.
    """
    each = max(2, min(numel // 16_384, CHUNK_MESSAGES // (2 * members)) // members)
    return min(262_144, -(-numel // (each * members)))


def averaged(
    lines: Sequence[Line], numel: int, strategy: Strategy, *, rounds: int = 1, seed: int = 0, chunk: int | None = None
) -> Averaged:
    """Run rounds; they differ in their leaders, in the order of the members, and in who begins how much later."""
    times: list[float] = []
    bounds: list[float] = []
    for number in range(seed, seed + rounds):
        random = Random(f"paper {number}")
        order = random.sample(list(lines), len(lines))
        times_, bound_s = _one(order, numel, strategy, seed=number, chunk=chunk)
        times.append(times_)
        bounds.append(bound_s)
    mean = fmean(times)
    return Averaged(seconds=mean, deviation=pstdev(times) / mean, bound_s=fmean(bounds))


def _one(lines: Sequence[Line], numel: int, strategy: Strategy, *, seed: int, chunk: int | None) -> tuple[float, float]:
    numbers = chunk or chunk_numel(numel, len(lines))
    task = RoundTask(numel=numel, chunk_numel=numbers, codec=CODEC, scale=max(1, numbers // REAL_CHUNK))
    number_bytes = CODECS[CODEC].max_bytes(numel) / numel
    work = Work(numel=numel, number_bytes=number_bytes)
    members = fleet(lines, work)
    best = best_portions(members)
    if strategy is Strategy.ADAPTIVE:
        weights: Sequence[int] = best.weights
        chunks = share_chunks(members, best, total=task.chunk_total)
    else:
        fastest = max(range(len(lines)), key=lambda i: min(lines[i].up_bytes_per_s, lines[i].down_bytes_per_s))
        weights = [int(strategy is Strategy.ALL_REDUCE or i == fastest) for i in range(len(lines))]
        chunks = shares(lines, task, weights)
    bound_s = round_seconds(members, chunks=weights, portions=best.portions)
    packet = NetworkSettings().fragment_bytes if len(lines) > 64 else NetworkSettings().packet_bytes
    report = simulate_round(
        lines, with_time(task, bound_s), seed=seed, chunks=chunks, settings=NetworkSettings(packet_bytes=packet)
    )
    if report.finished != len(lines) or not report.same:
        raise RuntimeError(f"the round {seed} of {len(lines)} members went wrong: {report.reasons}")
    return report.seconds, bound_s


# --- table 1 ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Table1Row:
    """One fleet of table 1, in seconds a round."""

    fleet: str
    all_reduce: Averaged
    parameter_server: Averaged
    adaptive: Averaged

    @property
    def faster(self) -> float:
        """How many times as fast as all-reduce adaptive averaging is."""
        return self.all_reduce.seconds / self.adaptive.seconds


def table1(rounds: int) -> Iterator[Table1Row]:
    """ResNet-50's gradients, 25.6 million numbers in half precision."""
    for name, lines in TABLE1.items():
        yield Table1Row(
            fleet=name,
            all_reduce=averaged(lines, RESNET50_NUMEL, Strategy.ALL_REDUCE, rounds=rounds),
            parameter_server=averaged(lines, RESNET50_NUMEL, Strategy.PARAMETER_SERVER, rounds=rounds),
            adaptive=averaged(lines, RESNET50_NUMEL, Strategy.ADAPTIVE, rounds=rounds),
        )


# --- figure 4 ---


@dataclass(frozen=True, slots=True, kw_only=True)
class StepModel:
    """How long a step takes: computing, then what of the averaging is not hidden behind computing."""

    compute_s: float
    """Sixteen T4s for one target batch."""
    hidden_s: float = 0.0
    """Part of the averaging that goes on while the peers compute, seconds."""

    def step_s(self, averaging_s: float, workers: float = WORKERS) -> float:
        """A step of `workers` whose averaging takes `averaging_s`."""
        return self.compute_s * WORKERS / workers + max(0.0, averaging_s - self.hidden_s)

    def delayed_s(self, averaging_s: float, workers: float = WORKERS) -> float:
        """The same with delayed parameter updates: whichever takes longer."""
        return max(self.compute_s * WORKERS / workers, averaging_s)


PAPER_SLOWDOWN: Final = 2.5
PAPER_BALANCED: Final = 1.47
PAPER_HELPERS: Final = 1.6
PAPER_PART_TIME: Final = 0.74


def fitted(fast_s: float, equal_s: float, balanced_s: float) -> tuple[StepModel, StepModel]:
    """The models that the paper's own ratios ask for, given what the averaging of three setups takes.

    Args:
        fast_s: High bandwidth.
        equal_s: Heterogeneous, equal shares.
        balanced_s: Heterogeneous, load balancing.

    Returns:
        Without overlap, matching the slowdown of 2.5; and with, matching the 47 % too.
    """
    alone = StepModel(compute_s=(equal_s - PAPER_SLOWDOWN * fast_s) / (PAPER_SLOWDOWN - 1))
    # compute + equal - hidden = 2.5 compute, compute + balanced - hidden = 2.5 / 1.47 compute; fast is hidden
    compute_s = (equal_s - balanced_s) / (PAPER_SLOWDOWN - PAPER_SLOWDOWN / PAPER_BALANCED)
    return alone, StepModel(compute_s=compute_s, hidden_s=equal_s - (PAPER_SLOWDOWN - 1) * compute_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure4Row:
    """One setup of the paper's figure 4."""

    setup: str
    paper_speed: float | None
    """Steps a second, as a part of the high-bandwidth setup's."""
    workers: float
    averaging: Averaged


FIGURE4_ROWS: Final = 9


def figure4(rounds: int, *, essential: bool = False) -> Iterator[Figure4Row]:
    """ALBERT-large's gradients, 17.8 million numbers in half precision, and sixteen workers.

    Args:
        rounds: Of each setup.
        essential: Only the first three, from which `fitted` follows.
    """
    slow = 1 / PAPER_SLOWDOWN
    helped = HETEROGENEOUS + HELPERS
    without = tuple(one for one in HETEROGENEOUS if one.up_bytes_per_s > 50 * MBIT)
    assisting = (line(50, gives=False),) * (WORKERS - len(without))
    some = (PART_TIME_LINE,) * (PART_TIME // 2)
    setups: list[tuple[str, float | None, float, Sequence[Line]]] = [
        ("high bandwidth", 1.0, WORKERS, HIGH_BANDWIDTH),
        ("heterogeneous", slow, WORKERS, HETEROGENEOUS),
        ("+ load balancing", slow * PAPER_BALANCED, WORKERS, HETEROGENEOUS),
        ("+ 4 helpers", slow * PAPER_HELPERS, WORKERS, helped),
        ("+ 8 part-time, half of them there", PAPER_PART_TIME, WORKERS + PART_TIME / 2, helped + some),
        ("+ 8 part-time, all there", PAPER_PART_TIME, WORKERS + PART_TIME, helped + some + some),
        ("the 50 Mb/s peers assist (c = 0), + 4 helpers", None, len(without), (*without, *assisting, *HELPERS)),
        ("the 50 Mb/s peers left out", None, len(without), without),
        ("the 50 Mb/s peers left out, + 4 helpers", None, len(without), without + HELPERS),
    ]
    for index, (setup, speed, workers, lines) in enumerate(setups[:3] if essential else setups):
        strategy = Strategy.ALL_REDUCE if index < 2 else Strategy.ADAPTIVE
        found = averaged(lines, ALBERT_NUMEL, strategy, rounds=rounds)
        yield Figure4Row(setup=setup, paper_speed=speed, workers=workers, averaging=found)


# --- figure 5 ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure5Row:
    """One number of nodes of figure 5."""

    nodes: int
    stages: int
    """Rounds in small groups, one after another, instead of one group; 1: one group."""
    averaging_s: float
    bound_s: float


def figure5_fleet(nodes: int, *, fast: bool) -> list[Line]:
    """Nodes like the workers of figure 4: all of 25 Gb/s, or 200, 100 and 50 Mb/s as 1 : 2 : 1."""
    kinds = HIGH_BANDWIDTH if fast else HETEROGENEOUS
    return [kinds[(index * WORKERS // nodes if nodes < WORKERS else index) % WORKERS] for index in range(nodes)]


def figure5_row(nodes: int, *, fast: bool) -> Figure5Row:
    """One point.  More nodes than one group holds average in two stages of small groups."""
    lines = figure5_fleet(nodes, fast=fast)
    if nodes <= GROUP:
        found = averaged(lines, ALBERT_NUMEL, Strategy.ADAPTIVE)
        return Figure5Row(nodes=nodes, stages=1, averaging_s=found.seconds, bound_s=found.bound_s)
    order = Random(f"grid {nodes}").sample(lines, nodes)
    seconds = bound_s = 0.0
    for number, stage in enumerate(lay_out(range(nodes), 2)):
        done: dict[tuple[Line, ...], Averaged] = {}
        for group in stage:
            kinds = tuple(sorted((order[i] for i in group.members), key=lambda one: one.up_bytes_per_s))
            if kinds not in done:
                chunk = -(-ALBERT_NUMEL // (STAGE_CHUNKS * len(kinds)))
                done[kinds] = averaged(kinds, ALBERT_NUMEL, Strategy.ADAPTIVE, seed=number, chunk=chunk)
        seconds += max(found.seconds for found in done.values())
        bound_s += max(found.bound_s for found in done.values())
    return Figure5Row(nodes=nodes, stages=2, averaging_s=seconds, bound_s=bound_s)
