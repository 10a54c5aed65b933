"""People, teams and the statistics export as the page's server gives them, from its database."""

import gzip
import json
from pathlib import Path

import msgspec
import pytest

from core.api.site_view import SiteView
from core.site.database import FILE
from tests.process.test_site_server import Running, serve
from tests.unit.site.views import ADA, AT, EVE, ZOE, view

pytestmark = pytest.mark.process
PERSON = f"/board/{ADA.hex()}"


async def read(here: Running, path: str, *, status: int = 200) -> bytes:
    here.now[0] += 10  # past what is kept ready
    async with here.client.get(here.url(path)) as answer:
        assert answer.status == status, path
        return await answer.read()


async def shows(here: Running, shown: SiteView) -> None:
    here.site.show(shown)
    await here.book.close()


def later(days: int, samples: int) -> SiteView:
    people = (msgspec.structs.replace(view().people[0], samples=samples), *view().people[1:])
    return view(at=AT + 86_400 * days, people=people, samples=samples + 100)


def test_person_has_days_from_ledgers(tmp_path: Path) -> None:
    async def test(here: Running) -> None:
        await here.book.close()
        for days, samples in ((1, 960), (2, 1000)):
            await shows(here, later(days, samples))
        person = json.loads(await read(here, f"/api/v1{PERSON}"))
        given = [("", 900), ("2026-11-27", 60), ("2026-11-28", 40)]
        assert [(day["day"], day["samples"]) for day in person["days"]] == given
        assert b"100 samples from 2026-11-22 to 2026-11-28" in await read(here, PERSON)
        await read(here, f"/board/{EVE.hex()}", status=404)
        await read(here, f"/api/v1/board/{'0' * 32}", status=404)

    serve(test, tmp_path)


def test_export_is_made_daily_and_forgets_at_once(tmp_path: Path) -> None:
    async def users(here: Running) -> int:
        return gzip.decompress(await read(here, "/stats/user.gz")).count(b"<user>")

    async def test(here: Running) -> None:
        await here.book.close()
        assert await users(here) == 0
        for account in (ADA, EVE, ZOE):
            await here.book.teams.export(account, wanted=True)
        assert await users(here) == 0  # until tomorrow
        await shows(here, later(1, 960))
        assert await users(here) == 2
        tables = await read(here, "/stats/tables.xml")
        assert b"<nusers_total>2</nusers_total>" in tables
        await here.book.teams.export(ZOE, wanted=False)
        assert await users(here) == 1
        await read(here, "/stats/badges.gz", status=404)
        await read(here, "/stats/", status=404)

    serve(test, tmp_path)


def test_team_is_shown_once_a_member_has_given(tmp_path: Path) -> None:
    async def test(here: Running) -> None:
        number = await here.book.teams.found(ADA, "Readers", AT, has_given=True)
        assert b"Readers" in await read(here, "/teams")
        team = json.loads(await read(here, f"/api/v1/teams/{number}"))
        assert (team["founder"], [one["name"] for one in team["members"]]) == ("Ada", ["Ada"])
        here.site.show(view(people=(), samples=0))
        assert json.loads(await read(here, "/api/v1/teams")) == []
        await read(here, f"/teams/{number}", status=404)

    serve(test, tmp_path)


def test_page_without_its_database_is_served_without_days(tmp_path: Path) -> None:
    async def test(here: Running) -> None:
        await here.book.close()
        (tmp_path / FILE).unlink()
        await shows(here, later(1, 960))
        assert b"960" in await read(here, PERSON)
        assert json.loads(await read(here, f"/api/v1{PERSON}"))["days"] == []
        await read(here, "/stats/user.gz", status=503)
        await read(here, "/teams")

    serve(test, tmp_path)


def test_each_described_answer_is_served(tmp_path: Path) -> None:
    async def test(here: Running) -> None:
        number = await here.book.teams.found(ADA, "Readers", AT, has_given=True)
        described = json.loads(await read(here, "/openapi.json"))
        for path, what in described["paths"].items():
            body = await read(here, path.format(account=ADA.hex(), number=number))
            (kind,) = what["get"]["responses"]["200"]["content"]
            assert (kind == "application/json") == body.startswith((b"{", b"[")), path

    serve(test, tmp_path)
