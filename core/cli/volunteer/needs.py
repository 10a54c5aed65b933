"""What a collaboration takes of a volunteer's computer, by closed formulas over the recipe's numbers."""

import math
from typing import Final

import msgspec

from core.api.numbers import amount, lasting, volume
from core.base.manifest import Manifest
from core.base.tasks import sample_rows
from core.codecs.registry import FEEDBACK, number_bytes
from core.engine.founding import Costs
from core.workers.arena import FLOAT_BYTES, VECTORS

PROGRAM_BYTES = 700_000_000
"""Engine, worker, Python and torch, before there is a model."""
CHECKPOINTS = 3
"""Two that are kept, and one that is being written."""

HOME_LINES: Final = ((40, 10), (100, 40))
"""Lines of homes, Mbit/s down and up."""
HOST_PROGRAM_BYTES: Final = 300_000_000
"""The worker that hosts, before there is an expert."""
FILES_KEPT: Final = 2
"""Files of an expert that each computer keeps which has any."""
HOST_BYTES: Final = 4_000_000_000
"""Memory that a host of 8 GB gives to experts."""
FILE_NUMBER_BYTES: Final = 2
KEEPERS: Final = 2
"""Computers that keep the file of an expert."""
KEEPER_BYTES: Final = 32 * 1024 * 1024
"""A larger file has one keeper."""
SAVE_SHARE: Final = 0.05
"""Share of a host's upload for saves."""
SAVE_S: Final = 30.0
"""Experts are saved no more often."""


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
    experts_bytes: int = 0
    """Memory for the experts that may live there, beside `memory_bytes`; where less is free, fewer do."""


def needs_of(costs: Costs, manifest: Manifest, *, blob_bytes: int) -> Needs:
    """The needs of a volunteer.

    Args:
        costs: Costs of the model and the optimiser.
        manifest: Rule, averaging, experts.
        blob_bytes: Size of the collaboration's files.
    """
    files, experts_bytes = 0, 0
    if (numbers := manifest.mixture) is not None:
        hosted = numbers.layers * numbers.owner_most
        files = FILE_NUMBER_BYTES * FILES_KEPT * (1 + KEEPERS) * hosted * numbers.expert_numel
        experts_bytes = HOST_PROGRAM_BYTES + hosted * numbers.hosting_bytes
    state = FLOAT_BYTES + costs.optimizer_bytes
    overlap = FLOAT_BYTES if manifest.averaging.overlaps else 0
    local = 0 if isinstance(manifest.rule, msgspec.UnsetType) else 3 * FLOAT_BYTES
    residuals = 2 * FLOAT_BYTES if manifest.averaging.codec in FEEDBACK else 0
    held = FLOAT_BYTES * VECTORS + 2 * costs.optimizer_bytes + overlap + local
    return Needs(
        parameters=costs.parameters,
        memory_bytes=PROGRAM_BYTES + round(costs.parameters * held) + costs.activation_bytes,
        memory_sample_bytes=costs.activation_bytes,
        disk_bytes=blob_bytes + files + round(costs.parameters * (CHECKPOINTS * state + 2 * FLOAT_BYTES + residuals)),
        download_bytes=blob_bytes + round(costs.parameters * state),
        epoch_bytes=sent_in_epoch(costs.parameters, manifest) + manifest.target_samples * asked_for_sample(manifest)[0],
        experts_bytes=experts_bytes,
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


def asked_for_sample(manifest: Manifest) -> tuple[int, int]:
    """What a trainer sends to experts for one sample, forward and backward, and what comes back, bytes.

    The hosts receive and send as much, so of equal computers each carries the sum of both in each direction.
    """
    numbers = manifest.mixture
    if numbers is None:
        return 0, 0
    rows = (sample_rows(manifest.task, manifest.numbers) or 1) * numbers.layers * numbers.top
    row = number_bytes(numbers.codec) * numbers.width
    return round(3 * row * rows), round(2 * row * rows)  # x; x and the gradient; the answer, and its gradient


def sentences(needs: Needs) -> str:
    """The needs for people, a line each."""
    experts = f"\n  experts  up to {volume(needs.experts_bytes)} of memory more, for those that live there"
    return (
        f"Parameters: {amount(needs.parameters)}.\n"
        f"A volunteer's computer needs\n"
        f"  memory   {volume(needs.memory_bytes)}, and {volume(needs.memory_sample_bytes)} for each further sample "
        f"that it computes at the same time\n"
        f"  disk     {volume(needs.disk_bytes)}, beside Potluck itself\n"
        f"  network  {volume(needs.download_bytes)} to join, then up to {volume(needs.epoch_bytes)} each way an epoch"
        + (experts if needs.experts_bytes else "")
    )


class LineNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """What a number of computers on one kind of line come to, where all train and all host experts."""

    down_mbit_s: int
    up_mbit_s: int
    samples_per_s: float
    """All together, as far as computing and lines allow."""
    by_line: bool
    """Whether lines are what bounds it."""
    epoch_s: float
    save_age_s: float
    """Age of an expert's file, at most, when its host disappears."""
    dense_epoch_s: float
    """An epoch where all experts were part of the vector that is averaged."""


class ExpertNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """What the experts of a mixture take."""

    experts: int
    expert_bytes: int
    memory_bytes: int
    """What all of them take together, at their hosts."""
    hosts_least: int
    sample_sent_bytes: int
    """Sent by a trainer for one sample, forward and backward; its hosts receive it."""
    sample_received_bytes: int
    dense_memory_bytes: int
    """Memory of each computer, where all experts were part of the vector that is averaged."""
    lines: tuple[LineNeeds, ...]


def expert_needs(costs: Costs, manifest: Manifest, *, samples_per_s: float, peers: int) -> ExpertNeeds | None:
    """The needs of a mixture; None: the model has no experts.

    Args:
        costs: Costs of the trunk and the optimiser.
        manifest: Target, averaging, experts, length of a sample.
        samples_per_s: What one computer computes, trunk and experts.
        peers: Number of computers.
    """
    numbers = manifest.mixture
    if numbers is None:
        return None
    experts = numbers.layers * numbers.live
    sent, received = asked_for_sample(manifest)
    memory = experts * numbers.hosting_bytes
    dense = costs.parameters + experts * numbers.expert_numel
    file_bytes = FILE_NUMBER_BYTES * numbers.expert_numel
    copies = file_bytes * experts / peers * (KEEPERS if file_bytes <= KEEPER_BYTES else 1)
    computed, lines = peers * samples_per_s, []
    for down, up in HOME_LINES:
        down_bytes_s, up_bytes_s = down * 1e6 / 8, up * 1e6 / 8
        carried = peers * min(up_bytes_s, down_bytes_s) / (sent + received)
        together = min(computed, carried)
        trunk_s, dense_s = (sent_in_epoch(numel, manifest, peers) / up_bytes_s for numel in (costs.parameters, dense))
        lines.append(
            LineNeeds(
                down_mbit_s=down,
                up_mbit_s=up,
                samples_per_s=together,
                by_line=carried < computed,
                epoch_s=manifest.target_samples / together + trunk_s,
                save_age_s=max(SAVE_S, copies / (SAVE_SHARE * up_bytes_s)),
                dense_epoch_s=manifest.target_samples / computed + dense_s,
            )
        )
    return ExpertNeeds(
        experts=experts,
        expert_bytes=numbers.expert_bytes,
        memory_bytes=memory,
        hosts_least=max(math.ceil(1 / numbers.owner_share), math.ceil(memory / HOST_BYTES)),
        sample_sent_bytes=sent,
        sample_received_bytes=received,
        dense_memory_bytes=PROGRAM_BYTES + round(dense * (FLOAT_BYTES * VECTORS + 2 * costs.optimizer_bytes)),
        lines=tuple(lines),
    )


def expert_sentences(needs: ExpertNeeds, *, peers: int) -> str:
    """The needs of a mixture for people, without a line end behind the last one."""
    said = (
        f"Experts: {amount(needs.experts)} of {volume(needs.expert_bytes)}, {volume(needs.memory_bytes)} of memory "
        f"with what they remember: at least {amount(needs.hosts_least)} hosts of {volume(HOST_BYTES)}.\n"
        f"  sample   {volume(needs.sample_sent_bytes)} to hosts, {volume(needs.sample_received_bytes)} back"
    )
    for line in needs.lines:
        said += (
            f"\n  {line.down_mbit_s}/{line.up_mbit_s} Mbit/s: {line.samples_per_s:.3g} samples a second of "
            f"{amount(peers)} computers that train and host{', which their lines bound' if line.by_line else ''}; "
            f"{lasting(line.epoch_s)} an epoch; saves at most {lasting(line.save_age_s)} old"
        )
        if line.dense_epoch_s < line.epoch_s:
            said += (
                f"\n    Averaging the whole model instead would be faster there: {lasting(line.dense_epoch_s)} an "
                f"epoch, with {volume(needs.dense_memory_bytes)} of memory in each computer."
            )
    return said
