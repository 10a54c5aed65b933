"""The organisers are gone for good: a member founds a collaboration that goes on, and another one joins it."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from core.backbone.charter import load_charter
from core.backbone.kept_states import STATES, kept_copies
from core.base.state_header import HEADER_BYTES_MAX, ORIGIN_BYTES, header_of
from tests.process.swarm import CORE, ENVIRONMENT, Collaboration, collaboration, found

pytestmark = pytest.mark.process


def test_member_goes_on_from_the_model_without_the_organiser(tmp_path: Path) -> None:
    charter, new = found(tmp_path, target_samples=128), tmp_path / "new"

    def go_on(home: Path) -> dict[str, object]:
        words = ["--home", str(home), "found", "--go-on", "A test", "--charter", str(new), "--json"]
        said = subprocess.run([*CORE, *words], check=True, capture_output=True, text=True, env=ENVIRONMENT).stdout
        return json.loads(said)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada, bob = swarm.join("ada"), swarm.join("bob")
            await asyncio.gather(
                *(one.until(lambda news: sum(row.samples > 0 for row in news.leaderboard) == 2) for one in (ada, bob))
            )
            before = await ada.until(lambda news: news.epoch >= 2)
            assert swarm.backbone is not None
            swarm.backbone.kill()
            swarm.backbone.wait()
            shutil.rmtree(charter.folder)
            said = await asyncio.to_thread(go_on, ada.home.directory)
            assert said["goes_on_from"] == charter.manifest.id.hex()
            bob.kill()
            swarm.volunteers.remove(bob)
        (copy,) = kept_copies(new / STATES)
        made = load_charter(new).manifest
        assert (copy.epoch, made.name) == (said["epoch"], "A test (2)")
        assert made.predecessor == charter.manifest.id.hex()
        header = header_of(copy.path.read_bytes()[:HEADER_BYTES_MAX])
        assert (header.manifest, header.ancestors, header.means) == (made.id.hex(), "", "")
        assert bytes.fromhex(header.lineage)[-ORIGIN_BYTES:] == made.id[-ORIGIN_BYTES:]
        again = Collaboration(tmp_path, load_charter(new))
        again.start_backbone()
        try:
            seen = await again.join("bob").until(
                lambda news: news.epoch > copy.epoch and news.collaboration.name == made.name
            )
            gave = {row.name: row.samples for row in seen.leaderboard}
            assert before.epoch <= copy.epoch < seen.epoch
            assert all(gave[row.name] >= row.samples > 0 for row in before.leaderboard)
            assert {name for name, samples in gave.items() if samples} == {"ada", "bob"}
        finally:
            await asyncio.to_thread(again.close)

    asyncio.run(run())
