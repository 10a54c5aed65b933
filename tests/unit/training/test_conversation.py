import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from core.api.score import Score
from core.base.content import chunk_digests, digest, root_digest
from core.base.problems import NoSpace, WorkerProblem
from core.system.file_chunks import file_chunks
from core.tasks.task import Losses
from core.training.conversation import MEANINGLESS_BATCHES_MAX
from core.training.metrics import sinks_of
from core.workers import frames
from tests.unit.training.small import MANIFEST, SmallTask, learner
from tests.unit.training.talk import Gate, Talk, talk

LINEAGE = digest(b"next")


def test_ready_names_the_first_state(tmp_path: Path) -> None:
    t = talk(tmp_path)
    t.conversation.begin()
    (ready,) = t.said
    assert isinstance(ready, frames.WorkerReady)
    assert (ready.epoch, ready.lineage, ready.numel) == (0, MANIFEST.id, t.peer.numel)
    assert (ready.loss_name, ready.loss_unit) == ("squared error", "")
    assert ready.digest == root_digest(chunk_digests(file_chunks(Path(ready.checkpoint))))


def test_progress_comes_at_once_and_then_four_times_a_second(tmp_path: Path) -> None:
    t = talk(tmp_path)
    t.train(1)
    assert isinstance(t.said[0], frames.Progress)
    assert t.said[0].samples == t.peer.samples
    t.train(20)  # a tick of 1/16 s each: every fourth is told
    assert len(t.said) == 6
    assert [p.samples for p in t.said] == sorted(p.samples for p in t.said)


def test_a_round_from_collect_to_the_step(tmp_path: Path) -> None:
    t = talk(tmp_path)
    t.train(3)
    (collected,) = t.hear(frames.Collect(round=b"r"))
    assert collected == frames.Collected(round=b"r", epoch=0, samples=t.peer.samples, loss=t.peer.loss)
    assert np.array_equal(t.arena.slot("contribution"), t.peer.hand_over())
    assert not t.conversation.training
    t.arena.slot("mean")[:] = t.arena.slot("contribution")
    (stepped,) = t.hear(frames.Absorb(round=b"r", epoch=1, lineage=LINEAGE, ledger=b"who gave what"))
    assert isinstance(stepped, frames.Stepped)
    assert (stepped.epoch, stepped.lineage, stepped.checkpoint) == (1, LINEAGE, str(t.peer.state.saved.path))
    assert stepped.ledger == learner(tmp_path / "states").state.ledger == b"who gave what"
    assert t.peer.samples == 0
    said = len(t.said)
    t.train(1)
    assert isinstance(t.said[said], frames.Progress)
    assert t.said[said].epoch == 1


def test_metrics_of_each_round_are_written(tmp_path: Path) -> None:
    """The engine tells of the round; the thread that writes states writes, so the last metrics may not be there."""
    files = frames.MetricFiles(lines=str(tmp_path / "metrics.jsonl"), prometheus=str(tmp_path / "p.prom"))
    t = talk(tmp_path, sinks=sinks_of(files, MANIFEST))
    averaged = frames.RoundMetrics(samples=500, loss=1.25, peers=7, seconds=0.5, states_alike=4, states_heard=5)
    means = []
    for epoch in (1, 2, 3):
        t.train(6)
        t.hear(frames.Collect(round=b"r"))
        t.arena.slot("mean")[:] = t.arena.slot("contribution")
        means.append(t.arena.slot("mean").copy())
        t.hear(frames.Absorb(round=b"r", epoch=epoch, lineage=LINEAGE, averaged=averaged))
    first, second, *_ = map(json.loads, (tmp_path / "metrics.jsonl").read_text().splitlines())
    assert (first["epoch"], second["epoch"]) == (1, 2)
    assert (second["samples"], second["loss"], second["peers"], second["averaging_s"]) == (500, 1.25, 7, 0.5)
    assert (second["states_alike"], second["states_heard"]) == (4, 5)
    assert second["gradient_norm"] == pytest.approx(np.linalg.norm(means[1].astype(np.float64)))
    assert second["clipped"] == pytest.approx(max(0.0, 1 - 0.5 / second["gradient_norm"]))
    assert second["step_s"] == 0.0625
    assert "potluck_states_alike" in (tmp_path / "p.prom").read_text()


def test_metrics_that_cannot_be_written_do_not_end_training(tmp_path: Path, capsys) -> None:
    t = talk(tmp_path, sinks=sinks_of(frames.MetricFiles(lines=str(tmp_path)), MANIFEST))
    averaged = frames.RoundMetrics(samples=5, loss=1.0, peers=1, seconds=0.5, states_alike=0, states_heard=0)
    for epoch in (1, 2):
        t.train(2)
        t.hear(frames.Collect(round=b"r"))
        (stepped,) = t.hear(frames.Absorb(round=b"r", epoch=epoch, lineage=LINEAGE, averaged=averaged))
        assert stepped.epoch == epoch
    assert str(tmp_path) in capsys.readouterr().err


def test_training_goes_on_while_a_state_is_saved(tmp_path: Path, monkeypatch) -> None:
    """The engine hears of the step when the file is whole, and of samples for the next step only after that."""
    t = talk(tmp_path)
    t.train(3)
    t.hear(frames.Collect(round=b"r"))
    gate = Gate(monkeypatch)
    said = len(t.said)
    t.inbox.put(frames.Absorb(round=b"r", epoch=1, lineage=LINEAGE))
    t.conversation.turn(t.inbox)
    t.train(20)
    assert t.peer.samples
    assert t.said[said:] == []
    gate.open.set()
    t.conversation.settle()
    (stepped,) = t.said[said:]
    assert isinstance(stepped, frames.Stepped)
    assert Path(stepped.checkpoint).is_file()
    assert digest(stepped.chunks) == stepped.digest
    assert stepped.samples == 0
    t.train(1)
    assert isinstance(t.said[-1], frames.Progress)
    assert (t.said[-1].epoch, t.said[-1].samples) == (1, t.peer.samples)


def open_and_go_on(t: Talk, gate: Gate) -> None:
    gate.open.set()
    for _ in range(1_000_000):
        t.conversation.turn(t.inbox)


@pytest.mark.parametrize("hold", [False, True])
def test_full_disk_ends_the_worker_without_a_step(tmp_path: Path, monkeypatch, *, hold: bool) -> None:
    t = talk(tmp_path)
    t.train(1)
    t.hear(frames.Collect(round=b"r"))
    gate = Gate(monkeypatch, ends_with=NoSpace("The disk is full."))
    t.inbox.put(frames.Absorb(round=b"r", epoch=1, lineage=LINEAGE))
    t.conversation.turn(t.inbox)
    if hold:
        t.inbox.put(frames.Hold())
    with pytest.raises(NoSpace):
        open_and_go_on(t, gate)
    assert not any(isinstance(said, frames.Stepped) for said in t.said)


def test_a_round_that_comes_to_nothing_keeps_what_was_accumulated(tmp_path: Path) -> None:
    t = talk(tmp_path)
    t.train(3)
    samples = t.peer.samples
    t.hear(frames.Collect(round=b"r"), frames.Release(round=b"another"))
    assert not t.conversation.training
    t.hear(frames.Release(round=b"r"))
    assert t.peer.samples == samples
    t.train(1)
    assert t.peer.samples > samples


def test_collect_before_any_batch_gives_zeros(tmp_path: Path) -> None:
    t = talk(tmp_path, hold=True)
    t.arena.slot("contribution")[:] = 7
    (collected,) = t.hear(frames.Collect(round=b"r"))
    assert collected == frames.Collected(round=b"r", epoch=0, samples=0, loss=0.0)
    assert not t.arena.slot("contribution").any()


def test_hold_and_go(tmp_path: Path) -> None:
    t = talk(tmp_path, hold=True)
    assert not t.conversation.training
    t.hear(frames.Go())
    t.train(2)
    samples = t.peer.samples
    t.hear(frames.Hold())
    assert not t.conversation.training
    assert t.peer.samples == samples
    t.hear(frames.Collect(round=b"r"), frames.Release(round=b"r"))
    assert not t.conversation.training
    t.hear(frames.Go())
    assert t.conversation.training


def test_it_stops_before_the_epoch_it_was_told(tmp_path: Path) -> None:
    t = talk(tmp_path, hold_at_epoch=1)
    t.train(1)
    t.hear(frames.Collect(round=b"r"))
    t.arena.slot("mean")[:] = t.arena.slot("contribution")
    t.hear(frames.Absorb(round=b"r", epoch=1, lineage=LINEAGE), frames.Go())
    assert not t.conversation.training
    (collected,) = t.hear(frames.Collect(round=b"s"))
    assert collected.samples == 0


def test_load_takes_over_a_state_and_forgets_the_round(tmp_path: Path) -> None:
    other = learner(tmp_path / "other", seed=3)
    other.accumulate()
    state = other.absorb(other.hand_over(), epoch=1, lineage=LINEAGE, ledger=b"who gave what")
    t = talk(tmp_path)
    t.train(2)
    t.hear(frames.Collect(round=b"r"))
    (loaded,) = t.hear(frames.Load(path=str(state.saved.path), epoch=1, lineage=LINEAGE))
    assert isinstance(loaded, frames.Loaded)
    assert (loaded.epoch, loaded.lineage, loaded.digest) == (1, LINEAGE, state.saved.digest)
    assert loaded.ledger == b"who gave what"
    assert loaded.checkpoint != str(state.saved.path)
    assert not state.saved.path.exists(), "one copy is enough"
    assert t.peer.samples == 0
    assert t.conversation.training


@pytest.mark.parametrize("how", ["garbage", "another epoch", "another lineage", "an impossible moment"])
def test_what_a_stranger_gave_instead_changes_nothing(tmp_path: Path, how: str) -> None:
    other = learner(tmp_path / "other", seed=3)
    other.accumulate()
    path = other.absorb(other.hand_over(), epoch=1, lineage=LINEAGE).saved.path
    if how == "garbage":
        path.write_bytes(b"garbage")
    if how == "an impossible moment":
        tensors = load_file(path)
        tensors["v/0.weight"][0, 0] = -1e-9
        with safe_open(path, framework="pt") as file:
            save_file(tensors, path, metadata=file.metadata())
    t = talk(tmp_path)
    t.train(2)
    before, samples = t.peer.state, t.peer.samples
    epoch, lineage = (2 if how == "another epoch" else 1), (b"x" * 32 if how == "another lineage" else LINEAGE)
    (loaded,) = t.hear(frames.Load(path=str(path), epoch=epoch, lineage=lineage))
    assert isinstance(loaded, frames.Loaded)
    assert not path.exists()
    assert (loaded.epoch, loaded.lineage, loaded.digest) == (before.epoch, before.lineage, before.saved.digest)
    assert t.peer.samples == samples


def test_evaluate(tmp_path: Path) -> None:
    t = talk(tmp_path, hold=True)
    (found,) = t.hear(frames.Evaluate())
    assert isinstance(found, frames.Evaluated)
    assert (found.epoch, found.baselines) == (0, {"zeros": Score(1.5)})


@pytest.mark.parametrize(
    "order",
    [
        frames.Absorb(round=b"r", epoch=2, lineage=LINEAGE),
        frames.Start(manifest_path="", blobs_dir="", state_dir="", arena_path="", seed=0),
    ],
)
def test_orders_out_of_order_are_problems(tmp_path: Path, order: frames.ToWorker) -> None:
    with pytest.raises(WorkerProblem):
        talk(tmp_path, hold=True).hear(order)


def test_a_model_that_is_lost_ends_the_worker(tmp_path: Path) -> None:
    class Lost(SmallTask):
        def loss(self, model, batch) -> Losses:
            losses = super().loss(model, batch)
            return Losses(objective=losses.objective * float("inf"), reported=losses.reported)

    t = talk(tmp_path, task=Lost())
    t.train(MEANINGLESS_BATCHES_MAX - 1)
    with pytest.raises(WorkerProblem, match="not finite"):
        t.train(1)
    assert not t.said


def test_damaged_checkpoint_is_named_once_only(tmp_path: Path) -> None:
    (tmp_path / "states").mkdir()
    t = talk(tmp_path)
    t.peer.state.saved.path.write_bytes(b"torn")
    t = talk(tmp_path)
    t.conversation.begin()
    assert isinstance(t.said[0], frames.WorkerReady)
    assert len(t.said[0].set_aside) == 1
    (ready,) = t.hear(frames.Suspend(), frames.Resume(arena_path=str(tmp_path / "another")))[1:]
    assert isinstance(ready, frames.WorkerReady)
    assert ready.set_aside == ()
