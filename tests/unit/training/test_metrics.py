"""Metrics of an epoch against plain computations, and the files that others read."""

import json
import math
import re
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from core.api.score import Score
from core.base.problems import BadInput
from core.tasks.task import Evaluation
from core.training.metrics import EpochMeter, EpochMetrics, JsonLines, PrometheusFile, TensorBoard
from core.training.vectors.noise_scale import NoiseScale, SquaredNorm
from tests.unit.training.small import learner, ticking

METRICS = EpochMetrics(
    epoch=3,
    samples=64,
    seconds=2.0,
    loss=1.5,
    loss_heldout=1.25,
    learning_rate=0.05,
    gradient_norm=2.0,
    clipped=0.75,
    samples_per_s=32.0,
    tokens_per_s=None,
    data_wait_s=0.1,
    step_s=0.2,
    dropped=1,
)


def test_an_epoch_is_measured_as_plain_numpy_computes_it(tmp_path: Path) -> None:
    peer = learner(tmp_path)
    peer.task.sample_tokens = 7
    meter = EpochMeter(peer, ticking(1.0))
    rates, noise = [meter.learning_rate], NoiseScale()
    for epoch in (1, 2):
        before = peer.first.data.waited_s
        for _ in range(4):
            peer.accumulate()
        single = peer.rule.single
        samples, loss, mean = peer.samples, peer.loss, peer.hand_over().copy()
        meter.step_begins(mean, samples=samples, loss=loss)
        peer.absorb(mean, epoch=epoch, lineage=bytes(32))
        meter.step_taken()
        found = meter.epoch_ends()
        noise.add(single, SquaredNorm(float(np.square(mean.astype(np.float64)).sum()), samples))
        assert found.noise_scale == pytest.approx(noise.samples)
        rates.append(meter.learning_rate)
        norm = np.linalg.norm(mean.astype(np.float64))
        assert found.gradient_norm == pytest.approx(norm, rel=1e-9)
        assert found.clipped == pytest.approx(max(0.0, 1 - 0.5 / norm))
        assert (found.epoch, found.samples, found.loss, found.dropped) == (epoch, samples, loss, 0)
        assert found.learning_rate == pytest.approx(0.05 * epoch / 3)
        assert (found.step_s, found.samples_per_s) == (1.0, pytest.approx(samples / found.seconds))
        assert found.tokens_per_s == pytest.approx(7 * found.samples_per_s)
        assert found.data_wait_s == pytest.approx(peer.first.data.waited_s - before)
    assert rates == pytest.approx([0.05 / 3, 0.1 / 3, 0.05])


def test_order_score_of_an_evaluation_is_told(tmp_path: Path) -> None:
    peer = learner(tmp_path)
    meter = EpochMeter(peer, ticking(1.0))
    measured = Evaluation(Score(2.5, 0.1), {}, order_right=0.75)
    found = meter.epoch_ends(evaluation=measured)
    sink = PrometheusFile(tmp_path / "potluck.prom", "ab" * 32)
    sink.write(found)
    assert (found.loss_heldout, found.order_heldout) == (2.5, 0.75)
    assert re.search(r"^potluck_order_heldout\{.*\} 0\.75$", (tmp_path / "potluck.prom").read_text(), re.MULTILINE)


def test_lines_are_appended_one_for_each_epoch(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    for epoch in (1, 2):
        JsonLines(file).write(msgspec.structs.replace(METRICS, epoch=epoch))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2]
    assert lines[0] == msgspec.to_builtins(METRICS) | {"epoch": 1}


def test_prometheus_reads_the_newest_epoch(tmp_path: Path) -> None:
    """The text format: https://prometheus.io/docs/instrumenting/exposition_formats/."""
    sink = PrometheusFile(tmp_path / "potluck.prom", "ab" * 32)
    sink.write(METRICS)
    sink.write(msgspec.structs.replace(METRICS, epoch=4, loss_heldout=None, loss=math.inf))
    text = (tmp_path / "potluck.prom").read_text()
    assert text.endswith("\n")
    found = {}
    for help_line, kind, sample in zip(*[iter(text.splitlines())] * 3, strict=True):
        name, number = re.fullmatch(rf'(potluck_\w+){{collaboration="{"ab" * 32}"}} (\S+)', sample).groups()
        assert help_line.startswith(f"# HELP {name} ")
        assert kind == f"# TYPE {name} gauge"
        found[name] = float(number)
    assert found["potluck_epoch"] == 4
    assert found["potluck_loss"] == math.inf
    assert found["potluck_loss_heldout"] == 1.25, "the last measurement stays"
    assert "potluck_tokens_per_s" not in found
    assert list(tmp_path.iterdir()) == [tmp_path / "potluck.prom"]
    if sys.platform != "win32":
        assert (tmp_path / "potluck.prom").stat().st_mode & 0o777 == 0o644
    with pytest.raises(BadInput, match="Call it potluck"):
        PrometheusFile(tmp_path / "potluck.txt", "ab" * 32)


def test_tensorboard_is_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(BadInput, match="package tensorboard, which is not installed"):
        TensorBoard(tmp_path)
