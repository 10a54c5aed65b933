"""Receipts and helpers over real sockets: who only averages is in the receipts of those who train, provably."""

import asyncio
import json
import re
import subprocess
from pathlib import Path

import pytest

from core.__main__ import main
from core.api.snapshot import HELPER, Activity
from core.base.manifest import AveragingNumbers
from core.ledger.receipts import check, read_receipts
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


async def helped(folder: Path) -> None:
    """Return when a peer that only averaged is in the receipts: none is asked any more where it brings nothing."""
    async with asyncio.timeout(240):
        while not any(  # noqa: ASYNC110 - other processes, no event
            credit.reduced and not credit.samples
            for receipt in read_receipts(folder, 50)
            for credit in check(receipt).credits.values()
        ):
            await asyncio.sleep(0.2)


@pytest.mark.long
def test_helpers_average_and_everybody_keeps_the_receipts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
            await helped(people[0].home.state(charter.manifest.id.hex()) / "receipts")
            kept = await asyncio.to_thread(receipts, "--home", str(people[0].home.directory))
            assert without_samples(kept)
            assert all(receipt["valid"] and not receipt["contradicted_by"] for receipt in kept)
            await helped(charter.folder / "receipts")
            assert without_samples(await asyncio.to_thread(receipts, "--charter", str(charter.folder)))
            await asyncio.to_thread(main, ["revoke", "helper", "--charter", str(charter.folder)])
            log = tmp_path / "backbone.log"
            async with asyncio.timeout(60):
                said = (r"helper \(\w+\) is shut out", r"ada \(\w+\) is here", "has contributed for the first time")
                while not all(re.search(line, log.read_text()) for line in said):  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0.2)
            capsys.readouterr()
            await asyncio.to_thread(main, ["people", "--charter", str(charter.folder), "--json"])
            told = json.loads(capsys.readouterr().out)
            assert told["backbone_runs"]
            known = {one["name"]: one for one in told["people"]}
            assert all(known[name]["came"] for name in ("ada", "bob", "helper"))
            assert all(known[name]["here"] for name in ("ada", "bob"))
            assert known["helper"]["revoked"]
            assert known["helper"]["samples"] == 0 < known["ada"]["samples"] + known["bob"]["samples"]

    asyncio.run(run())
