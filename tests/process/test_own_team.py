"""A page that says what it likes of somebody's team gains nothing by it."""

import asyncio
from collections.abc import Callable

import pytest

from core.api.reports import TeamView
from core.base.ids import AccountId
from core.joining import own_team
from core.joining.own_team import ANSWER_BYTES_MAX, OwnTeam
from tests.web_server import web_server

pytestmark = pytest.mark.process

ACCOUNT = AccountId(b"a" * 16)
PERSON = f"/api/v1/board/{ACCOUNT.hex()}"
TEAMS = "/api/v1/teams"
TEAM = b'{"rank": 9, "number": 7, "name": "Readers", "founder": "Ada", "people": 2, "samples": 5, "share": 0.1}'


def said_by(answer: Callable[[str], tuple[int, bytes] | None]) -> tuple[TeamView, list[str]]:
    """What is believed of a page that answers so, and what it was asked."""
    with web_server({}, answer=answer) as site:
        found = asyncio.run(OwnTeam().look(site.url, ACCOUNT))
    return found, [path for path, *_ in site.asked]


def answers(person: bytes, teams: bytes = b"[" + TEAM + b"]") -> Callable[[str], tuple[int, bytes] | None]:
    return lambda path: (200, {PERSON: person, TEAMS: teams}[path])


def test_place_is_counted_here() -> None:
    found, asked = said_by(answers(b'{"team": 7, "days": []}'))
    assert found == TeamView(name="Readers", rank=1, teams=1, next_name="Readers")
    assert asked == [PERSON, TEAMS]


@pytest.mark.parametrize(
    "page",
    [
        lambda _: (404, b""),
        lambda _: (500, b"{}"),
        lambda _: (200, b"<html>"),
        answers(b'{"team": null}'),
        answers(b'{"team": 8}'),
        answers(b'{"team": -1}'),
        answers(b'{"team": 7}', b"{}"),
        answers(b'{"team": 7}', b"[" + TEAM.replace(b"Readers", b"x" * 81) + b"]"),
        answers(b'{"team": 7}', b"[" + TEAM.replace(b'"samples": 5', b'"samples": 1e400') + b"]"),
        answers(b'{"team": 7}', b"[" + b" " * ANSWER_BYTES_MAX + TEAM + b"]"),
        answers(b"[" * 100_000),
    ],
)
def test_false_page_has_no_team(page: Callable[[str], tuple[int, bytes] | None]) -> None:
    found, _ = said_by(page)
    assert found == TeamView()


def test_page_that_leads_elsewhere_is_not_followed() -> None:
    with web_server({"/inside": b'{"team": 7}'}, moved={PERSON: "/inside"}) as site:
        assert asyncio.run(OwnTeam().look(site.url, ACCOUNT)) == TeamView()
    assert [path for path, *_ in site.asked] == [PERSON]


def test_page_that_is_away_or_unknown_is_no_trouble() -> None:
    team = OwnTeam()
    assert asyncio.run(team.look("http://127.0.0.1:9", ACCOUNT)) == TeamView()
    assert asyncio.run(team.look("", ACCOUNT)) == TeamView()


def test_page_is_asked_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(own_team, "steady_s", lambda: now[0])
    team = OwnTeam()
    with web_server({}, answer=answers(b'{"team": 7}')) as site:
        for moment in (0.0, 1.0, own_team.AGAIN_S - 1):
            now[0] = moment
            assert asyncio.run(team.look(site.url, ACCOUNT)).name == "Readers"
        assert len(site.asked) == 2
        now[0] = own_team.AGAIN_S
        asyncio.run(team.look(site.url, ACCOUNT))
        assert len(site.asked) == 4
