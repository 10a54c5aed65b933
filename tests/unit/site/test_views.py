"""Views pass through a pipe whole, or end it."""

import io

import msgspec
import pytest

from core.api.site_view import LENGTH_BYTES, VIEW_BYTES_MAX
from core.site.__main__ import read_views
from tests.unit.site.views import view


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def one_by_one(data: bytes):
    source = io.BytesIO(data)
    return lambda count: source.read(min(count, 7))


def test_views_come_in_order():
    views = [view(computers=n) for n in range(3)]
    data = b"".join(frame(msgspec.msgpack.encode(each)) for each in views)
    assert list(read_views(one_by_one(data))) == views


@pytest.mark.parametrize(
    "end",
    [
        b"",
        b"\0",
        frame(b""),
        frame(bytes(5))[:-1],
        (VIEW_BYTES_MAX + 1).to_bytes(LENGTH_BYTES, "big") + bytes(2_000_000),
    ],
)
def test_views_end_where_something_else_comes(end):
    data = frame(msgspec.msgpack.encode(view())) + end
    assert list(read_views(one_by_one(data))) == [view()]
