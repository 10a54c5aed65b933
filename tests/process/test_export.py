"""`potluck export` and `potluck try`: real states of small models, real child processes, plain `transformers`."""

import json
import math
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from core.__main__ import main
from core.backbone.charter import load_charter
from core.tasks import task_of
from core.tasks.parameters import read_parameters
from core.tasks.task import Blobs
from tests.process.small_disk import small_disk
from tests.process.swarm import CORE, ENVIRONMENT
from tests.trained import EPOCHS, RECIPES, Trained, held_out, trained

pytestmark = pytest.mark.process
PLAIN = Path(__file__).with_name("plain_transformers.py")
TEXTS = {"albert": "the swarm shares [MASK] and every peer", "gpt": "the swarm sha"}
TOLERANCE = 1e-4
UMASK = 0o027


@pytest.fixture(scope="module", params=["albert", pytest.param("gpt", marks=pytest.mark.long)])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return trained(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def exported(made: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exports") / "given" / made.manifest.task
    said(tmp_path_factory.mktemp("left"), "export", str(folder), "--home", str(made.home.directory))
    return folder


def said(left: Path, *words: str) -> str:
    """What a command prints; `left` is its folder for temporary files, of which none stays."""
    env = {**ENVIRONMENT, "TMPDIR": str(left), "POTLUCK_UMASK": f"{UMASK:o}"}
    done = subprocess.run([*CORE, *words], env=env, check=True, stdout=subprocess.PIPE, text=True)
    assert not list(left.iterdir())
    return done.stdout


def most_probable(made: Trained, text: str, letters: int) -> str:
    """How a GPT goes on, by the model that was trained: at each place the most probable letter."""
    model = read_parameters(made.learner.state.saved.path, made.task.model(0), called="it").eval()
    alphabet = list(Blobs(made.home.blobs, made.manifest.blobs).decode("counts", dict[str, int]))
    found = [alphabet.index(letter) for letter in text]
    with torch.no_grad():
        for _ in range(letters):
            found.append(int(model(torch.tensor([found]))[0, -1].argmax()))
    return "".join(alphabet[letter] for letter in found[len(text) :])


def test_plain_transformers_gives_the_swarms_loss(made: Trained, exported: Path, tmp_path: Path) -> None:
    """Must-show 6 of the issue that asked for it."""
    text = TEXTS[made.manifest.task]
    np.savez(tmp_path / "held_out.npz", **held_out(made.manifest, made.task, made.home.blobs))
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, str(PLAIN), str(exported), "held_out.npz", text],
        cwd=tmp_path,
        env=env | {"HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["loss"] == pytest.approx(made.learner.evaluate().score.loss, abs=TOLERANCE)
    if made.manifest.task == "albert":
        assert len(told["said"]) == 5
        assert 0 < sum(told["said"]) <= 1
        assert told["limit"] == made.manifest.numbers["sequence_length"]
    else:
        assert told["said"] == text + most_probable(made, text, 8)


def test_model_card_names_model_loss_and_people(made: Trained, exported: Path) -> None:
    card = (exported / "README.md").read_text()
    evaluation = made.learner.evaluate()
    assert f"| {evaluation.score.loss:.4f} nats |" in card
    assert all(f"{name} alone | {score.loss:.4f} nats |" in card for name, score in evaluation.baselines.items())
    assert f"| Steps | {EPOCHS}, with 4 000 samples |" in card
    assert "| Ada | 3 000 | 75.0% |" in card
    assert "# Words \\*for\\* all" in card
    assert "the organiser's folder text" in card
    assert str(made.home.directory) not in card


def test_model_card_disarms_the_words_of_strangers(exported: Path) -> None:
    card = (exported / "README.md").read_text()
    assert "\\<b\\>Bob\\</b\\> \\| \\[x\\]\\(http\\://evil\\)" in card
    assert "<script>" not in card


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_export_is_readable_as_far_as_the_umask_lets(exported: Path) -> None:
    modes = {stat.S_IMODE(path.stat().st_mode) for path in exported.iterdir()}
    assert modes == {0o644 & ~UMASK}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (exported, exported.parent)} == {0o755 & ~UMASK}


def test_export_writes_nothing_over_other_files(made: Trained, exported: Path, tmp_path: Path, capsys) -> None:
    words = ["--home", str(made.home.directory)]
    assert main(["export", str(exported), *words]) == 2
    assert "add --force" in capsys.readouterr().err
    (tmp_path / "taxes.txt").write_text("mine")
    assert main(["export", str(tmp_path), "--force", *words]) == 2
    assert "'taxes.txt'" in capsys.readouterr().err
    assert (tmp_path / "taxes.txt").read_text() == "mine"
    assert main(["export", str(tmp_path / "taxes.txt"), *words]) == 2
    assert "is not a folder" in capsys.readouterr().err


@pytest.mark.parametrize("made", ["albert"], indirect=True)
def test_forced_export_replaces_an_earlier_one(made: Trained, exported: Path, capsys) -> None:
    (exported / "model.safetensors").write_bytes(b"torn")
    assert main(["export", str(exported), "--force", "--json", "--progress", "--home", str(made.home.directory)]) == 0
    *steps, told = map(json.loads, capsys.readouterr().out.splitlines())
    assert steps[0] == {"event": "progress", "share": 0.0, "text": "Loading the model"}
    assert (told["event"], told["epoch"], told["folder"]) == ("exported", EPOCHS, str(exported))
    assert told["loss"] == pytest.approx(made.learner.evaluate().score.loss, abs=1e-6)
    assert (exported / "model.safetensors").stat().st_size > 10_000
    assert [path.name for path in exported.parent.iterdir()] == [exported.name]


@pytest.mark.parametrize("made", ["albert"], indirect=True)
def test_export_to_a_full_disk_is_a_sentence(made: Trained, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, mib=1) as mounted:
        if not mounted:
            pytest.skip("needs the right to mount a file system")
        (disk / "ballast").write_bytes(bytes(240 * 4096))  # of 256 pages: the model itself has no room
        assert main(["export", str(disk / "model"), "--home", str(made.home.directory)]) == 2
        assert "The disk is full" in capsys.readouterr().err
        assert [path.name for path in disk.iterdir()] == ["ballast"]


def test_founding_with_a_start_goes_on_from_it(made: Trained, exported: Path, tmp_path: Path, capsys) -> None:
    text = made.home.directory.parent / "task" / "text"
    words = ["--charter", str(tmp_path / "more"), "--text", str(text), "--host", "127.0.0.1", "--json"]
    assert main(["found", RECIPES[made.manifest.task].removesuffix(".toml"), "--start", str(exported), *words]) == 0
    charter = load_charter(Path(json.loads(capsys.readouterr().out)["charter"]))
    task = task_of(charter.manifest, Blobs(charter.blobs, charter.manifest.blobs))
    found = made.task.evaluate(task.model(0)).score.loss
    assert found == pytest.approx(made.learner.evaluate().score.loss, abs=TOLERANCE)


def test_try_answers_in_the_terminal(made: Trained, tmp_path: Path, capsys) -> None:
    words = ["--home", str(made.home.directory), "--collaboration", made.manifest.name]
    text = TEXTS[made.manifest.task]
    told = json.loads(said(tmp_path, "try", text, *words, "--json"))
    assert told["epoch"] == EPOCHS
    if made.manifest.task == "albert":
        (blank,) = told["blanks"]
        chances = [guess["probability"] for guess in blank]
        assert len(chances) == 5
        assert chances == sorted(chances, reverse=True)
        assert 0 < math.fsum(chances) <= 1
        assert "[MASK]" not in told["text"]
        assert main(["try", text, *words]) == 0
        assert capsys.readouterr().out.strip()
    else:
        assert len(told["text"]) == 200


def test_try_says_what_is_wrong_with_a_text(made: Trained, capsys) -> None:
    words = ["--home", str(made.home.directory)]
    bad = {"albert": ("the swarm", "no blank to fill: write ___"), "gpt": ("", "no text to go on with")}
    text, sentence = bad[made.manifest.task]
    assert main(["try", text, *words]) == 2
    assert sentence in capsys.readouterr().err
