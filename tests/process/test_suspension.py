"""Pauses of the real worker, and of small programs in its place."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import numpy as np
import psutil
import pytest

from core.base.content import chunk_digests, root_digest
from core.base.ids import PeerId
from core.base.manifest import AveragingNumbers
from core.base.work import Collect, Collected, Go, Progress
from core.swarm.words.answers import TrainerGone, TrainerReady
from core.system.child_process import own_command
from core.system.file_chunks import file_chunks
from core.workers import frames
from core.workers.data_frames import DataAccess
from core.workers.place import TrainerPlace, WorkerShare
from core.workers.trainer import Trainer
from tests.process.swarm import ENVIRONMENT, alive, found
from tests.process.test_devices import NoLedger
from tests.process.test_worker import PRELUDE

pytestmark = pytest.mark.process

T = TypeVar("T")
KEPT_S = 600.0
PATIENCE_S = 120.0
"""Bounds a failure only: other tests compute on the same cores."""


class Stage:
    """A trainer, and what it tells its participant."""

    def __init__(self, place: TrainerPlace) -> None:
        self.ledger = NoLedger()
        self.told: asyncio.Queue[Any] = asyncio.Queue()
        self.notices: list[str] = []
        self.trainer = Trainer(
            place,
            tell=self._tell,
            ledger=self.ledger,
            changed=lambda: None,
            notice=self.notices.append,
            random=Random(0),
        )

    async def until(self, kind: type[T], that: Callable[[T], bool] = lambda _: True) -> T:
        """The next event of this kind for which `that` holds."""
        async with asyncio.timeout(PATIENCE_S):
            while not (isinstance(event := await self.told.get(), kind) and that(event)):
                pass
        return event

    async def ready(self) -> TrainerReady:
        """A worker is ready, and was told to train."""
        return await self.until(TrainerReady)

    def _tell(self, event: Any) -> None:
        """Take an event, and order within it what a participant may."""
        self.told.put_nowait(event)
        if isinstance(event, TrainerReady):
            self.trainer.order(Go())

    @property
    def process(self) -> psutil.Process:
        assert self.trainer.pid is not None
        return psutil.Process(self.trainer.pid)


def play(
    folder: Path,
    act: Callable[[Stage], Awaitable[None]],
    *,
    delayed: bool = False,
    command: Sequence[str] | None = None,
) -> None:
    """Run a trainer on a small collaboration, and `act` beside it."""
    charter = found(folder, target_samples=10_000, averaging=AveragingNumbers(delayed=delayed))
    for name in ("states", "arena"):
        (folder / name).mkdir()
    place = TrainerPlace(
        peer=PeerId(bytes(32)),
        manifest=charter.manifest,
        manifest_path=charter.manifest_path,
        blobs=charter.blobs,
        states=folder / "states",
        arena=folder / "arena",
        log=folder / "log",
        residuals=folder / "residuals",
        means=folder / "means",
        seed=0,
        share=lambda: WorkerShare("cpu", 1),
        data=lambda: DataAccess(blocks_dir=str(folder / "blocks"), disk_bytes=10**9, folder=str(folder)),
        command=command,
    )

    async def go() -> None:
        stage = Stage(place)
        running = asyncio.create_task(stage.trainer.run())
        stage.trainer.resume()
        await act(stage)
        await stage.trainer.pause()
        running.cancel()

    asyncio.run(go())


def test_suspended_worker_stands_still_and_keeps_its_samples(tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        await stage.ready()
        before = await stage.until(Progress, lambda counted: counted.samples >= 50)
        process = stage.process
        await stage.trainer.pause(memory_s=KEPT_S)
        gone = await stage.until(TrainerGone)
        assert gone.paused
        used = process.cpu_times()
        await asyncio.sleep(2.0)  # the time over which it is measured
        after = process.cpu_times()
        assert after.user + after.system - used.user - used.system < 0.05
        began = time.monotonic()
        stage.trainer.resume()
        await stage.ready()
        counted = await stage.until(Progress)
        assert time.monotonic() - began < 1.0
        assert counted.samples > before.samples
        assert stage.process == process

    play(tmp_path, act)


@pytest.mark.long
@pytest.mark.parametrize("delayed", [False, True])
def test_contribution_that_was_out_counts_again(tmp_path: Path, delayed: bool) -> None:  # noqa: FBT001
    async def act(stage: Stage) -> None:
        first = await stage.ready()
        await stage.until(Progress)
        stage.trainer.order(Collect(round=b"r"))
        written = await stage.until(Collected)
        averaged = first.contribution.copy()
        await stage.trainer.pause(memory_s=KEPT_S)
        stage.trainer.resume()
        second = await stage.ready()
        counted = await stage.until(Progress)
        assert counted.samples > written.samples
        assert counted.ahead == 0
        stage.trainer.order(Collect(round=b"s"))
        assert (await stage.until(Collected)).round == b"s"
        assert np.array_equal(first.contribution, averaged), "the round of before may still be on"
        assert not np.array_equal(second.contribution, averaged)

    play(tmp_path, act, delayed=delayed)


def test_the_last_of_many_quick_wishes_counts(tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        await stage.ready()
        await stage.until(Progress)
        process, trainer = stage.process, stage.trainer
        pauses = []
        for _ in range(5):
            pauses.append(asyncio.create_task(trainer.pause(memory_s=KEPT_S)))
            await asyncio.sleep(0)
            trainer.resume()
            await asyncio.sleep(0)
        await asyncio.gather(*pauses)
        await stage.ready()
        await stage.until(Progress)
        first = asyncio.create_task(trainer.pause(memory_s=KEPT_S))
        await asyncio.sleep(0)
        trainer.resume()
        await trainer.pause(memory_s=KEPT_S)
        await first
        assert stage.process == process
        trainer.resume()
        await stage.ready()
        await stage.until(Progress)
        assert stage.process == process
        assert not stage.notices

    play(tmp_path, act)


def test_memory_is_given_back_in_time_or_when_asked(tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        await stage.ready()
        process = stage.process
        await stage.trainer.pause(memory_s=0.1)
        await asyncio.to_thread(process.wait, PATIENCE_S)
        stage.trainer.resume()
        await stage.ready()
        again = stage.process
        await stage.trainer.pause(memory_s=KEPT_S)
        assert again.is_running()
        await stage.trainer.pause()
        assert not alive(again.pid)
        assert stage.trainer.pid is None
        assert not stage.notices

    play(tmp_path, act)


def test_worker_paused_at_its_start_ends_and_starts_anew(tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        await asyncio.sleep(0)
        for _ in range(3):
            await stage.trainer.pause(memory_s=KEPT_S)
            assert stage.trainer.pid is None
            stage.trainer.resume()
        await stage.ready()
        assert not stage.notices

    play(tmp_path, act)


def small_worker(tmp_path: Path, heeds: str) -> list[str]:
    """The command of a program that has one number to train, and does this after each frame that it hears."""
    checkpoint = tmp_path / "state"
    checkpoint.write_bytes(b"state")
    digest = root_digest(chunk_digests(file_chunks(checkpoint)))
    program = f"""{PRELUDE}
import pathlib
def hear():
    return f.frame_decoder(f.ToWorker | f.Ping).decode(sys.stdin.buffer.read(f.frame_length(sys.stdin.buffer.read(4))))
start = hear()
pathlib.Path(start.arena_path).write_bytes(bytes(8))
ready = f.WorkerReady(epoch=0, lineage=b"", digest={digest!r}, checkpoint={str(checkpoint)!r}, numel=1, parameters=1)
out.write(f.encode_frame(ready)); out.flush()
while True:
    frame = hear()
    {heeds}
"""
    return [sys.executable, "-c", program]


def test_worker_that_computes_on_is_ended_and_started_again(tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        await stage.ready()
        process = stage.process
        began = time.monotonic()
        await stage.trainer.pause(memory_s=KEPT_S)
        assert time.monotonic() - began >= 1.0
        assert not alive(process.pid)
        stage.trainer.resume()
        await stage.ready()
        assert not stage.notices

    play(tmp_path, act, command=small_worker(tmp_path, "pass"))


def test_pause_taken_back_while_a_worker_resumes_ends(tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        await stage.ready()
        await stage.trainer.pause(memory_s=KEPT_S)
        stage.trainer.resume()  # this worker takes its time
        await asyncio.sleep(0.1)
        again = asyncio.create_task(stage.trainer.pause(memory_s=KEPT_S))
        await asyncio.sleep(0.1)
        assert not again.done()
        stage.trainer.resume()
        await asyncio.wait_for(again, 5.0)

    suspends = "if isinstance(frame, f.Suspend): out.write(f.encode_frame(f.Suspended())); out.flush()"
    play(tmp_path, act, command=small_worker(tmp_path, suspends))


def test_throttled_worker_computes_a_share_of_the_time(tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        await stage.ready()
        await stage.until(Progress)
        process = stage.process
        stage.trainer.throttle(frames.Throttle(share=10, threads=1))
        for _ in range(2):  # the limit outlives a suspension
            counted = await stage.until(Progress, lambda counted: counted.samples_per_s > 0)
            before = process.cpu_times()
            await asyncio.sleep(2.0)
            after = process.cpu_times()
            assert after.user + after.system - before.user - before.system < 0.7
            assert (await stage.until(Progress)).samples >= counted.samples
            assert stage.process == process
            await stage.trainer.pause(memory_s=KEPT_S)
            stage.trainer.resume()
            await stage.ready()

    play(tmp_path, act)


def test_suspended_worker_ends_with_its_engine(tmp_path: Path) -> None:
    charter = found(tmp_path, target_samples=64)
    (tmp_path / "states").mkdir()
    start = frames.Start(
        manifest_path=str(charter.manifest_path),
        blobs_dir=str(charter.blobs),
        state_dir=str(tmp_path / "states"),
        arena_path=str(tmp_path / "arena"),
        seed=0,
    )
    pipe = subprocess.PIPE
    words = own_command("worker", "core.training")
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, env=ENVIRONMENT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for frame in (start, frames.Suspend()):
            process.stdin.write(frames.encode_frame(frame))
        process.stdin.flush()
        decoder, heard = frames.frame_decoder(frames.ToEngine), None
        while not isinstance(heard, frames.Suspended):
            header = process.stdout.read(frames.LENGTH_BYTES)
            heard = decoder.decode(process.stdout.read(frames.frame_length(header)))
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0
