"""What the addresses for signing in share: the ways in of the moment, and how a computer gets its ticket."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

import msgspec
from aiohttp import web

from core.base.rate_limit import RateLimit
from core.base.site.channel import DeskAct
from core.base.site.ways import GitHub, WaysIn
from core.site.accounts import Account, SignInError, account_named
from core.site.backbone_line import BackboneLine
from core.site.browser import VISIT_S, Cookies, Visit
from core.site.copies import HEADERS, UNCACHED
from core.site.database import Database, DatabaseProblem
from core.site.device_codes import INTERVAL_S, LIFE_S, DeviceCodes, shown
from core.site.forms import JSON, FormError, household_of, read_body
from core.site.ways.oauth import GitHubWay, RedirectWay, Requests
from core.site.ways.oidc import OpenIdConnect
from core.site.ways.passphrase import PassphraseWay

DEVICE: Final = "/in/device"
TICKET: Final = "/in/ticket"
LABEL_LETTERS: Final = 40
ASK_S: Final = 1.0
ASK_BURST: Final = 40
"""Questions to other sites, and new codes, for one household: a class of 30 comes at once."""
USED_MAX: Final = 20_000
"""Visits that are remembered; the oldest makes way, whose answer the other site refuses a second time."""
AWAY: Final = "temporarily_unavailable"

Now: TypeAlias = Callable[[], float]


class OpenWays(NamedTuple):
    """The ways in of the moment.

    Attributes:
        ways: As the organiser has them.
        cookies: Of browsers.
        others: Ways at other sites, by the last part of their addresses here.
    """

    ways: WaysIn
    cookies: Cookies
    others: Mapping[str, RedirectWay]


class Entrance:
    """Opens and closes ways in, and gives computers that wait their tickets.

    Args:
        database: Has accounts and sessions.
        line: Asks the backbone.
        now: Unix seconds.
    """

    def __init__(self, database: Database, line: BackboneLine, now: Now) -> None:
        self.database = database
        self.line = line
        self.now = now
        self.codes = DeviceCodes()
        self.passphrases = PassphraseWay(database)
        self.opened: OpenWays | None = None
        """None: nobody signs in here."""
        self.forget: Callable[[bytes], Awaitable[None]] | None = None
        """Forgets what somebody has chosen whose account is taken out; the argument is that of the admission log."""
        self._requests = Requests()
        self._used: dict[str, float] = {}
        """Visits that have come back from another site, and until when they would hold, the oldest first."""
        self._asked = RateLimit[str](rate_per_s=1 / ASK_S, burst=ASK_BURST)

    def open(self, ways: WaysIn | None) -> None:
        """Have people sign in so from now on; who is on the way begins anew."""
        if ways is None:
            self.opened = None
            return
        cookies = Cookies(secure=ways.address.startswith("https:"))
        self.opened = OpenWays(ways, cookies, _others(ways, self._requests, time.monotonic, self.now))

    async def close(self) -> None:
        """End what runs beside the answers."""
        self.passphrases.close()
        await self._requests.close()

    def count(self, household: str) -> None:
        """Count something that costs others an answer, or memory here.

        Raises:
            SignInError: a household does so too often.
        """
        if not self._asked.admits(household, self.now()):
            raise SignInError("too_often", "Too many tries. Wait for a minute.")

    def use(self, visit: Visit) -> None:
        """Note that a visit has come back from another site: each does once.

        Raises:
            SignInError: it has done so before.
        """
        now = self.now()
        if visit.value in self._used:
            raise SignInError("expired", "This answer was used already. Sign in again.")
        self._used[visit.value] = now + VISIT_S
        while (oldest := next(iter(self._used.items())))[1] < now or len(self._used) > USED_MAX:
            del self._used[oldest[0]]

    async def device(self, request: web.BaseRequest, opened: OpenWays) -> web.Response:
        """A program's request for codes (RFC 8628, 3.1), in JSON."""
        asked = await _read(request)
        if isinstance(asked, web.Response):
            return asked
        household = household_of(request)
        label = "".join(letter for letter in asked.get("device", "") if letter.isprintable())[:LABEL_LETTERS]
        try:
            self.count(household)
            long, made = self.codes.begin(label, household, self.now())
        except SignInError as refused:
            return _refused(refused.error, refused.words)
        at = f"{opened.ways.address}{DEVICE}"
        codes = {"device_code": long, "user_code": shown(made.code)}
        places = {"verification_uri": at, "verification_uri_complete": f"{at}?code={shown(made.code)}"}
        return _json({**codes, **places, "expires_in": int(LIFE_S), "interval": int(INTERVAL_S)})

    async def ticket(self, request: web.BaseRequest) -> web.Response:
        """A program's question whether somebody has signed in (RFC 8628, 3.4), in JSON."""
        asked = await _read(request)
        if isinstance(asked, web.Response):
            return asked
        long = asked.get("device_code", "")[:128]
        try:
            number = self.codes.poll(long, household_of(request), self.now())
            account = await self._let_in(number)
        except SignInError as refused:
            return _refused(refused.error, refused.words)
        except DatabaseProblem as problem:
            return _refused(AWAY, f"{problem.message} {problem.hint}".strip(), status=503)
        answer = await self.line.ask(DeskAct.TICKET, number)
        if answer.error == "out_of_order":
            return _refused(AWAY, answer.words, status=503)
        if answer.error:
            return _refused(answer.error, answer.words, until=answer.until)
        self.codes.done(long)
        return _json({"ticket": answer.ticket, "account": answer.account.hex(), "name": answer.name or account.name})

    async def _let_in(self, number: bytes) -> Account:
        """An account that gets a ticket.

        Raises:
            SignInError: it does not, or was taken out.
            DatabaseProblem: the database cannot be used.
        """
        account = await self.database.do(lambda connection: account_named(connection, number))
        if account is None:
            raise SignInError("expired_token", "This account was taken out. Sign in again.")
        if account.refusal is not None:
            raise account.refusal
        return account


def _others(
    ways: WaysIn, requests: Requests, clock: Callable[[], float], now: Callable[[], float]
) -> dict[str, RedirectWay]:
    """By the last part of their addresses here.

    Args:
        ways: The organiser's.
        requests: Asks other sites.
        clock: Seconds, of a clock that only goes on.
        now: Unix seconds.
    """
    return {
        name: GitHubWay(one, requests) if isinstance(one, GitHub) else OpenIdConnect(name, one, requests, clock, now)
        for name, one in ways.clients.items()
    }


async def _read(request: web.BaseRequest) -> dict[str, str] | web.Response:
    try:
        return msgspec.json.decode(await read_body(request), type=dict[str, str])
    except FormError as refused:
        return _refused("invalid_request", "This request cannot be read.", status=refused.status)
    except ValueError:
        return _refused("invalid_request", "This request cannot be read.")


def _refused(error: str, words: str, *, until: float = 0.0, status: int = 400) -> web.Response:
    return _json({"error": error, "words": words, **({"until": until} if until else {})}, status=status)


def _json(value: Mapping[str, object], *, status: int = 200) -> web.Response:
    headers = {**HEADERS, **UNCACHED, "Content-Type": JSON}
    response = web.Response(body=msgspec.json.encode(value), status=status, headers=headers)
    if status != 200:
        response.force_close()
    return response
