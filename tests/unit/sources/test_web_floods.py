"""Servers of text that keep their readers waiting, or busy, with anything but text."""

import socket
import threading
from contextlib import suppress

import pytest

from core.api.data_state import DataCode
from core.text.sources import web, web_line
from core.text.sources.source import Access, SourceStalled


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\nX-Long: ", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"]
)
def test_a_server_that_drips_does_not_answer(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_line, "SLOW_S", 0.2)
    ended = threading.Event()

    def drip(server: socket.socket) -> None:
        taken, _ = server.accept()
        with taken, suppress(OSError):
            taken.sendall(head)
            while not ended.wait(0.02):
                taken.sendall(b"0")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        source = web.Web(f"http://127.0.0.1:{server.getsockname()[1]}", Access(), headers={})
        with pytest.raises(SourceStalled) as caught:
            list(source.read(f"http://127.0.0.1:{server.getsockname()[1]}/a.txt", 0, None, size=0))
        ended.set()
        thread.join()
    assert caught.value.code == DataCode.NO_ANSWER


@pytest.mark.parametrize(
    ("head", "again"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Trailer: " + 1000 * b"x" + b"\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1;" + 1000 * b"x" + b"\r\nX\r\n"),
    ],
    ids=["announcements", "trailers", "chunks"],
)
def test_server_that_says_more_than_the_body_is_left(head: bytes, again: bytes) -> None:
    allowed: list[int] = []
    sent = 0

    def flood(server: socket.socket) -> None:
        nonlocal sent
        taken, _ = server.accept()
        with taken, suppress(OSError):
            taken.sendall(head)
            while sent < 50_000_000:
                taken.sendall(100 * again)
                sent += 100 * len(again)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=flood, args=(server,))
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/a.txt"
        with pytest.raises(SourceStalled) as caught:
            list(web.Web(address, Access(allow=allowed.append), headers={}).read(address, 0, None, size=0))
        thread.join()
    assert caught.value.code == DataCode.NO_ANSWER
    assert sent < 8_000_000 + 2 * sum(allowed), "with what waits in the system's buffers"
