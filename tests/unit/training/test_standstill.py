"""A worker that is suspended."""

from pathlib import Path

import msgspec

from core.base.content import digest
from core.base.manifest import AveragingNumbers
from core.training.standstill import EngineHeard, EngineSilent
from core.workers import frames
from tests.unit.training.small import MANIFEST
from tests.unit.training.talk import Gate, talk

LINEAGE = digest(b"next")


def test_orders_to_a_suspended_worker_mean_nothing(tmp_path: Path) -> None:
    t = talk(tmp_path)
    t.train(3)
    t.hear(frames.Collect(round=b"r"))
    samples, vector = t.peer.samples, t.peer.parameters.values_N.clone()
    late = (frames.Absorb(round=b"r", epoch=1, lineage=LINEAGE), frames.Evaluate(), frames.Go())
    assert t.hear(frames.Suspend(), *late) == [frames.Suspended()]
    assert not t.conversation.training
    (ready,) = t.hear(frames.Resume(arena_path=str(tmp_path / "another")))
    assert isinstance(ready, frames.WorkerReady)
    assert (ready.epoch, ready.lineage) == (0, MANIFEST.id)
    assert not t.conversation.training
    assert t.peer.parameters.values_N.equal(vector)
    t.hear(frames.Go())
    t.train(1)
    progress = t.said[-1]
    assert isinstance(progress, frames.Progress)
    assert progress.samples > samples


def test_contribution_set_aside_counts_again_after_suspension(tmp_path: Path) -> None:
    t = talk(tmp_path, manifest=msgspec.structs.replace(MANIFEST, averaging=AveragingNumbers(delayed=True)))
    t.train(3)
    t.hear(frames.Collect(round=b"r"))
    t.train(2)
    samples = t.peer.samples
    t.hear(frames.Suspend(), frames.Resume(arena_path=str(tmp_path / "another")))
    assert (t.peer.samples, t.peer.rule.ahead) == (samples, 0)


def test_worker_stands_still_before_a_state_is_saved(tmp_path: Path, monkeypatch) -> None:
    t = talk(tmp_path)
    t.train(3)
    t.hear(frames.Collect(round=b"r"))
    gate = Gate(monkeypatch)
    for order in (frames.Absorb(round=b"r", epoch=1, lineage=LINEAGE), frames.Suspend()):
        t.inbox.put(order)
        t.conversation.hear(t.inbox.get())
    assert t.said[-1] == frames.Suspended()
    gate.open.set()
    stepped, ready = t.hear(frames.Resume(arena_path=str(tmp_path / "another")))
    assert isinstance(stepped, frames.Stepped)
    assert isinstance(ready, frames.WorkerReady)
    assert (ready.epoch, ready.lineage) == (1, LINEAGE)


def test_silence_of_the_engine_stops_training_and_loses_nothing(tmp_path: Path) -> None:
    t = talk(tmp_path)
    t.train(3)
    t.hear(frames.Collect(round=b"r"))
    samples = t.peer.samples
    assert t.hear(EngineSilent(given_up=False), EngineSilent(given_up=True)) == []
    assert not t.conversation.training
    assert t.hear(EngineHeard(), frames.Release(round=b"r")) == []
    assert t.conversation.training
    assert t.peer.samples == samples
    t.train(1)
    assert t.peer.samples > samples


def test_silence_means_nothing_to_a_suspended_worker(tmp_path: Path) -> None:
    t = talk(tmp_path)
    assert t.hear(frames.Suspend(), EngineSilent(given_up=False)) == [frames.Suspended()]
    t.hear(EngineHeard(), frames.Resume(arena_path=str(tmp_path / "another")), frames.Go())
    t.train(1)
