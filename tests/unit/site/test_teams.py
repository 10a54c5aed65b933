"""Teams: who founds, joins, leaves and hands over, and which names there are."""

from collections.abc import Awaitable, Callable

import pytest
from sqlalchemy import URL

from core.site import teams
from core.site.database import Database
from core.site.teams import Choices, TeamError, Teams
from tests.unit.site.test_database import postgres, url, using  # noqa: F401 - fixtures
from tests.unit.site.views import ADA, EVE, ZOE


def walk(where: URL, test: Callable[[Teams], Awaitable[None]]) -> None:
    async def run(here: Database) -> None:
        kept = Teams(here)
        await test(kept)
        assert kept.now == await Teams(here).read()

    using(where, run)


async def refused(act: Awaitable[object], why: str) -> None:
    with pytest.raises(TeamError, match=why):
        await act


def test_team_is_founded_joined_handed_over_and_left(url: URL) -> None:  # noqa: F811
    async def test(kept: Teams) -> None:
        number = await kept.found(ADA, "Bücherwürmer", 7.0, has_given=True)
        await kept.join(ZOE, number)
        assert kept.now.team_of == {ADA: number, ZOE: number}
        await refused(kept.leave(ADA), teams.FOUNDED)
        await refused(kept.hand_over(ZOE, ZOE), teams.NOT_FOUNDER)
        await refused(kept.hand_over(ADA, EVE), teams.NO_MEMBER)
        await kept.hand_over(ADA, ZOE)
        assert kept.now.teams[number].founder == ZOE
        await kept.leave(ADA)
        assert kept.now.team_of == {ZOE: number}
        await kept.leave(ZOE)
        assert (kept.now.teams, kept.now.team_of) == ({}, {})
        await refused(kept.leave(ZOE), teams.HAS_NONE)

    walk(url, test)


def test_name_that_looks_like_another_teams_is_refused(url: URL) -> None:  # noqa: F811
    async def test(kept: Teams) -> None:
        await kept.found(ADA, "Pace", 0.0, has_given=True)
        for name in ("Pace", "pace", "PACE", "P a c e", "\u0440\u0430\u0441\u0435"):
            await refused(kept.found(ZOE, name, 0.0, has_given=True), teams.TAKEN)
        for name in ("", " x", "a" * 41, "<b>", "a\u202eb", "=1+1"):
            await refused(kept.found(ZOE, name, 0.0, has_given=True), "cannot be used")
        await kept.leave(ADA)
        await kept.found(ZOE, "pace", 0.0, has_given=True)

    walk(url, test)


def test_only_who_has_given_founds_one_team(url: URL) -> None:  # noqa: F811
    async def test(kept: Teams) -> None:
        await refused(kept.found(EVE, "Spam", 0.0, has_given=False), teams.NOT_YET)
        number = await kept.found(ADA, "One", 0.0, has_given=True)
        await refused(kept.found(ADA, "Two", 0.0, has_given=True), teams.HAS_ONE)
        await kept.join(EVE, number)
        await refused(kept.join(EVE, number), teams.HAS_ONE)
        await refused(kept.join(ZOE, 99), teams.UNKNOWN)

    walk(url, test)


def test_teams_and_members_are_bounded(url: URL, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(teams, "TEAMS_MAX", 1)
    monkeypatch.setattr(teams, "MEMBERS_MAX", 2)

    async def test(kept: Teams) -> None:
        number = await kept.found(ADA, "One", 0.0, has_given=True)
        await refused(kept.found(ZOE, "Two", 0.0, has_given=True), teams.FULL)
        await kept.join(ZOE, number)
        await refused(kept.export(EVE, wanted=True), teams.FULL)

    walk(url, test)


def test_export_has_those_who_said_yes(url: URL) -> None:  # noqa: F811
    async def test(kept: Teams) -> None:
        assert (await kept.read()) == Choices({}, {}, {})
        for account in (ADA, EVE, ZOE):
            await kept.export(account, wanted=True)
        await kept.export(EVE, wanted=False)
        assert kept.now.exported == {ADA: 1, ZOE: 3}
        await kept.export(EVE, wanted=True)
        assert kept.now.exported[EVE] == 2

    walk(url, test)


def test_team_outlives_its_founder_and_ends_with_its_last_member(url: URL) -> None:  # noqa: F811
    async def test(kept: Teams) -> None:
        number = await kept.found(ADA, "One", 0.0, has_given=True)
        await kept.join(ZOE, number)
        await kept.forget(ADA)
        assert (kept.now.teams[number].founder, kept.now.team_of) == (ZOE, {ZOE: number})
        await kept.forget(ZOE)
        assert (kept.now.teams, kept.now.team_of) == ({}, {})

    walk(url, test)
