"""The team that a person has chosen on the page of a collaboration, and its place among the others.

What the worst page gains: two requests each `AGAIN_S` while a window shows them, and a name in a sentence.
"""

import logging
import math
from typing import Annotated, Final, TypeVar

import aiohttp
import msgspec
from msgspec import Meta

from core.api.reports import TeamView
from core.base.ids import AccountId
from core.base.problems import WireProblem
from core.base.wire import Schema
from core.joining.introduction import TIMEOUT_S, UNANSWERED, read_answer
from core.net.clock import steady_s

AGAIN_S: Final = 300.0
"""Time for which an answer counts."""
ANSWER_BYTES_MAX: Final = 1024 * 1024
"""Upper bound on an answer, bytes: a page has at most 1,000 teams (`core.site.teams`)."""
NAME_LETTERS: Final = 80

Answer = TypeVar("Answer")
_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_LOG = logging.getLogger(__name__)


class _Person(msgspec.Struct, frozen=True):
    """What the page says of somebody, as far as it is used here."""

    team: _Count | None = None


class _Team(msgspec.Struct, frozen=True):
    """What the page says of a team, as far as it is used here."""

    number: _Count
    name: Annotated[str, Meta(min_length=1, max_length=NAME_LETTERS)]
    samples: _Count


_PEOPLE: Final = Schema(_Person, named="a person of a page", bytes_max=ANSWER_BYTES_MAX, form="json")
_TEAMS: Final = Schema(list[_Team], named="the teams of a page", bytes_max=ANSWER_BYTES_MAX, form="json")


class OwnTeam:
    """Asks a page, and keeps its answer for a while."""

    def __init__(self) -> None:
        self._asked: tuple[str, AccountId] | None = None
        self._at = -math.inf
        self._answer = TeamView()

    async def look(self, site: str, account: AccountId) -> TeamView:
        """The team and its place; without a name where there is none, or the page does not answer.

        Args:
            site: Address of the page (`core.joining.sign_in.check_site`); empty: there is none.
            account: The person's.
        """
        if (site, account) == self._asked and steady_s() < self._at + AGAIN_S:
            return self._answer
        self._asked, self._at, self._answer = (site, account), steady_s(), TeamView()
        if site:
            try:
                self._answer = await _find(site, account)
            except (*UNANSWERED, WireProblem) as error:
                _LOG.info("%s does not tell of teams: %s", site, error)
        return self._answer


async def _find(site: str, account: AccountId) -> TeamView:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_S)) as session:
        person = await _got(session, f"{site}/api/v1/board/{account.hex()}", _PEOPLE)
        if person is None or person.team is None:
            return TeamView()
        teams = await _got(session, f"{site}/api/v1/teams", _TEAMS)
    ordered = sorted(teams or [], key=lambda one: -one.samples)
    place = next((at for at, one in enumerate(ordered) if one.number == person.team), None)
    if place is None:
        return TeamView()
    mine, above = ordered[place], ordered[max(0, place - 1)]
    return TeamView(
        name=mine.name,
        rank=place + 1,
        teams=len(ordered),
        next_name=above.name,
        missing=above.samples - mine.samples,
    )


async def _got(session: aiohttp.ClientSession, address: str, schema: Schema[Answer]) -> Answer | None:
    """What stands at an address of a page, which leads nowhere else; None: nothing."""
    async with session.get(address, allow_redirects=False) as response:
        return schema.decode(await read_answer(response, ANSWER_BYTES_MAX)) if response.status == 200 else None
