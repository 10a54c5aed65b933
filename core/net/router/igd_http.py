"""HTTP to one router: no other host that it names, no redirects, no endless answers.

Any host of the network may claim to be a router.  This module is imported when one has answered.
"""

import urllib.parse
from typing import Final

from aiohttp import ClientError, ClientSession, ClientTimeout
from async_upnp_client.client import UpnpRequester
from async_upnp_client.const import HttpRequest, HttpResponse
from async_upnp_client.exceptions import UpnpCommunicationError

ANSWER_BYTES_MAX: Final = 256 * 1024
_CHUNK_BYTES: Final = 16 * 1024


class OneHost(UpnpRequester):
    """Sends requests to one host only.

    Args:
        host: Its address; requests to any other fail.
        timeout_s: Time for a whole request, seconds.
    """

    def __init__(self, host: str, *, timeout_s: float) -> None:
        self._host = host
        self._timeout = ClientTimeout(total=timeout_s)

    async def async_http_request(self, http_request: HttpRequest) -> HttpResponse:
        """Send a request and read its bounded answer.

        Raises:
            UpnpCommunicationError: no answer, or one that is too long.
            TimeoutError: the answer takes too long.
        """
        if urllib.parse.urlsplit(http_request.url).hostname != self._host:
            raise UpnpCommunicationError("the router names another host")
        headers = {**(http_request.headers or {}), "Accept-Encoding": "identity"}
        body = bytearray()
        try:
            async with (
                ClientSession(timeout=self._timeout, auto_decompress=False) as session,
                session.request(
                    http_request.method,
                    http_request.url,
                    headers=headers,
                    data=http_request.body,
                    allow_redirects=False,
                ) as response,
            ):
                async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
                    body += chunk
                    if len(body) > ANSWER_BYTES_MAX:
                        raise UpnpCommunicationError("the router's answer has no end")
                return HttpResponse(response.status, response.headers, body.decode(errors="replace"))
        except ClientError as error:
            raise UpnpCommunicationError(repr(error)) from error
