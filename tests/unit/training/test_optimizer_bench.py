"""What `python -m tests.bench optimizer` says."""

import argparse
import json

import pytest

from core.training.optimizers import OPTIMIZERS
from tests.bench.training.optimizer import AlbertShapes, run


@pytest.mark.long
def test_bench_measures_every_optimizer_beside_torchs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(argparse.Namespace(json=True, millions=[1], repeats=1, threads=1, device="cpu")) == 0
    report = json.loads(capsys.readouterr().out)
    steps = {(one["library"], one["optimizer"], one["bits"]): one for one in report["steps"]}
    assert {name for library, name, _ in steps if library == "potluck"} == set(OPTIMIZERS)
    assert {name for library, name, _ in steps if library == "torch"} >= {"adamw", "sgd", "muon"}
    assert all(one["median_s"] >= one["least_s"] > 0 for one in steps.values())
    assert steps["potluck", "lamb", 32]["bytes_per_parameter"] == 8
    assert steps["torch", "adamw", 32]["bytes_per_parameter"] == pytest.approx(8, abs=0.01)
    for name in ("lamb", "adamw"):
        assert 2 < steps["potluck", name, 8]["bytes_per_parameter"] < 2.1
    for one in report["losses"]:
        assert one["bits8"] < one["first"] / 10
        assert 0.99 < one["ratio"] < 1.01


@pytest.mark.parametrize("millions", [1, 18, 72])
def test_shapes_have_about_as_many_numbers(millions: int) -> None:
    numel = sum(parameter.numel() for parameter in AlbertShapes(millions * 1_000_000).parameters())
    assert numel == pytest.approx(millions * 1e6, rel=0.15)
