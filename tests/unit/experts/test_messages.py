"""Messages of experts: what fits, and what no stranger can say."""

from random import Random

import msgspec
import pytest

from core.base.ids import PeerId
from core.base.machine import Received, Trace
from core.base.problems import WireProblem
from core.base.wire import BULK_BYTES_MAX, CONTROL_BYTES_MAX, MessageCodec
from core.codecs.registry import CODECS
from core.experts.hosting import BatchComputed, ComputeBatch, ExpertHost, ExpertHosted, HostLimits
from core.experts.messages import (
    BATCH_ROWS,
    EXPERT_MESSAGES,
    PAYLOAD_BYTES_MAX,
    ExpertCall,
    ExpertDrop,
    ExpertRefused,
    ExpertReply,
    batch_rows,
    call_bytes,
    rows_that_fit,
)
from core.experts.queue import CallKind, CallRefusal
from tests.hostile_values import encoded

CODEC = MessageCodec(EXPERT_MESSAGES)
MOST = (1 << 62) - 1
FULL = memoryview(bytes(PAYLOAD_BYTES_MAX))
LARGEST = (
    ExpertCall(MOST, 63, (255, 255, 255), CallKind.BACKWARD, 4096, (1 << 48) - 1, 120_000, FULL),
    ExpertReply(MOST, 4096, (1 << 48) - 1, FULL),
    ExpertRefused(MOST, CallRefusal.OVER_THE_SHARE, 60.0),
    ExpertDrop(MOST),
)


@pytest.mark.parametrize("message", LARGEST, ids=lambda message: type(message).__name__)
def test_largest_message_fits_its_channel(message):
    data = CODEC.encode(message)
    assert len(data) <= (BULK_BYTES_MAX if message.bulk else CONTROL_BYTES_MAX)
    assert CODEC.decode(data) == message
    assert message.beside == message.bulk, "a round's budget to that peer goes on"


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (1, 1 << 62), (1, -1), (2, 64), (3, []), (3, [0, 0, 0, 0]), (3, [256]), (4, 2), (5, 0), (5, 4097), (6, 1 << 48),
        (7, 0), (7, 120_001), (8, bytes(PAYLOAD_BYTES_MAX + 1)), (8, "text"),
    ],
)  # fmt: skip
def test_call_beyond_its_bounds_is_refused(index, value):
    usual = ["experts.call", 1, 0, [0, 0], 0, 1, 0, 1, b""]
    CODEC.decode(msgspec.msgpack.encode(usual))
    with pytest.raises(WireProblem):
        CODEC.decode(msgspec.msgpack.encode([*usual[:index], value, *usual[index + 1 :]]))


def test_hostile_bytes_raise_nothing_else():
    random = Random(1)
    for _ in range(2000):
        data = bytearray(encoded(random.choice(EXPERT_MESSAGES), random, spoilt=0.3))
        if random.random() < 0.3 and data:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        try:
            CODEC.decode(data)
        except WireProblem:
            continue


@pytest.mark.parametrize("name", ["raw", "fp16", "u8"])
@pytest.mark.parametrize("numbers", [8, 100, 1024, 204_800, 600_000])
def test_rows_fill_a_call_and_no_more(name, numbers):
    codec = CODECS[name]
    most = rows_that_fit(codec, numbers=numbers)
    bytes_of = [call_bytes(codec, kind=CallKind.BACKWARD, rows=rows, numbers=numbers) for rows in (most, most + 1)]
    assert bytes_of[0] <= PAYLOAD_BYTES_MAX or most == 0
    assert most == 4096 or bytes_of[1] > PAYLOAD_BYTES_MAX


def test_flood_of_calls_makes_no_long_batch():
    """Nobody interrupts a batch, so an honest call waits for all of it; 128 calls of a flood wait here."""

    def longest(rows_max):
        limits = HostLimits(bytes_max=10**9, rows_max=rows_max)
        host = ExpertHost(codec=CODECS["u8"], numbers=8, limits=limits, trace=Trace())
        host.handle(ExpertHosted(0, (0, 0)), 0.0)
        payload, orders = memoryview(bytes(CODECS["u8"].max_bytes(16 * 8))), []
        for number in range(130):
            call = ExpertCall(number, 0, (0, 0), CallKind.FORWARD, 16, 0, 1000, payload)
            orders += host.handle(Received(PeerId(bytes(32)), call), 0.0)
        done = next(one for one in orders if isinstance(one, ComputeBatch))
        orders += host.handle(BatchComputed(done.number, 0, (None,) * len(done.calls)), 0.0)
        return max(sum(call.rows for call in one.calls) for one in orders if isinstance(one, ComputeBatch))

    codec = CODECS["u8"]
    assert longest(batch_rows(codec, numbers=8, rows=32)) == BATCH_ROWS
    assert longest(rows_that_fit(codec, numbers=8)) == 2048
    assert batch_rows(codec, numbers=8, rows=500) == 500, "a trainer's batch may choose one expert"
    assert batch_rows(codec, numbers=8192, rows=500) == rows_that_fit(codec, numbers=8192)
