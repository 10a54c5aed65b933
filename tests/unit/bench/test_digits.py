"""The measurement of mixtures on digits, on few images."""

import json
from pathlib import Path

import pytest

from core.base.problems import BadInput
from tests.bench.program import main
from tests.bench.training import digit_runs
from tests.bench.training.digit_runs import Images, Setting
from tests.bench.training.emulated import Emulated, emulated
from tests.bench.training.flown import flown
from tests.unit.sources.test_images import idx_folder


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Images:
    monkeypatch.setattr(digit_runs, "MEASURED", 40)
    folder, _ = idx_folder(tmp_path / "images", 200, side=28)
    return Images(folder)


def test_late_updates_are_drawn_alike_by_a_seed(few: Images) -> None:
    setting = Setting(mode="paper", experts=16, workers=4, latency_s=1.0, failures=0.1)
    one, two = (emulated(setting, few, seed=1, batches=8) for _ in range(2))
    assert one == two
    assert emulated(setting, few, seed=2, batches=8) != one


def test_flights_with_failures_tell_how_late_gradients_are(few: Images) -> None:
    setting = Setting(mode="flights", experts=32, workers=4, latency_s=1.0, failures=0.1)
    found = flown(setting, few, seed=1, batches=8)
    assert 0 <= found.accuracy <= 1
    assert sum(found.stale) > 0
    assert found == flown(setting, few, seed=1, batches=8)


def test_a_dense_model_has_four_times_an_expert_s_work() -> None:
    dense, mixture = Emulated(0, 1), Emulated(16, 1)
    per_block = [sum(each.numel() for each in block.parameters()) for block in (dense.dense[0], mixture.experts[0][0])]
    assert per_block[0] / per_block[1] == pytest.approx(4, rel=0.1)


def test_images_of_another_size_are_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = idx_folder(tmp_path / "images", 50, side=4)
    with pytest.raises(BadInput, match="too few images"):
        Images(folder)
    assert main(["digits", "--text", str(folder)]) == 2
    assert "28 times 28" in capsys.readouterr().err


def test_settings_are_tried_by_one_command(few: Images, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--text", str(tmp_path / "images"), "--modes", "paper", "--experts", "0", "--batches", "10"]
    assert main(["digits", "--seeds", "2", *words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["setting"]["workers"] for row in rows] == [16, 64, 64]
    assert all(len(row["runs"]) == 2 for row in rows)
    assert main(["digits", "--seeds", "2", *words]) == 0
    assert "dense        16 workers   100 ms  0% failures" in capsys.readouterr().out
