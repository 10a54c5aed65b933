"""What a collaboration came to day by day, for its page: `days.json` in the charter.

The ledger of a copy of the model knows sums only; what a day brought is the difference between two copies.  So the
samples of all days, and those from before the first, are those of the newest copy always: where everybody goes back to
an earlier copy, the last days lose what is undone.
"""

import logging
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.reports import DAYS_MAX
from core.api.site_view import SiteDay
from core.base.problems import Problem
from core.system.atomic_files import read_bounded, set_aside, write_atomic

_LOG = logging.getLogger(__name__)
DAYS: Final = "days.json"
_BYTES_MAX: Final = 256 * 1024
SAVE_S: Final = 60.0
"""Seconds between two times that the file is written."""
GAP_S: Final = 30.0
"""Upper bound on the seconds between two looks that count as time here: a computer that slept saw nobody."""


class _DaysFile(msgspec.Struct, frozen=True, kw_only=True):
    before: Annotated[int, Meta(ge=0)] | None = None
    """Samples from before the first day; None: no copy has been seen yet."""
    epoch: Annotated[int, Meta(ge=0)] = 0
    """The newest copy's."""
    days: Annotated[list[SiteDay], Meta(max_length=DAYS_MAX)] = []


class SiteDays:
    """Notes samples, epochs and computers of each day of UTC.

    Args:
        folder: The charter's.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / DAYS
        file = self._read()
        self._days = {day.day: day for day in file.days}
        self._before = file.before
        self._epoch = file.epoch
        self._looked: float | None = None
        self._traffic = 0
        self._saved = 0.0
        self._dirty = False

    @property
    def days(self) -> tuple[SiteDay, ...]:
        """The last ones, oldest first."""
        return tuple(self._days[day] for day in sorted(self._days))

    def counted(self, samples: int, epoch: int, now: float) -> None:
        """Note the ledger of another copy of the model.

        Args:
            samples: Sum of all people.
            epoch: The copy's.
            now: Unix seconds.
        """
        if self._before is None:
            self._before, self._epoch = samples, epoch
        news, epochs = samples - self._before - sum(day.samples for day in self._days.values()), epoch - self._epoch
        self._epoch = epoch
        self._dirty = True
        if news < 0:
            self._take_back(-news)
        elif news or epochs > 0:
            today = self._today(now)
            self._put(today, samples=today.samples + news, epochs=today.epochs + max(epochs, 0))

    def looked(self, computers: int, now: float, traffic_bytes: int = 0) -> None:
        """Note how many computers are here, and write the file from time to time.

        Args:
            computers: They report now.
            now: Unix seconds.
            traffic_bytes: What this backbone has sent and received since its start.
        """
        moved, self._traffic = traffic_bytes - self._traffic, max(traffic_bytes, self._traffic)
        since = 0.0 if self._looked is None else min(max(now - self._looked, 0.0), GAP_S)
        self._looked = now
        if computers or moved > 0:
            today = self._today(now)
            hours = today.computer_hours + computers * since / 3600
            moved_today = today.traffic_bytes + max(moved, 0)
            most = max(today.computers, computers)
            self._put(today, computers=most, computer_hours=hours, traffic_bytes=moved_today)
        if self._dirty and now >= self._saved + SAVE_S:
            self._saved = now
            self.save()

    def save(self) -> None:
        """Write the file; a full disk costs the days, not the collaboration."""
        file = _DaysFile(before=self._before, epoch=self._epoch, days=list(self.days))
        try:
            write_atomic(self._path, msgspec.json.encode(file))
            self._dirty = False
        except Problem as problem:
            _LOG.warning("what the days came to is not kept: %s", problem)

    def _take_back(self, samples: int) -> None:
        """Samples were undone: the last days lose them, and then those from before the first."""
        for name in sorted(self._days, reverse=True):
            day = self._days[name]
            lost = min(day.samples, samples)
            if lost:
                self._put(day, samples=day.samples - lost)
            samples -= lost
        self._before = max(0, (self._before or 0) - samples)

    def _today(self, now: float) -> SiteDay:
        name = datetime.fromtimestamp(now, UTC).date().isoformat()
        return self._days.get(name) or SiteDay(name)

    def _put(self, day: SiteDay, **changes: float) -> None:
        self._days[day.day] = msgspec.structs.replace(day, **changes)
        self._dirty = True
        for old in sorted(self._days)[:-DAYS_MAX]:
            self._before = (self._before or 0) + self._days.pop(old).samples

    def _read(self) -> _DaysFile:
        try:
            data = read_bounded(self._path, _BYTES_MAX)
            file = _DaysFile() if data is None else msgspec.json.decode(data, type=_DaysFile)
            for day in file.days:
                date.fromisoformat(day.day)
        except ValueError:
            _LOG.warning("what the days came to cannot be read; it was kept as %s", set_aside(self._path).name)
            return _DaysFile()
        return file
