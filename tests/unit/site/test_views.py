"""Views pass through a pipe whole, or end it."""

import io

import msgspec
import pytest

from core.api.site_view import LENGTH_BYTES
from core.base.site.channel import FRAME_BYTES_MAX, DeskAnswer, SiteStart
from core.site.__main__ import read_frames
from tests.unit.site.views import view


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def one_by_one(data: bytes):
    source = io.BytesIO(data)
    return lambda count: source.read(min(count, 7))


def test_views_come_in_order():
    views = [SiteStart("/here"), view(computers=1), DeskAnswer(error="full"), view(computers=2)]
    data = b"".join(frame(msgspec.msgpack.encode(each)) for each in views)
    assert list(read_frames(one_by_one(data))) == views


@pytest.mark.parametrize(
    "end",
    [
        b"",
        b"\0",
        frame(b""),
        frame(bytes(5))[:-1],
        (FRAME_BYTES_MAX + 1).to_bytes(LENGTH_BYTES, "big") + bytes(FRAME_BYTES_MAX),
    ],
)
def test_views_end_where_something_else_comes(end):
    data = frame(msgspec.msgpack.encode(view())) + end
    assert list(read_frames(one_by_one(data))) == [view()]
