"""Conditions that end a run of the demo."""

import pytest

from core.api.verdict import problem
from core.cli.volunteer.demo import ends_the_run
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
