"""An engine of a program that updates itself: it looks once a day, and ends for a new version between two rounds."""

import asyncio
import contextlib
import subprocess
from collections.abc import Callable
from random import Random, SystemRandom
from typing import Final

import msgspec

from core.api.program_folder import ProgramFolder, begin_again, came_up
from core.api.sentence import Said, recalled
from core.api.snapshot import Activity, Snapshot
from core.api.updates import UpdateProgress, UpdateView
from core.api.verdict import VerdictCode
from core.base.problems import Problem, Sentence
from core.engine.installation import Installation
from core.system.child_process import own_command
from core.system.reports import LINE_BYTES_MAX, end
from core.updates.getting import viewed

DAY_S: Final = 86_400.0
FIRST_S: Final = (60.0, 3600.0)
"""Bounds of the time before the first look of an installation, seconds."""
AGAIN_S: Final = (3600.0, 3 * 3600.0)
"""Bounds of the time after a look that failed."""
SEE_S: Final = 20.0
"""Time between two looks at the program's own folder, seconds."""
EPOCH_LOOK_S: Final = 0.1
"""Time between two looks at whether an epoch has ended, seconds."""
PATIENCE_S: Final = 3600.0
"""The longest wait for the end of an epoch."""


class _FailedLook(msgspec.Struct, frozen=True, tag_field="event", tag="problem"):
    message: str = ""
    said: Said = ()


def next_look(looked_at: float, now: float, random: Random) -> float:
    """When to look for a newer version, Unix seconds: about a day after the last time, at no hour that all share.

    Args:
        looked_at: The last time; 0, or a moment to come (the clock was wrong): never.
        now: The present time.
        random: Draws the jitter.
    """
    if not 0 < looked_at <= now:
        return now + random.uniform(*FIRST_S)
    return max(now + random.uniform(0, FIRST_S[0]), looked_at + DAY_S * random.uniform(0.8, 1.2))


async def epoch_ends(snapshot: Callable[[], Snapshot], patience_s: float) -> None:
    """Wait for the end of an epoch to which this computer contributes, and then for a moment outside of a round.

    Args:
        snapshot: The engine's state now.
        patience_s: The longest wait, seconds.
    """
    begun = snapshot()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(patience_s):
            now = begun
            while now.verdict.code is VerdictCode.CONTRIBUTING and (
                now.epoch == begun.epoch or now.verdict.reason == Activity.AVERAGING
            ):
                await asyncio.sleep(EPOCH_LOOK_S)
                now = snapshot()


class UpdateWatch:
    """Shows what is known of a newer version, and has the engine go on as it.

    Args:
        installation: The engine's.
        snapshot: The engine's state now.
        renew: Ends the engine, to go on as the newest version.
        changed: Called when people are to see something else.
    """

    def __init__(
        self,
        installation: Installation,
        *,
        snapshot: Callable[[], Snapshot],
        renew: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        self._installation, self._snapshot, self._random = installation, snapshot, SystemRandom()
        self._renew, self._changed = renew, changed
        self._ending: asyncio.Task[None] | None = None
        self._told = ""
        self.view: UpdateView | None = None
        """What is known of a newer version; None: this program does not update itself."""

    async def keep(self) -> None:
        """Say that this version has come up, and look about once a day, until cancelled."""
        program = ProgramFolder.here()
        if program is None:
            return
        came_up()
        wall, notices = self._installation.clock.wall, self._installation.notices
        if program.back_from:
            notices.tell("warning", "update.back", version=program.back_from, running=program.newest)
        self._see(program)
        due = next_look(self.view.looked_at if self.view is not None else 0, wall(), self._random)
        try:
            while True:
                await asyncio.sleep(SEE_S)
                if self.view is not None and self.view.on and wall() >= due and self._may_use_network:
                    good = await self.look()
                    due = wall() + (DAY_S * self._random.uniform(0.8, 1.2) if good else self._random.uniform(*AGAIN_S))
                self._see(program)
                if not self._installation.options.stay and begin_again([]) is not None:
                    self.switch()
        finally:
            if self._ending is not None:
                self._ending.cancel()

    def switch(self) -> None:
        """Go on as the newest version when this epoch has ended; the call returns before.

        Raises:
            Problem: there is no newer one here.
        """
        if begin_again([]) is None:
            raise Problem("There is no newer version here.", hint="Look for one with: potluck update")
        if self._ending is None:
            newest = ProgramFolder.here()
            self._installation.notices.tell("info", "update.soon", version=newest.newest if newest else "")
            self._ending = asyncio.ensure_future(self._end())

    async def _end(self) -> None:
        await epoch_ends(self._snapshot, PATIENCE_S)
        self._renew()

    @property
    def _may_use_network(self) -> bool:
        return self._installation.usage_policy.decision.network is None

    def _see(self, program: ProgramFolder) -> None:
        seen = viewed(program)
        if seen != self.view:
            self.view = seen
            self._changed()

    async def look(self) -> bool:
        """Have a process of its own look, which may be ended at any moment; returns whether it could.

        What it downloads counts as the person's limits have it, and it ends where the network is to rest: the next look
        goes on with the archive.
        """
        home = self._installation.options.home.directory
        words = [*own_command(), "update", "--get", "--json", "--home", str(home)]
        nothing = asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=nothing,
                stdout=asyncio.subprocess.PIPE,
                stderr=nothing,
                limit=LINE_BYTES_MAX,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError:
            return False
        assert process.stdout is not None
        last, done = b"", 0
        try:
            while (line := await process.stdout.readline()) and self._may_use_network:
                last, done = line, self._count(line, done)
            code = 0 if not line and await process.wait() == 0 else 1
        finally:
            await end(process, patience_s=0.0)
        if code and not line:
            with contextlib.suppress(msgspec.DecodeError):
                self._tell_failure(msgspec.json.decode(last, type=_FailedLook))
        return code == 0

    def _count(self, line: bytes, before: int) -> int:
        """Count what has come since the line before; returns how many bytes of the file that comes are here."""
        try:
            done = msgspec.json.decode(line, type=UpdateProgress).done_bytes
        except msgspec.DecodeError:
            return before
        if before and done > before:  # at first an earlier download's part is among them
            self._installation.usage_policy.pace.passed(received=done - before)
        return done

    def _tell_failure(self, failed: _FailedLook) -> None:
        if failed.message != self._told:
            self._told = failed.message
            reason: Sentence = recalled(failed.message, failed.said)
            self._installation.notices.tell("warning", "update.failed", reason=reason)
