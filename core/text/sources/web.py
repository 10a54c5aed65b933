"""HTTP for strangers' servers: no address of this computer's own network, bounded waits, the person's line limit.

A name may lead anywhere, and so may a redirection: a server could have its readers ask their own router, or a service
that trusts this computer.  So each connection goes to an address that was looked at: one that the whole internet can
reach.  A private or loopback address is asked only where the manifest itself has it in its address, and the person has
named it or joined by a link into that network (`Access.near`); those where clouds keep their secrets never.
"""

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from core.api.data_state import DataCode
from core.base.addresses import ipv4_inside, is_own, is_reachable
from core.text.sources.source import READ_BYTES, Access, ShardUnreadable, SourceStalled
from core.text.sources.versions import SeenVersions, Version
from core.text.sources.web_line import TooSlowError, WebLine

CONNECT_S: Final = 8.0
SILENCE_S: Final = 12.0
"""Silence after which a server counts as one that does not answer."""
REDIRECTIONS_MAX: Final = 5
WINDOW_BYTES: Final = 1024 * 1024
"""Bytes that the system receives before they are read: these may come faster than the person's limit."""
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_AGAIN: Final = frozenset({408, 425, 429})
"""States of a server that is asked too much, or too early."""
_CLOUD: Final = [
    ipaddress.ip_network(each)
    for each in (
        *("100.100.100.200", "168.63.129.16"),  # Alibaba, Azure; others have link-local ones or 192.0.0.192
        *("fd00:ec2::/32", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42"),  # Amazon, Google, Oracle, Scaleway
    )
]
"""Where a computer in a cloud asks for its keys, as far as the rules for other addresses would let it be asked."""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """What a server says of a file before it gives any of it."""

    size: int
    """Size of the whole file, bytes; 0: the server does not say."""
    ranges: bool
    """Whether it gives the range that was asked for, else the whole file."""
    version: Version
    """Its ETag and Last-Modified."""


class Web:
    """Asks web servers on behalf of one source.

    Args:
        address: Where the source is.
        access: What the source may use.
        headers: Further headers for that host alone.
        seen: The address that the manifest, or the person, has: its host may be in the person's own network; empty: it
            is the same one.
    """

    def __init__(self, address: str, access: Access, *, headers: Mapping[str, str], seen: str = "") -> None:
        self._own = urlsplit(address)
        self._seen = urlsplit(seen or address).hostname
        self._access = access
        self._headers = headers
        self._tls = ssl.create_default_context()
        self._versions = SeenVersions()
        self._ranged: set[str] = set()
        """Files of which a range was given once."""

    def look(self, url: str) -> WebAnswer:
        """What there is at an address.

        Raises:
            SourceStalled: there is nothing, or it cannot be had.
        """
        connection, answer = self._ask(url, 0, 1)
        connection.close()
        self._versions.check(url, answer.version, name=web_name(url))
        return answer

    def read(self, url: str, start: int, end: int | None, *, size: int) -> Iterator[bytes]:
        """The bytes of a range, at most `READ_BYTES` at a time; what breaks off is gone on with as long as more comes.

        Args:
            url: The file.
            start: The first byte.
            end: The byte behind the last; None: the file's end.
            size: Size of the file, as `look` had it; 0: nobody knows.

        Raises:
            SourceStalled: it cannot be had now.
            ShardUnreadable: the file has another size than it had.
        """
        end = end if end is not None else (size or None)
        at = start
        while end is None or at < end:
            before = at
            connection, answer = self._again(url, at, end)
            try:
                if size and answer.size not in {0, size}:
                    raise ShardUnreadable(DataCode.FILE_CHANGED, name=web_name(url))
                self._versions.check(url, answer.version, name=web_name(url))
                if answer.ranges:
                    self._ranged.add(url)
                elif at:
                    raise (
                        self._wrong(url)
                        if url in self._ranged
                        else ShardUnreadable(DataCode.DAMAGED, name=web_name(url))
                    )
                for chunk in self._body(connection, None if end is None else end - at):
                    at += len(chunk)
                    yield chunk
            finally:
                connection.close()
            if end is None:
                return
            if at == before or (at < end and not answer.ranges):
                raise self._stalled()

    def _body(self, connection: "_Connection", left: int | None) -> Iterator[bytes]:
        """What comes, at most `left` bytes; it ends early where the connection breaks."""
        allowed = 0
        while left is None or left > 0:
            if not allowed:
                allowed = READ_BYTES if left is None else min(left, READ_BYTES)
                self._access.allow(allowed)
                connection.line.expect(allowed)
            try:
                chunk = connection.response.read1(allowed)
            except (http.client.IncompleteRead, TooSlowError) as error:
                raise self._stalled() from error
            except (OSError, http.client.HTTPException):
                if left is None:
                    raise self._stalled() from None
                return
            if not chunk:
                return
            allowed -= len(chunk)
            left = None if left is None else left - len(chunk)
            yield chunk

    def _again(self, url: str, start: int, end: int | None) -> tuple["_Connection", WebAnswer]:
        """Ask for a file that was there before.

        Raises:
            ShardUnreadable: it is not there any more.
        """
        try:
            return self._ask(url, start, end)
        except SourceStalled as trouble:
            if trouble.code == DataCode.MISSING:
                raise ShardUnreadable(trouble.code, **trouble.arguments) from trouble
            raise

    def _ask(self, url: str, start: int, end: int | None) -> tuple["_Connection", WebAnswer]:
        asked = url
        for _ in range(REDIRECTIONS_MAX + 1):
            parts = urlsplit(url)
            connection = self._connect(parts)
            try:
                response = connection.get(self._path(parts), self._headers_for(parts, start, end))
                if response.status not in _MOVED:
                    return connection, self._answer(response, url, start, asked)
                moved = urljoin(url, response.getheader("Location", ""))
                scheme = urlsplit(moved).scheme
            except (OSError, http.client.HTTPException, ValueError) as error:
                connection.close()
                raise self._stalled(parts) from error
            except BaseException:
                connection.close()
                raise
            connection.close()
            if scheme not in ({"https"} if parts.scheme == "https" else {"http", "https"}):
                raise SourceStalled(DataCode.REFUSED, host=_host(parts), status=response.status)
            url = moved
        raise SourceStalled(DataCode.REFUSED, host=_host(urlsplit(url)), status=310)

    def _answer(self, response: http.client.HTTPResponse, url: str, start: int, asked: str) -> WebAnswer:
        """What an answer means.

        Args:
            response: The answer.
            url: Where it comes from.
            start: The first byte that was asked for.
            asked: The file that was asked for, before the server moved it.

        Raises:
            SourceStalled: nothing can be had now.
        """
        status, parts = response.status, urlsplit(url)
        if status in {401, 403, 407, 451}:
            raise SourceStalled(DataCode.REFUSED, host=_host(parts), status=status)
        if status >= 500 or status in _AGAIN:
            raise self._stalled(parts)
        kind = response.getheader("Content-Type", "").partition(";")[0].strip().lower()
        if status == 416:  # it is shorter than where the range begins
            raise ShardUnreadable(DataCode.FILE_CHANGED, name=web_name(asked)) if start else _missing(url)
        if status not in {200, 206}:
            raise _missing(url)
        is_page = kind == "text/html" and not urlsplit(asked).path.lower().endswith((".html", ".htm"))
        if is_page or response.getheader("Content-Encoding", "identity").lower() != "identity":
            raise self._wrong(asked)
        version = (response.getheader("ETag", ""), response.getheader("Last-Modified", ""))
        if status == 200:
            return WebAnswer(response.length or 0, ranges=False, version=version)
        unit, _, said = response.getheader("Content-Range", "").partition(" ")
        given, _, total = said.partition("/")
        first = given.partition("-")[0]
        if unit != "bytes" or not total.isdecimal() or first != str(start) or len(total) > 18:
            raise self._wrong(asked)
        return WebAnswer(int(total), ranges=True, version=version)

    def _headers_for(self, parts: SplitResult, start: int, end: int | None) -> dict[str, str]:
        own = (parts.scheme, parts.netloc) == (self._own.scheme, self._own.netloc)
        last = "" if end is None else str(end - 1)
        return {
            "Range": f"bytes={start}-{last}",
            "Accept-Encoding": "identity",
            "User-Agent": "potluck",
            "Connection": "close",
            **(self._headers if own else {}),
        }

    def _connect(self, parts: SplitResult) -> "_Connection":
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            found = socket.getaddrinfo(parts.hostname or "", port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError, ValueError) as error:
            raise self._stalled(parts) from error
        named = self._access.near and parts.hostname == self._seen and is_own_network(parts.hostname or "")
        addresses = [(family, address) for family, _, _, _, address in found if may_ask(str(address[0]), named=named)]
        if not addresses:
            raise SourceStalled(DataCode.PRIVATE, host=_host(parts))
        for family, address in addresses:
            with suppress(OSError):  # the next address may answer
                sock = _open(family, address)
                return _Connection(parts, self._secured(sock, parts) if parts.scheme == "https" else sock)
        raise self._stalled(parts)

    def _secured(self, sock: socket.socket, parts: SplitResult) -> socket.socket:
        """A connection over which nobody else can read or write.

        Raises:
            SourceStalled: the server's certificate is not valid for it.
            OSError: it says something else, or nothing.
        """
        try:
            return self._tls.wrap_socket(sock, server_hostname=parts.hostname)
        except BaseException as error:
            sock.close()
            if isinstance(error, ssl.SSLCertVerificationError):
                why = error.verify_message.rstrip(".")
                raise SourceStalled(DataCode.CERTIFICATE, host=_host(parts), why=why) from error
            raise

    def _stalled(self, parts: SplitResult | None = None) -> SourceStalled:
        return SourceStalled(DataCode.NO_ANSWER, host=(parts or self._own).netloc.rpartition("@")[2])

    @staticmethod
    def _wrong(url: str) -> SourceStalled:
        """The server answered with something else than the part of the file that was asked for."""
        host = urlsplit(url).netloc.rpartition("@")[2]
        return SourceStalled(DataCode.WRONG_ANSWER, host=host, name=web_name(url))

    @staticmethod
    def _path(parts: SplitResult) -> str:
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
        return f"{path}?{quote(parts.query, safe='/%:@!$&()*+,;=~-._?')}" if parts.query else path


class _Connection:
    """A connection that is open already, and its one answer."""

    def __init__(self, parts: SplitResult, sock: socket.socket) -> None:
        self._socket = sock
        self._http = http.client.HTTPConnection(parts.netloc.rpartition("@")[2])
        self._http.sock = self.line = WebLine(sock)
        self.response: http.client.HTTPResponse

    def get(self, path: str, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        self._http.request("GET", path, headers=dict(headers))
        self.response = self._http.getresponse()
        return self.response

    def close(self) -> None:
        with suppress(OSError):
            self._http.close()
            if hasattr(self, "response"):
                self.response.close()
            self._socket.close()


def may_ask(address: str, *, named: bool) -> bool:
    """Whether an address may be connected to.

    Args:
        address: As the system's resolver gives it.
        named: The manifest itself has it in its address.
    """
    ip = ipv4_inside(ipaddress.ip_address(address.partition("%")[0]))
    return not any(ip in each for each in _CLOUD) and (is_reachable(ip) or (named and is_own(ip)))


def is_own_network(host: str) -> bool:
    """Whether a host is written as a private or loopback address, not as a name that could lead anywhere."""
    try:
        return host == "localhost" or is_own(ipv4_inside(ipaddress.ip_address(host)))
    except ValueError:
        return False


def _open(family: int, address: tuple[Any, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW_BYTES)
        sock.settimeout(CONNECT_S)
        sock.connect(address)
        sock.settimeout(SILENCE_S)
    except BaseException:
        sock.close()
        raise
    return sock


def _missing(url: str) -> SourceStalled:
    return SourceStalled(DataCode.MISSING, name=web_name(url))


def _host(parts: SplitResult) -> str:
    return parts.hostname or ""


def web_name(url: str) -> str:
    """What people are shown of an address, at most 200 letters: no query and no password, which are secret."""
    parts = urlsplit(url)
    name = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return name if len(name) <= 200 else f"{name[:97]}...{name[-100:]}"
