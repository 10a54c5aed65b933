"""How an engine comes into a collaboration: with a pass, and with all that takes part put together."""

import asyncio
import contextlib
import platform
from collections.abc import Callable
from random import SystemRandom

import msgspec

from core.api.numbers import moment_text
from core.api.verdict import Verdict
from core.backbone.link import Link
from core.base.manifest import Manifest
from core.engine.installation import Installation
from core.engine.remembered.collaborations import Collaborations
from core.engine.session import VolunteerSession
from core.joining.join import Joining
from core.joining.look import check_source
from core.joining.silence import asked_in_vain
from core.system.atomic_files import make_directory


class _Patience:
    """Tells a person whose backbone does not answer, and when it is asked again.

    Args:
        installation: Has the clock.
        known: Manifest of the collaboration, if it was reached before.
        tell: Takes the verdict.
        hurry: Set when a person wants it asked now.
        missed: Called each time that it was asked in vain.
    """

    def __init__(
        self,
        installation: Installation,
        *,
        known: Manifest | None,
        tell: Callable[[Verdict], None],
        hurry: asyncio.Event,
        missed: Callable[[], None],
    ) -> None:
        self._wall = installation.clock.wall
        self._missed = missed
        self._names = {} if known is None else {"collaboration": known.name, **known.organiser_named}
        self._tell = tell
        self._hurry = hurry
        self._verdict: Verdict | None = None

    def hear(self, verdict: Verdict) -> None:
        """The backbone was asked in vain."""
        self._verdict = msgspec.structs.replace(verdict, args={**verdict.args, **self._names})

    async def rest(self, seconds: float) -> None:
        """Wait until it is asked again."""
        self._missed()
        if self._verdict is not None:
            self._tell(msgspec.structs.replace(self._verdict, until=self._wall() + seconds))
        self._hurry.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()


async def join(
    link: Link,
    installation: Installation,
    *,
    known: Manifest | None,
    changed: Callable[[], None],
    waiting: Callable[[Verdict], None],
    hurry: asyncio.Event,
) -> VolunteerSession:
    """Get a pass, and put together what takes part; nothing listens yet.

    Args:
        link: Leads to the collaboration.
        installation: What all sessions of this computer have in common.
        known: Manifest of the collaboration, if it was reached before.
        changed: Called when something that people see has changed.
        waiting: Told what is waited for, as a verdict.
        hurry: Set when a person wants the backbone to be asked now.

    Raises:
        UserProblem: the link, the pass or the disk is wrong; the sentence says what to do.
    """
    options = installation.options
    folder = options.home.state(link.manifest_id.hex())
    make_directory(folder)

    def willing(manifest: Manifest) -> None:
        if not options.help_bytes:
            check_source(manifest, options.text)

    def missed() -> None:
        if (named := Collaborations(options.home).manifest(link.manifest_id.hex())) is not None:
            asked_in_vain(folder, named.name, installation.notices, installation.clock.wall())

    patience = _Patience(installation, known=known, tell=waiting, hurry=hurry, missed=missed)
    joining = Joining(
        link=link,
        key=installation.key,
        folder=folder,
        blobs=options.home.blobs,
        willing=willing,
        wall=installation.clock.wall,
    )
    joining.rest = patience.rest
    joined = await joining.begin(
        username=installation.name,
        device=platform.node()[:40],
        now=installation.clock.now,
        random=SystemRandom(),
        waiting=patience.hear,
    )
    for notice in joining.kept.notices:
        installation.notices.add("warning", notice)
    for where, why in joining.passed_over.items():
        installation.notices.tell("warning", "engine.passed_over", where=where, reason=why)
    if joined.kept_until is not None:
        until = moment_text(joined.kept_until)
        installation.notices.tell("warning", "engine.kept", where=link.where, until=until)
    installation.notices.tell("info", "engine.joined", name=joined.manifest.name)
    if joined.name != installation.name:
        installation.notices.tell("info", "engine.name", name=joined.name)
    installation.clock.correct(joined.clock_ahead_s)
    return VolunteerSession(installation, joined, joining, changed=changed)
