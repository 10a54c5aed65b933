"""Collaborations whose rule is not the usual one, with real engines and workers."""

import asyncio
from pathlib import Path

import pytest

from core.api.snapshot import Snapshot
from tests.process.swarm import collaboration, found
from tests.process.test_collaboration import call_pause

pytestmark = pytest.mark.process

EVER = {"warmup_epochs": 0, "total_epochs": 1_000_000}
LOCAL = {
    "rule": {
        "name": "local",
        "steps": 20,
        "samples": 16,
        "optimizer": {"name": "adamw", "learning_rate": 0.003, **EVER},
    },
    "optimizer": {"name": "sgd", "learning_rate": 0.7, "momentum": 0.9, "max_grad_norm": 1000.0, **EVER},
}
"""As DiLoCo has it: AdamW within, Nesterov's momentum without."""


def losses(news: Snapshot) -> list[float]:
    return [point.loss_heldout for point in news.curve if point.loss_heldout is not None]


@pytest.mark.long
def test_volunteers_of_local_steps_learn_and_hold_the_same_model(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=256, evaluate_every=1, **LOCAL)

    async def run() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            ada, bob = swarm.join("ada"), swarm.join("bob")
            last = await ada.until(
                lambda news: news.epoch >= 4 and len(losses(news)) >= 2 and losses(news)[-1] < losses(news)[0]
            )
            await bob.until(lambda news: news.epoch >= last.epoch)
            await asyncio.gather(*(call_pause(one.home) for one in (ada, bob)))
            swarm.assert_same_model(ada, bob)

    asyncio.run(run())
