"""An engine trains on shards that only the backbone has: they come through the exchange, chunk by chunk."""

import asyncio
import subprocess

import pytest

from core.backbone import charter as charters
from core.base.data_source import DataSource
from core.base.manifest import PAPER_LAMB, Manifest
from tests.process.swarm import CORE, ENVIRONMENT, Collaboration
from tests.small_task import small_task

pytestmark = pytest.mark.process


def seeded(folder):
    """A collaboration whose text is cut, and whose origin answers nobody."""
    task = small_task(folder / "prepared", task="gpt")
    text, cut = folder / "prepared" / "text", folder / "cut"
    words = ["data", "cut", str(text), "--out", str(cut), "--shard-mb", "1"]
    subprocess.run([*CORE, *words], check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    authority = charters.new_authority()
    blobs = charters.keep_blobs(folder / "charter", {**task.blobs, "shards": cut / "index.potluck"})
    manifest = Manifest(
        name="Seeded",
        organiser="pytest",
        task="gpt",
        numbers=task.numbers,
        data=(DataSource(address="http://127.0.0.1:9/", index="shards"),),
        blobs=blobs,
        optimizer={**PAPER_LAMB, "learning_rate": 0.01, "warmup_epochs": 2, "total_epochs": 1000},
        target_samples=64,
        authority=authority.peer_id.hex(),
    )
    return Collaboration(folder, charters.found(folder / "charter", manifest, authority))


def test_engine_trains_on_shards_that_the_backbone_seeds(tmp_path):
    collaboration = seeded(tmp_path)
    try:
        collaboration.start_backbone("--shards", str(tmp_path / "cut"))
        volunteer = collaboration.join("Ada")
        seen = asyncio.run(volunteer.until(lambda snapshot: snapshot.me.epochs >= 1, timeout_s=200.0))
        assert seen.data is not None
        assert seen.data.shared_bytes > 0
        assert list((volunteer.home.directory / "shards").glob("*.chunks"))
    finally:
        collaboration.close()
