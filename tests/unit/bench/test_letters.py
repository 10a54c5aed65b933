"""The measurement of a mixture that writes, on a little text."""

import json
from pathlib import Path

import pytest

from tests.bench.program import main
from tests.bench.training.digit_runs import WIDTH
from tests.bench.training.letters import DENSE_FACTOR, FACTOR, feed_forward
from tests.small_task import text_folder


@pytest.mark.long
def test_all_models_learn_the_same_letters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = text_folder(tmp_path / "text", characters=60_000)
    words = ["letters", "--text", str(text), "--experts", "15", "--batches", "24", "--seeds", "1"]
    assert main([*words, "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert list(runs) == ["dense", "dense, small", "15 experts"]
    assert all(0 < one["loss"] < 4 for found in runs.values() for one in found)
    assert sum(runs["15 experts"][0]["stale"]) > 0


def test_a_dense_block_has_the_work_of_four_experts() -> None:
    large, small = (
        sum(each.numel() for each in feed_forward(WIDTH, factor).parameters()) for factor in (DENSE_FACTOR, FACTOR)
    )
    assert large / small == pytest.approx(4.3, abs=0.1)
