"""The program keeps to the limits; what does not yet stands in `exceptions.toml`."""

import os
import subprocess

import pytest

from tests.architecture import limits
from tests.architecture.measure import ROOT, subject_problems

EXCEPTIONS = limits.read_exceptions(limits.EXCEPTIONS.read_text(encoding="utf-8"))


def told(problems):
    return "\n".join(["", *problems])


@pytest.mark.parametrize("rule", limits.EACH)
def test_program_keeps_limit(sources, rule):
    problems = limits.each_problems(sources, rule, EXCEPTIONS.each[rule])
    assert not problems, told(problems)


@pytest.mark.parametrize("rule", limits.COUNTED)
def test_program_keeps_counted_limit(sources, rule):
    problems = limits.counted_problems(sources, rule, EXCEPTIONS.counted.get(rule))
    assert not problems, told(problems)


@pytest.mark.parametrize("rule", limits.HOUSE)
def test_house_keeps_limit(sources, rule):
    problems = limits.house_problems(sources, rule, EXCEPTIONS.counted.get(rule))
    assert not problems, told(problems)


def test_class_name_stands_once_in_core(sources):
    problems = limits.shared_name_problems(sources, EXCEPTIONS.shared_names)
    assert not problems, told(problems)


def test_list_of_exceptions_is_as_it_would_be_written(sources):
    written = limits.write_exceptions(EXCEPTIONS)
    assert limits.EXCEPTIONS.read_text(encoding="utf-8") == written


def git(*words):
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False, env=environ)


def test_commit_subject_keeps_to_form():
    try:
        shallow = git("rev-parse", "--is-shallow-repository", "--show-prefix")
    except FileNotFoundError:
        pytest.skip("git is not installed")
    if shallow.returncode or shallow.stdout.split("\n")[1]:
        pytest.skip("the program does not stand in a git repository of its own")
    if shallow.stdout.startswith("true"):
        pytest.skip("the history is shallow")
    first = EXCEPTIONS.commits_after
    assert git("merge-base", "--is-ancestor", first, "HEAD").returncode == 0, (
        f"commits_after: {first} is not in the history"
    )
    said = git("log", "--no-merges", "--format=%h%x00%s", f"{first}..HEAD").stdout
    problems = subject_problems([line.split("\0", 1) for line in said.splitlines()])
    assert not problems, told(problems)
