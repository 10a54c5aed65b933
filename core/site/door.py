"""Which address of signing in is answered by what; there is none while nobody signs in here."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

from aiohttp import web

from core.api.site_view import SiteView
from core.site import moderators, own_pages, sign_in
from core.site.accounts import SignInError
from core.site.database import DatabaseProblem
from core.site.entrance import DEVICE, TICKET, Entrance
from core.site.forms import JSON, FormError, read_form
from core.site.pages import Pages
from core.site.visitor import ME, Visitor

_Answer: TypeAlias = Callable[[Visitor], Awaitable[web.Response]]
Answers: TypeAlias = Mapping[tuple[str, str], _Answer]
ANSWERS: Final[Answers] = {
    ("GET", "/in"): sign_in.choose,
    ("POST", "/in"): sign_in.with_passphrase,
    ("GET", "/in/new"): sign_in.new_account,
    ("POST", "/in/new"): sign_in.new_account,
    ("GET", DEVICE): own_pages.device,
    ("POST", DEVICE): own_pages.device,
    ("GET", ME): own_pages.me,
    ("POST", ME): own_pages.me,
    ("POST", "/out"): own_pages.out,
}


class Door(Protocol):
    """Addresses whose answers are for one visitor alone."""

    async def answer(self, request: web.BaseRequest, view: SiteView) -> web.Response | None:
        """The answer to a request; None: it is not for this door.

        Args:
            request: As it came.
            view: What the backbone has sent last.
        """
        ...


class SignInDoor:
    """Answers at `/in`, `/out` and `/me`, and moderators at `/m`.

    Args:
        pages: Makes pages of templates.
        entrance: The ways in.
        more: What else answers people who have signed in, by method and address.
    """

    def __init__(self, pages: Pages, entrance: Entrance, more: Answers = MappingProxyType({})) -> None:
        self._answers = {**ANSWERS, **moderators.ANSWERS, **more}
        self._pages = pages
        self._entrance = entrance

    async def answer(self, request: web.BaseRequest, view: SiteView) -> web.Response | None:
        """The answer to a request, as `Door` has it."""
        entrance, opened, path = self._entrance, self._entrance.opened, request.path
        if opened is None or not (opened.ways.told or (request.method, path) in moderators.ANSWERS):
            return None
        if request.method == "POST" and path in {DEVICE, TICKET} and request.content_type == JSON:
            return await (entrance.device(request, opened) if path == DEVICE else entrance.ticket(request))
        answer = self._answer_at(request.method, path)
        if answer is None:
            return None
        visit = opened.cookies.visit(request, entrance.now())
        try:
            form = await read_form(request) if request.method == "POST" else {}
        except FormError as refused:
            visitor = Visitor(request, view, self._pages, entrance, opened, visit, {})
            return visitor.told("Not read", "This form cannot be read, or is not of this page.", refused.status)
        visitor = Visitor(request, view, self._pages, entrance, opened, visit, form)
        try:
            return await answer(visitor)
        except SignInError as refused:
            return visitor.told("Not signed in", refused.words, 429 if refused.error == "too_often" else 403)
        except DatabaseProblem as problem:
            return visitor.told("Not now", f"{problem.message} {problem.hint}".strip(), 503)

    def _answer_at(self, method: str, path: str) -> _Answer | None:
        if method == "POST" and path.startswith(sign_in.ELSEWHERE):
            return sign_in.elsewhere
        if method == "GET" and path.startswith(sign_in.BACK):
            return sign_in.back
        return self._answers.get((method, path))
