"""What a volunteer needs, against sums done by hand and files as they are written."""

from pathlib import Path

import msgspec
import pytest

from core.base.manifest import AveragingNumbers
from core.cli.volunteer.needs import needs_of, sent_in_epoch, sentences
from core.engine.founding import Costs
from tests.unit.training.small import MANIFEST, learner

COSTS = Costs(parameters=1_000_000, activation_bytes=5_000, optimizer_bytes=8.0)


def averaging(**changes: object) -> object:
    return msgspec.structs.replace(MANIFEST, averaging=AveragingNumbers(**changes))


@pytest.mark.parametrize("peers", [2, 3, 8])
def test_bytes_of_a_round_are_those_that_members_exchange(peers: int) -> None:
    numel = 840_000
    sent = [0] * peers
    for member in range(peers):
        for other in range(peers):
            if other != member:
                sent[member] += numel // peers * 2  # its numbers of the other's share, in half precision
                sent[member] += numel // peers * 2  # the mean of its own share
    assert len(set(sent)) == 1
    # A payload in half precision has a few bytes more than two a number.
    assert sent_in_epoch(numel, averaging(codec="fp16"), peers) == pytest.approx(sent[0], rel=1e-4)
    assert sent_in_epoch(numel, averaging(codec="raw"), peers) == 2 * sent[0]
    assert sent_in_epoch(numel, averaging(codec="raw")) > 2 * sent[0]


def test_disk_and_download_are_checkpoints_as_written(tmp_path: Path) -> None:
    peer = learner(tmp_path)
    costs = msgspec.structs.replace(COSTS, parameters=peer.numel)
    found = needs_of(costs, MANIFEST, blob_bytes=0)
    header = 4096
    size = peer.state.saved.path.stat().st_size
    assert found.download_bytes <= size <= found.download_bytes + header
    assert found.disk_bytes == 3 * found.download_bytes + 8 * peer.numel


def test_overlap_takes_one_vector_more() -> None:
    plain, overlapping = (needs_of(COSTS, averaging(**words), blob_bytes=7) for words in ({}, {"delayed": True}))
    assert overlapping.memory_bytes - plain.memory_bytes == 4 * COSTS.parameters
    assert overlapping.disk_bytes == plain.disk_bytes
    lossy = needs_of(COSTS, averaging(codec="q4"), blob_bytes=7)
    assert lossy.disk_bytes - plain.disk_bytes == 8 * COSTS.parameters
    assert lossy.epoch_bytes < plain.epoch_bytes / 7


def test_needs_are_said_in_units_that_people_know() -> None:
    text = sentences(needs_of(COSTS, averaging(), blob_bytes=0))
    assert "Parameters: 1 000 000." in text
    assert "memory   748 MB, and 5 kB for each further sample" in text
    assert "12 MB to join, then up to 8 MB each way an epoch" in text
