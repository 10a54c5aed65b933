"""What `core.training.yardsticks` measures, and `core.bench.training` reads: how fast loops train one model."""

import msgspec


class LoopSpeeds(msgspec.Struct, frozen=True, kw_only=True):
    """Samples a second of several loops that take turns in one process: medians of the turns."""

    parameters: int
    micro_batch: int
    threads: int
    turns: int
    worker: float
    """The worker's own loop, which reads, cuts and masks text beside it."""
    plain: float
    """A plain loop over ready batches: the same model and loss, and one optimiser step in so many batches."""
    trainer: float | None
    """`transformers.Trainer` with transformers' own model over ready batches; None: it was not measured."""
    trainer_skipped: str
    """Why it was not; empty: it was."""
    first_batch_s: float
    """From a loop that is ready to its first gradient."""
    first_seconds: float
    """The worker's speed in its first seconds after the first gradient, as a share of `worker`."""
    data_wait: float
    """Share of its time that the worker's loop waited for data."""
    still_s: float
    """How long a step keeps the worker from computing: contribution, optimiser, checkpoint."""
