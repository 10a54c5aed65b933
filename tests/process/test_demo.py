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


def text_in(folder: Path) -> Path:
    return text_folder(folder / "text")


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


def test_demo_trains_one_model(tmp_path: Path) -> None:
    code, lines, errors = demo(tmp_path / "home", "--peers", "2", "--epochs", "2", "--text", str(text_in(tmp_path)))
    assert code == 0, errors
    done = lines[-1]
    assert done["event"] == "done"
    assert (done["epochs"], done["epoch"], done["peers"]) == (2, 2, 2)
    assert done["parameters_max_difference"] <= 1e-5
    assert 0 < done["loss_last"] != done["loss_first"] > 0  # two steps may go up; the second task's test sees it learn
    assert (done["loss_name"], done["loss_unit"]) == ("masked-word loss", "nats")
    assert done["baselines"]["word frequencies"]["loss"] > 0
    assert done["samples"] >= 2 * 512
    assert done["seconds"] > 0


@pytest.mark.long
def test_next_run_resumes_though_its_backbone_dies(tmp_path: Path) -> None:
    home, words = tmp_path / "home", ["--recipe", "small-gpt", "--peers", "2", "--text", str(text_in(tmp_path))]
    code, lines, errors = demo(home, "--epochs", "5", *words)
    assert code == 0, errors
    first = lines[-1]
    assert (first["event"], first["peers"], first["loss_name"]) == ("done", 2, "next-letter loss")
    assert first["parameters_max_difference"] <= 1e-5
    assert first["loss_last"] < first["baselines"]["letter frequencies"]["loss"]

    command = [sys.executable, "-m", "core", "demo", "--headless", "--json", "--home", str(home), "--epochs", "3"]
    running = subprocess.Popen(
        [*command, *words], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT, stdin=subprocess.DEVNULL
    )
    killed: set[int] = set()
    with running:
        assert running.stdout is not None
        for line in running.stdout:
            second = json.loads(line)
            if len(killed) < 2 and second.get("activity") in {"training", "averaging"}:
                for pid in backbones(running.pid) - killed:
                    psutil.Process(pid).kill()
                    killed.add(pid)
    assert running.returncode == 0, second
    assert len(killed) == 2
    assert (second["event"], second["epochs"], second["epoch"], second["peers"]) == ("done", 3, 8, 2)
    assert second["parameters_max_difference"] == 0
    assert second["samples"] >= 3 * 512
    assert second["loss_first"] == pytest.approx(first["loss_last"], abs=1e-6)
    leftovers = [p.pid for p in psutil.process_iter(["cmdline"]) if str(home) in " ".join(p.info["cmdline"] or [])]
    assert not leftovers
    assert not (home / "engine.json").exists()


def newest_header(home: Path) -> StateHeader:
    newest = max(home.glob("state/*/states/state-*"), key=lambda path: path.name)
    return header_of(newest.read_bytes()[:HEADER_BYTES_MAX])


@pytest.mark.long
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


def test_unusable_text_is_an_event_and_exit_code_2(tmp_path: Path) -> None:
    code, lines, errors = demo(tmp_path / "home", "--epochs", "1", "--text", str(tmp_path / "text"))
    assert code == 2
    assert lines[-1]["event"] == "problem"
    assert "no folder" in errors.lower() + lines[-1]["message"].lower()
    assert "Traceback" not in errors


def test_a_home_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("in the way")
    code, _, errors = demo(tmp_path / "home", "--epochs", "1")
    assert code == 2
    assert "Traceback" not in errors
    assert os.fspath(tmp_path / "home") in errors


def backbones(pid: int) -> set[int]:
    """The backbone's processes below this one."""
    found = set()
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "backbone" in child.cmdline():
                found.add(child.pid)
    return found
