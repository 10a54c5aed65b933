"""Pages on which people sign in: `/in`, `/in/new`, and the ways to other sites and back."""

from typing import Final

from aiohttp import web
from sqlalchemy.exc import IntegrityError

from core.base.site.ways import Admit, OidcIssuer, title_of
from core.site.accounts import Account, ProvenPerson, SignInError, check_listed, enter
from core.site.browser import same
from core.site.device_codes import shown, typed
from core.site.tables import WORDS_LETTERS
from core.site.visitor import Visitor, moved, stale
from core.site.ways.passphrase import LETTERS_MAX, LETTERS_MIN

BACK: Final = "/in/back/"
ELSEWHERE: Final = "/in/oidc/"


async def choose(visitor: Visitor, problem: str = "", name: str = "") -> web.Response:
    """The page on which somebody chooses how to sign in (`GET /in`).

    Args:
        visitor: Who asks.
        problem: Why the last try failed; empty: there was none.
        name: As it was typed then.
    """
    ways, cookies = visitor.opened.ways, visitor.opened.cookies
    visit = cookies.visit(visitor.request, visitor.now, typed(visitor.request.query.get("code", "")))
    others = [(key, title_of(one)) for key, one in ways.clients.items()]
    more = {"others": others, "passphrase": ways.passphrase, "token": visit.token, "code": shown(visit.code)}
    response = visitor.page("in.html", problem=problem, name=name, most=LETTERS_MAX, **more)
    cookies.keep_visit(response, visit)
    return response


async def with_passphrase(visitor: Visitor) -> web.Response:
    """Sign somebody in who knows a passphrase (`POST /in`)."""
    form = visitor.checked()
    if visitor.opened.ways.passphrase is None:
        raise stale()
    name, said = form.get("name", ""), form.get("passphrase", "")
    try:
        known = visitor.entrance.passphrases.known
        account = await known(name, said, household=visitor.household, now=visitor.now)
    except SignInError as refused:
        return await choose(visitor, refused.words, name)
    return await visitor.sign_in(account, moved(visitor.then))


async def new_account(visitor: Visitor) -> web.Response:
    """Make an account with a name and a passphrase (`GET` and `POST /in/new`)."""
    own, form, problem = visitor.opened.ways.passphrase, visitor.form, ""
    if own is None:
        raise SignInError("expired", "Accounts are not made here: sign in by another site.")
    words = form.get("words", "")[:WORDS_LETTERS]
    if form:
        visitor.checked()
        try:
            account = await _made(visitor, words, own.admit)
        except SignInError as refused:
            problem = refused.words
        else:
            return await visitor.sign_in(account, moved(visitor.then))
    bounds = {"least": LETTERS_MIN, "most": LETTERS_MAX, "letters": WORDS_LETTERS}
    more = {"asks": own.admit is Admit.ASKED, "name": form.get("name", ""), "words": words, **bounds}
    response = visitor.page("new.html", problem=problem, token=visitor.visit.token, **more)
    visitor.opened.cookies.keep_visit(response, visitor.visit)
    return response


async def _made(visitor: Visitor, words: str, admit: Admit) -> Account:
    form = visitor.form
    name, passphrase = form.get("name", ""), form.get("passphrase", "")
    if not same(passphrase, form.get("again", "")):
        raise SignInError("passphrase", "The two passphrases differ.")
    new = visitor.entrance.passphrases.new
    return await new(name, passphrase, words, admit=admit, household=visitor.household, now=visitor.now)


async def elsewhere(visitor: Visitor) -> web.Response:
    """Send a browser to another site, which says who is there (`POST /in/oidc/NAME`)."""
    visitor.checked()
    name = visitor.request.path.removeprefix(ELSEWHERE)
    way = visitor.opened.others.get(name)
    if way is None:
        raise stale()
    visitor.entrance.count(visitor.household)
    address = await way.address(visitor.visit, f"{visitor.opened.ways.address}{BACK}{name}")
    return visitor.page("on.html", to=address, title=title_of(visitor.opened.ways.clients[name]))


async def back(visitor: Visitor) -> web.Response:
    """Take what another site says of a browser that comes from there (`GET /in/back/NAME`)."""
    name = visitor.request.path.removeprefix(BACK)
    way = visitor.opened.others.get(name)
    if way is None or visitor.opened.cookies.known_visit(visitor.request, visitor.now) is None:
        raise stale()
    visitor.entrance.count(visitor.household)
    visitor.entrance.use(visitor.visit)
    query, address = dict(visitor.request.query), f"{visitor.opened.ways.address}{BACK}{name}"
    account = await _entered(visitor, name, await way.identity(query, visitor.visit, address))
    return await visitor.sign_in(account, visitor.page("on.html", to=visitor.then, title=""))


async def _entered(visitor: Visitor, name: str, identity: ProvenPerson) -> Account:
    """The account of somebody whom another site has named."""
    client, now, database = visitor.opened.ways.clients[name], visitor.now, visitor.entrance.database
    try:
        organisations = client.organisations if isinstance(client, OidcIssuer) else ()
        check_listed(identity, client.admit, client.listed, organisations)
    except SignInError as refused:
        visitor.entrance.codes.refuse(visitor.visit.code, refused)
        raise
    try:
        return await database.do(lambda connection: enter(connection, identity, client.admit, now))
    except IntegrityError:  # another window of the same person has made it meanwhile
        return await database.do(lambda connection: enter(connection, identity, client.admit, now))
