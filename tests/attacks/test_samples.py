"""Real engines beside one with a valid pass that lies: the honest ones keep model, board and weight."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.api.numbers import amount
from core.api.snapshot import Snapshot
from core.api.verdict import VerdictCode
from core.base.bounds import SAMPLES_MAX
from core.base.manifest import AveragingNumbers
from core.control.client import ControlClient
from core.storage.identity import load_identity
from tests.attacks.liar import FALSE, noise_like
from tests.process.swarm import CORE, Collaboration, Volunteer, collaboration, found
from tests.process.test_collaboration import call_pause
from tests.process.test_receipts import receipts
from tests.process.test_rules import losses

pytestmark = pytest.mark.process
ROUNDS = 6
ROUNDED = 0.02
"""Weights are whole samples."""
WHOLLY = 0.99
"""Share of a mean's weight from which on it is one member's."""


def join_liar(swarm: Collaboration, lie: str, *words: str) -> Volunteer:
    return swarm.join("mallory", *words, program=(sys.executable, "-m", "tests.attacks.liar", lie))


async def all_reach(volunteers: Sequence[Volunteer], epoch: int) -> None:
    """Each of them trains at that epoch or a later one: who does not train yet tells how far the others are."""

    def stands_there(news: Snapshot) -> bool:
        return news.verdict.code is VerdictCode.CONTRIBUTING and news.epoch >= epoch

    await asyncio.gather(*(one.until(stands_there) for one in volunteers))


@pytest.mark.long
@pytest.mark.parametrize("defended", [True, False])
def test_false_epoch_and_random_weights_replace_nobodys_state(tmp_path: Path, *, defended: bool) -> None:
    charter = found(tmp_path, target_samples=4096, evaluate_every=1)
    program = CORE if defended else (sys.executable, "-m", "tests.attacks.undefended", "votes")

    def hears_the_lie(news: Snapshot) -> bool:
        return any(peer.epoch >= FALSE.epoch for peer in news.peers)

    async def run() -> None:
        async with collaboration(charter, tmp_path, program=program) as swarm:
            ada, bob = (swarm.join(name, program=program) for name in ("ada", "bob"))
            await all_reach([ada, bob], 1)
            noise = tmp_path / "noise"
            noise.write_bytes(noise_like(next(swarm.states(ada).glob("state-*"))))
            join_liar(swarm, str(noise), "--helper")
            if not defended:
                await asyncio.gather(*(one.until(lambda news: news.epoch >= FALSE.epoch) for one in (ada, bob)))
                return
            before = await ada.until(hears_the_lie)
            await all_reach([ada, bob], before.epoch + 2)
            ada.kill()
            again = swarm.join("ada")
            await again.until(hears_the_lie)
            there = await bob.snapshot()  # until it has heard of it, the other may have taken a step of its own
            await all_reach([again, bob], there.epoch + 2)
            await asyncio.gather(*(call_pause(one.home) for one in (again, bob)))
            swarm.assert_same_model(again, bob)
            last = await bob.snapshot()
            for one in (again, bob):
                assert not list(swarm.states(one).glob(f"state-{FALSE.epoch:08d}-*"))
            assert last.epoch < FALSE.epoch
            assert losses(last)[-1] <= losses(last)[0]
            assert {row.name for row in last.leaderboard if row.samples} == {"ada", "bob"}

    asyncio.run(run())


@pytest.mark.long
@pytest.mark.parametrize("defended", [True, False])
def test_claimed_samples_of_noise_keep_to_their_share(tmp_path: Path, *, defended: bool) -> None:
    """A manifest whose share of the weight is 1 believes every claim."""
    trusting = AveragingNumbers(weight_share=1.0)
    charter = found(tmp_path, target_samples=1024, averaging=None if defended else trusting)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            honest = [swarm.join(name) for name in ("ada", "bob", "eve")]
            await all_reach(honest, 1)
            mallory = join_liar(swarm, "samples")
            joined = await mallory.until(lambda news: news.me.epochs >= 1)
            last = await honest[0].until(lambda news: news.epoch >= joined.epoch + ROUNDS)
            await all_reach(honest, last.epoch)
            kept = await asyncio.to_thread(receipts, "--home", str(honest[0].home.directory))
            liar = load_identity(mallory.home.identity_file, None).keys.peer_id.hex()
            rounds = [{row["peer"]: row["samples"] for row in one["peers"] if row["samples"]} for one in kept]
            shares = [
                (samples[liar] / sum(samples.values()), len(samples))
                for samples in rounds
                if liar in samples and len(samples) > 2
            ]
            if not defended:
                assert max(share for share, _ in shares) > WHOLLY
                return
            assert shares
            assert all(share <= 2 / members + ROUNDED for share, members in shares)
            async with ControlClient.connect(mallory.home) as client:
                told = " ".join(notice.text for notice in await client.notices())
            assert f"of this computer's {amount(SAMPLES_MAX)} samples" in told
            assert "gradients were far larger than those of the others" in told
            await asyncio.gather(*(call_pause(one.home) for one in honest))
            for other in honest[1:]:
                swarm.assert_same_model(honest[0], other)
            last = await honest[0].snapshot()
            learned = [point.loss_training for point in last.curve if point.loss_training is not None]
            assert learned[-1] < learned[0]
            [row] = [row for row in last.leaderboard if row.name == "mallory"]
            assert row.share < 0.5

    asyncio.run(run())
