"""A real worker ends while its contribution is out."""

import shutil
from pathlib import Path

import pytest

from core.base.content import digest
from core.base.work import Collect, Collected, Loaded, Progress, Stepped
from core.swarm.words import orders
from core.swarm.words.states import StateName
from core.text.order.bookmark import BOOKMARK, unpacked
from tests.process.test_suspension import Stage, play

pytestmark = pytest.mark.process


def test_rows_averaged_without_their_worker_are_not_drawn_again(tmp_path: Path) -> None:
    """The worker ends while its contribution is out; others have gone on with it to the state that is loaded then."""

    def used(epoch: int) -> int:
        (path,) = (tmp_path / "states").glob(f"bookmark-{epoch:08d}-*")
        (source,) = BOOKMARK.decode(path.read_bytes()).sources
        assert source is not None
        blocks = [block for each in source.passes for block in each.blocks]
        return sum(block.rows - int(unpacked(block.left, block.rows).sum()) for block in blocks)

    async def act(stage: Stage) -> None:
        ready = await stage.ready()
        await stage.until(Progress)
        stage.trainer.order(Collect(round=b"r"))
        written = await stage.until(Collected)
        assert used(0) == 0
        ready.mean[:] = ready.contribution
        name = StateName(1, digest(b"next"))
        stage.trainer.order(orders.Absorb(b"r", orders.RoundRecord(name, (), 0.0, (), 1.0)))
        stepped = await stage.until(Stepped)
        assert used(1) == written.samples
        await stage.trainer.pause()
        fetched = shutil.move(stepped.checkpoint, tmp_path / "fetched")
        for path in (tmp_path / "states").glob("bookmark-00000001-*"):
            path.unlink()
        stage.ledger.counts = written.samples
        stage.trainer.resume()
        assert (await stage.ready()).state.name.epoch == 0
        stage.trainer.order(orders.Load(str(fetched), name))
        assert (await stage.until(Loaded)).digest == stepped.digest
        assert used(1) == written.samples

    play(tmp_path, act)
