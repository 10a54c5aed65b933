"""Real engines, real workers, real connections: what happens when somebody dies, pauses or comes back."""

import asyncio
import json
import time
from pathlib import Path

import msgspec
import psutil
import pytest
from safetensors.numpy import load_file

from core.api.snapshot import Activity, Snapshot
from core.base.manifest import AveragingNumbers
from core.control.client import ControlClient
from core.storage.paths import Home
from tests.process.swarm import WIDE, alive, collaboration, found

pytestmark = pytest.mark.process

SLOW_ROUNDS = AveragingNumbers(chunk_numel=256, round_timeout_s=20.0, stall_timeout_s=4.0)
"""Small chunks make a round last long enough to be in the middle of it."""


def in_round(news: Snapshot) -> bool:
    return news.epoch >= 1 and news.activity is Activity.AVERAGING


@pytest.mark.long
def test_killed_volunteer_costs_at_most_a_round(tmp_path: Path) -> None:
    averaging = msgspec.structs.replace(SLOW_ROUNDS, delayed=True, codec="adaptive")
    charter = found(tmp_path, target_samples=96, averaging=averaging, numbers=WIDE)
    metrics = tmp_path / "metrics.jsonl"

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada, bob, eve = swarm.join("ada", "--metrics", str(metrics)), swarm.join("bob"), swarm.join("eve")
            await asyncio.gather(*(one.until(lambda news: news.epoch >= 1) for one in (ada, bob, eve)))
            before = await eve.until(in_round)
            worker = before.me.worker_pid
            eve.kill()
            killed = time.monotonic()
            await asyncio.gather(*(one.until(lambda news: news.epoch > before.epoch) for one in (ada, bob)))
            assert time.monotonic() - killed < 1.5 * SLOW_ROUNDS.round_timeout_s, "with the next attempts' back-offs"
            assert worker is not None
            again = swarm.join("eve")
            behind = (await ada.snapshot()).epoch
            last = await again.until(lambda news: news.epoch > behind and news.me.samples > before.me.samples)
            assert not alive(worker)
            await asyncio.gather(*(one.until(lambda news: news.epoch >= last.epoch) for one in (ada, bob)))
            await asyncio.gather(*(call_pause(one.home) for one in (ada, bob)))
            swarm.assert_same_model(ada, bob)
            assert not (swarm.states(ada).parent / "residuals").exists(), "nothing is owed for eight and sixteen bits"

    asyncio.run(run())
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert {"epoch", "loss", "gradient_norm", "noise_scale", "averaging_s"} <= lines[0].keys()
    assert any(line["peers"] >= 2 for line in lines)
    assert all(line["states_alike"] == line["states_heard"] for line in lines), "equal states have equal bits"


async def call_pause(home: Home) -> None:
    async with ControlClient.connect(home) as client:
        await client.call("pause")


def test_pause_suspends_the_worker_at_once_and_outlives_the_engine(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada, bob = swarm.join("ada"), swarm.join("bob")
            await ada.until(lambda news: news.epoch >= 1)
            before = await bob.until(lambda news: news.epoch >= 1 and news.me.worker_pid is not None)
            worker = before.me.worker_pid
            assert worker is not None
            async with ControlClient.connect(bob.home) as client:
                async with asyncio.timeout(1.0):
                    await client.call("pause")
                assert alive(worker)
                paused = await client.snapshot()
            assert paused.activity is Activity.PAUSED
            assert not paused.contributing
            assert paused.me.worker_pid == worker

            ahead = await ada.until(lambda news: news.epoch > paused.epoch + 1)
            seen = await bob.until(lambda news: news.epoch >= ahead.epoch and news.samples_per_s > 0)
            assert seen.verdict.code == "paused", "who paused sees how far the others are"

            async with ControlClient.connect(bob.home) as client:
                await client.call("resume")
            after = await bob.until(lambda news: news.epoch > seen.epoch and news.contributing)
            assert after.me.worker_pid == worker

            await call_pause(bob.home)
            process = psutil.Process(worker)
            bob.kill()
            await asyncio.to_thread(process.wait, 30)
            again = swarm.join("bob")
            news = await again.until(lambda news: news.activity is not Activity.STARTING)
            assert news.activity is Activity.PAUSED
            assert news.me.worker_pid is None

    asyncio.run(run())


def test_state_outlives_a_power_cut_and_latecomers_get_it(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)

    def board(news: Snapshot) -> list[int]:
        return [row.samples for row in news.leaderboard]

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada, bob = swarm.join("ada"), swarm.join("bob")
            await asyncio.gather(*(one.until(lambda news: news.epoch >= 2) for one in (ada, bob)))
            ada.kill()
            bob.kill()
            kept = max(int(path.name.split("-")[1]) for path in swarm.states(ada).glob("state-*.safetensors"))
            assert kept >= 2
            last = kept + 2
            ada, bob = (swarm.join(name, "--last-epoch", str(last)) for name in ("ada", "bob"))
            seen = await ada.until(lambda news: news.activity in {Activity.TRAINING, Activity.FINISHED})
            assert seen.epoch >= kept
            ended, _ = await asyncio.gather(
                *(one.until(lambda news: news.activity is Activity.FINISHED) for one in (ada, bob))
            )
            late = swarm.join("late", "--last-epoch", str(last))
            news = await late.until(
                lambda news: news.activity is Activity.FINISHED and board(news) == board(ended), timeout_s=120.0
            )
            assert (ended.epoch, news.epoch) == (last, last)
            assert sum(board(news)) >= 64 * last
            (one,) = swarm.states(ada).glob(f"state-{last:08}-*.safetensors")
            (other,) = swarm.states(late).glob(f"state-{last:08}-*.safetensors")
            assert one.read_bytes() == other.read_bytes()
            assert load_file(one)

    asyncio.run(run())
