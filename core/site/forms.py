"""What visitors send: forms, from pages of this site only, small and at once; and where a visitor comes from."""

import asyncio
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final
from unicodedata import category
from urllib.parse import parse_qsl, urlsplit

from aiohttp import web

from core.base.rate_limit import network

BODY_BYTES_MAX: Final = 8 * 1024
BODY_S: Final = 10.0
"""Seconds for the whole body of a form."""
FIELDS_MAX: Final = 16
FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"
BREAKS: Final = "\t\r\n"
"""Control characters that somebody types; the others are refused, and PostgreSQL keeps no NUL."""
LOOPBACK: Final = ("127.0.0.1", "::1")
FORWARDED: Final = ("Forwarded", "X-Forwarded-For", "Via")
"""Headers by which a proxy says that somebody else asks."""


class FormError(Exception):
    """What was sent is not a form that is read here.

    Args:
        status: HTTP's.
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


async def read_form(request: web.BaseRequest) -> Mapping[str, str]:
    """The fields of a form; of equal names the last one.

    Raises:
        FormError: another site's page sends it, or it is not a form, has control characters, is too large, or too slow.
    """
    if not _is_of_this_site(request):
        raise FormError(403)
    if request.content_type != FORM:
        raise FormError(415)
    body = await read_body(request)
    try:
        text = body.decode("ascii")
        form = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict"))
    except ValueError:
        raise FormError(400) from None
    if any(category(letter) == "Cc" and letter not in BREAKS for value in form.values() for letter in value):
        raise FormError(400)
    return form


async def read_body(request: web.BaseRequest) -> bytes:
    """All that a visitor sends.

    Raises:
        FormError: it is too large, too slow, or not packed as it says.
    """
    try:
        async with asyncio.timeout(BODY_S):
            body = b""
            while part := await request.content.readany():
                body += part
                if len(body) > BODY_BYTES_MAX:
                    raise FormError(413)
    except TimeoutError:
        raise FormError(408) from None
    except web.RequestPayloadError:
        raise FormError(400) from None
    return body


def household_of(request: web.BaseRequest) -> str:
    """Where a visitor comes from: who connects, or the address that a proxy on this computer names last."""
    remote = request.remote or "::"
    if remote in LOOPBACK:
        named = ",".join(request.headers.getall("X-Forwarded-For", [])).rpartition(",")[2].strip()
        try:
            return network(str(ip_address(named)))
        except ValueError:
            return "here"
    return network(remote)


def is_of_here(request: web.BaseRequest) -> bool:
    """Whether a program on this computer asks, and for nobody else."""
    return request.remote in LOOPBACK and not any(name in request.headers for name in FORWARDED)


def _is_of_this_site(request: web.BaseRequest) -> bool:
    """Whether a browser says that a page of this site sends a form; another program than a browser may say nothing."""
    origin = request.headers.get("Origin")
    if origin is None:
        return request.headers.get("Sec-Fetch-Site", "same-origin") in {"same-origin", "none"}
    try:
        return urlsplit(origin).netloc == request.host
    except ValueError:  # it is not an address
        return False
