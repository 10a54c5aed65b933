"""Training without a swarm, with a small task."""

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from core.base.content import digest
from core.base.problems import NoSpace, WorkerProblem
from core.system.usage import peak_memory
from core.tasks.task import Evaluation, Losses
from core.training.metrics import JsonLines
from core.training.programs.alone import Alone
from tests.unit.training.small import MANIFEST, PlainLamb, Points, SmallTask, learner, ticking

SMALL = msgspec.structs.replace(MANIFEST, target_samples=40, evaluate_every=2)


def alone(states: Path, manifest=SMALL, task: SmallTask | None = None, sinks=()) -> Alone:
    return Alone(learner(states, manifest=manifest, task=task), manifest, sinks=sinks, clock=ticking())


def said(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, capsys.readouterr().out.splitlines()) if line["event"] != "progress"]


def test_it_takes_the_steps_of_a_plain_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One gradient of each full batch at once, and the paper's LAMB in double precision."""
    peer = learner(tmp_path, manifest=SMALL)
    Alone(peer, SMALL, clock=ticking()).train(epochs=3)
    task, batches = SmallTask(), stream()
    model = task.model(int.from_bytes(SMALL.id[:8], "big"))
    reference = PlainLamb(list(model.parameters()))
    for _ in range(3):
        xs, ys = [], []
        while sum(map(len, xs)) < 40:
            batch = next(batches)
            xs.append(batch.x)
            ys.append(batch.y)
        model.zero_grad()
        task.loss(model, Points(torch.cat(xs), torch.cat(ys))).objective.backward()
        reference.step([parameter.grad for parameter in model.parameters()])
    expected = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).numpy()
    np.testing.assert_allclose(peer.parameters.values_N.numpy(), expected, atol=2e-5)
    epochs = [line for line in said(capsys) if line["event"] == "epoch"]
    assert [line["epoch"] for line in epochs] == [1, 2, 3]
    assert [line["loss_heldout"] is None for line in epochs] == [True, False, False]
    assert epochs[1]["baselines"] == {"zeros": 1.5}


def stream():
    """The batches that a learner of seed 0 draws from epoch 0 on."""
    return SmallTask().batches(int.from_bytes(digest(b"0 0")[:8], "big"))


def test_the_next_run_goes_on_after_the_last_epoch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = JsonLines(tmp_path / "metrics.jsonl")
    for epochs in (2, 1):
        alone(tmp_path / "states", sinks=[lines]).train(epochs=epochs)
    assert [line["epoch"] for line in said(capsys)] == [1, 2, 3]
    kept = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in kept] == [1, 2, 3]
    assert all(line["samples"] >= 40 and line["seconds"] > 0 for line in kept)


def test_it_stops_where_the_schedule_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = msgspec.structs.replace(SMALL, optimizer=SMALL.optimizer | {"total_epochs": 2, "warmup_epochs": 0})
    alone(tmp_path, short).train(epochs=None)
    *epochs, last = said(capsys)
    assert [line["epoch"] for line in epochs] == [1, 2]
    assert last == {"event": "ended", "epoch": 2}


class Lost(SmallTask):
    def loss(self, model: torch.nn.Module, batch: Points) -> Losses:
        found = super().loss(model, batch)
        return Losses(objective=found.objective * math.nan, reported=found.reported)


def test_a_lost_model_is_a_sentence_and_keeps_its_state(tmp_path: Path) -> None:
    with pytest.raises(WorkerProblem, match="not finite"):
        alone(tmp_path, task=Lost()).train(epochs=1)
    assert [path.name[:14] for path in tmp_path.glob("state-*")] == ["state-00000000"]


def test_a_profile_holds_the_operations_of_an_epoch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone(tmp_path / "states").train(epochs=2, profile=tmp_path / "profile.json")
    names = {event.get("name") for event in json.loads((tmp_path / "profile.json").read_text())["traceEvents"]}
    assert "aten::addmm" in names
    assert [line["event"] for line in said(capsys)] == ["profiled", "epoch", "epoch"]


def test_measuring_says_speed_step_and_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone(tmp_path).measure(1.0)
    (measured,) = said(capsys)
    assert measured["samples_per_s"] > 0 < measured["step_s"]
    assert 1 <= measured["micro_batch"] <= 8
    assert 10**7 < measured["memory_bytes"] <= 1.01 * peak_memory()  # the kernel counts pages in batches


def test_a_rate_that_begins_at_zero_is_no_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = {**SMALL.optimizer, "warmup_start": 0.0, "warmup_epochs": 2, "total_epochs": 3}
    alone(tmp_path, msgspec.structs.replace(SMALL, optimizer=numbers)).train(epochs=None)
    assert [line["epoch"] for line in said(capsys)] == [1, 2, 3, 3]


def test_a_state_that_is_not_written_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise NoSpace("The disk is full.")

    single = alone(tmp_path)
    monkeypatch.setattr("core.training.states.checkpoint.write_atomic", full)
    with pytest.raises(NoSpace):
        single.train(epochs=1)


def test_a_run_stopped_while_measuring_has_kept_its_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What lies beside the state, such as experts, is kept with it, and the step counts."""

    class Stopped(SmallTask):
        def evaluate(self, model: torch.nn.Module) -> Evaluation:
            raise KeyboardInterrupt

    single, kept = alone(tmp_path, task=Stopped()), []
    single.keep = lambda: kept.append(len(list(tmp_path.glob("state-*"))))
    with pytest.raises(KeyboardInterrupt):
        single.train(epochs=None)
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["event"], last["epoch"]) == ("progress", 2)
    assert len(kept) == 2
