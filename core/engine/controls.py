"""What clients ask of an engine: `core.control.intents.Intents`, answered by its session."""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from core.api import verdict as verdicts
from core.api.commands import ModelEvaluation
from core.api.modes import SUBJECTS, UseMode
from core.api.settings import PortTest, SettingsView
from core.api.snapshot import Snapshot
from core.api.turns import PassedOver
from core.api.verdict import Verdict
from core.base.manifest import Manifest
from core.base.problems import Problem, Sentence
from core.engine.installation import Installation
from core.engine.limits.preferences import check_end, view
from core.engine.moderation import Moderation
from core.engine.reports import EngineReports
from core.engine.session import VolunteerSession
from core.engine.shown.snapshots import Standpoint, take_snapshot, verdict_of
from core.engine.update_watch import UpdateWatch
from core.joining.account import OwnAccount
from core.net.addresses.interfaces import is_loopback


@dataclass(slots=True, kw_only=True)
class Life:
    """What an engine is at: it prepares, or it takes part in a collaboration.

    Attributes:
        installation: What it knows from its first moment.
        quit: Set when it is to end.
        hurry: Set when a person wants the backbone that does not answer to be asked now.
        again: A client wants it to begin anew after that, in the collaboration that is current by then.
        renews: It is to go on as a newer version after that.
        stage: What is being prepared, or waited for; what it does next, where it is to begin anew.
        known: What is known, from the last time, of the collaboration that is joined; None: nothing.
        failure: What keeps it from going on.
        session: Its part in the collaboration; None: it has not joined.
        passed_over: Other collaborations that were joined and cannot be worked for now.
    """

    installation: Installation
    quit: asyncio.Event
    hurry: asyncio.Event = field(default_factory=asyncio.Event)
    again: bool = False
    renews: bool = False
    stage: Verdict = field(
        default_factory=lambda: verdicts.starting("preparing", stage=Sentence("Potluck is starting."))
    )
    known: Manifest | None = None
    failure: Problem | None = None
    session: VolunteerSession | None = None
    passed_over: tuple[PassedOver, ...] = ()

    def end(self) -> None:
        """End the session, and then the engine."""
        self.quit.set()
        if self.session is not None:
            self.session.stop()

    def begin_anew(self) -> None:
        """End, and begin anew in the same process."""
        self.again = True
        self.stage = verdicts.starting("preparing", stage=Sentence("Potluck begins anew."))
        self.end()

    def renew(self) -> None:
        """End, and go on as the newest version."""
        self.renews = True
        self.end()


class Controls:
    """Carries out what clients ask of an engine (`core.control.intents.Intents`).

    Args:
        life: What the engine is at.
        announce: Called when something that people see has changed.
    """

    def __init__(self, life: Life, *, announce: Callable[[], None]) -> None:
        self._life = life
        self._announce = announce
        self.reports = EngineReports(life.installation, lambda: life.session)
        """What is told on demand only."""
        self.moderation = Moderation(life.installation, self._joined)
        """What moderators do."""
        self.updating = UpdateWatch(life.installation, snapshot=self.snapshot, renew=life.renew, changed=announce)
        """What becomes of a newer version."""
        key, now = life.installation.key, life.installation.clock.now
        self.account = OwnAccount(
            key, now, lambda: self._joined().place, lambda: self._joined().authority.to_bytes(proposals=False)
        )
        """What a person does with their own computers."""

    def snapshot(self) -> Snapshot:
        """The engine's whole state at this moment, as clients show it."""
        return msgspec.structs.replace(take_snapshot(self._standpoint()), update=self.updating.view)

    def verdict(self) -> Verdict:
        """What the engine is doing at this moment."""
        return verdict_of(self._standpoint())

    async def turn(self, what: str = "computing", until: float | None = None, *, on: bool) -> None:
        """Switch something on or off.  Nothing that needs what is off is computed any more when this returns.

        The wish outlives this run, and a training process that waits is started.

        Args:
            what: What is switched (`core.api.modes.SWITCHED`).
            until: Unix seconds, until which it is off, or used in spite of the rules; None: from now on, by the rules.
            on: Whether it is to be used.

        Raises:
            BadInput: that cannot end then.
        """
        installation = self._life.installation
        now = installation.clock.wall()
        check_end(until, now)
        installation.preferences.switch(what, on=on, until=until, now=now)
        try:  # before anything is awaited: a client that leaves cancels its call
            installation.preferences.save()
        except Problem as problem:
            notice = Sentence("Your choice holds, but only until the next start: {problem}", problem.whole)
            installation.notices.add("problem", notice)
        self._announce()
        if self._life.session is not None:
            await self._life.session.use.heed()
            self._announce()

    async def restart(self) -> None:
        """End, and begin anew in the same process; the call returns before the end."""
        self._life.begin_anew()

    def try_now(self) -> None:
        """A client wants the backbone to be asked now: one that does not answer, or has not let this computer in."""
        if self._life.failure is not None:
            self._life.begin_anew()
        self._life.hurry.set()
        if self._life.session is not None:
            self._life.session.clock_watch.ask()

    async def quit(self) -> None:
        """A client asks the engine to end; the call returns before it has."""
        self._life.end()

    async def evaluate(self) -> ModelEvaluation:
        """The trainer measures the model on the held-out text, once a collaboration is joined."""
        return await self._joined().evaluate()

    def settings(self) -> SettingsView:
        """What the person chose about the network."""
        installation, session = self._life.installation, self._life.session
        return view(
            installation.preferences.settings,
            month_used_bytes=installation.usage_policy.pace.used.used_bytes,
            port_now=session.port if session is not None and installation.options.port is None else 0,
        )

    def configure(self, wish: Mapping[str, object]) -> SettingsView:
        """Change some of it; it holds at once."""
        self._life.installation.preferences.change(wish)
        self._announce()
        return self.settings()

    async def test_port(self) -> PortTest:
        """A client has other peers call this computer, to learn whether they get through."""
        return await self._joined().test_port()

    def _joined(self) -> VolunteerSession:
        session = self._life.session
        if session is None or not session.port:
            raise Problem("The engine has not joined a collaboration yet.", hint="Try again in a moment.")
        return session

    def _standpoint(self) -> Standpoint:
        """What is known at this moment."""
        life, installation = self._life, self._life.installation
        settings, decision = installation.preferences.settings, installation.usage_policy.decision
        switches = settings.switches
        rests = {
            "computing": decision.computing,
            "gpu": decision.gpu,
            "network": decision.network,
        }
        at = Standpoint(
            pid=os.getpid(),
            now=installation.clock.now(),
            stage=life.stage,
            contributing=switches.computing.at(installation.clock.wall()) is not UseMode.NEVER,
            switches=switches,
            rests={subject: rest for subject in SUBJECTS if (rest := rests[subject]) is not None},
            cards=decision.gpus,
            name=installation.name,
            me=installation.key.peer_id,
            upload_bytes_s=None if is_loopback(installation.options.bind) else settings.upload_bytes_s,
            failure=life.failure,
            trains=installation.options.trains,
            manifest=life.known if life.failure is not None else None,  # who has refused this computer has a name
            rest=decision.rest,
            notice_last=installation.notices.last,
            passed_over=life.passed_over,
            today=installation.days.today(),
        )
        return at if life.session is None or life.again else life.session.seen(at)
