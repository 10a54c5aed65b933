"""A link between two peers, and the attacks of S000 appendix I.5 on the stream plane."""

import asyncio
import math
import ssl
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest

import core.net.links.outbox as outbox_module
from core.backbone.authority import LIFETIME_S
from core.base.wire import FLAG_LAST, fragment_header
from core.net.links.liveness import HEARTBEAT_S, SILENCE_S
from tests.unit.net.people import (
    NOW,
    SAME_KEY_OTHER_RUN,
    SAME_RUN_OTHER_KEY,
    credentials,
    id_of,
    issue,
)
from tests.unit.net.wires import MovableLoop, RawSide, Side, connect

ANNA, BEN = id_of("anna"), id_of("ben")


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        with asyncio.Runner(loop_factory=MovableLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run


async def pair(**wire: Any) -> tuple[Side, Side]:
    anna, ben = Side(credentials("anna"), expected=BEN), Side(credentials("ben"), expected=None)
    connect(anna, ben, **wire)
    await anna.ear.until(lambda ear: ear.opened)
    await ben.ear.until(lambda ear: ear.opened)
    return anna, ben


async def rest(turns: int = 50) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


async def pass_time(seconds: float) -> None:
    """Let the loop's clock go forward, and heartbeats travel."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, MovableLoop)
    for _ in range(math.ceil(seconds / (HEARTBEAT_S / 4))):
        loop.ahead_s += HEARTBEAT_S / 4
        await rest()


async def raw_pair() -> tuple[RawSide, Side]:
    """A caller that sends what a test likes, and a stream that has accepted it."""
    raw, ben = RawSide(credentials("anna")), Side(credentials("ben"), expected=None)
    connect(raw, ben)
    await ben.ear.until(lambda ear: ear.opened)
    return raw, ben


async def refused(anna: Side, ben: Side) -> None:
    """Neither side accepts the link that anna makes to ben, or it ends before anything is said."""
    anna.stream.send(b"let me in", bulk=False)
    connect(anna, ben)
    await ben.ear.until(lambda ear: ear.closed)
    await anna.ear.until(lambda ear: ear.closed)
    assert ben.ear.received == []
    assert len(anna.ear.closed) == len(ben.ear.closed) == 1


@in_loop
async def test_both_sides_know_each_other_by_key():
    anna, ben = await pair()
    assert [found.peer for found in anna.ear.opened] == [BEN]
    assert [(found.peer, found.username) for found in ben.ear.opened] == [(ANNA, "anna")]
    assert (anna.stream.initiated, ben.stream.initiated) == (True, False)


@in_loop
async def test_messages_of_all_sizes_arrive_in_order():
    anna, ben = await pair()
    words = [bytes([n % 251]) * (n * n) for n in range(1, 500)]
    for word in words:
        anna.stream.send(word, bulk=True)
    await ben.ear.until(lambda ear: len(ear.received) == len(words))
    assert ben.ear.received == words


@in_loop
async def test_messages_sent_before_the_handshake_wait_for_it():
    anna, ben = Side(credentials("anna"), expected=BEN), Side(credentials("ben"), expected=None)
    anna.stream.send(b"early", bulk=False)
    connect(anna, ben)
    await ben.ear.until(lambda ear: ear.received == [b"early"])


@in_loop
async def test_control_overtakes_bulk():
    anna, ben = await pair()
    for side in (anna, ben):
        side.wire.auto = False
        side.wire.kernel_bytes = 50_000
    for _ in range(10):
        anna.stream.send(b"b" * 300_000, bulk=True)
    await rest()
    assert anna.wire.paused_protocol
    anna.stream.send(b"urgent", bulk=False)
    carried = 0
    while b"urgent" not in ben.ear.received:
        carried += anna.wire.move()
        await asyncio.sleep(0)
    assert carried < 50_000 + 2 * 280_000  # the kernel's buffer, and the fragments already cut
    while len(ben.ear.received) < 11:
        anna.wire.move()
        await asyncio.sleep(0)
    anna.stream.abort("done")


@in_loop
async def test_a_slow_reader_slows_the_writer_and_breaks_nothing():
    anna, ben = await pair()
    for side in (anna, ben):
        side.wire.kernel_bytes = 100_000
    ben.stream.receiver.hold()
    words = [bytes([n]) * 200_000 for n in range(40)]
    for word in words:
        anna.stream.send(word, bulk=True)
    await rest()
    assert anna.stream.sender.outbox.bulk_bytes > 7_000_000
    assert anna.wire.buffer_most < 400_000
    assert ben.ear.received == []
    ben.stream.receiver.release()
    await ben.ear.until(lambda ear: len(ear.received) == len(words))
    assert ben.ear.received == words
    assert not anna.stream.sender.outbox


@pytest.mark.parametrize("bulk", [False, True])
@in_loop
async def test_a_queue_that_overflows_ends_the_link(bulk, monkeypatch):
    monkeypatch.setattr(outbox_module, "CONTROL_QUEUE_BYTES_MAX", 200_000)
    monkeypatch.setattr(outbox_module, "BULK_QUEUE_BYTES_MAX", 200_000)
    anna, ben = await pair()
    outbox, anna.wire.kernel_bytes = anna.stream.sender.outbox, 1000
    ben.stream.receiver.hold()
    for _ in range(10):
        anna.stream.send(bytes(50_000), bulk=bulk)
        assert max(outbox.control_bytes, outbox.bulk_bytes) <= 200_000
    assert anna.ear.closed == ["takes nothing"]
    assert anna.trace["net.drop.queue"] == 1
    assert not outbox
    anna.stream.abort("done")
    ben.stream.abort("done")


@in_loop
async def test_an_expired_pass_is_refused():
    await refused(
        Side(credentials("anna", pass_der=issue("anna", now=NOW - LIFETIME_S - 3_600)), expected=BEN),
        Side(credentials("ben"), expected=None),
    )


@in_loop
async def test_expired_pass_of_the_called_peer_is_refused():
    anna = Side(credentials("anna"), expected=BEN)
    await refused(anna, Side(credentials("ben", pass_der=issue("ben", now=NOW - LIFETIME_S - 3_600)), expected=None))
    assert "expired" in anna.ear.closed[0]


@pytest.mark.parametrize("authority", [SAME_KEY_OTHER_RUN, SAME_RUN_OTHER_KEY])
@in_loop
async def test_a_pass_of_another_collaboration_or_authority_is_refused(authority):
    # Eve trusts each peer that her authority admits, and shows its pass.
    eve = Side(credentials("eve", authority=authority), expected=BEN)
    ben = Side(credentials("ben"), expected=None)
    await refused(eve, ben)
    assert ben.trace["net.drop.handshake"] == 1


@in_loop
async def test_somebody_else_at_the_address_is_refused():
    anna, eve = Side(credentials("anna"), expected=BEN), Side(credentials("eve"), expected=None)
    await refused(anna, eve)
    assert anna.ear.opened == []
    assert anna.trace["net.drop.impostor"] == 1


class Passless:
    """Credentials of a caller that shows no certificate and takes any."""

    peer_id = ANNA

    def wrap(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *, server_side: bool) -> ssl.SSLObject:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_bio(incoming, outgoing, server_side=server_side)


@in_loop
async def test_caller_without_a_pass_is_refused():
    ben = Side(credentials("ben"), expected=None)
    await refused(Side(Passless(), expected=BEN), ben)
    assert ben.ear.opened == []
    assert ben.trace["net.drop.handshake"] == 1


@in_loop
async def test_a_stolen_pass_is_of_no_use_without_its_key():
    with pytest.raises(OSError, match="KEY_VALUES_MISMATCH"):
        credentials("eve", pass_der=issue("anna"))


@in_loop
async def test_a_changed_byte_ends_the_link():
    anna, ben = await pair()
    anna.wire.auto = False
    anna.stream.send(b"hello", bulk=False)
    await rest()
    anna.wire.kernel[-1] ^= 1
    anna.wire.move()
    assert ben.ear.received == []
    assert "broke" in ben.ear.closed[0]
    await anna.ear.until(lambda ear: ear.closed)


@in_loop
async def test_a_repeated_record_ends_the_link():
    anna, ben = await pair()
    anna.wire.auto = False
    anna.stream.send(b"hello", bulk=False)
    await rest()
    again = bytes(anna.wire.kernel)
    anna.wire.move()
    assert ben.ear.received == [b"hello"]
    anna.wire.kernel += again
    anna.wire.move()
    assert ben.ear.received == [b"hello"]
    assert ben.ear.closed
    await anna.ear.until(lambda ear: ear.closed)


@in_loop
async def test_garbage_instead_of_a_handshake_is_dropped_and_counted():
    anna, ben = Side(credentials("anna"), expected=BEN), Side(credentials("ben"), expected=None)
    connect(anna, ben, auto=False)
    anna.wire.kernel[:] = b"GET / HTTP/1.1\r\n\r\n" * 10
    anna.wire.move()
    assert ben.trace["net.drop.handshake"] == 1
    assert ben.ear.closed
    assert ben.ear.opened == []
    anna.stream.abort("done")


@in_loop
async def test_a_proven_peer_that_sends_garbage_is_cut_off():
    raw, ben = await raw_pair()
    raw.stream.send(b"\xff" * 100)
    await ben.ear.until(lambda ear: ear.closed == ["sent garbage"])
    assert ben.trace["net.drop.wire"] == 1


@in_loop
async def test_a_link_ends_when_the_pass_does():
    anna, ben = await pair()
    ben.now += LIFETIME_S + 3_600
    await pass_time(HEARTBEAT_S)
    assert ben.ear.closed == ["The pass of anna has expired."]
    await anna.ear.until(lambda ear: ear.closed)


@in_loop
async def test_a_quiet_link_beats_and_a_beat_is_no_message():
    anna, ben = await pair()
    await pass_time(2 * SILENCE_S)
    assert asyncio.get_running_loop().time() - ben.stream.liveness.heard_at < 2 * HEARTBEAT_S
    assert anna.ear.closed == ben.ear.closed == []
    assert ben.ear.received == []
    anna.stream.abort("done")
    await ben.ear.until(lambda ear: ear.closed)


@in_loop
async def test_a_silent_link_is_dead_unless_we_do_not_listen():
    anna, ben = await pair()
    anna.stream.receiver.hold()
    await pass_time(2 * SILENCE_S)
    assert anna.ear.closed == []
    anna.stream.receiver.release()
    anna.wire.auto = ben.wire.auto = False
    await pass_time(2 * SILENCE_S)
    assert anna.ear.closed == ["silent"]
    await ben.ear.until(lambda ear: ear.closed)


@in_loop
async def test_bytes_of_an_unfinished_message_are_a_sign_of_life():
    raw, ben = await raw_pair()
    raw.stream.send(fragment_header(60_000, FLAG_LAST))
    for _ in range(4):
        await pass_time(SILENCE_S / 2)
        raw.stream.send(b"slowly")
    await rest()
    assert ben.ear.closed == []
    ben.stream.abort("done")


@in_loop
async def test_a_goodbye_delivers_what_was_said_before():
    anna, ben = await pair()
    anna.stream.send(b"last words", bulk=False)
    anna.stream.close("we are leaving")
    await ben.ear.until(lambda ear: ear.closed)
    assert ben.ear.received == [b"last words"]
    assert ben.ear.closed == ["said goodbye"]
    assert anna.ear.closed == ["we are leaving"]
    anna.stream.send(b"too late", bulk=False)
    await asyncio.wait([anna.stream.finished, ben.stream.finished])


@in_loop
async def test_a_burst_does_not_keep_the_loop_from_timers(monkeypatch):
    monkeypatch.setattr("core.net.links.receiver.TURN_S", 0.0)
    anna, ben = await pair()
    for _ in range(200):
        anna.stream.send(b"word", bulk=False)
    seen_between: list[int] = []

    def count() -> None:
        seen_between.append(len(ben.ear.received))
        if len(ben.ear.received) < 200:
            asyncio.get_running_loop().call_soon(count)

    count()
    await ben.ear.until(lambda ear: len(ear.received) == 200)
    assert len(set(seen_between)) > 50
    anna.stream.abort("done")
    await ben.ear.until(lambda ear: ear.closed)
