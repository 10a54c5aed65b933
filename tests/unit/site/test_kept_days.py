"""Days of people in the database: differences of ledgers, also after a restart, going back, and without a database."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import URL

from core.api.reports import DAYS_MAX
from core.api.site_view import SitePerson, SiteView
from core.site.database import FILE, Database, DatabaseProblem
from core.site.history import BEFORE, KeptDays, PersonDay
from core.site.people_book import PeopleBook
from tests.unit.site.test_database import postgres, url, using  # noqa: F401 - fixtures
from tests.unit.site.views import ADA, AT, ZOE, view

DAY_S = 86_400.0


def shown(day: int, *given: tuple[bytes, int], origin: str = "aa") -> SiteView:
    people = tuple(SitePerson(1, "x", samples, 1, 0, account, (samples,)) for account, samples in given)
    return view(at=AT + day * DAY_S, people=people, samples=sum(samples for _, samples in given), origin=origin)


async def after(kept: KeptDays, *views: SiteView) -> list[tuple[str, int, int]]:
    """Ada's days once some views have come."""
    for one in views:
        await kept.look(one)
    return [(row.day[5:], row.samples, row.undone) for row in await kept.days(ADA)]


def test_days_follow_from_ledgers_also_after_a_restart(url: URL) -> None:  # noqa: F811
    async def first(here: Database) -> None:
        days = await after(KeptDays(here), shown(0, (ADA, 10)), shown(0, (ADA, 15), (ZOE, 3)), shown(1, (ADA, 16)))
        assert days == [("", 10, 0), ("11-26", 5, 0), ("11-27", 1, 0)]

    async def then(here: Database) -> None:
        days = await after(KeptDays(here), shown(2, (ADA, 20), (ZOE, 3)))
        assert days == [("", 10, 0), ("11-26", 5, 0), ("11-27", 1, 0), ("11-28", 4, 0)]
        assert await KeptDays(here).days(ZOE) == [PersonDay("2026-11-26", 0, 3), PersonDay("2026-11-28", 3)]

    using(url, first)
    using(url, then)


def test_undone_days_are_marked_and_come_back(url: URL) -> None:  # noqa: F811
    async def test(here: Database) -> None:
        kept = KeptDays(here)
        await after(kept, shown(0, (ADA, 10)), shown(1, (ADA, 30)), shown(2, (ADA, 60)))
        assert await after(kept, shown(3, (ADA, 20), origin="bb")) == [("", 10, 0), ("11-27", 10, 10), ("11-28", 0, 30)]
        assert (await after(KeptDays(here), shown(3, (ADA, 62), origin="cc")))[1:] == [
            ("11-27", 20, 0),
            ("11-28", 30, 0),
            ("11-29", 2, 0),
        ]

    using(url, test)


def test_old_days_become_one_row(url: URL) -> None:  # noqa: F811
    async def test(here: Database) -> None:
        kept = KeptDays(here)
        views = [shown(day, (ADA, 10 * (day + 1))) for day in (0, 1, 2, DAYS_MAX + 2)]
        assert await after(kept, *views) == [("", 20, 0), ("11-28", 10, 0), ("01-02", DAYS_MAX * 10, 0)]

    using(url, test)


def test_averages_are_those_of_the_days_before(url: URL) -> None:  # noqa: F811
    async def test(here: Database) -> None:
        kept = KeptDays(here)
        await after(kept, shown(0, (ADA, 10)), shown(1, (ADA, 80), (ZOE, 7)), shown(2, (ADA, 180), (ZOE, 7)))
        found = await kept.averages([ADA, ZOE, bytes(16)], "2026-11-28")
        weight = 1 - 0.5 ** (1 / 7)
        assert found == {ADA: pytest.approx(70 * weight), ZOE: pytest.approx(7 * weight)}

    using(url, test)


def test_database_that_is_away_is_written_later(tmp_path: Path) -> None:
    async def test() -> None:
        here = Database(URL.create("sqlite", database=str(tmp_path / "nowhere" / FILE)))
        kept = KeptDays(here)
        with pytest.raises(DatabaseProblem):
            await kept.look(shown(4, (ADA, 4)))
        (tmp_path / "nowhere").mkdir()
        await kept.look(shown(5, (ADA, 5)))
        assert await kept.days(ADA) == [PersonDay(BEFORE, 5)]
        here.close()

    asyncio.run(test())


def test_database_that_is_away_is_not_asked_each_second(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        here = Database(URL.create("sqlite", database=str(tmp_path / "nowhere" / FILE)))
        book = PeopleBook(here)
        for day in range(5):
            book.look(shown(day, (ADA, day)))
            await book.close()
        here.close()

    caplog.set_level(logging.WARNING)
    asyncio.run(test())
    assert len(caplog.records) == 2  # the database's own, and what follows from it


def people(samples: int) -> Sequence[tuple[bytes, int]]:
    return [(number.to_bytes(16, "big"), samples + number) for number in range(10_000)]


def test_ten_thousand_people_are_written_down(tmp_path: Path) -> None:
    async def test(here: Database) -> None:
        kept = KeptDays(here)
        for day in range(3):
            await kept.look(shown(day, *people(10 * (day + 1))))
        await kept.look(shown(3, *people(15), origin="bb"))
        assert await kept.days(bytes(15) + b"\7") == [
            PersonDay(BEFORE, 17),
            PersonDay("2026-11-27", 5, 5),
            PersonDay("2026-11-28", 0, 10),
        ]

    using(URL.create("sqlite", database=str(tmp_path / FILE)), test)
