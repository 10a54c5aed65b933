"""The demo as a person runs it: one command, real processes, and what its last line promises."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

import resources
from core.base.state_header import HEADER_BYTES_MAX, MARK_BYTES, StateHeader, header_of
from tests.process.swarm import ENVIRONMENT
from tests.small_task import text_folder

pytestmark = pytest.mark.process


def demo(home: Path, *words: str, timeout_s: float = 400) -> tuple[int, list[dict[str, Any]], str]:
    done = subprocess.run(
        [sys.executable, "-m", "core", "demo", "--headless", "--json", "--home", str(home), *words],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_demo_trains_one_model_and_the_next_run_resumes(tmp_path: Path) -> None:
    text = text_folder(tmp_path / "text")
    home = tmp_path / "home"
    code, lines, errors = demo(home, "--peers", "2", "--epochs", "2", "--text", str(text))
    assert code == 0, errors
    first = lines[-1]
    assert first["event"] == "done"
    assert (first["epochs"], first["epoch"], first["peers"]) == (2, 2, 2)
    assert first["parameters_max_difference"] <= 1e-5
    assert (
        0 < first["loss_last"] != first["loss_first"] > 0
    )  # two steps may go up; the second task's test sees it learn
    assert (first["loss_name"], first["loss_unit"]) == ("masked-word loss", "nats")
    assert first["baselines"]["word frequencies"]["loss"] > 0
    assert first["samples"] >= 2 * 512
    assert first["seconds"] > 0

    code, lines, errors = demo(home, "--peers", "2", "--epochs", "1", "--text", str(text))
    assert code == 0, errors
    second = lines[-1]
    assert (second["epochs"], second["epoch"], second["peers"]) == (1, 3, 2)
    assert second["loss_first"] == pytest.approx(first["loss_last"], abs=1e-6)
    assert second["samples"] >= 512
    leftovers = [p.pid for p in psutil.process_iter(["cmdline"]) if str(home) in " ".join(p.info["cmdline"] or [])]
    assert not leftovers
    assert not (home / "engine.json").exists()


def newest_header(home: Path) -> StateHeader:
    newest = max(home.glob("state/*/states/state-*"), key=lambda path: path.name)
    return header_of(newest.read_bytes()[:HEADER_BYTES_MAX])


def test_new_companions_go_on_from_the_owners_kept_training(tmp_path: Path) -> None:
    """They are two, and it is one."""
    text, home = text_folder(tmp_path / "text"), tmp_path / "home"
    recipe = tmp_path / "my.toml"
    recipe.write_text(resources.file("recipes", "small-gpt.toml").read_text().replace("= 512", "= 64"))
    words = ["--recipe", str(recipe), "--text", str(text)]
    code, _, errors = demo(home, "--peers", "1", "--epochs", "4", *words)
    assert code == 0, errors
    kept = newest_header(home)
    code, lines, errors = demo(home, "--peers", "3", "--epochs", "3", *words)
    assert code == 0, errors
    done = lines[-1]
    assert (done["epoch"], done["peers"], done["parameters_max_difference"]) == (7, 3, 0)
    ancestors = bytes.fromhex(newest_header(home).ancestors)
    marks = [ancestors[at : at + MARK_BYTES] for at in range(0, len(ancestors), MARK_BYTES)]
    assert marks[2] == bytes.fromhex(kept.lineage)[:MARK_BYTES]


def test_the_second_task_falls_below_its_baseline(tmp_path: Path) -> None:
    text = text_folder(tmp_path / "text")
    code, lines, errors = demo(
        tmp_path / "home", "--recipe", "small-gpt", "--epochs", "5", "--peers", "2", "--text", str(text)
    )
    assert code == 0, errors
    done = lines[-1]
    assert (done["event"], done["peers"], done["loss_name"]) == ("done", 2, "next-letter loss")
    assert done["parameters_max_difference"] <= 1e-5
    assert done["loss_last"] < done["baselines"]["letter frequencies"]["loss"]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda folder: None, "no folder"),
        (lambda folder: folder.mkdir(), "text"),
        (lambda folder: folder.write_text("a file"), "no folder"),
    ],
)
def test_unusable_text_gives_one_sentence_and_exit_code_2(tmp_path: Path, make: Any, sentence: str) -> None:
    make(tmp_path / "text")
    code, lines, errors = demo(tmp_path / "home", "--epochs", "1", "--text", str(tmp_path / "text"))
    assert code == 2
    assert lines[-1]["event"] == "problem"
    assert sentence in errors.lower() + lines[-1]["message"].lower()
    assert "Traceback" not in errors


def test_a_home_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("in the way")
    code, _, errors = demo(tmp_path / "home", "--epochs", "1")
    assert code == 2
    assert "Traceback" not in errors
    assert os.fspath(tmp_path / "home") in errors


def test_the_backbone_is_started_again_when_it_dies(tmp_path: Path) -> None:
    text = text_folder(tmp_path / "text")
    words = ["demo", "--headless", "--json", "--home", str(tmp_path / "home"), "--peers", "2", "--epochs", "3"]
    running = subprocess.Popen(
        [sys.executable, "-m", "core", *words, "--text", str(text)],
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
    )
    killed = set()
    with running:
        assert running.stdout is not None
        for line in running.stdout:
            last = json.loads(line)
            if len(killed) < 2:
                for pid in backbones(running.pid) - killed:
                    psutil.Process(pid).kill()
                    killed.add(pid)
    assert running.returncode == 0, last
    assert len(killed) == 2
    assert last["event"] == "done"
    assert last["parameters_max_difference"] == 0


def backbones(pid: int) -> set[int]:
    """The backbone's processes below this one."""
    found = set()
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "backbone" in child.cmdline():
                found.add(child.pid)
    return found
