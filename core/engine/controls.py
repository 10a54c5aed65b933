"""What clients ask of an engine: `core.control.intents.Intents`, answered by its session."""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from core.api.commands import ModelEvaluation
from core.api.settings import PortTest, SettingsView
from core.api.snapshot import Snapshot
from core.base.problems import Problem
from core.engine.installation import Installation
from core.engine.preferences import view
from core.engine.session import VolunteerSession
from core.engine.snapshots import Standpoint, take_snapshot


@dataclass(slots=True, kw_only=True)
class Life:
    """What an engine is at: it prepares, or it takes part in a collaboration.

    Attributes:
        installation: What it knows from its first moment.
        quit: Set when it is to end.
        stage: What is being prepared, as a sentence.
        problem: What keeps it from going on.
        session: Its part in the collaboration; None: it has not joined.
    """

    installation: Installation
    quit: asyncio.Event
    stage: str = "Potluck is starting."
    problem: Problem | None = None
    session: VolunteerSession | None = None

    def end(self) -> None:
        """End the session, and then the engine."""
        self.quit.set()
        if self.session is not None:
            self.session.stop()


class Controls:
    """See the module's docstring.

    Args:
        life: What the engine is at.
        announce: Called when something that people see has changed.
    """

    def __init__(self, life: Life, *, announce: Callable[[], None]) -> None:
        self._life = life
        self._announce = announce

    def snapshot(self) -> Snapshot:
        """The engine's whole state at this moment, as clients show it."""
        life, installation = self._life, self._life.installation
        at = Standpoint(
            pid=os.getpid(),
            now=installation.clock.now(),
            stage=life.stage,
            contributing=installation.preferences.settings.contributing,
            name=installation.name,
            me=installation.key.peer_id,
            problem=life.problem,
            resting=installation.usage_policy.reason,
            notice_last=installation.notices.last,
        )
        return take_snapshot(at if life.session is None else life.session.seen(at))

    async def pause(self) -> None:
        """Switch off.  The worker is gone when this returns."""
        if self._life.session is not None:
            await self._life.session.pause()
        self._keep(contributing=False)
        self._life.installation.notices.add("info", "Paused by you.")
        self._announce()

    async def resume(self) -> None:
        """The person contributes again: the wish outlives this run, and the session resumes if there is one."""
        self._keep(contributing=True)
        if self._life.session is not None:
            self._life.session.resume()
        self._life.installation.notices.add("info", "Contributing again.")
        self._announce()

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

    def _keep(self, *, contributing: bool) -> None:
        """Keep the person's choice for the next start."""
        installation = self._life.installation
        try:
            installation.preferences.contribute(on=contributing)
        except Problem as problem:
            installation.notices.add("problem", f"Your choice holds, but only until the next start: {problem}")
