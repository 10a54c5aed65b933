"""A member that is alone with the backbone gives it a copy of the model that every trainer would load, and is noise."""

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.backbone.kept_states import REFUSED, STATES
from tests.attacks.liar import FALSE, noise_like
from tests.attacks.test_passes import copies, wait_for_copy
from tests.process.swarm import CORE, collaboration, found

pytestmark = [pytest.mark.process, pytest.mark.long]
UNDEFENDED = (sys.executable, "-m", "tests.attacks.undefended", "copies")


def wait_until(true: Callable[[], object]) -> None:
    """Return when it is true.  The wait only bounds a failure."""
    ends = time.monotonic() + 400.0
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.5)


@pytest.mark.parametrize("defended", [True, False])
def test_noise_becomes_nobodys_copy(tmp_path: Path, *, defended: bool) -> None:
    """It waits until nobody is there, and goes before a newcomer comes."""
    charter = found(tmp_path, target_samples=64)
    refused = charter.folder / STATES / REFUSED

    async def run() -> None:
        async with collaboration(charter, tmp_path, program=CORE if defended else UNDEFENDED) as swarm:
            ada = swarm.join("ada")
            await asyncio.to_thread(wait_for_copy, swarm)
            ada.kill()
            true = copies(swarm)
            noise = tmp_path / "noise"
            noise.write_bytes(noise_like(next(swarm.states(ada).glob("state-*"))))
            mallory = swarm.join(
                "mallory", "--helper", program=(sys.executable, "-m", "tests.attacks.liar", str(noise))
            )
            await asyncio.to_thread(wait_until, lambda: refused.exists() or FALSE.epoch in copies(swarm))
            mallory.kill()
            assert refused.exists() is defended
            eve = swarm.join("eve")
            if defended:
                seen = await eve.until(lambda news: news.me.samples > 0)
                assert max(true) < seen.epoch < FALSE.epoch
                assert "is not offered. Its next-letter loss" in (tmp_path / "backbone.log").read_text()
            else:
                await eve.until(lambda news: news.epoch >= FALSE.epoch)

    asyncio.run(run())
