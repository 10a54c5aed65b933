"""Loops that train a recipe's model in turns, so that a computer that is busy for a while slows down all of them."""

import statistics
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from core.backbone.charter import Charter
from core.base.problems import BadInput
from core.system.atomic_files import make_directory
from tests.bench.children import Child, children
from tests.bench.spread import Spread
from tests.bench.training.loop_turns import (
    Answer,
    LoopName,
    LoopOrder,
    LoopReady,
    LoopRefused,
    LoopSkipped,
    TakeTurn,
    TurnTaken,
)

WORKER: Final = "worker"
READY_S: Final = 600.0
PATIENCE: Final = 10.0
"""A turn may take so many times as long as it should, and `READY_S` more: a pass of a large model takes minutes."""
TRAINER: Final = "trainer"
TRAINER_STEPS: Final = 2
"""Trainer takes so many steps of the optimiser a turn at least, for its turns end with one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopsWanted:
    """Which loops are to be measured, and how."""

    loops: Sequence[LoopName]
    device: str
    threads: int
    micro_batch: int | None
    """Samples of a pass; None: what the worker finds best."""
    turns: int
    turn_s: float


class LoopFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What one loop did in all its turns."""

    samples_per_s: Spread
    cpu_s_a_sample: Spread
    """Processor seconds of its process: what counts where others use the computer too."""
    data_wait: float
    """Share of its time that it waited for batches; 0 where they lie ready."""
    step_samples: int
    """Samples of a step of the optimiser: the recipe's, or fewer for Trainer, whose turns end with a step."""
    step_s: float | None
    """How long a step keeps it from computing: contribution, optimiser, begin of a checkpoint; None: not told."""
    memory_bytes: int
    """The most that its process has held; a real worker's engine holds some of it, too (`core.workers.arena`)."""
    device_bytes: int


class RecipeLoops(msgspec.Struct, frozen=True, kw_only=True):
    """The loops that train one recipe's model."""

    parameters: int
    device: str
    threads: int
    micro_batch: int
    """Samples of a pass, in all loops."""
    turns: int
    loops: dict[str, LoopFigures]
    skipped: dict[str, str]
    """Loops that were not measured, and why."""
    worker_over: dict[str, Spread]
    """The worker's samples a second to those of each other loop, turn by turn."""
    worker_over_cpu: dict[str, Spread]
    """The same of samples a processor second."""


async def measure_loops(charter: Charter, folder: Path, wanted: LoopsWanted) -> RecipeLoops:
    """Let loops take turns.

    Args:
        charter: Of the recipe.
        folder: For their files.
        wanted: Which, and how.

    Raises:
        BadInput: the device or the text cannot be used, or no loop can be measured here.
        Problem: a process ended or hangs.
    """
    async with AsyncExitStack() as stack:
        started: dict[str, tuple[Child, LoopReady]] = {}
        skipped: dict[str, str] = {}
        micro_batch = wanted.micro_batch
        for name in sorted(wanted.loops, key=lambda name: name != WORKER):  # first that which finds the micro-batch
            order = LoopOrder(
                loop=name,
                manifest_path=str(charter.manifest_path),
                blobs_dir=str(charter.blobs),
                folder=str(folder / name),
                device=wanted.device,
                threads=wanted.threads,
                micro_batch=micro_batch,
            )
            child = await stack.enter_async_context(_loop(order))
            match await child.hear(Answer, timeout_s=READY_S):
                case LoopReady() as answer:
                    started[name] = child, answer
                    micro_batch = answer.micro_batch
                case LoopSkipped(why=why):
                    skipped[name] = why
                case LoopRefused(message=message, hint=hint):
                    raise BadInput(message, hint=hint)
        if not started:
            raise BadInput(f"None of these loops can be measured: {'; '.join(skipped.values())}.")
        return await _turns(started, skipped, wanted, charter.manifest.target_samples)


@asynccontextmanager
async def _loop(order: LoopOrder) -> AsyncIterator[Child]:
    make_directory(Path(order.folder))
    async with children("tests.bench.training.yardsticks", 1) as (child,):
        child.tell(order)
        yield child


async def _turns(
    started: Mapping[str, tuple[Child, LoopReady]], skipped: dict[str, str], wanted: LoopsWanted, target: int
) -> RecipeLoops:
    _, first = next(iter(started.values()))
    speed = first.first.samples / first.first.wall_s
    batches = dict.fromkeys(started, max(1, round(target / first.micro_batch)))
    if TRAINER in batches:
        most = max(1, round(speed * wanted.turn_s / TRAINER_STEPS / first.micro_batch))
        batches[TRAINER] = min(most, batches[TRAINER])
    taken: dict[str, list[TurnTaken]] = {name: [] for name in started}
    for _ in range(wanted.turns):
        for name, (child, _) in started.items():
            child.tell(TakeTurn(seconds=wanted.turn_s, step_batches=batches[name]))
            taken[name].append(await child.hear(TurnTaken, timeout_s=READY_S + PATIENCE * wanted.turn_s))
    speeds = {name: [turn.samples / turn.wall_s for turn in turns] for name, turns in taken.items()}
    cheapness = {name: [turn.samples / turn.cpu_s for turn in turns] for name, turns in taken.items()}
    return RecipeLoops(
        parameters=first.parameters,
        device=wanted.device,
        threads=wanted.threads,
        micro_batch=first.micro_batch,
        turns=wanted.turns,
        loops={
            name: figures_of(turns, started[name][1].first, step_samples=batches[name] * first.micro_batch)
            for name, turns in taken.items()
        },
        skipped=skipped,
        worker_over=over(speeds),
        worker_over_cpu=over(cheapness),
    )


def figures_of(turns: Sequence[TurnTaken], first: TurnTaken, *, step_samples: int) -> LoopFigures:
    """The figures of one loop.

    Args:
        turns: That count, one at least.
        first: The turn before them, whose step counts where there was none later.
        step_samples: Samples of a step of the optimiser.
    """
    steps = [turn.step_s for turn in turns if turn.step_s is not None]
    if not steps and first.step_s is not None:
        steps = [first.step_s]
    return LoopFigures(
        samples_per_s=Spread.of([turn.samples / turn.wall_s for turn in turns]),
        cpu_s_a_sample=Spread.of([turn.cpu_s / turn.samples for turn in turns]),
        data_wait=round(sum(turn.waited_s for turn in turns) / sum(turn.wall_s for turn in turns), 4),
        step_samples=step_samples,
        step_s=round(statistics.median(steps), 4) if steps else None,
        memory_bytes=turns[-1].memory_bytes,
        device_bytes=turns[-1].device_bytes,
    )


def over(speeds: Mapping[str, Sequence[float]]) -> dict[str, Spread]:
    """How many times as fast as each other loop the worker was, turn by turn; empty where it was not measured.

    Args:
        speeds: Of each loop's turns.
    """
    worker = speeds.get(WORKER, ())
    return {
        name: Spread.of([own / other for own, other in zip(worker, others, strict=True)])
        for name, others in speeds.items()
        if worker and name != WORKER
    }
