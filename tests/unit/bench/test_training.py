"""Figures of the training bench, what it refuses, and workers that no engine drives."""

import pytest

from core.base.problems import BadInput
from core.bench import training
from core.bench.collaboration import StepSpan
from core.bench.training import in_collaboration
from core.cli.bench import SIZES
from core.cli.program import parser


def test_ratio_compares_with_alone_before_and_after() -> None:
    found = in_collaboration(500, StepSpan(seconds=20.0, steps=10, samples=6000), 380.0, 420.0, delayed=True)
    assert (found.step_s, found.samples_per_s, found.ratio) == (2.0, 300.0, 0.75)
    assert found.overshoot == pytest.approx(0.2)


def test_sizes_of_the_command_are_those_measured() -> None:
    assert set(SIZES) == set(training.SIZES)


@pytest.mark.parametrize("words", ["--hivemind python", "--peers-scripts folder"])
def test_hivemind_is_refused_without_its_scripts(words: str) -> None:
    with pytest.raises(BadInput, match="--hivemind and --peers-scripts"):
        training.check(parser().parse_args(["bench", "training", *words.split()]))


def test_hivemind_is_refused_where_it_is_not(tmp_path) -> None:
    words = ["--hivemind", str(tmp_path / "python"), "--peers-scripts", str(tmp_path)]
    for name in ("python", training.SCRIPT):
        with pytest.raises(BadInput, match=name):
            training.check(parser().parse_args(["bench", "training", *words]))
        (tmp_path / name).touch()
    training.check(parser().parse_args(["bench", "training", *words]))
