"""What a browser carries: a visit before its person is known, and a session after that, each in a cookie.

A visit is not kept here: its cookie names a moment, chance and perhaps the code of a computer, under a MAC of this
process.  All that signing in needs follows from it, for each issuer alone: the token of its forms, `state`, `nonce` and
the verifier of PKCE.  So strangers fill no memory, and a copied address of an issuer's answer is worth nothing without
the cookie.

Cookies are `__Host-`, Secure and HttpOnly: no other host, no script and no plain connection gets them or sets them.
On this computer, where the page is served without TLS, they have another name and no Secure.  A session is
SameSite=Strict, so that no page elsewhere acts with it; a visit is Lax, since the answer of an issuer comes from
elsewhere, and its cookie is worth nothing but that answer.
"""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Final

from aiohttp import web

VISIT_S: Final = 900
"""Seconds for signing in, with all that an issuer asks."""
SESSION_S: Final = 12 * 3600
SESSION: Final = "session"
"""Name of the cookie of a person who has signed in."""
MODERATOR: Final = "moderator"
MODERATOR_S: Final = 3600
CODE: Final = re.compile("[BCDFGHJKLMNPQRSTVWXZ]{8}")
_VISIT: Final = re.compile(rf"([\w-]{{22}})\.(\d{{1,12}})\.({CODE.pattern})?\.([\w-]{{43}})", re.ASCII)
_SESSION: Final = re.compile(r"[\w-]{43}", re.ASCII)


def encoded(data: bytes) -> str:
    """Bytes as an address can have them (base64url without its padding)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True)
class Visit:
    """A browser on its way to be signed in.

    Attributes:
        value: What its cookie says.
        code: That of the computer for which its person signs in; empty: none.
    """

    value: str
    code: str
    _key: bytes

    def derived(self, label: str) -> str:
        """43 letters that only this process can compute, for one purpose.

        Args:
            label: The purpose, with whom it is for.
        """
        return encoded(hmac.digest(self._key, f"{label}\n{self.value}".encode(), "sha256"))

    @property
    def token(self) -> str:
        """What its forms say, so that no other page can send them."""
        return self.derived("form")


class Cookies:
    """Makes and reads both kinds of cookies.

    Args:
        secure: Whether the page is served by TLS.
    """

    def __init__(self, *, secure: bool) -> None:
        self._secure = secure
        self._prefix = "__Host-" if secure else ""
        self._key = secrets.token_bytes(32)

    def visit(self, request: web.BaseRequest, now: float, code: str = "") -> Visit:
        """The visit of a request, or a new one.

        Args:
            request: As it came.
            now: Unix seconds.
            code: Of a computer for which its person signs in; empty: as before.
        """
        known = self.known_visit(request, now)
        if known is not None and code in {"", known.code}:
            return known
        payload = f"{encoded(secrets.token_bytes(16))}.{int(now)}.{code}"
        return Visit(f"{payload}.{self._mac(payload)}", code, self._key)

    def known_visit(self, request: web.BaseRequest, now: float) -> Visit | None:
        """The visit of a request; None: it has none that holds."""
        value = request.cookies.get(f"{self._prefix}visit", "")
        match = _VISIT.fullmatch(value)
        if match is None or not 0 <= now - int(match[2]) <= VISIT_S:
            return None
        payload = value.rpartition(".")[0]
        return Visit(value, match[3] or "", self._key) if hmac.compare_digest(self._mac(payload), match[4]) else None

    def session(self, request: web.BaseRequest, name: str = SESSION) -> str:
        """What the cookie of a session says; empty: there is none.

        Args:
            request: As it came.
            name: Whose session: `SESSION` or `MODERATOR`.
        """
        value = request.cookies.get(f"{self._prefix}{name}", "")
        return value if _SESSION.fullmatch(value) else ""

    def keep_visit(self, response: web.Response, visit: Visit) -> None:
        """Have the browser carry a visit."""
        self._set(response, "visit", visit.value, seconds=VISIT_S, same_site="Lax")

    def keep_session(self, response: web.Response, value: str, name: str = SESSION) -> None:
        """Have the browser carry a session, in the place of the visit.

        Args:
            response: Takes the cookie there.
            value: What it says; empty: the session is over.
            name: Whose session: `SESSION` or `MODERATOR`.
        """
        seconds = 0 if not value else SESSION_S if name == SESSION else MODERATOR_S
        self._set(response, "visit", "", seconds=0, same_site="Lax")
        self._set(response, name, value, seconds=seconds, same_site="Strict")

    def _set(self, response: web.Response, name: str, value: str, *, seconds: int, same_site: str) -> None:
        response.set_cookie(
            f"{self._prefix}{name}",
            value,
            max_age=seconds,
            path="/",
            secure=self._secure,
            httponly=True,
            samesite=same_site,
        )

    def _mac(self, payload: str) -> str:
        return encoded(hmac.digest(self._key, f"visit\n{payload}".encode(), "sha256"))


def same(one: str, other: str) -> bool:
    """Whether two words are equal, in a time that does not tell how far."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def digest(value: str) -> bytes:
    """What is kept of a secret of 256 random bits."""
    return hashlib.sha256(value.encode()).digest()
