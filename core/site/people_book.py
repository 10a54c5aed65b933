"""What the database adds to a view: the days of people, their teams, and the statistics export of today."""

import asyncio
import logging
import time
from datetime import UTC, datetime
from typing import Final

from core.api.site_view import SiteView
from core.site.boinc import Stats
from core.site.database import Database, DatabaseProblem
from core.site.history import Account, KeptDays, PersonDay
from core.site.teams import Choices, Teams

_LOG = logging.getLogger(__name__)
RETRY_S: Final = 60.0
"""Seconds until a database that cannot be used is tried again: each try is a line of its log."""


class PeopleBook:
    """Keeps and reads what stands in the database about people.

    Args:
        database: The site's.
    """

    def __init__(self, database: Database) -> None:
        self._days = KeptDays(database)
        self.teams = Teams(database)
        self._read = False
        self._again = 0.0
        """When the database is tried again, by the clock of this process."""
        self._stats: dict[str, bytes] = {}
        self._stats_of: tuple[str, frozenset[Account]] | None = None
        """The day and the people of `stats`."""
        self._looking: asyncio.Task[None] | None = None
        self._making = asyncio.Lock()

    @property
    def choices(self) -> Choices:
        """Teams and their members, as they were read last."""
        return self.teams.now

    def look(self, view: SiteView) -> None:
        """Write down what a view's ledger adds, unless an earlier view is being written down."""
        if time.monotonic() >= self._again and (self._looking is None or self._looking.done()):
            self._looking = asyncio.get_running_loop().create_task(self._look(view))

    async def days(self, account: Account) -> list[PersonDay] | None:
        """The days of a person; None: they cannot be read."""
        try:
            return await self._days.days(account)
        except DatabaseProblem:
            return None

    async def stats(self, view: SiteView, name: str) -> bytes:
        """A file of the statistics export: made anew once a day, and when somebody does not want to be in it any more.

        Args:
            view: What it is made of, if it is made.
            name: The file's.

        Raises:
            DatabaseProblem: it cannot be made.
        """
        today = datetime.fromtimestamp(view.at, UTC).date()
        async with self._making:
            exported = frozenset(self.choices.exported)
            known = self._stats_of
            if known is None or known[0] != today.isoformat() or not known[1] <= exported:
                choices = await self.teams.read()
                named = {*choices.exported, *choices.team_of}
                averages = await self._days.averages(named, today.isoformat())
                midnight = datetime(today.year, today.month, today.day, tzinfo=UTC).timestamp()
                self._stats = await asyncio.to_thread(Stats(view, choices, averages, midnight).files)
                self._stats_of = today.isoformat(), frozenset(choices.exported)
        return self._stats[name]

    async def close(self) -> None:
        """Finish what is being written down."""
        if self._looking is not None:
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look(self, view: SiteView) -> None:
        try:
            if not self._read:
                await self.teams.read()
                self._read = True
            await self._days.look(view)
        except DatabaseProblem as problem:
            _LOG.warning("what people gave and choose is not kept for %.0f s: %s", RETRY_S, problem)
            self._again = time.monotonic() + RETRY_S
