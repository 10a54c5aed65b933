"""What each person gave, day by day: the differences between the ledgers of copies of the model.

Nothing that anybody says of itself counts.  The rows of a person, with the one from before the first day, always come
to what the newest copy's ledger says: what a later copy lacks leaves the last days, and is marked there as undone.  A
copy of another origin, to which everybody went, gives undone samples back to the days that had them before it counts
new ones: so a going back can be taken back.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from sqlalchemy import BigInteger, Column, Connection, LargeBinary, Named, String, Table, TypedColumns, func, select

from core.api.reports import DAYS_MAX
from core.api.site_view import ORIGIN_LETTERS, Count, SiteView
from core.site.database import Database
from core.site.tables import ACCOUNT_BYTES, METADATA

BEFORE: Final = ""
"""The row of what was counted before the first day."""
HALF_LIFE_DAYS: Final = 7
"""After as many days without a sample the recent average has halved, as BOINC has it."""

DAY_LETTERS: Final = 10
PEOPLE_AT_ONCE: Final = 500
"""Upper bound on the people whose rows are in memory at a time."""
AVERAGE_DAYS: Final = 90
"""Days that a recent average looks back on: the one before them would weigh less than a ten-thousandth."""

Account = bytes


class PersonDay(msgspec.Struct, frozen=True):
    """What one person gave on a day of UTC."""

    day: Annotated[str, Meta(pattern=r"^(\d{4}-\d\d-\d\d)?$")]
    samples: Count = 0
    undone: Count = 0
    """Samples that the newest copy has no more, since everybody went back to an earlier one."""


Rows = Mapping[str, PersonDay]
"""A person's rows by day, `BEFORE` among them."""


def changes(old: Mapping[Account, int], view: SiteView) -> dict[Account, int]:
    """Samples of each person that a ledger adds to an earlier one, or lacks.

    Args:
        old: Samples by account of the earlier one.
        view: Has the ledger.  Where it has no room for all people, those that are missing are left as they are.
    """
    new = {one.account: one.samples for one in view.people}
    gone = (account for account in old if account not in new) if sum(new.values()) >= view.samples else ()
    found = ((account, new.get(account, 0) - old.get(account, 0)) for account in (*new, *gone))
    return {account: change for account, change in found if change}


def counted(rows: Rows, change: int, today: str, *, restores: bool) -> dict[str, PersonDay]:
    """The rows of a person that another ledger changes.

    Args:
        rows: Those before it.
        change: Samples that it adds, or lacks.
        today: The day of UTC; `BEFORE` for the first ledger of all.
        restores: Whether the ledger is of another origin, and gives back what was undone.
    """
    after, left = dict[str, PersonDay](), change
    if restores:
        for row in sorted(rows.values(), key=lambda row: row.day):
            if (back := min(row.undone, left)) > 0:
                after[row.day] = PersonDay(row.day, row.samples + back, row.undone - back)
                left -= back
    for row in sorted(rows.values(), key=lambda row: row.day, reverse=True):
        if (lost := min(row.samples, -left)) > 0:
            after[row.day] = PersonDay(row.day, row.samples - lost, row.undone + lost)
            left += lost
    if left > 0:
        row = after.get(today) or rows.get(today) or PersonDay(today)
        after[today] = PersonDay(today, row.samples + left, row.undone)
    return after


def recent_average(days: Iterable[PersonDay], today: str) -> float:
    """Samples a day, of which those of a week ago weigh half as much: BOINC's recent average credit at midnight.

    Args:
        days: A person's, in any order.
        today: The day that has begun; it does not count yet.
    """
    end, weight = date.fromisoformat(today), math.pow(0.5, 1 / HALF_LIFE_DAYS)
    given = [((end - date.fromisoformat(row.day)).days, row.samples) for row in days if BEFORE < row.day < today]
    return math.fsum(samples * (1 - weight) * math.pow(weight, ago - 1) for ago, samples in given)


class PersonDayColumns(TypedColumns):
    """A day of a person, or what was before the first (`core.site.history`)."""

    account: Named[bytes] = Column(LargeBinary(ACCOUNT_BYTES), primary_key=True)
    day: Named[str] = Column(String(DAY_LETTERS), primary_key=True, index=True)
    samples: Named[int] = Column(BigInteger)
    undone: Named[int] = Column(BigInteger)


class LedgerSeenColumns(TypedColumns):
    """The ledger that was written down last: there is one row, or none."""

    number: Named[int] = Column(primary_key=True, autoincrement=False)
    origin: Named[str] = Column(String(ORIGIN_LETTERS))


person_day: Final = Table("person_day", METADATA, PersonDayColumns)
ledger_seen: Final = Table("ledger_seen", METADATA, LedgerSeenColumns)


class KeptDays:
    """Keeps and reads days.

    Args:
        database: The site's.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[Account, int] | None = None
        """What the days of each person come to; None: it was not read yet."""
        self._origin: str | None = None
        """The ledger's; None: none was written down ever."""
        self._seen: object = None
        """What the last view said of its ledger."""

    async def look(self, view: SiteView) -> None:
        """Write down what the ledger of a view adds, or lacks.

        Raises:
            DatabaseProblem: it cannot be written, or perhaps was; the next look compares anew.
        """
        known, seen = self._known, (view.samples, view.origin, view.copies[:1], len(view.people))
        if known is not None and seen == self._seen:
            return
        self._known = None
        if known is None:
            read = await self._database.do(_read)
            known, self._origin = read[0], read[1]
        changed = changes(known, view)
        first, other = self._origin is None, self._origin not in {None, view.origin}
        today = BEFORE if first else _today(view)
        for some in _groups(changed):  # each for itself, so that others have their turns; the origin comes last
            part = {account: changed[account] for account in some}
            await self._database.do(partial(_count, changed=part, today=today, restores=other))
        if changed or self._origin != view.origin:
            await self._database.do(partial(_note, origin=view.origin, today=_today(view)))
        self._known = {one: known.get(one, 0) + changed.get(one, 0) for one in {**known, **changed}}
        self._origin, self._seen = view.origin, seen

    async def days(self, account: Account) -> list[PersonDay]:
        """The days of a person, the first one first.

        Raises:
            DatabaseProblem: they cannot be read.
        """
        return await self._database.do(lambda it: list(_rows(it, [account]).get(account, {}).values()))

    async def averages(self, accounts: Iterable[Account], today: str) -> dict[Account, float]:
        """Recent averages of some people (`recent_average`).

        Args:
            accounts: Who.
            today: The day that has begun.

        Raises:
            DatabaseProblem: they cannot be read.
        """
        since = (date.fromisoformat(today) - timedelta(days=AVERAGE_DAYS)).isoformat()
        found: dict[Account, float] = {}
        for some in _groups(accounts):
            rows = await self._database.do(partial(_rows, accounts=some, since=since))
            found |= {account: recent_average(days.values(), today) for account, days in rows.items()}
        return found


def _groups(accounts: Iterable[Account]) -> Iterator[list[Account]]:
    left = list(accounts)
    return (left[at : at + PEOPLE_AT_ONCE] for at in range(0, len(left), PEOPLE_AT_ONCE))


def _today(view: SiteView) -> str:
    return datetime.fromtimestamp(view.at, UTC).date().isoformat()


def _read(connection: Connection) -> tuple[dict[Account, int], str | None]:
    sums = select(person_day.c.account, func.sum(person_day.c.samples)).group_by(person_day.c.account)
    origin = connection.execute(select(ledger_seen.c.origin)).scalar()
    return {account: int(samples) for account, samples in connection.execute(sums)}, origin


def _rows(
    connection: Connection, accounts: Sequence[Account], since: str = BEFORE, until: str = "9999-12-31"
) -> dict[Account, dict[str, PersonDay]]:
    """Rows by account and day, the first day first.

    Args:
        connection: The database's.
        accounts: Whose; at most `PEOPLE_AT_ONCE`.
        since: The first day.
        until: The last day.
    """
    table, found = person_day.c, dict[Account, dict[str, PersonDay]]()
    wanted = (table.account.in_(accounts), table.day >= since, table.day <= until)
    for row in connection.execute(select(person_day).where(*wanted).order_by(table.day)):
        found.setdefault(row.account, {})[row.day] = PersonDay(row.day, row.samples, row.undone)
    return found


def _count(connection: Connection, *, changed: Mapping[Account, int], today: str, restores: bool) -> None:
    adds = not restores and all(change > 0 for change in changed.values())
    rows = _rows(connection, list(changed), *((today, today) if adds else ()))
    after = {one: counted(rows.get(one, {}), changed[one], today, restores=restores) for one in changed}
    _replace(connection, after)


def _note(connection: Connection, *, origin: str, today: str) -> None:
    connection.execute(ledger_seen.delete())
    connection.execute(ledger_seen.insert().values(number=1, origin=origin))
    _fold(connection, today=today)


def _replace(connection: Connection, rows: Mapping[Account, Mapping[str, PersonDay]]) -> None:
    made = [
        {"account": account, "day": row.day, "samples": row.samples, "undone": row.undone}
        for account, days in rows.items()
        for row in days.values()
    ]
    table = person_day.c
    for days in {row["day"] for row in made}:
        accounts = [row["account"] for row in made if row["day"] == days]
        connection.execute(person_day.delete().where(table.day == days, table.account.in_(accounts)))
    if made:
        connection.execute(person_day.insert(), made)


def _fold(connection: Connection, *, today: str) -> None:
    """Make one row of each person's days that are older than `DAYS_MAX`."""
    table = person_day.c
    oldest = (date.fromisoformat(today) - timedelta(days=DAYS_MAX)).isoformat()
    old = table.day < oldest
    if connection.execute(select(table.day).where(old, table.day > BEFORE).limit(1)).first() is None:
        return
    sums = select(table.account, func.sum(table.samples), func.sum(table.undone)).where(old).group_by(table.account)
    kept = [
        {"account": account, "day": BEFORE, "samples": int(samples), "undone": int(undone)}
        for account, samples, undone in connection.execute(sums)
    ]
    connection.execute(person_day.delete().where(old))
    connection.execute(person_day.insert(), kept)
