"""What becomes of rows, and where it is kept, with a learner of a small task."""

from pathlib import Path

import pytest
import torch
from msgspec.structs import replace

from core.base.content import digest
from core.base.manifest import AveragingNumbers
from core.base.problems import WorkerProblem
from core.tasks.task import Losses
from core.text.order.bookmark import Bookmark
from core.training.learner import Learner
from core.training.states.bookmarks import Bookmarks
from core.workers import frames
from tests.unit.training.given_samples import GivenSamples
from tests.unit.training.small import MANIFEST, Points, SmallTask, learner
from tests.unit.training.talk import talk

DELAYED = replace(MANIFEST, averaging=AveragingNumbers(delayed=True))
LINEAGES = [digest(bytes([n])) for n in range(9)]


def given(peer: Learner) -> GivenSamples:
    assert isinstance(peer.data, GivenSamples)
    return peer.data


def computed(peer: Learner, batches: int) -> int:
    """Compute so many batches; returns the number of samples that count since the last step."""
    for _ in range(batches):
        assert peer.accumulate()
    return peer.samples


@pytest.mark.parametrize("manifest", [MANIFEST, DELAYED])
def test_absorbed_rows_are_used_and_no_others(tmp_path: Path, manifest) -> None:
    peer = learner(tmp_path, manifest=manifest)
    first = computed(peer, 3)
    assert given(peer).used == []
    mean = peer.hand_over()
    if peer.overlaps:
        computed(peer, 2)
    peer.absorb(mean, epoch=1, lineage=LINEAGES[1])
    assert given(peer).used == list(range(first))
    assert given(peer).back == []
    second = computed(peer, 1)
    peer.absorb(peer.hand_over(), epoch=2, lineage=LINEAGES[2])
    assert given(peer).used == list(range(first + second))


@pytest.mark.parametrize("manifest", [MANIFEST, DELAYED])
def test_rows_of_an_aborted_round_count_again(tmp_path: Path, manifest) -> None:
    peer = learner(tmp_path, manifest=manifest)
    computed(peer, 2)
    peer.hand_over()
    if peer.overlaps:
        computed(peer, 1)
    peer.take_back()
    samples = computed(peer, 2)
    peer.absorb(peer.hand_over(), epoch=1, lineage=LINEAGES[1])
    assert given(peer).used == list(range(samples))


def test_rows_are_put_back_when_another_state_is_loaded(tmp_path: Path) -> None:
    peer, other = learner(tmp_path / "a", manifest=DELAYED), learner(tmp_path / "b", manifest=DELAYED, seed=4)
    computed(other, 2)
    state = other.absorb(other.hand_over(), epoch=1, lineage=LINEAGES[1])
    computed(peer, 2)
    peer.hand_over()
    samples = computed(peer, 2)
    peer.load(state.saved.path, epoch=1, lineage=LINEAGES[1])
    assert sorted(given(peer).back) == list(range(samples))
    assert given(peer).used == []


@pytest.mark.parametrize("manifest", [MANIFEST, DELAYED])
def test_rows_that_others_averaged_are_used_with_their_state(tmp_path: Path, manifest) -> None:
    """A round failed, the next one was committed without this worker; a round may count less than was contributed."""
    peer, other = (learner(tmp_path / name, manifest=manifest) for name in "ab")
    computed(other, 2)
    state = other.absorb(other.hand_over(), epoch=1, lineage=LINEAGES[1])
    first = computed(peer, 2)
    peer.hand_over()
    peer.take_back()
    second = computed(peer, 2)
    peer.hand_over()
    peer.take_back()
    third = computed(peer, 1)
    peer.load(state.saved.path, epoch=1, lineage=LINEAGES[1], counted=first + 1)
    assert given(peer).used == list(range(second))
    assert given(peer).back == list(range(second, third))
    assert peer.samples == 0


def test_rows_in_doubt_wait_for_the_state_that_tells(tmp_path: Path) -> None:
    """Gradients are forgotten at the beginning of a replay, which may come to nothing."""
    peer = learner(tmp_path)
    samples = computed(peer, 2)
    peer.hand_over()
    peer.take_back()
    more = computed(peer, 1)
    for _ in range(2):
        peer.replay.begin(peer.state.saved.path, epoch=0, to=1)
        peer.replay.undo()
        assert (given(peer).used, given(peer).back) == ([], list(range(samples, more)))
    peer.rows.resolve(samples)
    assert given(peer).used == list(range(samples))


def test_next_contribution_draws_rows_in_doubt_again(tmp_path: Path) -> None:
    peer = learner(tmp_path)
    samples = computed(peer, 2)
    peer.hand_over()
    peer.rows.forget()
    assert given(peer).back == []
    peer.hand_over()
    assert given(peer).back == list(range(samples))


def test_bookmark_knows_what_is_out_before_others_have_it(tmp_path: Path) -> None:
    t = talk(tmp_path)
    t.train(3)
    samples = t.peer.samples
    t.hear(frames.Collect(round=b"r"))
    assert given(t.peer).in_doubt == list(range(samples))
    assert Bookmarks(tmp_path / "states").read(0, MANIFEST.id) == Bookmark(b"", 0, ())


def test_rows_of_a_step_that_was_undone_are_put_back(tmp_path: Path) -> None:
    """A decay of 100 at a rate of 10 multiplies every matrix by -999."""
    growing = {"name": "adamw", "learning_rate": 10.0, "weight_decay": 100.0, "warmup_epochs": 0, "total_epochs": 10**9}
    peer = learner(tmp_path, manifest=replace(MANIFEST, optimizer=growing))
    samples = computed(peer, 3)
    peer.parameters.values_N.fill_(1e37)
    with pytest.raises(WorkerProblem, match="undone"):
        peer.absorb(peer.hand_over(), epoch=1, lineage=LINEAGES[1])
    assert given(peer).used == []
    assert given(peer).back == list(range(samples))


def test_rows_without_a_finite_gradient_are_not_drawn_again(tmp_path: Path) -> None:
    class Infinite(SmallTask):
        def loss(self, model: torch.nn.Module, batch: Points) -> Losses:
            losses = super().loss(model, batch)
            return Losses(objective=losses.objective * float("inf"), reported=losses.reported)

    peer = learner(tmp_path, task=Infinite())
    assert not peer.accumulate()
    peer.rows.drop()
    assert given(peer).used
    assert given(peer).back == []


def test_three_devices_account_for_each_row_once(tmp_path: Path) -> None:
    peer = learner(tmp_path, devices=("cpu", "cpu", "cpu"))
    for epoch in range(1, 4):
        computed(peer, 20)
        mean = peer.hand_over()
        samples = peer.samples
        before = len(given(peer).used)
        peer.absorb(mean, epoch=epoch, lineage=LINEAGES[epoch])
        assert len(given(peer).used) == before + samples
    assert len(set(given(peer).used)) == len(given(peer).used)


def test_worker_takes_part_while_text_lacks(tmp_path: Path) -> None:
    t = talk(tmp_path)
    t.conversation.begin()
    given(t.peer).stalled = True
    for _ in range(40):
        t.conversation.turn(t.inbox)  # what lay ready is computed; then there is nothing
    samples = t.peer.samples
    (collected,) = t.hear(frames.Collect(round=b"r"))
    assert isinstance(collected, frames.Collected)
    assert collected.samples == samples == t.peer.samples
    t.hear(frames.Release(round=b"r"))
    assert [type(frame) for frame in t.hear(frames.Evaluate(), frames.Hold(), frames.Suspend())] == [
        frames.Evaluated,
        frames.Suspended,
    ]
    assert given(t.peer).rests


BOOKMARK = Bookmark(b"c" * 32, 7, (None,))


def folder_with_states(folder: Path, *epochs: int) -> Path:
    for epoch in epochs:
        (folder / f"state-{epoch:08d}-{LINEAGES[epoch].hex()[:8]}-{'0' * 32}.safetensors").touch()
    return folder


def test_each_state_has_the_bookmark_that_fits_it(tmp_path: Path) -> None:
    bookmarks = Bookmarks(folder_with_states(tmp_path, 1, 2))
    for epoch in (1, 2, 3):
        bookmarks.write(epoch, LINEAGES[epoch], replace(BOOKMARK, mixed=epoch))
    for epoch in (1, 2, 3):
        assert bookmarks.read(epoch, LINEAGES[epoch]) == replace(BOOKMARK, mixed=epoch)
    folder_with_states(tmp_path, 3)
    next(tmp_path.glob("state-00000001*")).unlink()
    bookmarks.write(4, LINEAGES[4], BOOKMARK)
    assert [path.name[9:17] for path in sorted(tmp_path.glob("bookmark-*"))] == ["00000002", "00000003", "00000004"]


@pytest.mark.parametrize("damage", [b"", b"\xff\xff", b"\x93\xc4\x00"])
def test_damaged_bookmark_is_set_aside_for_the_one_before(tmp_path: Path, damage: bytes) -> None:
    bookmarks = Bookmarks(folder_with_states(tmp_path, 1, 2))
    for epoch in (1, 2):
        bookmarks.write(epoch, LINEAGES[epoch], replace(BOOKMARK, mixed=epoch))
    path = tmp_path / f"bookmark-{2:08d}-{LINEAGES[2].hex()[:8]}"
    path.write_bytes(damage)
    assert bookmarks.read(2, LINEAGES[2]) == replace(BOOKMARK, mixed=1)
    assert [each.name.partition(".")[0] for each in bookmarks.damaged] == [path.name]
    assert not path.exists()


def test_worker_says_that_its_place_is_lost(tmp_path: Path) -> None:
    peer = learner(tmp_path / "states")
    computed(peer, 1)
    peer.absorb(peer.hand_over(), epoch=1, lineage=LINEAGES[1]).saving.result()
    for path in (tmp_path / "states").glob("bookmark-*"):
        path.write_bytes(b"x")
    t = talk(tmp_path, task=SmallTask())
    t.conversation.begin()
    assert next(getattr(frame, "code", "") for frame in t.said) == "lost-place"
    ready = next(frame for frame in t.said if isinstance(frame, frames.WorkerReady))
    assert ready.set_aside
    assert ready.epoch == 1
