"""What is measured of a host of experts and of plain loops."""

from typing import Any

import msgspec

from tests.bench.spread import Spread


class Visits(msgspec.Struct, frozen=True, kw_only=True):
    """Visits to blocks in a time; a visit is a batch, forward, or forward and backward."""

    visits: int
    seconds: float
    cpu_s: float
    """Processor time of the process that computes."""


class ExpertFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A host beside plain loops of one kind."""

    kind: str
    """`forward`, or `backward`: a visit is a forward call, and a backward call with what came of it."""
    host_visits_per_s: Spread
    plain_visits_per_s: Spread
    """A loop with the same arithmetic: it computes the forward pass again before the backward one, too."""
    over_plain: Spread
    over_plain_cpu: Spread
    """The same by the processor time of the process that computes."""
    over_whole: Spread | None = None
    """Beside a loop that computes the forward pass once."""
    engine_cpu_share: Spread
    """Processor time of the engine's side, in parts of that of the worker."""


class ExpertsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one size of blocks."""

    bench: str = "experts"
    experts: int
    width: int
    batch: int
    codec: str
    same_core: bool
    """Whether host and loops computed on the same core, in turns."""
    figures: list[ExpertFigures]


class DelayFigure(msgspec.Struct, frozen=True, kw_only=True):
    """Visits to blocks that are far away, of one kind and one mean delay."""

    kind: str
    delay_ms: int
    """Mean delay after each call."""
    flights: int
    """Number of batches that are under way at once."""
    visits_per_s: float
    over_zero: float
    """In parts of what comes without delay."""
    expected: float
    """What queueing says of that."""
    one_flight_per_s: float
    over_plain: float
    """In parts of plain torch loops over the same blocks, one for each core."""


class DelaysReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one size of blocks at several delays."""

    bench: str = "delays"
    blocks: int
    hosts: int
    width: int
    batch: int
    codec: str
    figures: list[DelayFigure]
    hivemind: dict[str, Any] | None
    """What `hivemind.moe` does with as many in flight; None: it was not measured."""
