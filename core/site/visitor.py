"""Somebody who asks for a page of signing in: what they send, who they are, and what they are answered.

Each form says the token of its visit or session, and comes from a page of this site (`forms.read_form`).  An answer
that leads to another site, or comes from there, is a page that goes on by itself and has a link: so the policy of
forms names no other host, and a session's cookie, which no page elsewhere may send, is sent with the next request.
What a stranger writes is shown escaped, and never as a link.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web
from sqlalchemy import Connection

from core.api.site_view import SiteView
from core.site.accounts import Account, SignInError, account_named
from core.site.browser import Visit, same
from core.site.copies import HEADERS, UNCACHED
from core.site.device_codes import shown
from core.site.entrance import DEVICE, Entrance, OpenWays
from core.site.forms import household_of
from core.site.pages import PageMatter, Pages
from core.site.sessions import BrowserSession, begin_session, session_of

ME: Final = "/me"
OWN_HEADERS: Final = {**HEADERS, **UNCACHED, "Referrer-Policy": "same-origin"}
"""With `no-referrer` browsers say that forms come from nowhere; other sites are told nothing by this either."""


def stale() -> SignInError:
    """What is said of a form, or an answer of another site, that is not of this browser and this moment."""
    return SignInError("expired", "This form is too old, or not of this page. Begin again.")


@dataclass(frozen=True, slots=True)
class Visitor:
    """A request, with what it needs to be answered.

    Attributes:
        request: As it came.
        view: What the backbone has sent last.
        pages: Makes pages of templates.
        entrance: Has accounts, and asks the backbone.
        opened: The ways in.
        visit: Of the browser, perhaps a new one.
        form: What it sends; empty: nothing.
    """

    request: web.BaseRequest
    view: SiteView
    pages: Pages
    entrance: Entrance
    opened: OpenWays
    visit: Visit
    form: Mapping[str, str]

    @property
    def household(self) -> str:
        """The household from which they ask."""
        return household_of(self.request)

    @property
    def now(self) -> float:
        """The moment, Unix seconds, by the clock of the entrance."""
        return self.entrance.now()

    @property
    def then(self) -> str:
        """Where the browser goes once somebody has signed in."""
        return f"{DEVICE}?code={shown(self.visit.code)}" if self.visit.code else ME

    def checked(self, session: BrowserSession | None = None) -> Mapping[str, str]:
        """The form, which says the token of its session, or of its visit.

        Args:
            session: Whose form it is; None: that of a visit.

        Raises:
            SignInError: it does not.
        """
        origin, token = self.request.headers.get("Origin"), self.visit.token if session is None else session.token
        if origin not in {None, self.opened.ways.address} or not same(self.form.get("token", ""), token):
            raise stale()
        return self.form

    async def signed_in(self) -> tuple[BrowserSession, Account] | None:
        """Who they are; None: nobody has signed in with this browser."""
        value, now = self.opened.cookies.session(self.request), self.now

        def found(connection: Connection) -> tuple[BrowserSession, Account] | None:
            session = session_of(connection, value, now)
            account = None if session is None or session.account is None else account_named(connection, session.account)
            return None if session is None or account is None else (session, account)

        return await self.entrance.database.do(found) if value else None

    async def sign_in(self, account: Account, answer: web.Response) -> web.Response:
        """Begin a session, whose cookie goes with an answer.

        Args:
            account: Whose it is.
            answer: That one.
        """
        now = self.now
        value = await self.entrance.database.do(lambda it: begin_session(it, now, account=account.id))
        self.opened.cookies.keep_session(answer, value)
        return answer

    def page(self, template: str, **more: Any) -> web.Response:
        """A page of a template.

        Args:
            template: Its file.
            more: What it shows beside the view.
        """
        made = self.pages.page(template, PageMatter(self.view, {}, {}), **more)
        return web.Response(body=made.body, headers={**OWN_HEADERS, "Content-Type": made.kind})

    def told(self, title: str, words: str, status: int = 200) -> web.Response:
        """A page with a few words.

        Args:
            title: Above them.
            words: Sentences.
            status: HTTP's.
        """
        response = self.page("error.html", title=title, says=words)
        response.set_status(status)
        if status != 200:
            response.force_close()
        return response


def moved(to: str) -> web.Response:
    """Send a browser to another address here."""
    return web.Response(status=303, headers={**OWN_HEADERS, "Location": to})
