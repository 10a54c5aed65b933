"""What `potluck found` asks, and refuses before it reads any text."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import resources
from core.base.problems import BadInput, Busy
from core.cli.organiser import charter, found
from core.cli.program import parser
from core.net.clock import Clock


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


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[found.Founding]:
    """What is to be founded, once all is asked; nothing is."""
    chosen: list[found.Founding] = []

    async def founding(what: found.Founding) -> None:
        chosen.append(what)
        raise BadInput("enough")

    monkeypatch.setattr(found, "_found", founding)
    monkeypatch.chdir(tmp_path)
    return chosen


def test_questions_are_asked_again_until_they_fit(
    answers: list[str], asked: list[found.Founding], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr("builtins.print", lambda words, **_: told.append(str(words)))
    for taken in ("moby-dick/manifest.json", "pictures/a.png", "novels/whale.txt"):
        (tmp_path / taken).parent.mkdir()
        (tmp_path / taken).write_bytes(b"Call me Ishmael.")
    (tmp_path / "nothing").mkdir()
    answers += [
        "",
        "Moby Dick",
        " Our Books! ",
        "To learn from novels.",
        "Ada",
        "nowhere",
        "pictures",
        "nothing",
        "novels",
    ]
    answers += ["CC0", "Herman Melville"]
    answers += ["chess", "small-gpt", "many", "3", "-1", "0", "256.1.1.1", "my_host", "192.168.1.7"]
    with pytest.raises(BadInput, match="enough"):
        found.run(parser().parse_args(["found"]))
    (what,) = asked
    recipe = what.chosen.recipe
    assert (recipe.name, recipe.summary, recipe.organiser) == ("Our Books!", "To learn from novels.", "Ada")
    (source,) = recipe.sources
    assert (source.path, source.licence, source.credit) == (str(tmp_path / "novels"), "CC0", "Herman Melville")
    assert [words.split()[0] for words in told if "is there already" in words] == [str(tmp_path / "moby-dick")]
    refused = [words.split()[0] for words in told if "holds no text files" in words]
    assert refused == [str(tmp_path / "pictures"), str(tmp_path / "nothing")]
    assert (what.chosen.path.stem, what.folder) == ("small-gpt", tmp_path / "our-books")
    assert (what.invitation.uses_max, what.invitation.expires) == (3, None)
    assert what.ports.host == "192.168.1.7"
    assert told[-1] == "  192.168.1.7 can be reached only from your home network."
    assert sum("not an address that others could call" in words for words in told) == 2


def test_options_say_what_the_questions_would_ask(asked: list[found.Founding], tmp_path: Path) -> None:
    words = ["--summary", "To learn.", "--licence", "CC0", "--uses", "0", "--days", "2"]
    words += ["--host", "[2001:db8::1]", "--host", "potluck.example"]
    with pytest.raises(BadInput, match="enough"):
        found.run(parser().parse_args(["found", "small-gpt", "--text", str(tmp_path), *words]))
    (what,) = asked
    assert (what.chosen.recipe.summary, what.chosen.recipe.sources[0].licence) == ("To learn.", "CC0")
    assert (what.invitation.uses_max, what.ports.hosts) == (None, ("2001:db8::1", "potluck.example"))
    assert what.invitation.expires == pytest.approx(Clock().now() + 2 * 86_400, abs=60)


def test_link_of_a_new_collaboration_is_bounded(asked: list[found.Founding]) -> None:
    with pytest.raises(BadInput, match="enough"):
        found.run(parser().parse_args(["found", "small-gpt"]))
    (what,) = asked
    assert what.invitation.uses_max == 20
    assert what.invitation.expires == pytest.approx(Clock().now() + 14 * 86_400, abs=60)
    assert what.ports.peers != what.ports.desk


def test_only_one_command_founds_at_a_place(tmp_path: Path) -> None:
    """A lock of the operating system, as another process would hold it."""
    command = "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX); print(1, flush=True)"
    if sys.platform == "win32":
        pytest.skip("the lock is taken with fcntl here")
    work = tmp_path / ".ours.founding"
    work.mkdir()
    (work / "shards").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", f"{command}; sys.stdin.read()", str(tmp_path / ".ours.founding.lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline()
        with pytest.raises(Busy, match="Another command founds ours"):
            found.run(parser().parse_args(["found", "small-gpt", "--charter", str(tmp_path / "ours")]))
        assert (work / "shards").is_dir()
        other.communicate()


def test_what_came_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    made, place = tmp_path / "made", tmp_path / "ours"
    made.mkdir()
    place.mkdir()
    (place / "manifest.json").write_text("precious")
    with pytest.raises(BadInput, match="is there already"):
        charter.move(made, place)
    assert [path.name for path in place.iterdir()] == ["manifest.json"]


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
        (["small-gpt", "--host", "my home"], "not an address that others could call"),
        (["small-gpt", "--host", "192.168.1.300"], "not an address that others could call"),
        (["small-gpt", "--licence", "x" * 201], "What was said cannot be used"),
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


@pytest.mark.parametrize("words", [["--charter", "taken"], ["--name", "Taken"]])
def test_place_that_is_taken_is_told_before_the_first_question(
    answers: list[str], words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "manifest.json").write_text("precious")
    with pytest.raises(BadInput, match="is there already"):
        found.run(parser().parse_args(["found", *words]))


def test_rights_that_a_source_names_stay(asked: list[found.Founding], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    source = '[[data]]\naddress = "{}"\n{}'
    sources = (source.format("https://a.test/x.txt", 'licence = "GFDL"\n'), source.format("mine", 'credit = "Bob"\n'))
    lines = resources.file("recipes", "small-gpt.toml").read_text().splitlines()
    own = [line for line in lines if not line.startswith("text =")]
    (tmp_path / "ours.toml").write_text("\n".join([*own, *sources]))
    with pytest.raises(BadInput, match="enough"):
        found.run(parser().parse_args(["found", str(tmp_path / "ours.toml"), "--licence", "CC0", "--credit", "Ada"]))
    rights = [(one.licence, one.credit) for one in asked[0].chosen.recipe.sources]
    assert rights == [("GFDL", "Ada"), ("CC0", "Bob")]


def test_who_waited_founds_alone(tmp_path: Path) -> None:
    """A second command waits for the first to end, which deletes what it has made; a third one comes then."""

    async def run() -> None:
        async with contextlib.AsyncExitStack() as second, contextlib.AsyncExitStack() as third:
            async with charter.workplace(tmp_path / "ours"):
                waiting = asyncio.create_task(second.enter_async_context(charter.workplace(tmp_path / "ours")))
                await asyncio.sleep(0.2)
            work = await waiting
            with pytest.raises(Busy, match="Another command founds ours"):
                await third.enter_async_context(charter.workplace(tmp_path / "ours"))
            assert work.is_dir()

    asyncio.run(run())
    assert not list(tmp_path.iterdir())
