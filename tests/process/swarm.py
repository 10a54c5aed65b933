"""A real collaboration for tests: a backbone and engines as processes of their own, with the real worker, small."""

import asyncio
import atexit
import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import psutil
from safetensors.numpy import load_file

from core.api.snapshot import Snapshot
from core.backbone import charter as charters
from core.backbone.charter import Charter
from core.base.manifest import PAPER_LAMB, AveragingNumbers, Manifest
from core.control.client import ControlClient
from core.control.engine_file import NoAnswer, NotRunning
from core.storage.paths import Home
from core.storage.settings import Settings, save_settings
from core.tasks.task import PreparedTask
from tests.small_task import small_data, small_task

CORE = (sys.executable, "-m", "core")
WIDE = {"heads": 4, "head_width": 48}
"""Sizes of a model with some tensors of more than 2^16 numbers, whose rounds last long enough to be in the middle."""
LOOPBACK = ("--bind", "127.0.0.1", "--host", "127.0.0.1")
SHARE = 10
"""Percentage of the time in which a volunteer computes: epochs come soon all the same, and cores are left to others."""
ENVIRONMENT = {**os.environ, "POTLUCK_KEYRING": "off", "POTLUCK_SENSES": "off", "OMP_NUM_THREADS": "1"}


@dataclass
class Volunteer:
    """An engine in a process of its own."""

    home: Home
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """As a power cut would."""
        self.process.kill()
        self.process.wait()
        end(self.process)

    async def snapshot(self) -> Snapshot:
        async with ControlClient.connect(self.home) as client:
            return await client.snapshot()

    async def until(self, reached: Callable[[Snapshot], bool], *, timeout_s: float = 240.0) -> Snapshot:
        """The first snapshot for which `reached` holds.  Waits for the engine to come up, too.

        The wait only bounds a failure: other tests compute on the same cores at the same time.
        """
        last = None
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    with contextlib.suppress(NotRunning, NoAnswer):
                        async with ControlClient.connect(self.home) as client:
                            async for news in client.notifications():
                                if isinstance(news, Snapshot):
                                    last = news
                                    if reached(news):
                                        return news
                    await asyncio.sleep(0.05)
        except TimeoutError:
            log = (self.home.logs / "worker.log").read_text() if (self.home.logs / "worker.log").exists() else ""
            raise AssertionError(f"not reached in {timeout_s} s; last was {last}\n{log[-2000:]}") from None


@dataclass
class Collaboration:
    """A backbone, and the peers that join it."""

    folder: Path
    charter: Charter
    link: str = ""
    backbone: subprocess.Popen[bytes] | None = None
    volunteers: list[Volunteer] = field(default_factory=list)
    share: int = SHARE

    @property
    def allowed(self) -> tuple[str, str]:
        """Words that let an engine read the collaboration's folder of text."""
        return "--text", self.charter.manifest.sources[0].path

    def start_backbone(self, *extra: str, program: Sequence[str] = CORE) -> None:
        words = ["backbone", "--charter", str(self.charter.folder), *LOOPBACK, "--with-parent", "--json", *extra]
        self.backbone = start(words, self.folder / "backbone.log", stdout=subprocess.PIPE, program=program)
        assert self.backbone.stdout is not None
        self.link = json.loads(self.backbone.stdout.readline())["link"]

    def join(self, name: str, *extra: str, program: Sequence[str] = CORE) -> Volunteer:
        """Start an engine, or start it again, on the home of that name; `program` stands in for ours."""
        home = Home(self.folder / name)
        home.create()
        if not home.settings_file.exists():
            save_settings(home.settings_file, Settings(share=self.share))
        where = [*LOOPBACK, "--port", "0", "--with-parent", *self.allowed, *extra]
        words = ["engine", "--home", str(home.directory), "--join", self.link, "--name", name, *where]
        volunteer = Volunteer(home, start(words, self.folder / f"{name}.log", program=program))
        self.volunteers.append(volunteer)
        return volunteer

    def states(self, volunteer: Volunteer) -> Path:
        return volunteer.home.state(self.charter.manifest.id.hex()) / "states"

    def assert_same_model(self, one: Volunteer, other: Volunteer) -> None:
        """Two volunteers that paused have checkpoints in common, and these are equal."""
        files = [{path.name for path in self.states(each).glob("state-*")} for each in (one, other)]
        assert files[0] & files[1]
        for name in files[0] & files[1]:
            mine, theirs = (load_file(self.states(each) / name) for each in (one, other))
            assert mine.keys() == theirs.keys()
            assert all((mine[key] == theirs[key]).all() for key in mine)

    def close(self) -> None:
        """Close the stdin of each; one that does not end by itself is a failure of the test."""
        for process in [*(volunteer.process for volunteer in self.volunteers), self.backbone]:
            if process is not None:
                end(process)


def start(
    words: list[str],
    log: Path,
    *,
    stdout: int = subprocess.DEVNULL,
    more: Mapping[str, str] | None = None,
    program: Sequence[str] = CORE,
) -> "subprocess.Popen[bytes]":
    """One of our own programs that ends with this one; `more` environment."""
    env = {**ENVIRONMENT, **(more or {})}
    with log.open("ab") as file:
        return subprocess.Popen([*program, *words], stdin=subprocess.PIPE, stdout=stdout, stderr=file, env=env)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Close its stdin; not to end by itself is a failure of the test."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise
    finally:
        if process.stdout is not None:
            process.stdout.close()


def found(
    folder: Path,
    *,
    target_samples: int,
    averaging: AveragingNumbers | None = None,
    numbers: Mapping[str, int] | None = None,
    **changes: object,
) -> Charter:
    """A charter for the small GPT; `numbers` change the model's sizes, `changes` other fields of the manifest."""
    task = _prepared(folder / "prepared", numbers or {})
    authority = charters.new_authority()
    manifest = Manifest(
        name="A test",
        organiser="pytest",
        task="gpt",
        numbers=task.numbers,
        data=small_data(task),
        blobs=charters.keep_blobs(folder / "charter", task.blobs),
        optimizer={**PAPER_LAMB, "learning_rate": 0.01, "warmup_epochs": 2, "total_epochs": 1000},
        averaging=averaging or AveragingNumbers(),
        target_samples=target_samples,
        evaluate_every=3,
        authority=authority.peer_id.hex(),
    )
    manifest = msgspec.structs.replace(manifest, **changes)
    return charters.found(folder / "charter", manifest, authority)


def _prepared(folder: Path, numbers: Mapping[str, int]) -> PreparedTask:
    """The small GPT with its text, in a folder of its own."""
    task = _prepared_once()
    shutil.copytree(next(iter(task.blobs.values())).parent, folder)
    blobs = {name: folder / path.name for name, path in task.blobs.items()}
    return replace(task, blobs=blobs, numbers=task.numbers | dict(numbers))


@functools.cache
def _prepared_once() -> PreparedTask:
    """The same, in a folder that all tests of this process copy."""
    folder = tempfile.TemporaryDirectory(prefix="potluck-tests-")
    atexit.register(folder.cleanup)
    return small_task(Path(folder.name) / "prepared", task="gpt")


@contextlib.asynccontextmanager
async def collaboration(
    charter: Charter, folder: Path, *extra: str, program: Sequence[str] = CORE
) -> AsyncIterator[Collaboration]:
    """A running backbone with `extra` words; everything that joined it ends with the context."""
    running = Collaboration(folder, charter)
    running.start_backbone(*extra, program=program)
    try:
        yield running
    finally:
        await asyncio.to_thread(running.close)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
