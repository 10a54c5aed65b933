"""Signing in at the page of a collaboration, which ends in a ticket: an invitation for one computer (RFC 8628).

This computer asks the page for two codes, shows the short one and the page's address, and asks again and again with
the long one until the person has signed in there, by whatever way: no password is typed here.  The desk says where the
page is.  A ticket is used as an invitation is.  While a moderator is asked, the long code is kept in the
collaboration's folder, mode 0600, so that the engine can go on asking.

What the worst page gains: a person who opens a page of its own address; requests with a label and its own code, at
least `INTERVAL_MIN_S` apart; words of `WORDS_LETTERS` letters in a sentence that says whose they are.  What the worst
backbone gains by naming a page: such a request to a port of this computer, or to a host with a certificate.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, TypeVar
from urllib.parse import urlsplit

import aiohttp
import msgspec
from msgspec import Meta

from core.backbone.link import INVITE_LETTERS_MAX
from core.base.problems import NotTrusted, RemoteProblem, WireProblem, printable
from core.base.wire import Schema
from core.joining.introduction import TIMEOUT_S, UNANSWERED, read_answer
from core.joining.refused import REFUSALS, SignInProblem
from core.net.addresses.interfaces import is_loopback
from core.net.clock import steady_s
from core.system.atomic_files import read_bounded, write_atomic

SIGN_IN: Final = "sign-in.json"
ANSWER_BYTES_MAX: Final = 16 * 1024
LABEL_LETTERS: Final = 40
WORDS_LETTERS: Final = 300
MODERATOR_S: Final = 60.0
"""Pause before the page is asked again whether a moderator has answered, seconds."""
LIFE_MAX_S: Final = 3600.0
"""Upper bound on the time for signing in; a page usually gives a quarter of an hour."""
INTERVAL_MIN_S: Final = 1.0
INTERVAL_MAX_S: Final = 60.0
SLOWER_S: Final = 5.0
"""By how much the interval grows when the page asks for that (RFC 8628, 3.5)."""

Answer = TypeVar("Answer")
_Code = Annotated[str, Meta(pattern="^[!-~]{1,128}$")]
_Address = Annotated[str, Meta(pattern="^[!-~]{1,255}$")]

_CALLED: Final[Mapping[str, str]] = MappingProxyType({"expired_token": "expired"})
"""Words of RFC 8628 that have another name here."""
_PENDING: Final = frozenset({"authorization_pending", "slow_down"})
_OUT_OF_ORDER: Final = frozenset({"away", "busy", "out_of_order", "temporarily_unavailable", "unknown"})


class NotYet(RemoteProblem):
    """The person has not signed in yet.

    Args:
        slower: Whether the page wants to be asked less often.
    """

    def __init__(self, *, slower: bool) -> None:
        super().__init__("Nobody has signed in yet.")
        self.slower = slower


class ModeratorAsked(RemoteProblem):
    """The person has signed in, and a moderator has not answered yet."""

    code = "sign_in.asked"

    def __init__(self) -> None:
        message, hint = REFUSALS["asked"]
        super().__init__(message, hint=hint)


class PageProblem(RemoteProblem):
    """The page has answered something of which nothing follows."""


class DeviceAuthorization(msgspec.Struct, frozen=True):
    """What the page answers a computer whose person is about to sign in (RFC 8628, 3.2)."""

    device_code: _Code
    user_code: Annotated[str, Meta(pattern="^[!-~]{1,20}$")]
    verification_uri: _Address
    verification_uri_complete: _Address
    expires_in: Annotated[float, Meta(gt=0, le=1e9)]
    interval: Annotated[float, Meta(ge=0, le=1e9)] = 5.0


class _Given(msgspec.Struct, frozen=True):
    """What the page answers once the person has signed in."""

    ticket: Annotated[str, Meta(pattern=f"^[A-Za-z0-9_-]{{1,{INVITE_LETTERS_MAX}}}$")]
    name: Annotated[str, Meta(max_length=80)] = ""


class _Refused(msgspec.Struct, frozen=True):
    """Why the page gives no ticket, or none yet."""

    error: Annotated[str, Meta(max_length=64)]
    words: Annotated[str, Meta(max_length=2000)] = ""
    until: Annotated[float, Meta(ge=0, le=1e12)] = 0.0


class SignedIn(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of signing in until this computer has its pass."""

    site: _Address
    device_code: _Code
    ticket: Annotated[str, Meta(max_length=INVITE_LETTERS_MAX)] = ""
    """Empty: a moderator has not answered yet."""
    name: Annotated[str, Meta(max_length=80)] = ""
    """The person's, as the page knows it; empty: it does not say."""


_AUTHORIZATIONS: Final = Schema(
    DeviceAuthorization, named="the codes of a page", bytes_max=ANSWER_BYTES_MAX, form="json"
)
_TICKETS: Final = Schema(_Given, named="a ticket", bytes_max=ANSWER_BYTES_MAX, form="json")
_ERRORS: Final = Schema(_Refused, named="a page's refusal", bytes_max=ANSWER_BYTES_MAX, form="json")


def check_site(address: str) -> str:
    """The address of a page, at which it is safe to sign in.

    Raises:
        NotTrusted: others could read what is typed there, or it is not an address.
    """
    hint = "Tell the organiser, or ask for a link with an invitation."
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    bare = not (parts.username or parts.query or parts.fragment or parts.path.strip("/"))
    if parts.scheme not in {"http", "https"} or not host or not bare or not address.isascii():
        raise NotTrusted("The backbone names no address at which anybody could sign in.", hint=hint)
    if parts.scheme == "http" and not is_loopback(host):
        message = "Others could read what you type at {site}: its address does not begin with https."
        raise NotTrusted(message, address, hint=hint)
    return address.rstrip("/")


async def begin(site: str, *, device: str) -> DeviceAuthorization:
    """Ask a page for the codes by which a person signs in for this computer.

    Args:
        site: Address of the page.
        device: What this computer calls itself.

    Raises:
        SignInProblem: the page does not offer that.
        NotTrusted: its address cannot be trusted, or it sends people to another one.
        RemoteProblem: it does not answer, or nothing that can be read.
    """
    site = check_site(site)
    try:
        status, body = await _posted(site, "/in/device", {"device": device[:LABEL_LETTERS]})
    except aiohttp.ClientConnectorCertificateError as error:
        why = "The page at {site} cannot prove that it is the one that its address names."
        raise PageProblem(why, site, hint="Tell the organiser.") from error
    except UNANSWERED as error:
        if isinstance(error, RemoteProblem):
            raise
        hint = "Check your connection, and try again later."
        raise PageProblem("No page answers at {site}.", site, hint=hint) from error
    if status != 200:
        raise _refusal(status, body)
    given = _read(_AUTHORIZATIONS, body)
    for address in (given.verification_uri, given.verification_uri_complete):
        if urlsplit(address)[:2] != urlsplit(site)[:2]:
            hint = "Tell the organiser, and do not open it."
            raise NotTrusted("The page at {site} sends people to another address.", site, hint=hint)
    return given


async def ask_ticket(site: str, device_code: str) -> SignedIn:
    """Ask a page once whether the person has signed in; the answer has a ticket.

    Args:
        site: Address of the page.
        device_code: The long code.

    Raises:
        NotYet: nobody has.
        ModeratorAsked: a moderator has not answered yet.
        SignInProblem: this computer is not let in.
        RemoteProblem: nothing of it can be read; an error of aiohttp or OSError: the page does not answer.
    """
    status, body = await _posted(check_site(site), "/in/ticket", {"device_code": device_code})
    if status != 200:
        raise _refusal(status, body)
    given = _read(_TICKETS, body)
    return SignedIn(site=site, device_code=device_code, ticket=given.ticket, name=printable(given.name))


async def wait_for_ticket(
    site: str,
    given: DeviceAuthorization,
    *,
    rest: Callable[[float], Awaitable[object]] = asyncio.sleep,
    clock: Callable[[], float] = steady_s,
) -> SignedIn:
    """Ask a page at its interval until the person has signed in.

    Args:
        site: Address of the page.
        given: What it gave.
        rest: Waits a number of seconds.
        clock: Seconds, of a clock that only goes on.

    Returns:
        With a ticket, or without one where a moderator is asked.

    Raises:
        SignInProblem: this computer is not let in, or the time is over.
        RemoteProblem: what the page answers cannot be read.
    """
    ends = clock() + min(given.expires_in, LIFE_MAX_S)
    interval_s = min(max(given.interval, INTERVAL_MIN_S), INTERVAL_MAX_S)
    while clock() + interval_s <= ends:
        await rest(interval_s)
        try:
            return await ask_ticket(site, given.device_code)
        except NotYet as answer:
            interval_s += SLOWER_S if answer.slower else 0.0
        except ModeratorAsked:
            return SignedIn(site=site, device_code=given.device_code)
        except PageProblem:
            raise
        except UNANSWERED:
            interval_s = min(2 * interval_s, INTERVAL_MAX_S)
    raise SignInProblem("expired")


def keep_sign_in(folder: Path, signed_in: SignedIn | None) -> None:
    """Keep what signing in has given until there is a pass, or forget it.

    Args:
        folder: What this computer keeps of the collaboration.
        signed_in: None: nothing is to be kept.

    Raises:
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    if signed_in is None:
        (folder / SIGN_IN).unlink(missing_ok=True)
    else:
        write_atomic(folder / SIGN_IN, msgspec.json.encode(signed_in))


async def kept_sign_in(folder: Path) -> SignedIn | None:
    """Somebody who has signed in, with a ticket, asked for where a moderator was asked; None: nobody has signed in.

    Args:
        folder: What this computer keeps of the collaboration.

    Raises:
        ModeratorAsked: a moderator has not answered yet.
        SignInProblem: this computer is not let in, and nothing is kept any more.
        RemoteProblem: nothing follows from what the page answers; an error of aiohttp or OSError: it does not answer.
    """
    try:
        data = read_bounded(folder / SIGN_IN, ANSWER_BYTES_MAX)
        kept = None if data is None else msgspec.json.decode(data, type=SignedIn)
    except ValueError:
        kept = None
    if kept is not None and not kept.ticket:
        try:
            kept = await ask_ticket(kept.site, kept.device_code)
        except NotYet as error:
            raise ModeratorAsked from error
        except SignInProblem:
            keep_sign_in(folder, None)
            raise
        keep_sign_in(folder, kept)
    return kept


async def _posted(site: str, path: str, said: Mapping[str, str]) -> tuple[int, bytes]:
    """Ask a page; it leads nowhere else."""
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_S)) as session,
        session.post(f"{site}{path}", json=said, allow_redirects=False) as response,
    ):
        try:
            return response.status, await read_answer(response, ANSWER_BYTES_MAX)
        except RemoteProblem as error:
            raise _unreadable() from error


def _refusal(status: int, body: bytes) -> NotTrusted | RemoteProblem:
    """What a page's answer means that is not what was asked for."""
    if status in {404, 405}:
        return SignInProblem("older")
    try:
        refused = _ERRORS.decode(body)
    except WireProblem:
        if status >= 500 or status == 429:
            return RemoteProblem("The page answers with an error ({status}).", status)
        return _unreadable()
    error = _CALLED.get(refused.error, refused.error)
    if error in _PENDING:
        return NotYet(slower=error == "slow_down")
    if error == "asked":
        return ModeratorAsked()
    if error in _OUT_OF_ORDER or status >= 500:
        return RemoteProblem("The page can let nobody in at present.")
    known = error if error in REFUSALS else "newer"
    return SignInProblem(known, words=refused.words[:WORDS_LETTERS], until=refused.until)


def _read(schema: Schema[Answer], body: bytes) -> Answer:
    try:
        return schema.decode(body)
    except WireProblem as error:
        raise _unreadable() from error


def _unreadable() -> PageProblem:
    hint = "Tell the organiser, or ask for a link with an invitation."
    return PageProblem("What the collaboration's page answers cannot be read.", hint=hint)
