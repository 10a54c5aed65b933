"""The embedded collaboration: a backbone and companions on this computer, for people without another collaboration.

Nothing in it is pretended: the companions are engines like ours, in processes of their own, and they talk over the same
encrypted connections.  Everything ends with this engine, because each child ends when its stdin closes.
"""

import asyncio
import json
import logging
import os
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import BinaryIO

import msgspec

from core.api.joined import embedded_folder
from core.backbone import charter as charters
from core.backbone.charter import Charter
from core.backbone.invitations import new_invitation
from core.backbone.link import Link, parse_link
from core.backbone.support import FoundedEarlier
from core.base.problems import Problem, Sentence, WorkerProblem
from core.base.recipe import Recipe
from core.base.state_header import epoch_of
from core.engine.founding import Prepared, found, prepare
from core.engine.limits.usage_policy import UsagePolicy
from core.engine.remembered.collaborations import Collaborations
from core.net.addresses.interfaces import LOOPBACK
from core.storage.paths import Home
from core.storage.recipes import DEFAULT_RECIPE, folder_name, open_recipe
from core.system.atomic_files import make_directory, set_aside, write_atomic
from core.system.child_process import open_log, own_command
from core.system.reports import end
from core.system.restarts import Restarts
from core.system.usage import spare_cores

_LOG = logging.getLogger(__name__)
DISHES = ("Paprika", "Juniper", "Saffron", "Clementine", "Basil", "Chestnut", "Rosemary", "Quince", "Fennel")
Start = Callable[[], Awaitable[asyncio.subprocess.Process]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedOptions:
    """What the embedded collaboration is to be."""

    peers: int = 3
    """Volunteers, this engine included."""
    text: Path | None = None
    """A folder of text in the place of the recipe's own."""
    epochs: int | None = None
    """How many more epochs to train; None: without end."""
    delayed: bool = False
    """Compute on while contributions are averaged: a collaboration of its own, for a manifest does not change."""
    recipe: Path = DEFAULT_RECIPE
    """What is learned, and how: a file; each other content is a collaboration of its own, too."""

    def read_recipe(self) -> Recipe:
        """The recipe with what these options change in it.

        Raises:
            BadInput: it cannot be used.
        """
        recipe = msgspec.structs.replace(open_recipe(self.recipe, text=self.text), trust="friends")
        if not self.delayed:
            return recipe
        return msgspec.structs.replace(recipe, averaging=msgspec.structs.replace(recipe.averaging, delayed=True))

    @property
    def readable(self) -> Path | None:
        """The one folder of text that the engines may read; None: none is needed."""
        return next((Path(source.path) for source in self.read_recipe().sources if source.path), None)

    @property
    def folder_name(self) -> str:
        """Where the collaboration is kept, in the engine's home."""
        return folder_name(self.recipe, self.read_recipe())


class Embedded:
    """Founds the embedded collaboration, and keeps its backbone and companions running.

    Args:
        home: This engine's home; the others' homes are inside it.
        options: What it is to be.
        random: Spreads restarts.
        policy: Under it everything runs that computes.
    """

    def __init__(self, *, home: Home, options: EmbeddedOptions, random: Random, policy: UsagePolicy) -> None:
        self._options = options
        self._recipe = options.read_recipe()
        self._policy = policy
        self.stage: Callable[[Sentence, int | None], None] = lambda *_: None
        """Told in a sentence what is being prepared, and how much of it is done in percent, if that is known."""
        self.begun_again: Callable[[Path], object] = lambda _: None
        """Told where the collaboration of an earlier version was kept, in the place of which another one is founded."""
        self._random = random
        self._home = home
        self._folder = embedded_folder(home.directory) / options.folder_name

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
            except FoundedEarlier:
                self.begun_again(set_aside(folder, why="earlier"))
            except Problem as problem:
                aside = set_aside(folder)
                hint = Sentence("It was kept as {name}. Start Potluck again to begin a new collaboration.", aside.name)
                raise type(problem)(problem.sentence, hint=hint) from problem
        self.stage(Sentence("Reading text and preparing what is to be learned."), None)
        prepared: Prepared = await self._policy.while_allowed(self._prepare)
        for note in prepared.notes:
            _LOG.warning(note)
        # Without an end: nobody but this computer reaches it, whose person may add companions at any time.
        return found(self._recipe, prepared, folder, invitation=new_invitation())

    def last_epoch(self, charter: Charter) -> int | None:
        """The epoch after which to stop: the newest that anybody here has, and the wanted number more."""
        if self._options.epochs is None:
            return None
        homes = volunteer_homes(self._home, self._options)
        return max(newest_epoch(home.state(charter.manifest.id.hex()) / "states") for home in homes) + (
            self._options.epochs
        )

    async def run(self, charter: Charter, linked: Callable[[Link], None]) -> None:
        """Keep the backbone alive until cancelled, and the companions while nothing has them rest.

        Companions end at a rest and begin again after it, so that they take no memory meanwhile.

        Args:
            charter: The collaboration's.
            linked: Gets the link to join by.
        """
        async with asyncio.TaskGroup() as group:
            backbone, link = await self._start_backbone(charter)
            again = partial(self._restart_backbone, charter, link)
            group.create_task(self._keep_alive("The backbone", again, backbone))
            await asyncio.to_thread(hand_on, charter, volunteer_homes(self._home, self._options))
            linked(link)
            await self._policy.while_allowed(partial(self._run_companions, link, self.last_epoch(charter)))

    async def _run_companions(self, link: Link, last_epoch: int | None) -> None:
        """Keep the companions alive until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number, home in enumerate(volunteer_homes(self._home, self._options)[1:]):
                name = DISHES[number % len(DISHES)]
                words = _companion(home, name, last_epoch, options=self._options)
                start = partial(self._start_companion, home, link, words)
                group.create_task(self._keep_alive(f"The companion {name}", start))

    async def _prepare(self) -> Prepared:
        def stage(text: str, share: float) -> None:
            self.stage(Sentence(text), round(100 * share))

        with self._open_log() as log:
            return await prepare(
                self._recipe, self._folder / "prepared", called=self._options.recipe.name, stage=stage, log=log
            )

    async def _start_backbone(self, charter: Charter) -> tuple[asyncio.subprocess.Process, Link]:
        """Start the backbone and wait for its link.

        Raises:
            WorkerProblem: it ended before that.
        """
        process = await self._spawn(
            [
                *("backbone", "--charter", str(charter.folder), "--bind", LOOPBACK, "--host", LOOPBACK, "--json"),
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
                await end(process)
        if not line:
            hint = "Start Potluck again; the log {logs} says why."
            raise WorkerProblem("The backbone did not start.", self._home.logs / "embedded.log", hint=hint)
        return process, parse_link(json.loads(line)["link"])

    async def _restart_backbone(self, charter: Charter, link: Link) -> asyncio.subprocess.Process:
        """Start the backbone where it was: its key is kept, and its desk's port, so links stay valid.

        Raises:
            WorkerProblem: it does not start, or another program has its port.
        """
        process, found = await self._start_backbone(charter)
        if found != link:
            await end(process)
            raise WorkerProblem("The backbone has lost its port to another program.")
        return process

    async def _start_companion(self, home: Home, link: Link, words: list[str]) -> asyncio.subprocess.Process:
        home.create()
        home.settings_file.unlink(missing_ok=True)  # by which an earlier version had it rest
        Collaborations(home).keep(link)  # others can read its command line, not this file
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
                env={**os.environ, "POTLUCK_KEYRING": "off", "POTLUCK_SENSES": "off"},
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
                start_new_session=os.name != "nt",
            )

    def _open_log(self) -> BinaryIO:
        make_directory(self._home.logs)
        return open_log(self._home.logs / "embedded.log")


def volunteer_homes(home: Home, options: EmbeddedOptions) -> list[Home]:
    """The homes of all volunteers of an embedded collaboration, its owner's first."""
    folder = embedded_folder(home.directory) / options.folder_name
    return [home, *(Home(folder / f"companion-{number}") for number in range(1, options.peers))]


def newest_epoch(states: Path) -> int:
    """The epoch of the newest checkpoint in a folder; 0 without any."""
    names = [path.name for path in states.iterdir()] if states.is_dir() else []
    return max((epoch_of(name) or 0 for name in names), default=0)


def hand_on(charter: Charter, homes: Sequence[Home]) -> None:
    """Give companions that know less than their owner its newest checkpoint, so that all go on from there.

    New ones would begin anew, together sooner than a single owner, and are more than it.

    Args:
        charter: The collaboration's.
        homes: Homes of its volunteers, none of which runs; the owner's first.

    Raises:
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    mine, *theirs = (home.state(charter.manifest.id.hex()) / "states" for home in homes)
    epoch = newest_epoch(mine)
    kept = [path for path in mine.glob("state-*") if epoch and epoch_of(path.name) == epoch]
    for states in theirs:
        for path in kept if newest_epoch(states) < epoch else []:
            write_atomic(states / path.name, path.read_bytes())


def own_threads(peers: int) -> int:
    """The threads of each volunteer where several share one computer: together as many as one alone would have."""
    return max(1, spare_cores() // peers)


def _companion(home: Home, name: str, last_epoch: int | None, *, options: EmbeddedOptions) -> list[str]:
    text = options.readable
    stop = ["--last-epoch", str(last_epoch)] if last_epoch is not None else []
    stop += ["--text", str(text.absolute())] if text is not None else []
    where = ["--bind", LOOPBACK, "--host", LOOPBACK, "--port", "0", "--threads", str(own_threads(options.peers))]
    return ["engine", "--home", str(home.directory), "--name", name, *where, *stop]


async def _ended(process: asyncio.subprocess.Process) -> int:
    """Wait for a child's end; returns its code."""
    try:
        return await process.wait()
    finally:
        await end(process)
