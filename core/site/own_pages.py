"""Pages of people who have signed in: a computer that asks to be let in, and what is kept of them."""

from collections.abc import Mapping
from typing import Final

from aiohttp import web

from core.base.site.channel import DeskAct
from core.site.accounts import Account, SignInError, ask_again, take_out
from core.site.device_codes import shown, typed
from core.site.sessions import end_session
from core.site.sign_in import choose
from core.site.tables import WORDS_LETTERS, AccountState
from core.site.visitor import ME, Visitor, moved

KEY_LETTERS: Final = 64
KEPT: Final = "A digest of what you signed in with is kept, since a moderator's answer to you holds."


async def device(visitor: Visitor) -> web.Response:
    """Ask whether a computer is to be let in, and take the answer (`GET` and `POST /in/device`)."""
    said = visitor.form.get("code", "") or visitor.request.query.get("code", "")
    code, signed_in = typed(said), await visitor.signed_in()
    if signed_in is None:
        return await choose(visitor)
    session, account = signed_in
    if not code:
        problem = "A code has eight letters, such as BDFG-HJKL." if said else ""
        return visitor.page("device.html", device=None, problem=problem, token=session.token, account=account)
    codes = visitor.entrance.codes
    found = codes.read(code, visitor.household, visitor.now)
    if not visitor.form:
        more = {"code": shown(code), "token": session.token, "account": account}
        return visitor.page("device.html", device=found, problem="", **more)
    if visitor.checked(session).get("answer") != "yes":
        codes.refuse(code, SignInError("access_denied", "Somebody has said no in the browser."))
        return visitor.told("Not let in", "That computer gets nothing.")
    codes.let_in(code, account.id, visitor.now)
    if account.refusal is not None:
        return visitor.told("Almost", account.refusal.words)
    return visitor.told("Done", "Your computer goes on by itself. You can close this page.")


async def out(visitor: Visitor) -> web.Response:
    """End the session of this browser (`POST /out`)."""
    if (signed_in := await visitor.signed_in()) is not None:
        session, _ = signed_in
        visitor.checked(session)
        await visitor.entrance.database.do(lambda connection: end_session(connection, session))
    return _without_session(visitor, moved("/"))


async def me(visitor: Visitor) -> web.Response:
    """What is kept of somebody, and what they can change (`GET` and `POST /me`)."""
    signed_in = await visitor.signed_in()
    if signed_in is None:
        return await choose(visitor)
    session, account = signed_in
    if visitor.form:
        return await _change(visitor, visitor.checked(session), account)
    here = await visitor.entrance.line.ask(DeskAct.DEVICES, account.id)
    more = {"denied": account.state is AccountState.DENIED, "letters": WORDS_LETTERS}
    return visitor.page("me.html", account=account, asked=here, token=session.token, **more)


async def _change(visitor: Visitor, form: Mapping[str, str], account: Account) -> web.Response:
    """Do what somebody asks about their account."""
    database, line, now = visitor.entrance.database, visitor.entrance.line, visitor.now
    key, words = form.get("key", ""), form.get("words", "")
    match form.get("act"):
        case "end" if len(key) == KEY_LETTERS and set(key) <= set("0123456789abcdef"):
            await line.ask(DeskAct.END, account.id, bytes.fromhex(key))
        case "ask":
            await database.do(lambda it: ask_again(it, account, words, now))
        case "leave" if form.get("sure") == "yes":
            ended = await line.ask(DeskAct.END, account.id)
            shut_out = ended.error in {"banned", "held"}
            if ended.error and not shut_out:
                raise SignInError("away", ended.words)
            if visitor.entrance.forget is not None:
                await visitor.entrance.forget(ended.account)
            forgotten = await database.do(lambda it: take_out(it, account, shut_out=shut_out))
            words = "Nothing is kept of your account here." if forgotten else KEPT
            return _without_session(visitor, visitor.told("You are out", words))
    return moved(ME)


def _without_session(visitor: Visitor, response: web.Response) -> web.Response:
    visitor.opened.cookies.keep_session(response, "")
    return response
