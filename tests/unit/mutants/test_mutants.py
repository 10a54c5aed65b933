"""The table of mutants fits the code, and the command tells noticed mutants from survivors."""

import tempfile
from pathlib import Path

import pytest

from tests.mutants.table import ROOT, Mutant, load
from tests.mutants.trial import GOOD, BaselineFailed, Result, Tried, try_mutants

MUTANTS = load()
LIMIT_S = 60.0
TOY = Mutant(name="toy", file="core/toy.py", old="a + b", new="a - b", tests=("tests/test_toy.py",))
TEST = "from core.toy import add\n\ndef test_adds():\n    assert add(2, 0) == 2\n    assert add(2, 1) == 3\n"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_applies_to_one_line_of_the_code(mutant: Mutant) -> None:
    assert mutant.apply(ROOT) != (ROOT / mutant.file).read_text(encoding="utf-8")


def test_no_two_mutants_are_the_same() -> None:
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one function and its test; temporary folders are made beside it."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    root = tmp_path / "tree"
    (root / "core").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "core" / "__init__.py").touch()  # found first, also where this checkout is on the path
    (root / "core" / "toy.py").write_text("def add(a, b):\n    return a + b\n", encoding="utf-8")
    (root / "tests" / "test_toy.py").write_text(TEST, encoding="utf-8")
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n', encoding="utf-8")
    return root


def results(tree: Path, *mutants: Mutant) -> list[Result]:
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    told: list[object] = []
    tried = try_mutants(mutants, root=tree, jobs=2, limit_s=LIMIT_S, tell=told.append)
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before
    assert list((tree.parent / "scratch").iterdir()) == []
    assert {one.mutant.name for one in told if isinstance(one, Tried)} == {mutant.name for mutant in mutants}
    return [one.result for one in tried]


def changed(name: str, **fields: str) -> Mutant:
    given = {"file": TOY.file, "old": TOY.old, "new": TOY.new, "equivalent": ""} | fields
    return Mutant(name=name, tests=TOY.tests, **given)


@pytest.mark.long
def test_command_tells_noticed_mutants_from_survivors(tree: Path) -> None:
    found = results(
        tree,
        TOY,
        changed("survivor", new="b + a"),
        changed("equivalent", new="b + a", equivalent="Addition commutes."),
        changed("wrongly equivalent", equivalent="It does not matter."),
        changed("stale", old="a * b"),
        changed("no line", old="def add(a, b):\n    return a + b", new="def add(a, b):\n    return a - b"),
        changed("no Python", new="a +"),
        changed("unimportable", old="def add", new="def subtract"),
    )
    assert found == [
        Result.NOTICED,
        Result.SURVIVED,
        Result.EQUIVALENT,
        Result.NOT_EQUIVALENT,
        *[Result.DOES_NOT_APPLY] * 3,
        Result.NOT_TRIED,
    ]
    assert {Result.NOTICED, Result.EQUIVALENT} == GOOD


def test_tests_that_fail_without_mutants_prove_nothing(tree: Path) -> None:
    (tree / "core" / "toy.py").write_text("def add(a, b):\n    return a + b + 1\n", encoding="utf-8")
    with pytest.raises(BaselineFailed, match="test_adds"):
        results(tree, TOY)
    assert list((tree.parent / "scratch").iterdir()) == []


def test_endless_tests_are_noticed_and_ended(tree: Path) -> None:
    adds = "import time\n\n\ndef add(a, b):\n    while a < 0:\n        time.sleep(1)\n    return a + b\n"
    (tree / "core" / "toy.py").write_text(adds)
    endless = changed("endless", old="while a < 0:", new="while True:")
    [one] = try_mutants([endless], root=tree, jobs=1, limit_s=10.0, tell=lambda _: None)
    assert one.result is Result.NOTICED
