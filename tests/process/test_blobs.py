"""Downloading a collaboration's files from a desk on this computer that may send anything."""

import asyncio
import time
import tracemalloc
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from core.base.content import digest
from core.base.problems import NotTrusted, RemoteProblem
from core.joining import blobs

pytestmark = pytest.mark.process
LARGE = bytes(range(256)) * 4096 * 24
LARGE_NAME = digest(LARGE).hex()


def fetch(
    folder: Path,
    sent: dict[str, bytes],
    names: list[str] | None = None,
    *,
    drips: tuple[float, int] = (0.0, 1 << 20),
    cut_at: int = 1 << 40,
    or_elsewhere: bool = True,
) -> list[str]:
    """Download from a desk that sends these bytes under these names; returns what was asked for.

    It rests for the first of `drips` after each of the second in bytes, and cuts a connection that has had `cut_at`.
    """
    pause_s, at_once = drips
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        asked.append(name)
        if name not in sent:
            raise web.HTTPNotFound
        data = sent[name][request.http_range]
        response = web.StreamResponse(status=200 if data == sent[name] else 206)
        response.content_length = len(data)
        await response.prepare(request)
        for at in range(0, min(len(data), cut_at), at_once):
            await response.write(data[at : min(at + at_once, cut_at)])
            await asyncio.sleep(pause_s)
        if len(data) > cut_at and request.transport is not None:
            await asyncio.sleep(0.05)
            request.transport.close()
        return response

    async def run() -> None:
        desk = web.Application()
        desk.router.add_get("/v1/blobs/{name}", answer)
        runner = web.AppRunner(desk)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            async with aiohttp.ClientSession(f"http://127.0.0.1:{runner.addresses[0][1]}") as session:
                async with asyncio.timeout(30):
                    await blobs.fetch_blobs(session, names or list(sent), folder, or_elsewhere=or_elsewhere)
        finally:
            await runner.cleanup()

    asyncio.run(run())
    return asked


def test_large_file_comes_in_pieces_and_only_once(tmp_path: Path) -> None:
    small = {digest(b"a").hex(): b"a"}
    tracemalloc.start()
    assert sorted(fetch(tmp_path / "new", {LARGE_NAME: LARGE, **small})) == sorted([LARGE_NAME, *small])
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < len(LARGE) / 2
    assert (tmp_path / "new" / LARGE_NAME).read_bytes() == LARGE
    assert fetch(tmp_path / "new", {LARGE_NAME: LARGE, **small}) == []
    (tmp_path / "new" / LARGE_NAME).write_bytes(LARGE[1:])
    assert fetch(tmp_path / "new", {LARGE_NAME: LARGE, **small}) == [LARGE_NAME]


def test_wrong_bytes_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotTrusted, match="not what its manifest names"):
        fetch(tmp_path, {LARGE_NAME: LARGE[:-1] + b"x"})
    with pytest.raises(RemoteProblem, match="404"):
        fetch(tmp_path, {}, [LARGE_NAME])
    assert list(tmp_path.iterdir()) == []


def test_files_have_a_bound_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = {digest(data).hex(): data for data in (b"a" * 70_000, b"b" * 70_000)}
    monkeypatch.setattr(blobs, "BLOBS_BYTES_MAX", 139_999)
    with pytest.raises(RemoteProblem, match="longer than 139999 bytes"):
        fetch(tmp_path, two)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(blobs, "BLOBS_BYTES_MAX", 140_000)
    fetch(tmp_path, two)


def test_backbone_that_trickles_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes long before the line would count as silent."""
    monkeypatch.setattr(blobs, "SILENCE_S", 0.3)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        fetch(tmp_path, {LARGE_NAME: LARGE}, drips=(0.02, 1))
    assert time.monotonic() - began < 5
    assert list(tmp_path.iterdir()) == []


def test_file_goes_on_where_desk_has_cut_connection(tmp_path: Path) -> None:
    """A desk cuts each connection after a minute: slow lines bring a large file in several."""
    assert fetch(tmp_path, {LARGE_NAME: LARGE}, cut_at=len(LARGE) // 3) == [LARGE_NAME] * 3
    assert (tmp_path / LARGE_NAME).read_bytes() == LARGE


def test_connections_that_bring_little_are_not_followed(tmp_path: Path) -> None:
    with pytest.raises(aiohttp.ClientError):
        fetch(tmp_path, {LARGE_NAME: LARGE}, cut_at=blobs.PIECE_BYTES - 1)
    assert list(tmp_path.iterdir()) == []


def test_only_backbone_may_be_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line may be shared by many newcomers."""
    monkeypatch.setattr(blobs, "SILENCE_S", 0.3)
    slow = bytes(30)
    fetch(tmp_path, {digest(slow).hex(): slow}, drips=(0.02, 1), or_elsewhere=False)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [slow]
