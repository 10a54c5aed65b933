"""A trainer uses this computer as far as the person's settings and the usage policy allow it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from core.api import verdict as verdicts
from core.api.moderation import ALL_PAUSED, CLOSED, MOVED
from core.api.rules import MEMORY_IN_USE
from core.api.verdict import Verdict
from core.authority.decisions import End, EndState
from core.base.problems import printable
from core.engine.installation import Installation
from core.system.usage import return_unused_memory, spare_cores
from core.workers.frames import Throttle
from core.workers.place import WorkerShare

MINUTE_S: Final = 60.0


class Computing(Protocol):
    """What computes on this computer for others."""

    def resume(self) -> None:
        """The person contributes: begin, or go on."""

    async def pause(self, *, memory_s: float = 0.0) -> None:
        """The person pauses; returns when nothing is computed any more."""

    def throttle(self, limit: Throttle) -> None:
        """Use so much of the computer."""


class AllowedUse:
    """Keeps what computes within the person's settings and the usage policy.

    Args:
        installation: Has the settings and the usage policy.
        computing: Follows them.
        changed: Called when something that people see has changed.
    """

    def __init__(
        self, installation: Installation, computing: Sequence[Computing], *, changed: Callable[[], None]
    ) -> None:
        self._installation = installation
        self._computing = computing
        self._changed = changed
        self._share = share_of(installation)
        """What the newest worker was to use."""
        self._allowed = False
        """Whether training was allowed when the usage policy was last followed."""
        self._look = asyncio.Event()
        self._look.set()

    async def keep(self) -> None:
        """Follow the usage policy and the settings until cancelled.

        A worker that may train on, or has a problem, is not told to resume once more.
        """
        unfollow = (
            self._installation.usage_policy.follow(self._look.set),
            self._installation.preferences.follow(lambda _: self._look.set()),
        )
        try:
            while True:
                await self._look.wait()
                self._look.clear()
                self._throttle()
                rests = self._installation.usage_policy.decision.rest is not None
                if rests or not self._allowed or self._share.needs_another(share_of(self._installation)):
                    await self.heed()
        finally:
            for end in unfollow:
                end()
            self.end(None, "")

    def end(self, ended: End | None, collaboration: str) -> None:
        """Compute nothing while moderators have paused the collaboration, or since they have ended it.

        Args:
            ended: What they have decided; None: neither.
            collaboration: Its name.
        """
        said: Verdict | None = None
        if ended is not None:
            reason = ALL_PAUSED if ended.state is EndState.PAUSED else MOVED if ended.successor else CLOSED
            link, words = printable(ended.successor), printable(ended.words)
            said = verdicts.resting(reason, collaboration=collaboration, words=words, link=link)
        policy = self._installation.usage_policy
        policy.ended = said
        policy.look()

    async def heed(self) -> None:
        """Train if the usage policy allows it, at once; if not, return when nothing is computed any more."""
        share = share_of(self._installation)
        anew, self._share = self._share.needs_another(share), share
        if anew:
            await self._pause()
        self._throttle()
        self._allowed = self._installation.usage_policy.decision.rest is None
        if self._allowed:
            for one in self._computing:
                one.resume()
        else:
            rest = self._installation.usage_policy.decision.rest
            gives_back = rest is not None and rest.reason == MEMORY_IN_USE
            minutes = 0 if gives_back else self._installation.preferences.settings.keep_minutes
            await self._pause(memory_s=MINUTE_S * minutes)
            return_unused_memory()
        self._changed()

    async def _pause(self, *, memory_s: float = 0.0) -> None:
        await asyncio.gather(*(one.pause(memory_s=memory_s) for one in self._computing))

    def _throttle(self) -> None:
        """Have training use as much of this computer as the usage policy says."""
        policy, share = self._installation.usage_policy, share_of(self._installation)
        threads = policy.profile.threads or share.threads
        limit = Throttle(share=policy.profile.share, threads=threads, left_out=policy.left_out)
        for one in self._computing:
            one.throttle(limit)


def share_of(installation: Installation) -> WorkerShare:
    """What a worker may use, by the settings; all cores but one where neither they nor the options say it."""
    chosen = installation.preferences.settings
    threads = chosen.threads or installation.options.threads or spare_cores()
    return WorkerShare(
        chosen.device,
        threads,
        compile=chosen.compile,
        memory_bytes=chosen.memory_bytes,
        disk_gigabytes=chosen.disk_gigabytes,
    )
