"""Figures of the training bench, what it refuses, what it says, and a rival that is not there."""

import asyncio
import sys
from pathlib import Path

import pytest

from core.base.problems import BadInput, Problem
from tests.bench.collaboration import StepSpan
from tests.bench.program import parser
from tests.bench.spread import Spread
from tests.bench.training import training
from tests.bench.training.loop_turns import TurnTaken
from tests.bench.training.loops import LoopFigures, RecipeLoops, figures_of, over
from tests.bench.training.together import SCRIPT, HivemindScript, Rival, StepGoal, hivemind_figures, in_collaboration

PRINTED = {
    "plain": {"samples_per_s": 1250.0},
    "hivemind": {"samples_per_s": 800.0, "useful_samples_per_s": 750.0, "epoch_s": {"med": 3.2, "min": 3, "max": 4}},
}
"""As the script of hivemind prints it."""


def turn(samples: int, wall_s: float, **others: float) -> TurnTaken:
    known = {"cpu_s": 1.0, "waited_s": 0.0, "step_s": None, "memory_bytes": 10, "device_bytes": 0}
    return TurnTaken(samples=samples, wall_s=wall_s, **{**known, **others})


def test_ratio_compares_with_alone_before_and_after() -> None:
    span = StepSpan(seconds=20.0, steps=10, samples=6000)
    found = in_collaboration(StepGoal(2.0, delayed=True), 500, span, 380.0, 420.0)
    assert (found.step_s, found.samples_per_s, found.alone, found.ratio) == (2.0, 300.0, 400.0, 0.75)
    assert found.overshoot == pytest.approx(0.2)
    assert found.useful == pytest.approx(500 / 2.0 / 400, abs=1e-3)


def test_figures_of_a_loop_are_medians_and_spreads() -> None:
    turns = [turn(100, 1.0, waited_s=0.5), turn(300, 1.0, step_s=0.2), turn(200, 1.0, cpu_s=4.0, memory_bytes=30)]
    first = turn(1, 1.0, step_s=9.0)
    found = figures_of(turns, first, step_samples=8)
    assert found.samples_per_s == Spread(median=200, least=100, most=300)
    assert found.cpu_s_a_sample == Spread(median=0.01, least=0.003333, most=0.02)
    assert (found.data_wait, found.step_s, found.memory_bytes) == (round(0.5 / 3, 4), 0.2, 30)
    assert figures_of(turns[:1], first, step_samples=8).step_s == 9.0, "there was no other step"


def test_worker_is_compared_turn_by_turn() -> None:
    speeds = {"worker": [10.0, 5.0, 8.0], "plain": [10.0, 10.0, 4.0], "trainer": [5.0, 5.0, 8.0]}
    found = over(speeds)
    assert found == {"plain": Spread(median=1, least=0.5, most=2), "trainer": Spread(median=1, least=1, most=2)}
    assert over({"plain": [1.0]}) == {}


def test_hivemind_figures_are_named_like_our_own() -> None:
    found = hivemind_figures(PRINTED, StepGoal(2.0, delayed=True))
    assert (found.goal_s, found.delayed, found.step_s, found.alone) == (2.0, True, 3.2, 1250.0)
    assert (found.samples_per_s, found.useful) == (800.0, 0.6)


@pytest.mark.parametrize("epoch_s", [None, {"med": None}])
def test_hivemind_without_steps_is_told(epoch_s: object) -> None:
    printed = {**PRINTED, "hivemind": {**PRINTED["hivemind"], "epoch_s": epoch_s}}
    with pytest.raises(Problem, match="no steps"):
        hivemind_figures(printed, StepGoal(2.0, delayed=True))


def test_hivemind_script_gets_the_mode_that_is_measured(tmp_path: Path) -> None:
    (tmp_path / SCRIPT).write_text(
        "import json, sys\n"
        "given = lambda name: float(sys.argv[sys.argv.index(name) + 1])\n"
        "steps = {'samples_per_s': 1, 'useful_samples_per_s': 1, 'epoch_s': {'med': given('--seconds')}}\n"
        "alone = given('--target') * ('--delayed' in sys.argv)\n"
        "print(json.dumps({'plain': {'samples_per_s': alone}, 'hivemind': steps}))\n"
    )
    script = HivemindScript(Path(sys.executable), tmp_path)
    found = asyncio.run(script.measure(StepGoal(0.5, delayed=True), seconds=7))
    assert (found.alone, found.step_s) == (640, 10.0)
    with pytest.raises(Problem):
        asyncio.run(script.measure(StepGoal(0.5, delayed=False), seconds=7))


def test_sentences_tell_spreads_and_what_is_missing() -> None:
    one = Spread(median=2, least=1, most=3)
    figures = LoopFigures(
        samples_per_s=one,
        cpu_s_a_sample=one,
        data_wait=0.25,
        step_samples=8,
        step_s=0.5,
        memory_bytes=2 * 10**9,
        device_bytes=0,
    )
    loops = RecipeLoops(
        parameters=5,
        device="cpu",
        threads=1,
        micro_batch=4,
        turns=3,
        loops={"worker": figures, "plain": figures},
        skipped={"trainer": "it is elsewhere"},
        worker_over={"plain": one},
        worker_over_cpu={"plain": one},
    )
    said = training.sentences(
        training.TrainingReport(
            recipes={"small": loops},
            together=[],
            rivals=[Rival(name="hivemind", together=[], missing="It failed.")],
            cpus=2,
            load_before=0.0,
        )
    )
    for words in ("2 (1 to 3) samples/s", "2 GB of memory", "25.0% waiting", "worker / plain: 2 (1 to 3)"):
        assert words in said
    assert "trainer was not measured: it is elsewhere." in said
    assert "hivemind was not measured: It failed." in said


@pytest.mark.parametrize("words", ["--hivemind python", "--peers-scripts folder"])
def test_hivemind_is_refused_without_its_scripts(words: str) -> None:
    with pytest.raises(BadInput, match="--hivemind and --peers-scripts"):
        training.check(parser().parse_args(["training", *words.split()]))


def test_hivemind_is_refused_where_it_is_not(tmp_path) -> None:
    words = ["--hivemind", str(tmp_path / "python"), "--peers-scripts", str(tmp_path)]
    for name in ("python", SCRIPT):
        with pytest.raises(BadInput, match=name):
            training.check(parser().parse_args(["training", *words]))
        (tmp_path / name).touch()
    training.check(parser().parse_args(["training", *words]))
    with pytest.raises(BadInput, match="beside collaborations"):
        training.check(parser().parse_args(["training", *words, "--seconds", "0"]))


def test_unknown_recipe_is_refused_by_name() -> None:
    args = parser().parse_args(["training", "--recipes", "first-words", "albert-tiny"])
    with pytest.raises(BadInput, match="albert-tiny"):
        args.run(args)
