"""Messages between `tests.bench.training.loops` and a process of one training loop (`yardsticks`)."""

from typing import Annotated, Any, Final, Literal, get_args

import msgspec
from msgspec import Meta

LoopName = Literal["worker", "plain", "trainer"]
"""The worker's own, a plain one of torch, and `transformers.Trainer` with the model of transformers."""
LOOPS: Final[tuple[LoopName, ...]] = get_args(LoopName)


class LoopOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to train, and how: the first line that the process is told."""

    loop: LoopName
    manifest_path: str
    blobs_dir: str
    folder: str
    """For checkpoints and caches; empty."""
    device: str
    threads: Annotated[int, Meta(ge=1)]
    micro_batch: Annotated[int, Meta(ge=1)] | None
    """Samples of a pass; None: what the worker finds best, and the recipe's number for the others."""


class LoopSkipped(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """This loop cannot be measured here; the others can."""

    why: str


class LoopRefused(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The order cannot be carried out: a user's mistake."""

    message: str
    hint: str


class TakeTurn(msgspec.Struct, frozen=True, kw_only=True):
    """The order to train for about so long."""

    seconds: float
    step_batches: Annotated[int, Meta(ge=1)]
    """Passes that make one step of the optimiser."""


class TurnTaken(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What a loop did in its turn."""

    samples: int
    wall_s: float
    cpu_s: float
    """Processor seconds of the process, its threads that make batches included."""
    waited_s: float
    """The part of `wall_s` in which it waited for batches; 0 where they lie ready."""
    step_s: float | None
    """Mean time in which a step kept it from computing: contribution, optimiser, begin of a checkpoint; None: there was
    no step, or it is not told."""
    memory_bytes: int
    """The most memory that the process has held so far."""
    device_bytes: int
    """The same of a graphics card's."""


class LoopReady(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The loop has trained its first batches."""

    parameters: int
    micro_batch: int
    """Samples of a pass."""
    first: TurnTaken
    """A turn of one pass and one step of the optimiser, so that each has been at least once."""


Answer: Final[Any] = LoopReady | LoopSkipped | LoopRefused
"""To an order."""
