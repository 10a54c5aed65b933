"""What `potluck found` asks, and refuses before it reads any text."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.base.problems import BadInput
from core.cli import found
from core.cli.program import parser


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a person types, line by line."""
    typed: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    lines: Iterator[str] = iter(typed)

    def answer(_: str) -> str:
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", answer)
    return typed


def test_questions_are_asked_again_until_they_fit(
    answers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = []

    def founding(recipe: found.Chosen, folder: Path) -> None:
        chosen.append((recipe, folder))
        raise BadInput("enough")

    monkeypatch.setattr(found, "_found", founding)
    monkeypatch.chdir(tmp_path)
    answers += ["", " Our Books! ", "Ada", "nowhere", str(tmp_path), "chess", "small-gpt"]
    with pytest.raises(BadInput, match="enough"):
        found.run(parser().parse_args(["found"]))
    ((recipe, folder),) = chosen
    assert (recipe.recipe.name, recipe.recipe.organiser) == ("Our Books!", "Ada")
    assert recipe.recipe.sources[0].path == str(tmp_path)
    assert (recipe.path.stem, folder) == ("small-gpt", tmp_path / "our-books")


def test_questions_that_end_found_nothing(answers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answers += ["Books"]
    with pytest.raises(BadInput, match="nothing was founded"):
        found.run(parser().parse_args(["found"]))
    assert not list(tmp_path.iterdir())


def test_without_a_terminal_a_recipe_must_be_named() -> None:
    with pytest.raises(BadInput, match=r"No recipe is named.*small-gpt"):
        found.run(parser().parse_args(["found"]))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chess"], "There is no recipe 'chess'. Name a file, or one"),
        (["small-gpt", "--text", "/nowhere"], "There is no folder"),
        (["small-gpt", "--host", "my home"], "no address that others could call"),
    ],
)
def test_a_wrong_word_is_refused_at_once(words: list[str], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        found.run(parser().parse_args(["found", *words]))


def test_what_is_there_already_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("precious")
    with pytest.raises(BadInput, match="is there already; nothing in it was changed"):
        found.run(parser().parse_args(["found", "small-gpt", "--charter", str(tmp_path)]))
    assert (tmp_path / "manifest.json").read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 1
