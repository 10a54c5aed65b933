"""What `python -m tests.bench averaging` refuses before it measures anything."""

import os

import pytest

from core.base.problems import BadInput
from tests.bench.averaging import averaging
from tests.bench.program import parser


def check(*words: str) -> None:
    averaging.check(parser().parse_args(["averaging", *words]))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--fleet 40x2", "describes no computers"),
        ("--fleet=", "describes no computers"),
        ("--fleet pair --peers 4", "how many peers there are"),
        ("--fleet 40*3,40a --codec adaptive", "nobody can help"),
        ("--warm 3", "Only a fleet has lines"),
        ("--warm 0", "Only a fleet has lines"),
        ("--rtt 40", "Only a fleet has lines"),
        ("--fleet pair --rtt 40 --ping", "hears nothing"),
        ("--strangers --codec topk", "prove no means"),
        ("--hivemind python", "--hivemind and --peers-scripts"),
        ("--peers-scripts folder", "--hivemind and --peers-scripts"),
    ],
)
def test_impossible_options_are_told(words, problem):
    with pytest.raises(BadInput, match=problem):
        check(*words.split())


@pytest.mark.parametrize(
    "words",
    ["", "--peers 8", "--fleet pair", "--fleet pair --warm 0", "--strangers", "--fleet 40*3,40c --codec adaptive"],
)
def test_possible_options_are_accepted(words):
    check(*words.split())


@pytest.mark.parametrize(
    ("fleet", "scripts"), [([], ("bench_allreduce.py", "bench_gloo.py")), (["--fleet", "pair"], ("bench_netns.py",))]
)
def test_hivemind_measurement_needs_interpreter_and_scripts(tmp_path, fleet, scripts):
    words = [*fleet, "--hivemind", str(tmp_path / "python"), "--peers-scripts", str(tmp_path)]
    for name in ("python", *scripts):
        with pytest.raises(BadInput, match=name):
            check(*words)
        (tmp_path / name).touch(0o755)
    check(*words)


@pytest.mark.skipif(os.name == "nt", reason="Windows goes by a file's name")
def test_a_python_that_cannot_be_run_is_refused(tmp_path):
    for name in ("python", "bench_allreduce.py", "bench_gloo.py"):
        (tmp_path / name).touch(0o644)
    with pytest.raises(BadInput, match="cannot be run"):
        check("--hivemind", str(tmp_path / "python"), "--peers-scripts", str(tmp_path))


def test_a_fleet_is_refused_before_anything_is_measured(monkeypatch):
    monkeypatch.setattr(averaging, "measure_as_asked", None)
    with pytest.raises(BadInput, match="describes no computers"):
        averaging.run(parser().parse_args(["averaging", "--fleet", "fast"]))
