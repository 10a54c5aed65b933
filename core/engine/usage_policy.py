"""What the person lets Potluck do: the switch, limits of the network, a month's use, metered connections, hours."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from core.api import verdict as verdicts
from core.api.verdict import Verdict
from core.api.week import read_week
from core.base.problems import Problem
from core.net.pace import Limits, MonthUse, Pace
from core.schedule.hours import Hours
from core.storage.settings import Settings
from core.system.atomic_files import read_bounded, set_aside, write_atomic

LOOK_S: Final = 5.0
SAVE_S: Final = 60.0
FILE_BYTES_MAX: Final = 1024
T = TypeVar("T")


class _Use(msgspec.Struct, frozen=True):
    month: Annotated[str, Meta(max_length=7)] = ""
    used_bytes: Annotated[int, Meta(ge=0)] = 0


class UsagePolicy:
    """See the module's docstring.

    Args:
        settings: The person's choices.
        path: Where the month's use is kept.
        now: Unix seconds.
        alone: All others are on this computer, so that the hours count, but no limit of the network.
        offset_s: How far the local clock is ahead of UTC at a moment in unix seconds.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        path: Path,
        now: Callable[[], float],
        alone: bool = False,
        offset_s: Callable[[float], float] | None = None,
    ) -> None:
        self._path = path
        self._now = now
        self._followers: list[Callable[[], object]] = []
        self._alone = alone
        self._offset_s = offset_s or _local_offset_s
        self._costs = False
        self._reasons: tuple[str, ...] = ()
        used = self._load()
        self.pace = Pace(now=now, used=MonthUse(used.month, used.used_bytes) if used.month else None)
        self.apply(settings)

    def follow(self, told: Callable[[], object]) -> Callable[[], None]:
        """Call `told` when there is another reason to rest than before, or none any more; at once, if there is one.

        Returns:
            What ends that.
        """
        self._followers.append(told)
        if self._reasons:
            told()
        return lambda: self._followers.remove(told)

    def apply(self, settings: Settings) -> None:
        """These choices hold from now on."""
        self._settings = settings
        self._hours = Hours(read_week(settings.hours), self._offset_s)
        if not self._alone:
            self.pace.limit(
                Limits(
                    upload_bytes_s=settings.upload_bytes_s,
                    download_bytes_s=settings.download_bytes_s,
                    month_bytes=settings.month_bytes,
                )
            )
        self.look()

    @property
    def rest(self) -> Verdict | None:
        """Why nothing may be computed now; None: it may."""
        reasons = self._resting()
        if not reasons:
            return None
        if reasons[0] == "paused":
            return verdicts.paused()
        if reasons[0] != "schedule":
            return verdicts.resting(reasons[0])
        now = self._now()
        opens = self._hours.next_change(now)
        opening = self._hours.words(opens, now) if opens is not None else "with other hours"
        reason = "schedule_metered" if "metered" in reasons else "schedule"
        return verdicts.resting(reason, until=opens, opening=opening)

    async def until(self, *, resting: bool) -> None:
        """Return when there is a reason to rest, or when there is none."""
        told = asyncio.Event()
        unfollow = self.follow(told.set)
        try:
            while bool(self._reasons) is not resting:
                told.clear()
                await told.wait()
        finally:
            unfollow()

    async def while_allowed(self, work: Callable[[], Coroutine[None, None, T]]) -> T:
        """Do the work; it is cancelled when there is a reason to rest, and begun again when there is none."""
        while True:
            await self.until(resting=False)
            working = asyncio.create_task(work())
            resting = asyncio.create_task(self.until(resting=True))
            try:
                await asyncio.wait({working, resting}, return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    return working.result()
            finally:
                for task in (working, resting):
                    task.cancel()
                await asyncio.gather(working, resting, return_exceptions=True)

    def metered(self, costs: bool | None) -> None:  # noqa: FBT001 - the system's answer itself
        """The system says whether the connection costs; None: it does not know."""
        self._costs = bool(costs)
        self.look()

    async def keep(self) -> None:
        """Looks at the limits every `LOOK_S` seconds, and saves the month's use, until cancelled."""
        saved_at = asyncio.get_running_loop().time()
        try:
            while True:
                await asyncio.sleep(LOOK_S)
                self.look()
                now = asyncio.get_running_loop().time()
                if now >= saved_at + SAVE_S:
                    saved_at = now
                    self.save()
        finally:
            self.save()

    def save(self) -> None:
        """Remember the month's use.  A full disk is no reason to stop, and others tell of it."""
        used = self.pace.used
        try:
            write_atomic(self._path, msgspec.json.encode(_Use(used.month, used.used_bytes)))
        except Problem:
            return

    def look(self) -> None:
        """See whether there is another reason to rest than before."""
        reasons = self._resting()
        self.pace.forbid("schedule" if "schedule" in reasons else "metered" if "metered" in reasons else None)
        if reasons != self._reasons:
            self._reasons = reasons
            for told in list(self._followers):
                told()

    def _resting(self) -> tuple[str, ...]:
        """All reasons to rest, in the order in which they are told."""
        month = self._settings.month_bytes
        holds = {
            "paused": not self._settings.contributing,
            "schedule": not self._hours.open(self._now()),
            "metered": self._costs and not self._settings.use_metered,
            "month": not self._alone and month is not None and self.pace.used.used_bytes >= month,
        }
        return tuple(reason for reason, so in holds.items() if so)

    def _load(self) -> _Use:
        try:
            data = read_bounded(self._path, FILE_BYTES_MAX)
            return _Use() if data is None else msgspec.json.decode(data, type=_Use)
        except ValueError:
            set_aside(self._path)
            return _Use()


def _local_offset_s(moment: float) -> float:
    """Of this computer's clock, wherever it is by now."""
    if hasattr(time, "tzset"):
        time.tzset()  # the person may have travelled since
    return time.localtime(moment).tm_gmtoff
