"""A base without what trains: this Python with the packages of `base.txt` and pip, and nothing else."""

import asyncio
import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from core.api.training_part import NO_PART
from core.api.verdict import VerdictCode
from core.parts import part
from tests.process.swarm import ENVIRONMENT, collaboration, found

pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name == "nt", reason="makes the base of links")]
ROOT = Path(__file__).parents[2]
TRAINING = ("torch", "transformers", "datasets", "pyarrow", "tokenizers", "safetensors")


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> tuple[str, ...]:
    """What begins a command of a base: the packages are links to those that are installed here."""
    folder = tmp_path_factory.mktemp("base")
    names = re.findall(r"^([A-Za-z0-9._-]+)==", (part.LOCKED / "base.txt").read_text(), re.MULTILINE)
    for name in (*names, "pip"):
        try:
            files = metadata.distribution(name).files or []
        except metadata.PackageNotFoundError:
            continue  # another system's
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            place = Path(str(metadata.distribution(name).locate_file(top)))
            if not (folder / top).exists():
                (folder / top).symlink_to(place)
    python = os.path.realpath(sys.executable)
    return ("env", f"PYTHONPATH={folder}{os.pathsep}{ROOT}", python, "-S")


def said(base, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {**ENVIRONMENT, "QT_QPA_PLATFORM": "offscreen"}
    return subprocess.run([*base, *words], capture_output=True, text=True, check=False, env=environ, cwd="/")


def test_base_has_nothing_that_trains(base):
    code = f"from importlib.util import find_spec as f; print([n for n in {TRAINING!r} if f(n)], bool(f('PySide6')))"
    assert said(base, "-c", code).stdout == "[] True\n"


def test_commands_of_a_base_say_what_is_missing(base, tmp_path):
    home = ("--home", str(tmp_path), "--json")
    status = said(base, "-m", "core", "status", *home)
    assert json.loads(status.stdout)["reason"] == "stopped"
    shown = json.loads(said(base, "-m", "core", "training-part", *home).stdout)
    assert shown["state"] == "missing"
    assert "cpu" in [build["name"] for build in shown["builds"]]
    checks = [json.loads(line) for line in said(base, "-m", "core", "doctor", *home).stdout.splitlines()]
    (training,) = (check for check in checks if check["name"] == "training")
    assert training["level"] == "note"
    recipe = str(ROOT / "resources" / "recipes" / "first-words.toml")
    for words in (
        ("train", recipe, *home),
        ("demo", "--headless", *home),
        ("devices", *home),
        ("plan", recipe, "--json"),
    ):
        done = said(base, "-m", "core", *words)
        assert (done.returncode, json.loads(done.stdout.splitlines()[-1])["code"]) == (2, "training_part"), words


def shows_itself(words: list[str]) -> bytes:
    """What a window prints once it shows an engine."""
    environ = {**ENVIRONMENT, "QT_QPA_PLATFORM": "offscreen"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environ) as window:
        assert window.stdout is not None
        try:
            return window.stdout.readline()
        finally:
            window.kill()


def test_base_joins_helps_and_shows_its_window(base, tmp_path):
    async def scenario() -> None:
        charter = found(tmp_path, target_samples=64)
        async with collaboration(charter, tmp_path) as swarm:
            helper = swarm.join("base", program=(*base, "-m", "core"))
            trainer = swarm.join("trainer")
            seen = await helper.until(lambda at: at.verdict.reason == NO_PART and at.epoch >= 1)
            assert seen.verdict.code is VerdictCode.CONTRIBUTING
            home = ("--home", str(helper.home.directory))
            if os.environ.get("POTLUCK_LONG"):  # a helper reads the ledger every 45 seconds
                await helper.until(lambda at: any(row.name == "trainer" for row in at.leaderboard))
            assert await asyncio.to_thread(shows_itself, [*base, "-m", "app", *home, "--attach", "--tell"])
            await trainer.until(lambda at: at.epoch >= 2)

    asyncio.run(scenario())
