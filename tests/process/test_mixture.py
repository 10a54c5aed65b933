"""A mixture of experts on real engines: found, joined, hosted, and what happens when a host is killed."""

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest
import torch

from core.api.verdict import VerdictCode
from core.backbone.charter import load_charter
from core.cli.engine.experts import experts_of
from core.control.client import ControlClient
from core.tasks.experts.whole import load_whole
from core.workers.expert_files import expert_files
from tests.process.swarm import CORE, ENVIRONMENT, collaboration
from tests.unit.sources.test_images import idx_folder

pytestmark = pytest.mark.process
RECIPE = """
name = "Small digits"
task = "digits"
target_samples = 128
evaluate_every = 2
[model]
pixels = 16
micro_batch = 16
held_out = 64
[experts]
layers = 2
grid = [3, 3]
live = 8
top = 2
spare = 1
width = 16
factor = 2
owner_share = 0.5
[optimizer]
name = "adamw"
learning_rate = 0.003
warmup_samples = 1000
total_samples = 1000000
"""


def founded(folder: Path, written: str = RECIPE) -> Path:
    """The charter of a collaboration that learns small images."""
    images, _ = idx_folder(folder / "images", 3000, side=4)
    recipe = folder / "digits.toml"
    recipe.write_text(written)
    words = [str(recipe), "--text", str(images), "--charter", str(folder / "charter"), "--host", "127.0.0.1"]
    words += ["--organiser", "pytest", "--licence", "CC0", "--credit", "nobody", "--home", str(folder / "organiser")]
    subprocess.run([*CORE, "found", *words], check=True, capture_output=True, env={**os.environ, **ENVIRONMENT})
    return folder / "charter"


def export(folder: Path, *words: str) -> None:
    """Write the model; all of its experts are to be there."""
    command = [*CORE, "export", str(folder), *words, "--json"]
    done = subprocess.run(command, capture_output=True, env={**os.environ, **ENVIRONMENT}, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["experts"], told["missing"]) == (16, [])
    assert "16 of 16" in (folder / "README.md").read_text()
    model = load_whole(folder)
    assert model(torch.rand(5, 16)).shape == (5, 10)


@pytest.mark.long
def test_experts_answer_again_after_their_host_is_killed(tmp_path: Path) -> None:
    """Only one of the three trains, so the others answer over the network."""
    charter = load_charter(founded(tmp_path))

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada, bob = swarm.join("ada"), swarm.join("bob", "--helper")
            for one in (ada, bob):
                await one.until(lambda news: news.hosting is not None and news.hosting.experts == 8)
            await bob.until(lambda news: news.hosting is not None and news.hosting.answered > 100)
            eve = swarm.join("eve", "--helper")
            kept = eve.home.state(charter.manifest.id.hex()) / "experts"
            await ada.until(lambda _: len(expert_files(kept)) >= 12)
            seen = await experts_of(eve.home)
            assert (seen.layers, seen.places, len(seen.known)) == (2, 8, 16)
            assert {name for one in seen.known for name in one.hosts} == {"ada", "bob"}
            assert all(one.copies and seen.time - one.saved < 120 for one in seen.known if one.here)
            before = await ada.until(lambda news: news.epoch >= 3)
            bob.kill()
            await ada.until(lambda news: news.epoch >= before.epoch + 2)
            await eve.until(lambda news: news.hosting is not None and news.hosting.experts == 8)
            await eve.until(lambda news: news.hosting is not None and news.hosting.answered > 100)
            await asyncio.to_thread(export, tmp_path / "by-ada", "--home", str(ada.home.directory))
            await ada.until(lambda _: len(expert_files(charter.folder / "experts")) == 16)
        export(tmp_path / "by-backbone", "--charter", str(charter.folder))

    asyncio.run(run())
    text = "".join((tmp_path / f"{name}.log").read_text() for name in ("ada", "eve"))
    assert "Traceback" not in text, text[-3000:]
    taken = [line for line in text.splitlines() if "begins at version" in line]
    assert len(taken) >= 8
    assert not all(line.endswith("version 0") for line in taken)


@pytest.mark.long
def test_paused_host_leaves_its_places_to_another(tmp_path: Path) -> None:
    """The worker keeps its memory for some minutes, and must not take places again meanwhile."""
    charter = load_charter(founded(tmp_path))

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada, bob = swarm.join("ada"), swarm.join("bob", "--helper")
            for one in (ada, bob):
                await one.until(lambda news: news.hosting is not None and news.hosting.experts == 8)
            await bob.until(lambda news: news.hosting is not None and news.hosting.answered > 100)
            eve = swarm.join("eve", "--helper")
            async with ControlClient.connect(bob.home) as client:
                await client.call("pause")
            await eve.until(lambda news: news.hosting is not None and news.hosting.experts == 8)
            news = await bob.snapshot()
            assert news.hosting is not None
            assert news.hosting.experts == 0
            async with ControlClient.connect(bob.home) as client:
                await client.call("resume")
            await ada.until(lambda seen: seen.epoch >= news.epoch + 2)

    asyncio.run(run())
    log = (tmp_path / "bob.log").read_text()
    assert "Traceback" not in log, log[-3000:]
    assert log.count("begins at version") == 8, "it takes none again while it pauses"


@pytest.mark.long
def test_training_waits_for_experts_until_somebody_hosts_some(tmp_path: Path) -> None:
    """Ada hosts none, and leaves those that she had when she says so."""
    charter = load_charter(founded(tmp_path))

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada = swarm.join("ada")
            await ada.until(lambda news: news.hosting is not None and news.hosting.experts == 8)
            await ada.until(lambda news: news.epoch >= 2)
            async with ControlClient.connect(ada.home) as client:
                await client.settings({"experts": 3})
            await ada.until(lambda news: news.hosting is not None and news.hosting.experts == 3)
            async with ControlClient.connect(ada.home) as client:
                await client.settings({"experts": 0})
            waits = await ada.until(lambda news: news.verdict.code is VerdictCode.WAITING, timeout_s=60)
            assert waits.hosting is not None
            assert waits.hosting.experts == 0
            assert "0 of all 16 are live" in waits.sentence
            swarm.join("bob", "--helper")
            await ada.until(lambda news: news.verdict.code is VerdictCode.CONTRIBUTING)
            await ada.until(lambda news: news.epoch >= waits.epoch + 2)
            async with ControlClient.connect(ada.home) as client:
                await client.settings({"experts": None})
            await ada.until(lambda news: news.hosting is not None and news.hosting.experts == 8)

    asyncio.run(run())
    log = (tmp_path / "ada.log").read_text()
    assert "Traceback" not in log, log[-3000:]


@pytest.mark.long
def test_stopped_host_goes_on_with_what_experts_learned(tmp_path: Path) -> None:
    charter = load_charter(founded(tmp_path))

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada = swarm.join("ada")
            folder = ada.home.state(charter.manifest.id.hex()) / "experts"
            await ada.until(lambda news: news.epoch >= 3)
            await asyncio.to_thread(ada.process.communicate)
            kept = {expert: versions(paths)[-1] for expert, paths in expert_files(folder).items()}
            assert len(kept) == 8
            assert max(kept.values()) > 0
            again = swarm.join("ada")
            await again.until(lambda news: news.hosting is not None and news.hosting.experts == 8)
            await again.until(lambda news: news.epoch >= 6)
            await asyncio.to_thread(again.process.communicate)
            later = {expert: versions(paths)[-1] for expert, paths in expert_files(folder).items()}
            assert later.keys() == kept.keys(), "the same places"
            assert all(later[expert] >= kept[expert] for expert in kept)
            assert sum(later.values()) > sum(kept.values())

    asyncio.run(run())


def versions(paths: list[Path]) -> list[int]:
    return [int(path.name.split("-v")[1].split("-")[0]) for path in paths]


def test_recipe_of_digits_can_be_founded(tmp_path: Path) -> None:
    manifest = load_charter(founded(tmp_path)).manifest
    assert manifest.mixture is not None
    assert (manifest.mixture.live, manifest.mixture.owner_most) == (8, 4)
    assert json.loads(json.dumps(manifest.numbers))["pixels"] == 16
