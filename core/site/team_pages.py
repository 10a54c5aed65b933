"""What people choose about themselves who have signed in, at `/me/team`: a team, and whether the export names them.

What the worst person who has signed in gains: `BURST` changes at once and one each `EVERY_S` seconds, each of which
costs a sync of the disk and, where a team is founded, a look at the names of all.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final

from aiohttp import web

from core.api.site_view import ACCOUNT_BYTES, SitePerson, SiteView
from core.base.rate_limit import RateLimit
from core.base.site.channel import DeskAct
from core.site.copies import HEADERS, UNCACHED
from core.site.database import DatabaseProblem
from core.site.entrance import Entrance
from core.site.exports import teams_of
from core.site.pages import Made, PageMatter, Pages
from core.site.people_book import PeopleBook
from core.site.sessions import BrowserSession
from core.site.teams import UNKNOWN, Account, Choices, Team, TeamError, Teams
from core.site.visitor import Visitor, moved

EVERY_S: Final = 5.0
BURST: Final = 10
TOO_OFTEN: Final = "Too many changes. Wait for a minute."
ACTS: Final = ("found", "join", "leave", "hand-over", "export")
"""Last parts of the addresses of forms."""
_DIGITS_MAX: Final = 9
TEAM: Final = "/me/team"


class Choosing:
    """Does what people choose, one act after another.

    Args:
        teams: Keeps it.
    """

    def __init__(self, teams: Teams) -> None:
        self._teams = teams
        self._limit: RateLimit[Account] = RateLimit(rate_per_s=1 / EVERY_S, burst=BURST)

    async def act(self, name: str, fields: Mapping[str, str], account: Account, view: SiteView) -> None:
        """Do what a form says.

        Args:
            name: One of `ACTS`.
            fields: The form's.
            account: Whose form it is.
            view: Says whose samples have been counted.

        Raises:
            TeamError: it cannot be done; the sentence says why.
            DatabaseProblem: it cannot be written.
        """
        if not self._limit.admits(account, time.monotonic()):
            raise TeamError(TOO_OFTEN)
        match name:
            case "found":
                mine = _person(view, account)
                has_given = mine is not None and bool(mine.name)
                await self._teams.found(account, fields.get("name", "").strip(), view.at, has_given=has_given)
            case "join":
                await self._teams.join(account, _number(fields.get("number", "")))
            case "leave":
                await self._teams.leave(account)
            case "hand-over":
                await self._teams.hand_over(account, _account(fields.get("to", "")))
            case "export":
                await self._teams.export(account, wanted=fields.get("wanted") == "yes")

    def seen(self, account: Account, view: SiteView) -> "OwnChoices":
        """What somebody has chosen so far, and can choose.

        Args:
            account: Who.
            view: Says whose samples have been counted.
        """
        now, mine = self._teams.now, _person(view, account)
        number = now.team_of.get(account)
        team = None if number is None else now.teams.get(number)
        return OwnChoices(account, now, team, has_given=mine is not None and bool(mine.name))


class OwnChoices:
    """What a page shows of the choices of one person.

    Args:
        account: Whose they are.
        choices: Those of all.
        team: This person's; None: there is none.
        has_given: Whether samples of this person have been counted.
    """

    def __init__(self, account: Account, choices: Choices, team: Team | None, *, has_given: bool) -> None:
        self.team = team
        self.has_given = has_given
        self.is_exported = account in choices.exported
        self.is_founder = team is not None and team.founder == account
        self._account = account
        self._choices = choices

    def heirs(self, view: SiteView) -> list[SitePerson]:
        """Members of the team to whom it can be handed over: those whose names are shown."""
        number = None if self.team is None else self.team.number
        team_of, mine = self._choices.team_of, self._account
        return [one for one in view.people if one.name and one.account != mine and team_of.get(one.account) == number]


def choice_page(pages: Pages, shown: PageMatter, mine: OwnChoices | None, token: str, problem: str = "") -> Made:
    """The page on which somebody chooses.

    Args:
        pages: Makes it.
        shown: What it is made of.
        mine: What this person has chosen; None: no computer of theirs was let in.
        token: What the forms of this session say.
        problem: Why something was not done, as a sentence.
    """
    heirs = mine.heirs(shown.view) if mine is not None and mine.is_founder else []
    more = {"mine": mine, "heirs": heirs, "token": token, "problem": problem}
    made = pages.page("choose.html", shown, more=more, teams=teams_of(shown.view, shown.choices))
    return replace(made, status=400 if problem else 200)


def _person(view: SiteView, account: Account) -> SitePerson | None:
    return next((one for one in view.people if one.account == account), None)


def _number(said: str) -> int:
    if not said.isascii() or not said.isdecimal() or len(said) > _DIGITS_MAX:
        raise TeamError(UNKNOWN)
    return int(said)


def _account(said: str) -> Account:
    try:
        return bytes.fromhex(said)[:ACCOUNT_BYTES]
    except ValueError:
        return b""


class TeamPages:
    """Answers people who choose.

    Args:
        pages: Makes pages of templates.
        book: Knows teams.
        entrance: Knows who has signed in.
    """

    def __init__(self, pages: Pages, book: PeopleBook, entrance: Entrance) -> None:
        self._pages = pages
        self._entrance = entrance
        self._book = book
        self._choosing = Choosing(book.teams)

    @property
    def answers(self) -> Mapping[tuple[str, str], Callable[[Visitor], Awaitable[web.Response]]]:
        """What answers at which address, by the method."""
        return {("GET", TEAM): self._choose, **{("POST", f"/me/{act}"): self._act for act in ACTS}}

    async def has_given(self, request: web.BaseRequest, view: SiteView) -> bool:
        """Whether somebody has signed in whose samples have been counted.

        Args:
            request: As it came.
            view: Says whose samples have been counted.
        """
        opened, now = self._entrance.opened, self._entrance.now()
        if opened is None or not opened.cookies.session(request):
            return False
        visit = opened.cookies.visit(request, now)
        try:
            found = await self._account(Visitor(request, view, self._pages, self._entrance, opened, visit, {}))
        except DatabaseProblem:
            return False
        return found is not None and self._choosing.seen(found[1], view).has_given

    async def _choose(self, visitor: Visitor, problem: str = "") -> web.Response:
        """Show what somebody has chosen, and can choose (`GET /me/team`)."""
        found = await self._account(visitor)
        if found is None:
            return moved("/in")
        session, account = found
        mine = self._choosing.seen(account, visitor.view) if account else None
        shown = PageMatter(visitor.view, {}, {}, choices=self._book.choices)
        made = choice_page(self._pages, shown, mine, session.token, problem)
        return web.Response(
            body=made.body, status=made.status, headers={**HEADERS, **UNCACHED, "Content-Type": made.kind}
        )

    async def _act(self, visitor: Visitor) -> web.Response:
        """Do what a form there says."""
        found = await self._account(visitor)
        if found is None:
            return moved("/in")
        session, account = found
        fields = visitor.checked(session)
        try:
            if account:
                await self._choosing.act(visitor.request.path.rpartition("/")[2], fields, account, visitor.view)
        except TeamError as refused:
            return await self._choose(visitor, str(refused))
        return moved(TEAM)

    async def _account(self, visitor: Visitor) -> tuple[BrowserSession, Account] | None:
        """The session of a browser, and the account under which its person's computers are admitted: empty before."""
        signed_in = await visitor.signed_in()
        if signed_in is None:
            return None
        session, person = signed_in
        told = await visitor.entrance.line.ask(DeskAct.DEVICES, person.id)
        return session, told.account
