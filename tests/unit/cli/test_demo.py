"""Conditions that end a run of the demo."""

import pytest

from core.api.verdict import problem
from core.cli.volunteer.demo import ends_the_run
from core.cli.volunteer.outcome import DemoDone, DemoRun, say_done
from core.engine.embedded import EmbeddedOptions
from core.storage.paths import Home
from tests.unit.cli.conftest import a_snapshot


@pytest.mark.parametrize(
    ("code", "begun", "ends"),
    [("worker", True, False), ("worker", False, True), ("no_space", True, True), ("bad_input", False, True)],
)
def test_a_training_process_that_is_started_again_ends_nothing(code, begun, ends):
    news = a_snapshot(verdict=problem(code, "It broke."))
    assert ends_the_run(news, begun=begun) is ends


def test_without_a_problem_a_run_goes_on():
    assert not ends_the_run(a_snapshot(), begun=True)


@pytest.mark.parametrize("has_experts", [True, False])
def test_end_names_only_what_the_model_can_do(tmp_path, capsys, has_experts):
    options = EmbeddedOptions(peers=2, text=None, epochs=1, delayed=False, recipe=None)
    done = DemoDone(
        **dict.fromkeys(("epochs", "epoch", "peers", "samples"), 2),
        **dict.fromkeys(("collaboration", "loss_name", "loss_unit", "guesses"), "loss"),
        **dict.fromkeys(("loss_first", "loss_last", "parameters_max_difference", "seconds"), 0.0),
        right=None,
        baselines={},
        filled=(),
        has_experts=has_experts,
    )
    say_done(DemoRun(Home(tmp_path), options, json=False, started=0.0), done)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith("potluck export DIR")
    assert ("potluck try" in last) != has_experts
