"""OAuth's code flow: what ways in at other sites have in common, PKCE, `state` and bounded requests; and GitHub.

GitHub is not an issuer of OpenID Connect for people: its API says who somebody is.
"""

import asyncio
import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Final, Protocol
from urllib.parse import quote, urlencode

import aiohttp
import msgspec

from core.base.names import usable_name
from core.base.site.ways import GitHub
from core.site.accounts import ProvenPerson, SignInError
from core.site.browser import Visit, encoded, same

ANSWER_S: Final = 10.0
ANSWER_BYTES_MAX: Final = 256 * 1024
CODE_LETTERS_MAX: Final = 2048
GITHUB: Final = "github"
NO_ANSWER: Final = ("away", "The other site does not answer as it should. Try again in some minutes.")


class RedirectWay(Protocol):
    """A way in that sends a browser to another site, which sends it back."""

    async def address(self, visit: Visit, back: str) -> str:
        """Where the browser goes.

        Args:
            visit: The browser's.
            back: Where it comes back to.

        Raises:
            SignInError: the other site does not answer.
        """
        ...

    async def identity(self, query: Mapping[str, str], visit: Visit, back: str) -> ProvenPerson:
        """Who somebody is who has come back.

        Args:
            query: What the other site has the browser say.
            visit: The browser's.
            back: As in `address`.

        Raises:
            SignInError: nothing is proven.
        """
        ...


class Requests:
    """Asks other sites: never redirected, in bounded time, for JSON of bounded size."""

    def __init__(self) -> None:
        self._client: aiohttp.ClientSession | None = None

    async def json(
        self, address: str, *, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """The object at an address.

        Args:
            address: Where it is.
            form: Sent by POST; None: nothing is sent.
            headers: Further ones.

        Raises:
            SignInError: there is none.
        """
        if self._client is None:
            timeout = aiohttp.ClientTimeout(total=ANSWER_S)
            self._client = aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())
        method, sent = ("GET", None) if form is None else ("POST", dict(form))
        asked = {"Accept": "application/json", "User-Agent": "Potluck", **(headers or {})}
        try:
            async with self._client.request(method, address, data=sent, headers=asked, allow_redirects=False) as answer:
                body = await answer.content.read(ANSWER_BYTES_MAX + 1)
                while not answer.content.at_eof() and len(body) <= ANSWER_BYTES_MAX:
                    body += await answer.content.read(ANSWER_BYTES_MAX + 1)
                if answer.status != 200 or len(body) > ANSWER_BYTES_MAX:
                    raise SignInError(*NO_ANSWER)
                return msgspec.json.decode(body, type=dict[str, Any])
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, asyncio.IncompleteReadError) as error:
            raise SignInError(*NO_ANSWER) from error

    async def close(self) -> None:
        """End the connections to other sites."""
        if self._client is not None:
            await self._client.close()


def asked(name: str, visit: Visit) -> dict[str, str]:
    """What an address says of this attempt: `state`, and the challenge of PKCE (RFC 7636, S256).

    Args:
        name: The way's, since each has its own `state`.
        visit: The browser's.
    """
    challenge = encoded(hashlib.sha256(verifier(name, visit).encode()).digest())
    return {"state": state(name, visit), "code_challenge": challenge, "code_challenge_method": "S256"}


def state(name: str, visit: Visit) -> str:
    """What comes back with this browser only, by this way only."""
    return visit.derived(f"state {name}")


def verifier(name: str, visit: Visit) -> str:
    """What proves that this site has asked."""
    return visit.derived(f"verifier {name}")


def code_of(name: str, query: Mapping[str, str], visit: Visit, issuer: str = "", *, says_issuer: bool = False) -> str:
    """The code of an answer that is meant for this attempt.

    Args:
        name: The way's.
        query: What came.
        visit: The browser's.
        issuer: The one that was asked; empty: it has no name.
        says_issuer: Whether its answers always name it (RFC 9207).

    Raises:
        SignInError: it is another one's answer, or a refusal.
    """
    if not same(query.get("state", ""), state(name, visit)):
        raise SignInError("expired", "This answer is not for you, or it comes too late. Sign in again.")
    named = query.get("iss")
    if (issuer and (named is None if says_issuer else False)) or (issuer and named not in {None, issuer}):
        raise SignInError("expired", "Another site has answered than was asked. Sign in again.")
    if "error" in query:
        raise SignInError("access_denied", "The other site did not let you in, or you said no there.")
    code = query.get("code", "")
    if not code or len(code) > CODE_LETTERS_MAX:
        raise SignInError(*NO_ANSWER)
    return code


def basic(user: str, password: str) -> str:
    """The header that names a client and its secret (RFC 6749, 2.3.1)."""
    pair = f"{quote(user, safe='')}:{quote(password, safe='')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def text_of(found: Mapping[str, Any], *keys: str) -> str:
    """The first of these entries that is words."""
    return next((value for key in keys if isinstance(value := found.get(key), str) and value), "")


class GitHubWay:
    """Lets GitHub say who somebody is: by the number of the account, since its name may change hands.

    Args:
        settings: This site, as GitHub knows it.
        requests: Asks it.
    """

    def __init__(self, settings: GitHub, requests: Requests) -> None:
        self._settings = settings
        self._requests = requests

    async def address(self, visit: Visit, back: str) -> str:
        """GitHub's page for people; see `RedirectWay`."""
        query = {"client_id": self._settings.client_id, "redirect_uri": back, **asked(GITHUB, visit)}
        return f"{self._settings.site}/login/oauth/authorize?{urlencode(query)}"

    async def identity(self, query: Mapping[str, str], visit: Visit, back: str) -> ProvenPerson:
        """Who GitHub says it is; see `RedirectWay`."""
        form = {
            "client_id": self._settings.client_id,
            "client_secret": self._settings.client_secret,
            "code": code_of(GITHUB, query, visit),
            "redirect_uri": back,
            "code_verifier": verifier(GITHUB, visit),
        }
        tokens = await self._requests.json(f"{self._settings.site}/login/oauth/access_token", form=form)
        bearer = {"Authorization": f"Bearer {text_of(tokens, 'access_token')}"}
        found = await self._requests.json(f"{self._settings.api}/user", headers=bearer)
        number, login = found.get("id"), text_of(found, "login")
        if not isinstance(number, int) or number <= 0:
            raise SignInError(*NO_ANSWER)
        name = usable_name(login) or "A volunteer"
        return ProvenPerson(GITHUB, self._settings.site, str(number), name, (login,) if login else ())
