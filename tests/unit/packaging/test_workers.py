"""In how many processes the tests run."""

import pytest


@pytest.mark.parametrize(("cores", "workers"), [(1, "3"), (2, "4"), (8, "10")])
def test_tests_run_in_two_processes_more_than_cores(parts, cores, workers):
    assert parts.bootstrap.in_workers(["-k", "x"], cores) == ["-n", workers, "--dist", "worksteal", "-k", "x"]


@pytest.mark.parametrize(
    "words",
    [["-n0"], ["-n", "3"], ["--numprocesses=auto"], ["--dist", "loadscope"], ["x.py", "--pdb"], ["-p", "no:xdist"]],
)
def test_words_that_choose_the_processes_are_kept(parts, words):
    assert parts.bootstrap.in_workers(words, 8) == words
