"""What a collaboration takes of a volunteer's computer, by closed formulas over the recipe's numbers."""

import msgspec

from core.api.numbers import amount, volume
from core.averaging.codecs.registry import FEEDBACK, number_bytes
from core.base.manifest import Manifest
from core.engine.founding import Costs

FLOAT_BYTES = 4
PROGRAM_BYTES = 700_000_000
"""Engine, worker, Python and torch, before there is a model."""
VECTORS = 8
"""Vectors of four bytes a number in a worker and its engine: parameters, their gradients, the gradients' sum, two slots
that the engine shares, the mean, its update, and the parameters in a checkpoint that is being written."""
CHECKPOINTS = 3
"""Two that are kept, and one that is being written."""


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """What a volunteer's computer needs, in bytes."""

    parameters: int
    memory_bytes: int
    """For computing one sample at a time."""
    memory_sample_bytes: int
    """More for each further sample that is computed at the same time."""
    disk_bytes: int
    download_bytes: int
    """What a newcomer downloads: the collaboration's files and its newest state."""
    epoch_bytes: int
    """Upper bound on what is sent in an epoch, and on what is received."""


def needs_of(costs: Costs, manifest: Manifest, *, blob_bytes: int) -> Needs:
    """The needs of a volunteer.

    Args:
        costs: Costs of the model and the optimiser.
        manifest: Rule, averaging.
        blob_bytes: Size of the collaboration's files.
    """
    state = FLOAT_BYTES + costs.optimizer_bytes
    overlap = FLOAT_BYTES if manifest.averaging.overlaps else 0
    local = 0 if isinstance(manifest.rule, msgspec.UnsetType) else 3 * FLOAT_BYTES
    residuals = 2 * FLOAT_BYTES if manifest.averaging.codec in FEEDBACK else 0
    held = FLOAT_BYTES * VECTORS + 2 * costs.optimizer_bytes + overlap + local
    return Needs(
        parameters=costs.parameters,
        memory_bytes=PROGRAM_BYTES + round(costs.parameters * held) + costs.activation_bytes,
        memory_sample_bytes=costs.activation_bytes,
        disk_bytes=blob_bytes + round(costs.parameters * (CHECKPOINTS * state + 2 * FLOAT_BYTES + residuals)),
        download_bytes=blob_bytes + round(costs.parameters * state),
        epoch_bytes=sent_in_epoch(costs.parameters, manifest),
    )


def sent_in_epoch(parameters: int, manifest: Manifest, peers: int | None = None) -> int:
    """What a member sends in a round, bytes; it receives as much.

    Everybody sends all of a vector but the own share, and the own share's mean to all others: 2 (n - 1) / n of it.

    Args:
        parameters: Numbers in the vector.
        manifest: Names the codec.
        peers: Members n; None: enough for the factor 2.
    """
    factor = 2.0 if peers is None else 2 * (peers - 1) / peers
    return round(factor * parameters * number_bytes(manifest.averaging.codec))


def sentences(needs: Needs) -> str:
    """The needs for people, a line each."""
    return (
        f"Parameters: {amount(needs.parameters)}.\n"
        f"A volunteer's computer needs\n"
        f"  memory   {volume(needs.memory_bytes)}, and {volume(needs.memory_sample_bytes)} for each further sample "
        f"that it computes at the same time\n"
        f"  disk     {volume(needs.disk_bytes)}, beside Potluck itself\n"
        f"  network  {volume(needs.download_bytes)} to join, then up to {volume(needs.epoch_bytes)} each way an epoch"
    )
