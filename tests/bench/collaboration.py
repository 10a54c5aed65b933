"""A collaboration on this computer for measurements: a backbone and engines as processes of their own."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import msgspec

from core.api.snapshot import Activity, Snapshot
from core.backbone.charter import Charter
from core.backbone.link import parse_link
from core.base.problems import Problem
from core.control.client import ControlClient
from core.control.engine_file import NotRunning
from core.engine.remembered.collaborations import Collaborations
from core.net.addresses.interfaces import LOOPBACK
from core.storage.paths import Home
from core.storage.settings import Settings, save_settings
from core.system.atomic_files import make_directory
from core.system.child_process import own_command

START_S = 180.0
STEP_S = 600.0
END_S = 20.0
LATE_EPOCHS = 20
"""Number of epochs after one from which its held-out loss is no longer waited for."""
WARM_S = 6.0
"""Steps of the first seconds do not count: workers begin at different moments."""
NO_STEPS = "The engines of the measurement take no steps."
EVERYWHERE = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class Step:
    """One optimiser step, as the first engine saw it."""

    cycle_s: float
    """Since the step before, or since training began."""
    averaging_s: float
    samples: int
    """Averaged in its round."""
    samples_per_s: float
    """Speed of all workers, as they measure themselves; mean over the cycle."""


@dataclass(frozen=True, slots=True)
class StepSpan:
    """Some steps in a row, as the first engine saw them."""

    seconds: float
    steps: int
    samples: int
    """Averaged in their rounds."""


@dataclass(slots=True)
class _Seen:
    """State of the collaboration at the last step."""

    began: float
    averaging_since: float = 0.0
    speeds: list[float] = field(default_factory=list)
    counted: int = 0
    """Samples on the leaderboard at the last step."""


class BenchCollaboration:
    """A running collaboration of one measurement, made by `running_collaboration`."""

    def __init__(self, charter: Charter, homes: list[Home]) -> None:
        self._homes = homes
        self.states = homes[0].state(charter.manifest.id.hex()) / "states"
        """Checkpoints of the first engine."""

    async def steps(self, count: int) -> list[Step]:
        """Wait for `count` optimiser steps.

        Raises:
            Problem: they do not come.
        """
        try:
            await self._started()
            async with asyncio.timeout(START_S + count * STEP_S), self._client() as client:
                return await self._watch(client, count)
        except TimeoutError as error:
            raise Problem(NO_STEPS, hint="Is this computer too busy?") from error

    async def stretch(self, seconds: float) -> StepSpan:
        """Let them warm up, then watch for about so many seconds, from one step to another.

        Raises:
            Problem: no steps come.
        """
        first: Snapshot | None = None
        warm_at = 0.0
        last = 0
        try:
            await self._started()
            async with asyncio.timeout(START_S + seconds + STEP_S), self._client() as client:
                async for news in client.notifications():
                    if not isinstance(news, Snapshot) or news.epoch <= last:
                        continue
                    last = news.epoch
                    warm_at = warm_at or news.time + WARM_S
                    if first is None and news.time >= warm_at:
                        first = news
                    elif first is not None and news.time >= first.time + seconds:
                        samples = _counted(news) - _counted(first)
                        return StepSpan(news.time - first.time, news.epoch - first.epoch, samples)
        except TimeoutError as error:
            raise Problem(NO_STEPS, hint="Is this computer too busy?") from error
        raise Problem("An engine of the measurement ended.", hint="Is this computer too busy?")

    async def reached(self, epoch: int) -> Snapshot:
        """Wait for an epoch whose held-out loss is known, or that is a little past.

        Raises:
            Problem: it does not come.
        """
        try:
            await self._started()
            async with asyncio.timeout(START_S + epoch * STEP_S), self._client() as client:
                async for news in client.notifications():
                    if not isinstance(news, Snapshot) or news.epoch < epoch:
                        continue
                    measured = max((point.epoch for point in news.curve if point.loss_heldout is not None), default=0)
                    if measured >= epoch or news.epoch >= epoch + LATE_EPOCHS:
                        return news
        except TimeoutError as error:
            raise Problem(NO_STEPS, hint="Is this computer too busy?") from error
        raise Problem("An engine of the measurement ended.", hint="Is this computer too busy?")

    async def _started(self) -> None:
        async with asyncio.timeout(START_S):
            while not all(home.engine_file.exists() for home in self._homes):  # noqa: ASYNC110 - others write them
                await asyncio.sleep(0.2)

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[ControlClient]:
        while True:
            with suppress(NotRunning):
                async with ControlClient.connect(self._homes[0]) as client:
                    yield client
                    return
            await asyncio.sleep(0.2)

    async def _watch(self, client: ControlClient, count: int) -> list[Step]:
        steps: list[Step] = []
        last: Snapshot | None = None
        seen = _Seen(0.0)
        async for news in client.notifications():
            if not isinstance(news, Snapshot):
                continue
            if news.activity is Activity.PROBLEM and news.problem is not None:
                raise Problem(news.problem.message, hint=news.problem.hint)
            if last is not None and last.epoch and news.epoch > last.epoch:
                steps.append(_step(news, seen))
            if last is None or news.epoch != last.epoch:
                seen = _Seen(news.time, counted=_counted(news))
            if news.activity is Activity.AVERAGING:
                seen.averaging_since = seen.averaging_since or news.time
            else:
                seen.averaging_since = 0.0
            working = news.activity in {Activity.TRAINING, Activity.AVERAGING}
            if working and sum(peer.samples_per_s > 0 for peer in news.peers) == len(self._homes):
                seen.speeds.append(news.samples_per_s)
            last = news
            if len(steps) == count:
                break
        return steps


def _step(news: Snapshot, seen: _Seen) -> Step:
    speed = sum(seen.speeds) / len(seen.speeds) if seen.speeds else news.samples_per_s
    averaging_s = news.time - (seen.averaging_since or news.time)
    return Step(news.time - seen.began, averaging_s, _counted(news) - seen.counted, speed)


def _counted(news: Snapshot) -> int:
    return sum(row.samples for row in news.leaderboard)


@asynccontextmanager
async def running_collaboration(
    charter: Charter,
    folder: Path,
    peers: int,
    *,
    settings: Sequence[Settings] = (),
    environ: Mapping[str, str] = MappingProxyType({}),
    site: Sequence[str] = (),
) -> AsyncIterator[BenchCollaboration]:
    """Run a backbone and several engines, each with a worker; they end with the context.

    Args:
        charter: Of the collaboration.
        folder: For their homes and logs.
        peers: Number of engines.
        settings: Of each; without them, the usual ones.
        environ: What their environment has in addition.  They do not look at how this computer is used, which costs a
            child process each, unless `POTLUCK_SENSES` says otherwise.
        site: Words that have the backbone serve a page; without them it serves none.
    """
    make_directory(folder)
    homes = [Home(folder / f"peer-{number}") for number in range(peers)]
    async with AsyncExitStack() as stack:
        words = ["backbone", "--charter", str(charter.folder), "--bind", LOOPBACK, "--host", LOOPBACK, "--json", *site]
        backbone = await stack.enter_async_context(_process(words, folder / "backbone.log"))
        assert backbone.stdout is not None
        line = await backbone.stdout.readline()
        if not line:
            raise Problem("The backbone of the measurement did not start.")
        link = parse_link(msgspec.json.decode(line)["link"])
        for number, home in enumerate(homes):
            home.create()
            if settings:
                save_settings(home.settings_file, settings[number])
            where = ["--bind", EVERYWHERE, "--host", LOOPBACK, "--port", "0", "--name", f"peer {number}"]
            Collaborations(home).keep(link)
            words = ["engine", "--home", str(home.directory), *where]
            await stack.enter_async_context(_process(words, folder / f"peer-{number}.log", more=environ))
        yield BenchCollaboration(charter, homes)


@asynccontextmanager
async def _process(
    words: list[str], log: Path, *, more: Mapping[str, str] = MappingProxyType({})
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start one of this program's commands, which ends with this process."""
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *own_command(),
            *words,
            "--with-parent",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE if words[0] == "backbone" else subprocess.DEVNULL,
            stderr=file,
            env={**os.environ, "POTLUCK_KEYRING": "off", "POTLUCK_SENSES": "off", **more},
        )
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(END_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
