"""Receipts and helpers over real sockets: who only averages is in the receipts of those who train, provably."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from core.api.snapshot import HELPER, Activity
from core.base.manifest import AveragingNumbers
from tests.process.swarm import CORE, ENVIRONMENT, collaboration, found

pytestmark = pytest.mark.process


def receipts(*words: str) -> list[dict]:
    """What `potluck receipts` tells of all rounds; every signature has been checked by it."""
    done = subprocess.run(
        [*CORE, "receipts", "--json", "--number", "10000", *words], capture_output=True, check=False, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def without_samples(kept: list[dict]) -> list[dict]:
    """The rows of peers that only averaged."""
    return [row for receipt in kept for row in receipt["peers"] if row["reduced"] and not row["samples"]]


async def eventually(*words: str) -> list[dict]:
    """The receipts, once a peer that only averaged is in them: none is asked any more where it brings nothing."""
    for _ in range(240):
        if without_samples(kept := await asyncio.to_thread(receipts, *words)):
            return kept
        await asyncio.sleep(1)
    raise AssertionError("neither the helper nor the backbone is in the receipts")


def test_helpers_average_and_everybody_keeps_the_receipts(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64, averaging=AveragingNumbers(chunk_numel=512))

    async def run() -> None:
        async with collaboration(charter, tmp_path) as running:
            helper = running.join("helper", "--helper")
            await helper.until(lambda news: news.activity is Activity.HELPING)
            people = [running.join(name) for name in ("ada", "bob")]
            for volunteer in people:
                await volunteer.until(lambda news: news.epoch >= 3 and any(row.rounds > 1 for row in news.leaderboard))
            news = await helper.until(lambda news: any(row.is_me and row.reduced for row in news.leaderboard))
            [mine] = [row for row in news.leaderboard if row.is_me]
            assert (mine.samples, mine.name) == (0, "helper")
            assert {peer.role for peer in news.peers if peer.is_me} == {HELPER}
            assert news.me.worker_pid is None
            kept = await eventually("--home", str(people[0].home.directory))
            assert all(receipt["valid"] and not receipt["contradicted_by"] for receipt in kept)
            assert await eventually("--folder", str(running.charter.folder / "receipts"))

    asyncio.run(run())
