"""Passes alone replace nobody's model: members that were in no round, and give a file that every trainer would load."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from core.api.snapshot import Snapshot
from core.backbone.kept_states import STATES
from core.base.state_header import epoch_of
from tests.attacks.liar import FALSE, noise_like
from tests.attacks.test_samples import all_reach
from tests.process.swarm import CORE, Collaboration, collaboration, found

pytestmark = [pytest.mark.process, pytest.mark.long]
PASSES = 3
UNDEFENDED = (sys.executable, "-m", "tests.attacks.undefended", "voices")


def copies(swarm: Collaboration) -> list[int]:
    """Epochs of the backbone's copies, in the order in which they came."""
    found = sorted((swarm.charter.folder / STATES).glob("*-state-*"))
    return [epoch_of(path.name.partition("-")[2]) or 0 for path in found]


def wait_for_copy(swarm: Collaboration) -> None:
    """Return when the backbone has one."""
    ends = time.monotonic() + 240.0
    while not copies(swarm):
        assert time.monotonic() < ends
        time.sleep(1.0)


@pytest.mark.parametrize("defended", [True, False])
def test_passes_of_one_person_replace_nobodys_model(tmp_path: Path, *, defended: bool) -> None:
    """Three passes against two volunteers, of which one restarts, and a newcomer."""
    charter = found(tmp_path, target_samples=1024)
    program = CORE if defended else UNDEFENDED

    def knows_them(news: Snapshot) -> bool:
        return sum(peer.epoch >= FALSE.epoch for peer in news.peers) == PASSES

    async def run() -> None:
        async with collaboration(charter, tmp_path, program=program) as swarm:
            ada, bob = (swarm.join(name, program=program) for name in ("ada", "bob"))
            await all_reach([ada, bob], 2)
            await asyncio.to_thread(wait_for_copy, swarm)
            noise = tmp_path / "noise"
            noise.write_bytes(noise_like(next(swarm.states(ada).glob("state-*"))))
            liar = (sys.executable, "-m", "tests.attacks.liar", str(noise))
            for number in range(PASSES):
                swarm.join(f"mallory {number}", "--helper", program=liar)
            if not defended:
                await ada.until(lambda news: news.epoch >= FALSE.epoch)
                return
            before = await ada.until(knows_them)
            await all_reach([ada, bob], before.epoch + 2)
            ada.kill()
            ada, eve = swarm.join("ada"), swarm.join("eve")
            await asyncio.gather(*(one.until(knows_them) for one in (ada, eve)))
            there = await bob.snapshot()
            await all_reach([ada, bob, eve], there.epoch + 2)
            for one in (ada, bob, eve):
                assert not list(swarm.states(one).glob(f"state-{FALSE.epoch:08d}-*"))
            assert 0 < max(copies(swarm)) < FALSE.epoch

    asyncio.run(run())
