import pytest
from hypothesis import given
from hypothesis import strategies as st

import core.net.links.outbox as module
from core.base.wire import BULK_BYTES_MAX, CONTROL_BYTES_MAX, FLAG_BESIDE, FrameDecoder
from core.net.links.outbox import BESIDE_BYTES_MAX, Outbox


def drain(outbox: Outbox, fragment_bytes: int = 16384) -> bytes:
    stream = b""
    while outbox:
        stream += b"".join(outbox.take(fragment_bytes))
    return stream


@given(st.lists(st.tuples(st.binary(max_size=500), st.booleans())), st.integers(1, 300))
def test_everything_comes_out_in_order_per_channel(items, fragment_bytes):
    outbox = Outbox()
    for data, bulk in items:
        assert outbox.put(data, bulk=bulk)
    found = FrameDecoder().feed(drain(outbox, fragment_bytes))
    assert found == [data for data, bulk in items if not bulk] + [data for data, bulk in items if bulk]
    assert outbox.control_bytes == outbox.bulk_bytes == 0


def test_control_overtakes_bulk_between_two_fragments():
    outbox = Outbox()
    outbox.put(b"b" * 100, bulk=True)
    stream = b"".join(outbox.take(40))
    outbox.put(b"urgent", bulk=False)
    stream += drain(outbox, 40)
    assert FrameDecoder().feed(stream) == [b"urgent", b"b" * 100]


def test_bulk_beside_a_round_overtakes_the_rounds_by_a_tenth():
    outbox, left = Outbox(), []
    for number in range(100):
        outbox.put(bytes([number]) * 40_000, bulk=True)
        outbox.put(bytes([100 + number]) * 40_000, bulk=True, beside=True)
    while outbox:
        left.append(b"".join(outbox.take(10_000)))
    is_beside = [bool(fragment[0] & FLAG_BESIDE) for fragment in left]
    end = len(is_beside) - is_beside[::-1].index(False)
    ahead_bytes = 10_000 * sum(is_beside[:end])
    assert is_beside[:13] == [True] * 13, "a burst at once"
    assert ahead_bytes - BESIDE_BYTES_MAX == pytest.approx(4_000_000 / 9, rel=0.1)
    found = FrameDecoder().feed(b"".join(left))
    assert [data[0] for data in found if data[0] < 100] == list(range(100))
    assert [data[0] for data in found if data[0] >= 100] == list(range(100, 200))


def test_its_queues_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "CONTROL_QUEUE_BYTES_MAX", 1000)
    monkeypatch.setattr(module, "BULK_QUEUE_BYTES_MAX", 2000)
    outbox = Outbox()
    assert [outbox.put(b"x" * 272, bulk=False) for _ in range(3)] == [True, True, False]
    assert [outbox.put(b"x" * 872, bulk=True) for _ in range(3)] == [True, True, False]
    assert sum(outbox.put(b"", bulk=False) for _ in range(100)) == 1
    outbox.clear()
    assert not outbox
    assert outbox.put(b"x", bulk=True)


@pytest.mark.parametrize(("bulk", "limit"), [(False, CONTROL_BYTES_MAX), (True, BULK_BYTES_MAX)])
def test_a_message_that_nobody_would_take_is_our_mistake(bulk, limit):
    with pytest.raises(ValueError):
        Outbox().put(bytes(limit + 1), bulk=bulk)
