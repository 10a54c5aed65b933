"""The embedded collaboration: a backbone and companions on this computer, for whoever has no other collaboration.

Nothing in it is pretended: the companions are engines like ours, in processes of their own, and they talk over the same
encrypted connections.  Everything ends with this engine, because each child ends when its stdin closes.
"""

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import platform
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

import msgspec

from core.backbone import charter as charters
from core.backbone.charter import Charter
from core.backbone.link import Link, parse_link
from core.base.manifest import AveragingNumbers, Manifest, Numbers
from core.base.problems import BadInput, NoSpace, Problem, UserProblem, WorkerProblem
from core.base.state_header import epoch_of
from core.base.tasks import DEFAULT_TASK
from core.storage.paths import Home
from core.system.atomic_files import make_directory, set_aside
from core.system.child_process import open_log, own_command
from core.system.restarts import Restarts

_LOG = logging.getLogger(__name__)
FORMAT = 2
"""Counted up when the embedded task's numbers change, so that a new collaboration is founded."""
FORMATS = {"gpt": 3}
"""Of tasks whose model has changed since."""
DISHES = ("Paprika", "Juniper", "Saffron", "Clementine", "Basil", "Chestnut", "Rosemary", "Quince", "Fennel")
LOOPBACK = "127.0.0.1"
Start = Callable[[], Awaitable[asyncio.subprocess.Process]]
WhileAllowed = Callable[[Callable[[], Coroutine[None, None, Any]]], Awaitable[Any]]
"""Does work as the person's switch and rules allow it (core.engine.usage_policy.UsagePolicy.while_allowed)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedOptions:
    """What the embedded collaboration is to be."""

    peers: int = 3
    """Volunteers, this engine included."""
    text: Path | None = None
    """A folder of text; None: the documentation that came with Python."""
    epochs: int | None = None
    """How many more epochs to train; None: without end."""
    delayed: bool = False
    """Compute on while contributions are averaged: a collaboration of its own, for a manifest does not change."""
    task: str = DEFAULT_TASK
    """What is learned: a collaboration of its own, too."""

    @property
    def folder_name(self) -> str:
        """Where the collaboration is kept, in the engine's home."""
        if self.text is None:
            source = f"python-{platform.python_version()}"
        else:
            source = f"text-{hashlib.sha256(os.fsencode(self.text.absolute())).hexdigest()[:12]}"
        task = "" if self.task == DEFAULT_TASK else f"-{self.task}"
        return f"{source}-{FORMATS.get(self.task, FORMAT)}{task}{'-delayed' if self.delayed else ''}"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the task's own preparation found out."""

    numbers: Numbers
    blobs: dict[str, Path]
    optimizer: Numbers
    target_samples: int
    summary: str


class Embedded:
    """See the module's docstring.

    Args:
        home: This engine's home; the others' homes are inside it.
        options: What it is to be.
        random: Spreads restarts.
        while_allowed: Under it everything runs that computes; None: nothing forbids that.
    """

    def __init__(
        self, *, home: Home, options: EmbeddedOptions, random: Random, while_allowed: WhileAllowed | None = None
    ) -> None:
        self._options = options
        self._while_allowed = while_allowed or _at_once
        self.stage: Callable[[str], None] = lambda _: None
        """Told in a sentence what is being prepared."""
        self._random = random
        self._home = home
        self._folder = home.directory / "embedded" / options.folder_name
        self._children: list[asyncio.subprocess.Process] = []

    async def found(self) -> Charter:
        """The collaboration's charter, made at the first start: text is read, and the task prepared.

        Raises:
            BadInput: the text folder cannot be used.
            Damaged: the charter is damaged, and was set aside; so does NotTrusted, when somebody changed it.
            NoSpace: the disk is full.
        """
        folder = self._folder / "charter"
        if any((folder / name).exists() for name in (charters.MANIFEST, charters.AUTHORITY)):
            try:
                return charters.load_charter(folder)
            except Problem as problem:
                aside = set_aside(folder)
                problem.hint = f"It was kept as {aside.name}. Start Potluck again to begin a new collaboration."
                raise
        self.stage("Reading text and preparing what is to be learned.")
        prepared: Prepared = await self._while_allowed(self._prepare)
        authority = charters.new_authority()
        blobs = charters.keep_blobs(folder, prepared.blobs)
        manifest = Manifest(
            name="Potluck at home",
            summary=prepared.summary,
            organiser="this computer",
            task=self._options.task,
            numbers=prepared.numbers,
            blobs=blobs,
            optimizer=prepared.optimizer,
            averaging=AveragingNumbers(delayed=True if self._options.delayed else msgspec.UNSET),
            target_samples=prepared.target_samples,
            authority=authority.peer_id.hex(),
        )
        shutil.rmtree(self._folder / "prepared", ignore_errors=True)
        return charters.found(folder, manifest, authority)

    def last_epoch(self, charter: Charter) -> int | None:
        """The epoch after which to stop: so many more than the newest that anybody here has."""
        if self._options.epochs is None:
            return None
        homes = volunteer_homes(self._home, self._options)
        return max(newest_epoch(home.state(charter.manifest.id.hex()) / "states") for home in homes) + (
            self._options.epochs
        )

    async def run(self, charter: Charter, linked: Callable[[Link], None]) -> None:
        """Keep the backbone and the companions alive until cancelled; `linked` gets the link to join by."""
        async with asyncio.TaskGroup() as group:
            backbone, link = await self._start_backbone(charter)
            again = partial(self._restart_backbone, charter, link)
            group.create_task(self._keep_alive("The backbone", again, backbone))
            linked(link)
            await self._while_allowed(partial(self._run_companions, link, self.last_epoch(charter)))

    async def _run_companions(self, link: Link, last_epoch: int | None) -> None:
        """Keep the companions alive until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number, home in enumerate(volunteer_homes(self._home, self._options)[1:]):
                name = DISHES[number % len(DISHES)]
                words = _companion(home, link, name, last_epoch, text=self._options.text)
                group.create_task(
                    self._keep_alive(f"The companion {name}", partial(self._start_companion, home, words))
                )

    async def _prepare(self) -> Prepared:
        out = self._folder / "prepared"
        make_directory(out)
        source = str(self._options.text.absolute()) if self._options.text is not None else "python-docs"
        with self._open_log() as log:
            process = await asyncio.create_subprocess_exec(
                *own_command("prepare", "core.tasks.prepare"),
                "--task",
                self._options.task,
                "--source",
                source,
                "--out",
                str(out),
                "--with-parent",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        try:
            return await self._follow_preparation(process)
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            raise
        finally:
            await _end(process)

    async def _follow_preparation(self, process: asyncio.subprocess.Process) -> Prepared:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            said = json.loads(line)
            match said.get("event"):
                case "progress":
                    self.stage(f"{said['text']} ({100 * said['fraction']:.0f} %)")
                case "problem":
                    raise _problem_of(said)
                case "prepared":
                    return Prepared(
                        said["numbers"],
                        {name: Path(path) for name, path in said["blobs"].items()},
                        said["optimizer"],
                        said["target_samples"],
                        said["summary"],
                    )
        raise WorkerProblem("Preparing the text ended without a result.", hint="The log embedded.log says more.")

    async def _start_backbone(self, charter: Charter) -> tuple[asyncio.subprocess.Process, Link]:
        """Start the backbone and wait for its link.

        Raises:
            WorkerProblem: it ended before that.
        """
        process = await self._spawn(
            [
                *("backbone", "--charter", str(charter.folder), "--bind", LOOPBACK, "--host", LOOPBACK),
                *("--averaging-memory", "0"),  # on one computer another process that averages helps nobody
            ],
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        line = b""
        try:
            line = await process.stdout.readline()
        finally:
            if not line:
                await _end(process)
        if not line:
            raise WorkerProblem(
                "The backbone did not start.", hint="Start Potluck again; the log embedded.log says why."
            )
        return process, parse_link(json.loads(line)["link"])

    async def _restart_backbone(self, charter: Charter, link: Link) -> asyncio.subprocess.Process:
        """Start the backbone where it was: its key is kept, and its desk's port, so links stay valid.

        Raises:
            WorkerProblem: it does not start, or another program has its port.
        """
        process, found = await self._start_backbone(charter)
        if found != link:
            await _end(process)
            raise WorkerProblem("The backbone has lost its port to another program.")
        return process

    async def _start_companion(self, home: Home, words: list[str]) -> asyncio.subprocess.Process:
        home.create()
        return await self._spawn(words, stdout=subprocess.DEVNULL)

    async def _keep_alive(self, called: str, start: Start, process: asyncio.subprocess.Process | None = None) -> None:
        """Start a child again, with back-off, whenever it ends or does not start.

        Args:
            called: How the log calls it.
            start: Starts it.
            process: It, if it runs already.
        """
        restarts = Restarts(self._random)
        while True:
            try:
                process = process or await start()
                code = await _ended(process)
                _LOG.warning("%s ended with code %d; it is started again.", called, code)
            except (Problem, OSError) as problem:
                _LOG.warning("%s did not start: %s It is tried again.", called, problem)
            process = None
            await restarts.wait()

    async def _spawn(self, arguments: list[str], *, stdout: int) -> asyncio.subprocess.Process:
        with self._open_log() as log:
            return await asyncio.create_subprocess_exec(
                *own_command(),
                *arguments,
                "--with-parent",
                stdin=asyncio.subprocess.PIPE,
                stdout=stdout,
                stderr=log,
                env={**os.environ, "POTLUCK_KEYRING": "off"},
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
                start_new_session=os.name != "nt",
            )

    def _open_log(self) -> BinaryIO:
        make_directory(self._home.logs)
        return open_log(self._home.logs / "embedded.log")


async def _at_once(work: Callable[[], Coroutine[None, None, Any]]) -> Any:
    return await work()


def volunteer_homes(home: Home, options: EmbeddedOptions) -> list[Home]:
    """The homes of all volunteers of an embedded collaboration, its owner's first."""
    folder = home.directory / "embedded" / options.folder_name
    return [home, *(Home(folder / f"companion-{number}") for number in range(1, options.peers))]


def newest_epoch(states: Path) -> int:
    """The epoch of the newest checkpoint in a folder; 0 without any."""
    names = [path.name for path in states.iterdir()] if states.is_dir() else []
    return max((epoch_of(name) or 0 for name in names), default=0)


def _companion(home: Home, link: Link, name: str, last_epoch: int | None, *, text: Path | None) -> list[str]:
    stop = ["--last-epoch", str(last_epoch)] if last_epoch is not None else []
    stop += ["--text", str(text.absolute())] if text is not None else []
    where = ["--bind", LOOPBACK, "--host", LOOPBACK, "--port", "0"]
    return ["engine", "--home", str(home.directory), "--join", str(link), "--name", name, *where, *stop]


def _problem_of(said: dict[str, str]) -> Problem:
    kinds: dict[str, type[Problem]] = {"bad_input": BadInput, "no_space": NoSpace}
    return kinds.get(said.get("code", ""), UserProblem)(said["message"], hint=said.get("hint", ""))


async def _ended(process: asyncio.subprocess.Process) -> int:
    """Wait for a child's end; returns its code."""
    try:
        return await process.wait()
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close its stdin, and make sure that it ends."""
    if process.stdin is not None:
        process.stdin.close()
    if process.returncode is None:
        try:
            await asyncio.wait_for(process.wait(), 5.0)
        except TimeoutError:
            process.kill()
            await process.wait()
