"""What Potluck may use now: `core.schedule.policy` applied to senses, settings, the clock and a month's use."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from core.api.modes import ALWAYS, Switches, UseMode
from core.api.settings import ALL, AUTO
from core.api.verdict import Verdict
from core.api.week import read_week
from core.base.problems import Problem
from core.net.clock import steady_s
from core.net.limits.pace import Hindrance, Limits, MonthUse, Pace
from core.schedule.hours import Hours
from core.schedule.policy import Circumstances, ComputeProfile, Decision, Latches, decide
from core.schedule.sensed import Sensed
from core.storage.settings import Settings
from core.system.atomic_files import read_bounded, set_aside, write_atomic

LOOK_S: Final = 10.0
"""The longest time between two looks: the month's bytes may be used up, the system's clock may have been set, and the
computer may have slept."""
SAVE_S: Final = 60.0
LATE_S: Final = 0.01
"""Delay of a look after the moment at which something changes, so that the moment has surely come."""
FILE_BYTES_MAX: Final = 1024
HINDRANCES: Final[Mapping[str, Hindrance]] = MappingProxyType(
    {"schedule": "schedule", "metered": "metered", "month": "month"}
)
"""Reasons for which the network is not used, as the pace calls them; all others are the person's switch."""
T = TypeVar("T")


class _Use(msgspec.Struct, frozen=True):
    month: Annotated[str, Meta(max_length=7)] = ""
    used_bytes: Annotated[int, Meta(ge=0)] = 0


class UsagePolicy:
    """Decides what Potluck may use now, and tells its followers when that changes.

    Args:
        settings: The person's choices.
        path: Where the month's use is kept.
        now: Unix seconds.
        steady: Seconds that nobody sets.
        alone: All others are on this computer, so that nothing rests for the network's sake.  Text may still come from
            elsewhere: the pace holds its reader to the limits.
        offset_s: How far the local clock is ahead of UTC at a moment in unix seconds.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        path: Path,
        now: Callable[[], float],
        steady: Callable[[], float] = steady_s,
        alone: bool = False,
        offset_s: Callable[[float], float] | None = None,
    ) -> None:
        self._path = path
        self._now = now
        self._steady = steady
        self._followers: list[Callable[[], object]] = []
        self._alone = alone
        self._offset_s = offset_s or _local_offset_s
        self._costs = False
        self.ended: Verdict | None = None
        """Why the served collaboration wants nothing computed; who sets it has the policy `look`."""
        self.sensed = Sensed()
        """What the senses found last."""
        self._sensed_at = 0.0
        self._device = _named(settings)
        self._latches: Latches = {}
        self._changes: float | None = None
        """When time alone may make another decision, unix seconds."""
        self._looked = asyncio.Event()
        self._settings = settings
        self._known_rest: Verdict | None = None
        """The reason to rest of which followers were told."""
        self.profile = ComputeProfile()
        """How much of this computer training uses while it computes."""
        self.left_out: tuple[str, ...] = ()
        """Devices that rest while training goes on with others."""
        used = _load(path)
        self.pace = Pace(now=now, used=MonthUse(used.month, used.used_bytes) if used.month else None)
        self.apply(settings)

    def follow(self, told: Callable[[], object]) -> Callable[[], None]:
        """Call `told` at another reason to rest than before, at none any more, and when more or less is to be used.

        It is called at once if there is a reason.

        Returns:
            What ends that.
        """
        self._followers.append(told)
        if self._known_rest is not None:
            told()
        return lambda: self._followers.remove(told)

    def apply(self, settings: Settings) -> None:
        """These choices hold from now on."""
        if settings.device != self._settings.device:
            self._device = _named(settings)
        self._settings, self._latches = settings, {}
        self._hours = Hours(read_week(settings.hours), self._offset_s)
        others = settings.other_hours
        self._others = Hours(read_week(others), self._offset_s) if others else None
        self.look()

    def sense(self, sensed: Sensed) -> None:
        """The senses have found this just now."""
        self.sensed, self._sensed_at = sensed, self._steady()
        self.look()

    def computes_on(self, device: str) -> None:
        """Training computes on this device, as torch calls it; empty: not known."""
        if device and device != self._device:
            self._device = device
            self.look()

    @property
    def decision(self) -> Decision:
        """What may be used at this moment, and why not."""
        switches = self._settings.switches
        return self._decide(msgspec.structs.replace(switches, network=ALWAYS) if self._alone else switches)

    def _decide(self, switches: Switches) -> Decision:
        now, settings = self._now(), self._settings
        sensed = self.sensed.after(self._steady() - self._sensed_at)
        sensed = replace(sensed, metered=self._costs if sensed.metered is None else sensed.metered)
        used = Circumstances(
            now=now,
            hours=self._hours,
            others=self._others,
            month_used_bytes=self.pace.used.used_bytes,
            device=self._device,
            latches=self._latches,
        )
        decision = decide(sensed, settings, switches, used)
        return decision if self.ended is None else replace(decision, computing=self.ended)

    async def until(self, *, resting: bool) -> None:
        """Return when there is a reason to rest, or when there is none."""
        told = asyncio.Event()
        unfollow = self.follow(told.set)
        try:
            while (self._known_rest is not None) is not resting:
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
        """Looks whenever time alone changes something, and saves the month's use, until cancelled."""
        saved_at = asyncio.get_running_loop().time()
        try:
            while True:
                changes = self._changes
                wait_s = LOOK_S if changes is None else min(LOOK_S, max(0.0, changes - self._now()) + LATE_S)
                self._looked.clear()
                try:
                    await asyncio.wait_for(self._looked.wait(), wait_s)
                except TimeoutError:
                    self.look()
                now = asyncio.get_running_loop().time()
                if now >= saved_at + SAVE_S:
                    saved_at = now
                    self.save()
        finally:
            self.save()

    def save(self) -> None:
        """Remember the month's use.  A full disk does not stop the engine, and others tell of it."""
        used = self.pace.used
        try:
            write_atomic(self._path, msgspec.json.encode(_Use(used.month, used.used_bytes)))
        except Problem:
            return

    def look(self) -> None:
        """See whether there is another reason to rest than before."""
        decision = self.decision
        self._latches, self._changes = decision.latches, decision.changes
        self._looked.set()
        self.pace.limit(_limits(self._settings, self._now()))
        network = self._decide(self._settings.switches).network if self._alone else decision.network
        self.pace.forbid(None if network is None else HINDRANCES.get(network.reason, "switch"))
        seen = decision.rest, decision.profile, decision.left_out
        if seen != (self._known_rest, self.profile, self.left_out):
            self._known_rest, self.profile, self.left_out = seen
            for told in list(self._followers):
                told()


def _load(path: Path) -> _Use:
    try:
        data = read_bounded(path, FILE_BYTES_MAX)
        return _Use() if data is None else msgspec.json.decode(data, type=_Use)
    except ValueError:
        set_aside(path)
        return _Use()


def _named(settings: Settings) -> str:
    """The devices that the settings name; empty: the worker finds some."""
    return "" if settings.device in {AUTO, ALL} else settings.device


def _limits(settings: Settings, now: float) -> Limits:
    unlimited = settings.network.at(now) is UseMode.ALWAYS
    return Limits(
        upload_bytes_s=settings.upload_bytes_s,
        download_bytes_s=settings.download_bytes_s,
        month_bytes=None if unlimited else settings.month_bytes,
    )


def _local_offset_s(moment: float) -> float:
    """Return how far this computer's clock is ahead of UTC, wherever the computer is by now."""
    if hasattr(time, "tzset"):
        time.tzset()  # the person may have travelled since
    return time.localtime(moment).tm_gmtoff
