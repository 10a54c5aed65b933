"""Recipes as people use them: founded, planned, trained alone, each by one command."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import resources
from core.__main__ import main
from core.engine.founding import Prepared, prepare
from tests.process.swarm import CORE, ENVIRONMENT
from tests.small_task import text_folder

pytestmark = pytest.mark.process


def potluck(*words: object) -> tuple[int, list[dict[str, Any]], str]:
    done = subprocess.run(
        [*CORE, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.stderr


def without_news(lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Without what is said of the text."""
    return (line for line in lines if line["event"] != "data")


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person's own recipe, with text of its own beside it."""
    folder = tmp_path_factory.mktemp("recipe")
    text_folder(folder / "books")
    path = folder / "my.toml"
    text = resources.file("recipes", "small-gpt.toml").read_text().replace('"python-docs"', '"books"')
    path.write_text(re.sub(r"target_samples = \d+", "target_samples = 64", text))
    return path


def test_a_founded_collaboration_is_served_at_the_printed_link(recipe: Path, tmp_path: Path) -> None:
    words = ("found", recipe, "--charter", tmp_path / "ours", "--host", "127.0.0.1", "--json")
    code, (founded,), errors = potluck(*words)
    assert code == 0, errors
    assert founded["needs"]["parameters"] > 100_000
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]
    before = (tmp_path / "ours" / "manifest.json").read_bytes()
    assert b'"address":"members"' in b"".join(before.split())
    assert b"books" not in before  # nor any other name of a folder here
    assert founded["text"][0]["documents"] > 0
    assert founded["reach"] == "here"
    code, (problem,), _ = potluck(*words)
    assert (code, problem["code"]) == (2, "bad_input")
    assert (tmp_path / "ours" / "manifest.json").read_bytes() == before

    command = founded["command"].split()
    assert command[0] == "potluck"
    with subprocess.Popen(
        [*CORE, *command[1:], "--json", "--with-parent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
    ) as backbone:
        assert backbone.stdout is not None
        assert json.loads(backbone.stdout.readline())["link"] == founded["link"]


@pytest.mark.long
def test_a_recipe_is_trained_alone_and_goes_on(recipe: Path, tmp_path: Path) -> None:
    (recipe.parent / "books" / "torn.jsonl.gz").write_bytes(b"no gzip at all")
    rows = [json.dumps({"text": f"A text of {number} words."}) for number in range(400)]
    (recipe.parent / "books" / "odd.jsonl").write_text("\n".join([*rows, '{"text": "\\ud83d x"}', ""]))
    words = [*CORE, "train", str(recipe), "--home", str(tmp_path), "--epochs", "2"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert "Left out of the data: torn.jsonl.gz, which is damaged" in done.stdout
    assert "Left out of the data: odd.jsonl: 1 record, the first: row 401, not UTF-8." in done.stdout
    assert re.findall(r"epoch (\d)  loss", done.stdout) == ["1", "2"]

    prometheus = tmp_path / "potluck.prom"
    words = [*CORE, "train", str(recipe), "--home", str(tmp_path), "--json", "--prometheus", str(prometheus)]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert running.stdout is not None
    said = list(islice(without_news(map(json.loads, running.stdout)), 2))
    assert [line["epoch"] for line in said] == [2, 3]
    running.send_signal(signal.SIGTERM if os.name == "nt" else signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    if os.name != "nt":
        assert running.returncode == 130
        assert "the next run goes on after epoch" in errors
    assert "potluck_epoch{" in prometheus.read_text()
    (folder,) = (tmp_path / "alone").iterdir()
    epochs = [json.loads(line)["epoch"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
    code, lines, errors = potluck("train", recipe, "--home", tmp_path, "--epochs", 1, "--json")
    assert code == 0, errors
    lines = list(without_news(lines))
    assert lines[0]["epoch"] >= epochs[-1] >= 3
    assert lines[1]["epoch"] == lines[0]["epoch"] + 1
    assert lines[1]["loss_heldout"] > 0 < lines[1]["tokens_per_s"]


def epochs_said(capsys: pytest.CaptureFixture[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The epochs that a command in this process has told, and all lines."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == "epoch"], lines


@pytest.mark.long
def test_a_sweep_prepares_text_once_and_repeats_by_seed(
    recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepared: list[Path] = []

    async def counted(*words: Any, **more: Any) -> Prepared:
        prepared.append(words[1])
        return await prepare(*words, **more)

    monkeypatch.setattr("core.cli.organiser.recipes.prepare", counted)
    rates = "optimizer.learning_rate=0.001,0.002,0.05"
    words = ["--home", str(tmp_path / "a"), "--seed", "7", "--epochs", "2", "--json"]
    assert main(["train", str(recipe), *words, "--set", rates]) == 0
    epochs, lines = epochs_said(capsys)
    assert len(prepared) == 1
    assert not prepared[0].exists()
    runs = lines[-1]["runs"]
    assert [row["set"] for row in runs] == [{"optimizer.learning_rate": r, "seed": 7} for r in (0.001, 0.002, 0.05)]
    assert [row["epoch"] for row in runs] == [2, 2, 2]
    assert len({row["loss"] for row in runs}) == 3

    seeded = recipe.with_name("seeded.toml")
    seeded.write_text("seed = 7\n" + re.sub("learning_rate = .*", "learning_rate = 0.002", recipe.read_text()))
    assert main(["train", str(seeded), "--home", str(tmp_path / "b"), "--epochs", "2", "--json"]) == 0
    again, _ = epochs_said(capsys)
    measured = ("loss", "loss_heldout", "gradient_norm")
    assert [[line[name] for name in measured] for line in again] == [
        [line[name] for name in measured] for line in epochs[2:4]
    ]

    out = tmp_path / "model"
    assert main(["export", str(out), "--home", str(tmp_path / "a"), "--collaboration", runs[2]["collaboration"]]) == 0
    capsys.readouterr()
    words = ["--home", str(tmp_path / "b"), "--start", str(out), "--seed", "7", "--epochs", "1", "--json"]
    assert main(["train", str(recipe), *words]) == 0
    (begun,), _ = epochs_said(capsys)
    assert begun["epoch"] == 1
    assert begun["loss"] < epochs[4]["loss"] - 0.1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["optimizer.learning_rat=1"], "my.toml with optimizer.learning_rat=1: [optimizer] learning_rat is unknown"),
        (["optimizer.beta2=x"], "my.toml with optimizer.beta2=x: [optimizer] beta2 must be a number"),
        (["target_samples=8", "seed=-1"], "my.toml with target_samples=8, seed=-1: seed must be a whole number from 0"),
        (["name.short=a"], "my.toml with name.short=a: name is not a table."),
        (["seed"], "--set 'seed' sets nothing. Write KEY=VALUE"),
        (["seed="], "--set 'seed=' sets nothing."),
        (["seed=1,2"], "Several runs come one after the other, so each needs an end. Add --epochs N."),
        (["seed=1,2,3,4,5", "target_samples=1,2,3,4"], "These are 20 runs; 16 are allowed."),
        (["model.layers=1,0"], "my.toml with model.layers=0: [model] layers must be a whole number from 1"),
    ],
)
def test_a_value_that_cannot_be_set_is_a_sentence(
    words: list[str], says: str, recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    end = [] if words == ["seed=1,2"] else ["--epochs", "1"]
    options = [option for word in words for option in ("--set", word)]
    assert main(["train", str(recipe), "--home", str(tmp_path), *options, *end]) == 2
    assert f"potluck: {says}" in capsys.readouterr().err


@pytest.mark.long
def test_a_plan_measures_the_real_model(recipe: Path) -> None:
    code, (plan,), errors = potluck("plan", recipe, "--seconds", 1, "--peers", 4, "--upload", "8mbit", "--json")
    assert code == 0, errors
    sent = 2 * 3 / 4 * 4 * plan["needs"]["parameters"]
    assert plan["averaging_s"] == pytest.approx(sent / 1e6)
    assert plan["epoch_s"] == pytest.approx(64 / plan["samples_per_s"] / 4 + plan["averaging_s"] + plan["step_s"])
    assert plan["hour_bytes"] == pytest.approx(sent * 3600 / plan["epoch_s"])
    assert 10**8 < plan["memory_bytes"] < 2 * 10**9


@pytest.mark.parametrize("command", [["found"], ["plan"], ["train"], ["demo", "--headless", "--recipe"]])
def test_a_wrong_number_is_one_sentence_for_every_command(command: list[str], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    right = resources.file("recipes", "small-gpt.toml").read_text()
    wrong.write_text(right.replace("target_samples = 512", "target_samples = 0"))
    code, _, errors = potluck("--home", tmp_path / "home", *command, wrong)
    assert code == 2
    assert errors.startswith(
        "potluck: wrong.toml: target_samples must be a whole number from 1 to 1,000,000,000, not 0."
    )
    assert "Traceback" not in errors


@pytest.mark.long
def test_a_text_too_short_founds_nothing(recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt").write_text("Not much.")
    code, _, errors = potluck("found", recipe, "--text", tmp_path / "text", "--charter", tmp_path / "ours")
    assert code == 2
    assert f"too little text to learn from in {tmp_path / 'text'}: " in errors
    assert "20,000 and 500 are the least" in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text"]
