"""What a volunteer needs, against sums done by hand and files as they are written."""

from pathlib import Path

import msgspec
import pytest

from core.base.manifest import AveragingNumbers
from core.base.mixture import ExpertNumbers
from core.cli.volunteer.needs import (
    asked_for_sample,
    expert_needs,
    expert_sentences,
    needs_of,
    sent_in_epoch,
    sentences,
)
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


def test_experts_take_what_calls_carry_and_hosts_hold() -> None:
    numbers = ExpertNumbers(layers=4, grid=(8, 8), live=64, top=4, width=1024, codec="raw", owner_share=0.25)
    manifest = msgspec.structs.replace(MANIFEST, task="digits", experts=numbers, target_samples=1000)
    found = expert_needs(COSTS, manifest, samples_per_s=100.0, peers=10)
    assert found is not None
    expert = 2 * 1024 * 4096 + 4096**2 + 6 * 4096 + 1024
    assert (found.experts, found.expert_bytes) == (256, 4 * expert)
    assert found.memory_bytes == 256 * 16 * expert
    assert found.hosts_least == -(-256 * 16 * expert // 4_000_000_000)
    row = 4 * 1024
    assert (found.sample_sent_bytes, found.sample_received_bytes) == (3 * row * 16, 2 * row * 16)
    slow, fast = found.lines
    assert slow.samples_per_s == pytest.approx(10 * 10e6 / 8 / (5 * row * 16))
    assert slow.by_line
    assert fast.samples_per_s == pytest.approx(4 * slow.samples_per_s)
    trunk_s = sent_in_epoch(COSTS.parameters, manifest, 10) / 1.25e6
    assert slow.epoch_s == pytest.approx(1000 / slow.samples_per_s + trunk_s)
    assert slow.save_age_s == pytest.approx(2 * expert * 25.6 / (0.05 * 1.25e6))  # one keeper: 50 MB are many
    assert slow.dense_epoch_s > slow.epoch_s
    assert "faster there" not in expert_sentences(found, peers=10)


def test_a_plan_says_where_averaging_the_whole_model_is_faster() -> None:
    numbers = ExpertNumbers(layers=4, live=16, width=64)
    few = msgspec.structs.replace(MANIFEST, task="digits", experts=numbers, target_samples=1_000_000)
    costs = msgspec.structs.replace(COSTS, parameters=55_690)
    found = expert_needs(costs, few, samples_per_s=1e5, peers=8)
    assert found is not None
    said = expert_sentences(found, peers=8)
    assert said.count("Averaging the whole model instead would be faster there") == 2
    assert "at least 4 hosts" in said
    assert "which their lines bound" in said


def test_a_letter_is_a_row_of_its_own() -> None:
    """Twenty letters of a sample are twenty rows at the experts of each layer."""
    numbers = ExpertNumbers(layers=3, live=16, top=4, width=64, codec="raw")
    letters = msgspec.structs.replace(MANIFEST, task="gpt-experts", numbers={"length": 20}, experts=numbers)
    assert asked_for_sample(letters) == (20 * 3 * 4 * 3 * 256, 20 * 3 * 4 * 2 * 256)


def test_volunteers_are_told_what_experts_take_of_their_computers() -> None:
    numbers = ExpertNumbers(layers=4, live=16, top=4, width=64, codec="raw", owner_share=0.25)
    plain = msgspec.structs.replace(MANIFEST, task="digits", target_samples=1000)
    mixture = msgspec.structs.replace(plain, experts=numbers)
    without, found = (needs_of(COSTS, one, blob_bytes=0) for one in (plain, mixture))
    expert = 2 * 64 * 256 + 256**2 + 6 * 256 + 64
    assert without.experts_bytes == 0
    assert found.experts_bytes == 300_000_000 + 16 * 4 * 4 * expert  # one in four of 64, with what AdamW remembers
    assert found.epoch_bytes - without.epoch_bytes == 1000 * 3 * 256 * 16
    assert found.disk_bytes - without.disk_bytes == 16 * 3 * 2 * 2 * expert  # its own and two others', two files each
    assert "experts  up to 325.58 MB of memory more" in sentences(found)
    assert "experts" not in sentences(without)
