"""A trainer uses this computer as far as the person's settings and the usage policy allow it."""

import asyncio
from collections.abc import Callable
from typing import Final

from core.engine.installation import Installation
from core.system.cores import spare_cores
from core.system.unused_memory import return_unused_memory
from core.workers.frames import Throttle
from core.workers.helper import Helper
from core.workers.place import WorkerShare
from core.workers.trainer import Trainer

MINUTE_S: Final = 60.0


class AllowedUse:
    """Keeps a trainer within the person's settings and the usage policy.

    Args:
        installation: Has the settings and the usage policy.
        trainer: Follows them.
        changed: Called when something that people see has changed.
    """

    def __init__(self, installation: Installation, trainer: Trainer | Helper, *, changed: Callable[[], None]) -> None:
        self._installation = installation
        self._trainer = trainer
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
                rests = self._installation.usage_policy.rest is not None
                if rests or not self._allowed or self._share.needs_another(share_of(self._installation)):
                    await self.heed()
        finally:
            for end in unfollow:
                end()

    async def heed(self) -> None:
        """Train if the usage policy allows it, at once; if not, return when nothing is computed any more."""
        share = share_of(self._installation)
        anew, self._share = self._share.needs_another(share), share
        if anew:
            await self._trainer.pause()
        self._throttle()
        self._allowed = self._installation.usage_policy.rest is None
        if self._allowed:
            self._trainer.resume()
        else:
            await self._trainer.pause(memory_s=MINUTE_S * self._installation.preferences.settings.keep_minutes)
            return_unused_memory()
        self._changed()

    def _throttle(self) -> None:
        """Have training use as much of this computer as the usage policy says."""
        policy, share = self._installation.usage_policy, share_of(self._installation)
        threads = policy.profile.threads or share.threads
        self._trainer.throttle(Throttle(share=policy.profile.share, threads=threads, left_out=policy.left_out))


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
