"""The page's server on real sockets: headers, caching, downloads, and clients that mean no good."""

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import msgspec
import pytest

from core.api.site_view import SiteView
from core.base.site.ways import Admit
from core.site import connections, copies, exports
from core.site.database import Database, database_url
from core.site.pages import Pages
from core.site.people_book import PeopleBook
from core.site.server import CONNECTIONS_MAX, CONNECTIONS_OF_ONE_MAX, HEADERS, SiteServer
from core.site.try_model import TryModel
from tests.process.site_sign_in import Signing, walk
from tests.process.test_site_sign_in import open_to
from tests.unit.site.views import FILE, view

pytestmark = pytest.mark.process
BYTES = bytes(range(256)) * 4000


@dataclass
class Running:
    site: SiteServer
    port: int
    client: aiohttp.ClientSession
    now: list[float]
    """Seconds; a test sets them."""
    book: PeopleBook

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@contextlib.asynccontextmanager
async def running(folder: Path, shown: SiteView | None = None, command: Sequence[str] = ()) -> AsyncIterator[Running]:
    (folder / FILE).write_bytes(BYTES)
    now = [0.0]
    model = TryModel(command, folder)
    database = Database(database_url("", folder))
    book = PeopleBook(database)
    site = SiteServer(shown or view(), Pages(), copies.OpenCopies(folder), model, book, lambda: now[0])
    site.show(shown or view())
    listening = await site.listen("127.0.0.1", 0)
    try:
        async with aiohttp.ClientSession() as client:
            yield Running(site, listening.sockets[0].getsockname()[1], client, now, book)
    finally:
        listening.close()
        await model.close()
        await book.close()
        database.close()


def serve(
    test: Callable[[Running], Awaitable[None]],
    folder: Path,
    shown: SiteView | None = None,
    command: Sequence[str] = (),
) -> None:
    async def run() -> None:
        async with running(folder, shown, command) as here:
            await test(here)

    asyncio.run(run())


def test_every_answer_has_the_headers(tmp_path: Path) -> None:
    async def test(here: Running) -> None:
        answers = [("GET", path, 200) for path in [*Pages().paths, "/model/4"]]
        answers += [
            ("GET", path, 404) for path in ("/nope", "/model/5", "/model/..%2f..%2fauthority.key", "//", "/%00")
        ]
        answers += [(method, path, 405) for method in ("POST", "PUT", "DELETE", "OPTIONS") for path in ("/", "/nope")]
        answers += [("HEAD", path, 200) for path in ("/", "/model/4", "/api/v1/board")]
        for method, path, status in answers:
            async with here.client.request(method, here.url(path)) as answer:
                assert answer.status == status, (method, path)
                for name, value in HEADERS.items():
                    assert answer.headers[name] == value, (method, path)
                assert "Set-Cookie" not in answer.headers
                assert "Cache-Control" in answer.headers
                assert (status == 405) == ("Allow" in answer.headers)
                body = await answer.read()
                assert bool(body) == (method != "HEAD")

    serve(test, tmp_path)


def test_answer_is_kept_ready_for_some_seconds(tmp_path: Path) -> None:
    async def test(here: Running) -> None:
        async def asked(**headers: str) -> tuple[int, str, str]:
            async with here.client.get(here.url("/api/v1/collaboration"), headers=headers) as answer:
                return answer.status, answer.headers["ETag"], await answer.text()

        status, tag, text = await asked()
        here.site.show(view(computers=12))
        assert (status, await asked()) == (200, (200, tag, text))
        assert await asked(**{"If-None-Match": tag}) == (304, tag, "")
        here.now[0] += copies.FRESH_S
        _, other, later = await asked(**{"If-None-Match": tag})
        assert '"computers":12' in later
        assert other != tag

    serve(test, tmp_path)


def test_copy_comes_whole_or_in_parts(tmp_path: Path) -> None:
    async def test(here: Running) -> None:
        async def asked(**headers: str) -> tuple[int, bytes, str]:
            async with here.client.get(here.url("/model/4"), headers=headers) as answer:
                return answer.status, await answer.read(), answer.headers.get("Content-Range", "")

        size = len(BYTES)
        assert await asked() == (200, BYTES, "")
        assert await asked(Range="bytes=0-9") == (206, BYTES[:10], f"bytes 0-9/{size}")
        assert await asked(Range="bytes=1000000-") == (206, BYTES[1_000_000:], f"bytes 1000000-{size - 1}/{size}")
        assert await asked(Range="bytes=-5") == (206, BYTES[-5:], f"bytes {size - 5}-{size - 1}/{size}")
        assert await asked(Range=f"bytes={size}-") == (416, b"", f"bytes */{size}")
        for nonsense in ("bytes=9-1", "bytes=0-1,4-5", "lines=0-1", "bytes=", "bytes=-", "bytes=a-b"):
            assert await asked(Range=nonsense) == (200, BYTES, "")
        assert (await asked(Range="bytes=0-9", **{"If-Range": f'"{FILE}"'}))[0] == 206
        assert (await asked(Range="bytes=0-9", **{"If-Range": '"another"'}))[0] == 200
        (tmp_path / FILE).unlink()
        assert (await asked())[0] == 404

    serve(test, tmp_path)


async def slow_download(port: int) -> socket.socket:
    """Asks for a copy, and reads nothing of it."""
    asking = socket.socket()
    asking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    asking.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(asking, ("127.0.0.1", port))
    await loop.sock_sendall(asking, b"GET /model/4 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert await loop.sock_recv(asking, 100)
    return asking


def test_two_download_at_a_time_and_slow_ones_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "LEAST_BYTES_PER_S", copies.PIECE_BYTES)

    async def test(here: Running) -> None:
        (tmp_path / FILE).write_bytes(BYTES * 20)
        slow = [await slow_download(here.port) for _ in range(2)]
        async with here.client.get(here.url("/model/4")) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "60")
        async with here.client.get(here.url("/")) as answer:
            assert answer.status == 200
        async with asyncio.timeout(30):
            while True:
                async with here.client.get(here.url("/model/4")) as answer:
                    if answer.status == 200:
                        assert await answer.read() == BYTES * 20
                        break
                await asyncio.sleep(0.1)
        for one in slow:
            one.close()

    serve(test, tmp_path)


def test_numbers_for_prometheus_are_for_this_computer(tmp_path: Path) -> None:
    async def test(here: Running) -> None:
        for name in ("X-Forwarded-For", "Forwarded", "Via"):
            async with here.client.get(here.url("/metrics"), headers={name: "1.2.3.4"}) as answer:
                assert answer.status == 403
        async with here.client.get(here.url("/metrics")) as answer:
            assert "potluck_computers 11" in await answer.text()

    serve(test, tmp_path)


def test_page_of_the_board_is_a_number_or_the_first(tmp_path: Path) -> None:
    async def test(here: Running) -> None:
        for asked in ("0", "-1", "x", "1e9", "9" * 5000, "000001" + "9" * 5000, "٣", "", "1&page=2"):
            async with here.client.get(here.url(f"/board?page={asked}")) as answer:
                assert "Ada" in await answer.text(), asked

    serve(test, tmp_path)


def test_pages_that_the_board_lacks_are_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    board = exports.board_of
    seen = lambda shown, *first: (made.append(first[0]), board(shown, *first))[1]  # noqa: E731
    monkeypatch.setattr(exports, "board_of", seen)

    async def test(here: Running) -> None:
        for page in range(1, 300):
            async with here.client.get(here.url(f"/board?page={page}")) as answer:
                assert "Ada" in await answer.text()

    serve(test, tmp_path)
    assert set(made) == {0}
    assert len(made) < 10


@pytest.mark.parametrize("path", ["/", "/in", "/nowhere"])
def test_connection_of_some_age_gets_its_last_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Later it would be cut, whatever is being answered: a proxy keeps connections."""
    monkeypatch.setattr(connections, "LIFE_S", 2.0)

    async def test(here: Signing) -> None:
        host, port = urlsplit(here.address).netloc.split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        for closes in (False, True):
            writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            assert (b"connection: close" in head.lower()) is closes
            if not closes:
                (length,) = re.findall(rb"(?i)content-length: (\d+)", head)
                await reader.readexactly(int(length))
                await asyncio.sleep(1.2)
        writer.close()

    walk(tmp_path, open_to(Admit.ANYBODY), test)


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 100_000,
        b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"".join([b"GET / HTTP/1.1\r\nHost: x\r\n", *(b"X-%d: y\r\n" % n for n in range(20_000)), b"\r\n"]),
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n",
        b"\0" * 1000,
    ],
)
def test_strange_request_ends_its_connection_only(tmp_path: Path, said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "LIFE_S", 1.0)

    async def test(here: Running) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
        with contextlib.suppress(ConnectionError):
            writer.write(said)
            async with asyncio.timeout(30):
                while await reader.read(65_536):
                    pass
        writer.close()
        async with here.client.get(here.url("/")) as answer:
            assert answer.status == 200

    serve(test, tmp_path)


def test_nonsense_is_neither_repeated_nor_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test(here: Running) -> None:
        form = b"Content-Type: application/x-www-form-urlencoded\r\n"
        packed = b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nodd"
        for said in (
            b"GET / HTTP/1.1\r\nHost: x\r\nodd header\r\n\r\n",
            b"odd\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"POST /try HTTP/1.1\r\nHost: x\r\n" + form + packed,
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
            writer.write(said)
            answer = (await reader.read()).decode()
            assert " 400 " in answer.splitlines()[0]
            assert "odd" not in answer
            assert "aiohttp" not in answer
            for name, value in HEADERS.items():
                assert f"{name}: {value}" in answer
            writer.close()

    serve(test, tmp_path)
    assert not caplog.records


def test_silent_connections_make_way_and_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "LIFE_S", 4.0)

    async def test(here: Running) -> None:
        opened = [await asyncio.open_connection("127.0.0.1", here.port) for _ in range(CONNECTIONS_MAX + 50)]
        ended = [asyncio.create_task(reader.read()) for reader, _ in opened]
        async with here.client.get(here.url("/")) as answer:
            assert answer.status == 200
        async with asyncio.timeout(60):
            await asyncio.gather(*ended, return_exceptions=True)
        for _, writer in opened:
            writer.close()

    serve(test, tmp_path)


def test_one_household_leaves_room_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "LOOPBACK", ())

    async def test(here: Running) -> None:
        opened = [await asyncio.open_connection("127.0.0.1", here.port) for _ in range(CONNECTIONS_OF_ONE_MAX + 5)]
        gone = [asyncio.create_task(reader.read()) for reader, _ in opened]
        async with asyncio.timeout(30):
            await asyncio.wait(gone[:5])
        assert sum(one.done() for one in gone) == 5
        for _, writer in opened:
            writer.close()
        await asyncio.gather(*gone, return_exceptions=True)

    serve(test, tmp_path)


def test_mistake_in_a_page_costs_that_page(tmp_path: Path) -> None:
    async def test(here: Running) -> None:
        here.site.show(view(days=(msgspec.structs.replace(view().days[0], day="2026-00-99"),)))
        async with here.client.get(here.url("/")) as answer:
            assert answer.status == 500
            assert "A mistake of ours" in await answer.text()
        async with here.client.get(here.url("/board")) as answer:
            assert answer.status == 200

    serve(test, tmp_path)
