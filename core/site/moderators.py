"""Moderators' pages (`/m`): what waits for signatures, who takes part, who asks to come in, copies, and what was done.

A moderator signs in by an address that holds once, for a minute; the backbone gives it for a question that the
moderator's key has signed, and says here whose it was.  What a page shows comes from the backbone with each request,
which sees whether the key is still a moderator's: who was removed reads nothing more.

Nothing is signed here, since this process has no key.  What has to be signed stands on the page as a command for the
moderator's own computer.  It names people by their keys: names are words of strangers, and a shell would read them.
People's requests alone are answered here, since no record of the swarm has them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web

from core.api.moderation import change_text
from core.base.content import digest
from core.base.site.channel import MODERATORS_ENTER, SAID_LETTERS, DeskAct, ModeratorFacts
from core.site.accounts import SignInError, answer, waiting
from core.site.browser import MODERATOR, MODERATOR_S
from core.site.entrance import Entrance
from core.site.sessions import BrowserSession, begin_session, end_session, session_of
from core.site.tables import REASON_LETTERS
from core.site.visitor import Visitor, moved

PEOPLE: Final = "/m/people"
REQUESTS: Final = "/m/requests"
ROWS: Final = 100
TABS: Final = {
    "/m": ("Decisions", DeskAct.DECISIONS),
    PEOPLE: ("People", DeskAct.PEOPLE),
    REQUESTS: ("Requests", DeskAct.DECISIONS),
    "/m/copies": ("Copies", DeskAct.COPIES),
    "/m/audit": ("What was done", DeskAct.AUDIT),
}
"""By address: the title of the page, and what the backbone is asked for."""


async def enter(visitor: Visitor) -> web.Response:
    """Sign a moderator in, once somebody has pressed the button (`GET` and `POST /m/in`)."""
    if not visitor.form:
        code = visitor.request.query.get("code", "")
        response = visitor.page("enter.html", code=code, token=visitor.visit.token)
        visitor.opened.cookies.keep_visit(response, visitor.visit)
        return response
    visitor.checked()
    visitor.entrance.count(visitor.household)
    proof = digest(visitor.form.get("code", "").encode())
    facts, now = await _told(visitor, DeskAct.ENTER, proof), visitor.now
    value = await visitor.entrance.database.do(
        lambda it: begin_session(it, now, moderator=facts.key, seconds=MODERATOR_S)
    )
    response = moved("/m")
    visitor.opened.cookies.keep_session(response, value, MODERATOR)
    return response


async def show(visitor: Visitor, problem: str = "") -> web.Response:
    """One of the pages (`GET` of each of `TABS`).

    Args:
        visitor: Who asks.
        problem: Why an answer did not count; empty: there was none, or it did.
    """
    path = visitor.request.path
    session, facts = await _signed_in(visitor, TABS[path][1])
    asked = await visitor.entrance.database.do(waiting) if path == REQUESTS else ()
    said = visitor.request.query.get("page", "1")
    page = min(int(said), 1 + len(facts.people) // ROWS) if said.isascii() and said.isdecimal() and len(said) < 5 else 1
    first = ROWS * max(page - 1, 0)
    more = {"tabs": TABS, "path": path, "token": session.token, "change_text": change_text, "asked": asked}
    rows = {"people": facts.people[first : first + ROWS], "page": page, "more": len(facts.people) > first + ROWS}
    letters = {"problem": problem, "letters": REASON_LETTERS}
    return visitor.page("moderators.html", facts=facts, **more, **rows, **letters)


async def reply(visitor: Visitor) -> web.Response:
    """Answer somebody who asks to be let in (`POST /m/requests`)."""
    session, facts = await _signed_in(visitor, DeskAct.DECISIONS)
    form = visitor.checked(session)
    if not await asyncio.shield(_answered(visitor.entrance, facts, form)):  # whoever leaves is written down as well
        return await show(visitor, "Somebody else has answered this request already.")
    return moved(REQUESTS)


async def _answered(entrance: Entrance, facts: ModeratorFacts, form: Mapping[str, str]) -> bool:
    """Take an answer, and have it written down; returns whether it counts."""
    database, said, yes = entrance.database, form.get("number", ""), form.get("answer") == "yes"
    number, reason = int(said) if said.isascii() and said.isdecimal() and len(said) < 16 else 0, form.get("reason", "")
    name = next((one.name for one in await database.do(waiting) if one.number == number), "")
    if not await database.do(lambda it: answer(it, number, yes=yes, reason=reason, moderator=facts.name)):
        return False
    words = f"{name} (request {number}): {'yes' if yes else 'no'}"[:SAID_LETTERS]
    await entrance.line.ask(DeskAct.ANSWERED, key=facts.key, words=words)
    return True


async def out(visitor: Visitor) -> web.Response:
    """End the session of this browser (`POST /m/out`)."""
    session = await _session(visitor)
    visitor.checked(session)
    await visitor.entrance.database.do(lambda it: end_session(it, session))
    response = moved("/")
    visitor.opened.cookies.keep_session(response, "", MODERATOR)
    return response


ANSWERS: Final[Mapping[tuple[str, str], Callable[[Visitor], Awaitable[web.Response]]]] = {
    ("GET", MODERATORS_ENTER): enter,
    ("POST", MODERATORS_ENTER): enter,
    **{("GET", path): show for path in TABS},
    ("POST", REQUESTS): reply,
    ("POST", "/m/out"): out,
}


async def _session(visitor: Visitor) -> BrowserSession:
    value, now = visitor.opened.cookies.session(visitor.request, MODERATOR), visitor.now
    found = await visitor.entrance.database.do(lambda it: session_of(it, value, now)) if value else None
    if found is None or found.moderator is None:
        raise SignInError("signed_out", "These pages are for moderators. To sign in, type: potluck moderate page")
    return found


async def _signed_in(visitor: Visitor, act: DeskAct) -> tuple[BrowserSession, ModeratorFacts]:
    """The session of a moderator, and what the backbone tells this moderator now."""
    session = await _session(visitor)
    assert session.moderator is not None
    return session, await _told(visitor, act, session.moderator)


async def _told(visitor: Visitor, act: DeskAct, key: bytes) -> ModeratorFacts:
    said = await visitor.entrance.line.ask(act, key=key)
    if said.facts is None:
        raise SignInError(said.error, said.words)
    return said.facts
