"""An engine goes on as a newer version between two rounds, and as the one before where that does not start."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from core.api.snapshot import Snapshot
from core.base.ids import short
from core.control.one_call import call_once
from core.engine.remembered.notice_file import NoticeFile
from core.ledger.receipts import check, read_receipts
from tests.process.publishing import UpdateWorld, update_world
from tests.process.swarm import Collaboration, Volunteer, collaboration, found

pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name == "nt", reason="versions are scripts of sh")]
LOST = {"round.partial", "round.failing", "round.left"}
DIES = "import os, sys\nif 'engine' in sys.orig_argv: os._exit(1)\n"


def rounds(swarm: Collaboration, whose: Volunteer, peer: str) -> dict[int, int]:
    """Samples of a peer by epoch, as receipts in somebody's home have them."""
    folder = whose.home.receipts(swarm.charter.manifest.id.hex())
    given = {one.statement.epoch: check(one).credits for one in read_receipts(folder, 10_000)}
    return {
        epoch: sum(credit.samples for key, credit in rows.items() if short(key) == peer)
        for epoch, rows in given.items()
    }


async def newer(world: UpdateWorld, updated: Volunteer, swarm: Collaboration) -> Snapshot:
    """Have the engine go on as 0.2.0; returns its first snapshot in which it trains again."""
    before = await updated.until(lambda at: at.me.epochs >= 2 and at.update is not None)
    assert before.version == "0.1.0"
    await asyncio.to_thread(world.look)  # which the engine sees by itself within 20 s
    call_once(updated.home, "update")
    new = await updated.until(lambda at: at.version == "0.2.0" and at.me.epochs > before.me.epochs + 1)
    assert new.me.samples > before.me.samples
    return new


async def undone(world: UpdateWorld, updated: Volunteer) -> float:
    """Have it go on as 0.3.0, which dies: 0.2.0 runs again within a minute, with a sentence; returns the seconds."""
    world.publish("0.3.0", more=DIES)
    await asyncio.to_thread(world.look)
    began = time.monotonic()
    call_once(updated.home, "update")
    again = await updated.until(lambda at: at.update is not None and at.update.back_from == "0.3.0")
    took_s = time.monotonic() - began
    assert took_s < 60
    assert again.version == "0.2.0"
    return took_s


async def update_and_go_back(world: UpdateWorld, folder: Path) -> dict[str, float]:
    """Update a program while it trains with another one, no round lost, and go back from a version that dies.

    Args:
        world: The program, and its publisher who offers 0.2.0.
        folder: For the collaboration; the program's home is `updated` in it.

    Returns:
        What was counted and measured.
    """
    charter = found(folder, target_samples=768)  # a round takes longer than a report between peers
    async with collaboration(charter, folder) as swarm:
        updated = swarm.join("updated", program=(str(world.program.folder / "potluck"),))
        other = swarm.join("other")
        await other.until(lambda at: at.epoch >= 1 and at.volunteers == 2)
        new = await newer(world, updated, swarm)
        mine, theirs = (rounds(swarm, each, new.me.peer) for each in (updated, other))
        kept = {epoch: samples for epoch, samples in mine.items() if epoch in theirs}
        assert sum(samples > 0 for samples in kept.values()) >= 3  # before the update, and after it
        assert kept == {epoch: theirs[epoch] for epoch in kept}
        assert len(theirs) == max(theirs) + 1 - min(theirs)  # the other one goes on meanwhile
        back_s = await undone(world, updated)
        for each in (updated, other):
            codes = {notice.code: notice.text for notice in NoticeFile(each.home.notices_file).read()}
            assert not LOST & codes.keys(), codes
        told = {notice.code: notice.text for notice in NoticeFile(updated.home.notices_file).read()}
        assert told["update.back"].startswith("Version 0.3.0 did not start on this computer, so 0.2.0 runs.")
        return {"rounds": len(kept), "back_s": round(back_s, 1)}


def test_update_loses_no_round_and_a_bad_one_is_undone(tmp_path, monkeypatch):
    with update_world(tmp_path / "updates") as world:
        for name, value in world.environment.items():
            monkeypatch.setenv(name, value)
        world.publish("0.2.0")
        asyncio.run(update_and_go_back(world, tmp_path))
