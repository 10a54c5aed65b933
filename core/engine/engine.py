"""The engine: the control door, and its part in a collaboration.

It and `core.engine.session`, which puts the parts of a collaboration together, know everybody; everybody else knows
what they were given.
"""

import asyncio
import contextlib
import os
from dataclasses import replace
from random import SystemRandom
from typing import Final

from core.api import verdict as verdicts
from core.api.verdict import Verdict, VerdictCode
from core.backbone.link import Link
from core.base.problems import Problem, Sentence, UserProblem
from core.control.notices import Level, NoticeRing
from core.control.service import ControlService
from core.engine.controls import Controls, Life
from core.engine.installation import EngineOptions, Installation
from core.engine.join import join
from core.engine.limits.preferences import Preferences
from core.engine.limits.usage_policy import UsagePolicy
from core.engine.remembered.collaborations import Collaborations
from core.engine.remembered.notice_file import ENDS, NoticeFile
from core.ledger.days import Days
from core.net.addresses.interfaces import is_loopback
from core.net.clock import Clock
from core.schedule.sense_source import SenseSource
from core.schedule.sensed import names_of
from core.storage.identity import load_identity, system_keyring
from core.storage.settings import load_settings
from core.system.keep_awake import KeepAwake

VERDICT_S: Final = 0.5
"""Least time between two looks at the verdict, seconds: the log tells states that last, and a look costs little."""
FAILED: Final = "engine.failed"
"""Code of the notice about a problem that keeps an engine from going on."""
LEVELS: Final[dict[VerdictCode, Level]] = {
    VerdictCode.CONTRIBUTING: "info",
    VerdictCode.RESTING: "info",
    VerdictCode.PAUSED: "info",
    VerdictCode.WAITING: "info",
    VerdictCode.NOT_CONNECTED: "warning",
}
"""Verdicts that the log tells; starting is not news, and a problem is told where it is found."""


class Engine:
    """A volunteer's engine.

    Args:
        options: How it was started.
        clock: The one clock of this process.
        senses: What this computer is used for; followed while `keep_watch` runs.
    """

    def __init__(self, options: EngineOptions, clock: Clock, senses: SenseSource) -> None:
        home = options.home
        self._senses = senses
        home.create()
        self._notices = NoticeRing(clock.wall)
        read = load_settings(home.settings_file)
        identity = load_identity(home.identity_file, system_keyring(os.environ))
        preferences = Preferences(home.settings_file, read.settings)
        days = Days(home.directory, clock.wall)
        for notice in (read.notice, identity.notice, days.notice):
            if notice is not None:
                self._notices.add("warning", notice)
        self.usage_policy = UsagePolicy(
            preferences.settings,
            path=home.usage_file,
            now=clock.wall,
            alone=is_loopback(options.bind),
        )
        """What it lets the engine do holds for all that computes on this computer."""
        preferences.follow(self.usage_policy.apply)
        preferences.follow(lambda settings: senses.watch(names_of(settings)))
        senses.watch(names_of(preferences.settings))
        installation = Installation(
            options=options,
            key=identity.keys,
            clock=clock,
            preferences=preferences,
            notices=self._notices,
            usage_policy=self.usage_policy,
            days=days,
        )
        self.life = Life(installation=installation, quit=asyncio.Event())
        """What it is at.  Before it has a session `serve` can be cancelled, after that `life.end` ends it properly."""
        self.controls = Controls(self.life, announce=self._announce)
        """What clients ask of it."""
        self.collaborations = Collaborations(home)
        """Those that were joined, and which of them let this computer in."""
        self._changed = asyncio.Event()
        self._awake = KeepAwake()
        self._door = ControlService(home=home, intents=self.controls, notices=self._notices)
        self.usage_policy.follow(self._announce)

    async def open(self) -> None:
        """Claim the home, read again what others could change before that, and let clients in.

        Raises:
            AlreadyRunning: an engine runs on this home.
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        await self._door.open()  # and no client is heard before this method ends or waits
        try:
            damaged = self.life.installation.preferences.reload(SystemRandom())
            NoticeFile(self.life.installation.options.home.notices_file).follow(self._notices)
        except BaseException:
            await self._door.close()
            raise
        if damaged is not None:
            self._notices.add("warning", damaged)

    def stage(self, sentence: Sentence, percent: int | None = None) -> None:
        """The engine shows its clients in a sentence what it prepares now, and how far that is if it is known."""
        known: dict[str, str | int] = {} if percent is None else {"percent": percent}
        self._at(verdicts.starting("preparing", stage=sentence, **known))

    def fail(self, problem: Problem) -> None:
        """Show a problem that keeps the engine from going on, until somebody quits it."""
        self.life.failure = problem
        self._notices.add("problem", problem.whole, FAILED)
        self._announce()

    def stop_after(self, epoch: int | None) -> None:
        """Take no part in epochs beyond this one; to be said before `serve`."""
        installation = self.life.installation
        self.life.installation = replace(installation, options=replace(installation.options, last_epoch=epoch))

    async def serve(self, link: Link) -> None:
        """Join the collaboration behind `link` and take part until `life.end`, or until its session is stopped.

        Raises:
            UserProblem: the link, the pass, the disk or a port is wrong, or training ended for good; the sentence says
                what to do.
        """
        while True:
            self.life.session = None
            self.life.known = self.collaborations.manifest(link.manifest_id.hex())
            self.stage(Sentence("Joining the collaboration."))
            session = self.life.session = await join(
                link,
                self.life.installation,
                known=self.life.known,
                changed=self._announce,
                waiting=self._at,
                hurry=self.life.hurry,
            )
            with contextlib.suppress(UserProblem):  # of a full disk: the list of collaborations says too much then
                self.collaborations.note(link, None)
            if self.life.quit.is_set():
                session.stop()
            await session.run()
            if self.life.quit.is_set() or not session.begins_again:
                return

    async def keep_watch(self) -> None:
        """Keep the usage policy, sense for it, and follow the verdict: until cancelled."""
        unfollow = self._senses.follow(self.usage_policy.sense)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._senses.run())
                group.create_task(self.usage_policy.keep())
                group.create_task(self._follow_verdict())
                group.create_task(self.controls.updating.keep())
        finally:
            unfollow()

    async def close(self) -> None:
        """Say goodbye to clients and give the home back."""
        self._awake.hold(False)
        self._notices.add("info", Sentence(ENDS), "engine.ends")
        await self._door.close()

    def _at(self, stage: Verdict) -> None:
        self.life.stage = stage
        self._announce()

    def _announce(self) -> None:
        self._changed.set()
        self._door.announce()

    async def _follow_verdict(self) -> None:
        """Tell in the log when the verdict is another one; time given counts while it is to contribute."""
        told: tuple[VerdictCode, str] | None = None
        preferences, loop = self.life.installation.preferences, asyncio.get_running_loop()
        while True:
            looked_at = loop.time()
            verdict = self.controls.verdict()
            works = verdict.code is VerdictCode.CONTRIBUTING
            self._awake.hold((works or verdict.code is VerdictCode.WAITING) and preferences.settings.keep_awake)
            if self.life.session is not None:
                self.life.session.journal.contributing(on=works)
            news = (verdict.code, "" if works else verdict.reason)
            if news != told and verdict.code is not VerdictCode.STARTING:
                told = news
                if verdict.code in LEVELS:
                    self._notices.follow(LEVELS[verdict.code], verdict)
            await self._changed.wait()
            if (rest_s := looked_at + VERDICT_S - loop.time()) > 0:
                await asyncio.sleep(rest_s)
            self._changed.clear()
