"""Real engines show one leaderboard, that of the state that they hold, also after a freeze and to a latecomer."""

import asyncio
import signal
import time
from pathlib import Path

import pytest

from core.api.snapshot import Snapshot
from tests.process.swarm import Collaboration, Volunteer, collaboration, found

pytestmark = pytest.mark.process

TARGET = 64
AGREED_S = 60.0


def board(news: Snapshot) -> list[tuple[str, str, int, int, int, int]]:
    """What everybody has to see alike; bytes that were passed on stand in each computer's own receipts."""
    rows = [(row.peer, row.name, row.samples, row.epochs, row.rounds, row.reduced) for row in news.leaderboard]
    return sorted(row for row in rows if row[4])


async def agreed(volunteers: list[Volunteer], *, after: int) -> list[tuple[str, str, int, int, int, int]]:
    """The board that all show at one epoch."""
    until = time.monotonic() + AGREED_S
    while True:
        news = await asyncio.gather(*(one.snapshot() for one in volunteers))
        boards = [board(each) for each in news]
        if all(each == boards[0] for each in boards) and min(each.epoch for each in news) > after:
            return boards[0]
        assert time.monotonic() < until, boards
        await asyncio.sleep(0.05)


@pytest.mark.long
def test_boards_are_equal_after_a_freeze_and_for_a_latecomer(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=TARGET)

    async def run(swarm: Collaboration) -> None:
        ada, bob = swarm.join("ada"), swarm.join("bob")
        await asyncio.gather(*(one.until(lambda news: news.epoch >= 2) for one in (ada, bob)))
        rows = await agreed([ada, bob], after=1)
        assert {name for _, name, *_ in rows} >= {"ada", "bob"}
        bob.process.send_signal(signal.SIGSTOP)
        frozen_at = (await ada.snapshot()).epoch
        eve = swarm.join("eve")
        seen = await eve.until(lambda news: news.epoch > frozen_at + 2 and news.me.samples > 0)
        assert "bob" in {row.name for row in seen.leaderboard}, "who is away has a name for those who never met him"
        bob.process.send_signal(signal.SIGCONT)
        hal = swarm.join("hal", "--helper", "--averaging-memory", "16")
        shown = await hal.until(lambda news: any(row.name == "eve" and row.samples for row in news.leaderboard))
        assert {row.name: row.rounds for row in shown.leaderboard}["ada"] >= frozen_at
        assert shown.curve, "who holds no model sees the losses as well"
        epoch = (await ada.snapshot()).epoch
        rows = await agreed([ada, bob, eve], after=epoch)
        assert {name for _, name, *_ in rows} >= {"ada", "bob", "eve"}
        assert sum(samples for _, _, samples, *_ in rows) >= TARGET * epoch
        curves = [[point.epoch for point in (await one.snapshot()).curve] for one in (ada, eve)]
        assert curves[0][: epoch + 1] == curves[1][: epoch + 1], "who came late sees the losses from the start"

    async def main() -> None:
        async with collaboration(charter, tmp_path) as swarm:
            await run(swarm)

    asyncio.run(main())
