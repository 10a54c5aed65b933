"""What the person lets Potluck use of the network: limits, a month's use, connections that cost."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.problems import Problem
from core.durable import read_bounded, set_aside, write_atomic
from core.net.pace import Limits, MonthUse, Pace
from core.settings import Settings

LOOK_S: Final = 5.0
SAVE_S: Final = 60.0
FILE_BYTES_MAX: Final = 1024


class _Use(msgspec.Struct, frozen=True):
    month: Annotated[str, Meta(max_length=7)] = ""
    used_bytes: Annotated[int, Meta(ge=0)] = 0


class Allowance:
    """See the module's docstring.

    Args:
        settings: The person's choices.
        path: Where the month's use is kept.
        now: Unix seconds.
        changed: Called when `reason` is another one.
    """

    def __init__(
        self, settings: Settings, *, path: Path, now: Callable[[], float], changed: Callable[[], object]
    ) -> None:
        self._settings = settings
        self._path = path
        self._changed = changed
        self._reason = ""
        used = self._load()
        self.pace = Pace(now=now, used=MonthUse(used.month, used.used_bytes) if used.month else None)
        self.pace.limit(
            Limits(
                upload_bytes_s=settings.upload_bytes_s,
                download_bytes_s=settings.download_bytes_s,
                month_bytes=settings.month_bytes,
            )
        )

    @property
    def reason(self) -> str:
        """Why the network is left alone now, as a sentence; empty: it is not."""
        match self.pace.hindrance:
            case "metered":
                return "Paused: this connection costs money by the megabyte. It goes on with another one."
            case "month":
                return "Paused: the month's limit for the network is used up. It goes on with the next month."
            case "schedule":
                return "Paused: at this hour the network is left alone."
            case None:
                return ""

    def metered(self, costs: bool | None) -> None:  # noqa: FBT001 - the system's answer itself
        """The system says whether the connection costs; None: it does not know."""
        self.pace.forbid("metered" if costs and not self._settings.use_metered else None)
        self._look()

    async def keep(self) -> None:
        """Watch and remember, until cancelled."""
        saved_at = asyncio.get_running_loop().time()
        try:
            while True:
                await asyncio.sleep(LOOK_S)
                self._look()
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

    def _look(self) -> None:
        reason = self.reason
        if reason != self._reason:
            self._reason = reason
            self._changed()

    def _load(self) -> _Use:
        try:
            data = read_bounded(self._path, FILE_BYTES_MAX)
            return _Use() if data is None else msgspec.json.decode(data, type=_Use)
        except ValueError:
            set_aside(self._path)
            return _Use()
