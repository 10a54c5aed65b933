"""The host of experts: what it takes in, how each call ends, and what hostile trainers gain."""

from collections import Counter
from random import Random

import msgspec
import pytest

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.base.problems import WireProblem
from core.base.wire import MessageCodec
from core.codecs.registry import CODECS
from core.experts.hosting import (
    AHEAD,
    BatchComputed,
    ComputeBatch,
    ExpertHost,
    ExpertHosted,
    ExpertLeft,
    HostLimits,
    HostStopped,
)
from core.experts.messages import (
    CALL_MESSAGES,
    EXPERT_MESSAGES,
    ExpertCall,
    ExpertDrop,
    ExpertRefused,
    ExpertReply,
    call_bytes,
)
from core.experts.queue import CallKind, CallRefusal
from tests.hostile_values import encoded

A, B, C = (PeerId(bytes([n]) * 32) for n in range(3))
NUMBERS = 8
CODEC = CODECS["u8"]
LIMITS = HostLimits(calls_max=40, bytes_max=4000, rows_max=16)


class Desk:
    """Runs a host and notes how each call has ended."""

    def __init__(self):
        self.trace = Trace()
        self.host = ExpertHost(codec=CODEC, numbers=NUMBERS, limits=LIMITS, trace=self.trace)
        self.orders = []
        self.said = []
        for place in ((0, 0), (0, 1)):
            self.tell(ExpertHosted(0, place))

    def tell(self, event, now=0.0):
        for output in self.host.handle(event, now):
            if isinstance(output, ComputeBatch):
                self.orders.append(output)
            else:
                assert isinstance(output, Send)
                self.said.append((output.to, output.message))

    def call(self, sender, number, now=0.0, **odd):
        self.tell(Received(sender, made(number, **odd)), now)

    def compute(self, now=0.0, version=7, lame=()):
        """Have the worker finish the batch that it has had for longest."""
        batch = self.orders.pop(0)
        answers = tuple(
            None if call.call in lame else payload for call, payload in zip(batch.calls, batch.payloads, strict=True)
        )
        self.tell(BatchComputed(batch.number, version, answers), now)
        return batch

    def refusals(self):
        return {message.call: message.why for _, message in self.said if isinstance(message, ExpertRefused)}

    def replies(self):
        return [message.call for _, message in self.said if isinstance(message, ExpertReply)]


def made(number, *, place=(0, 0), kind=CallKind.FORWARD, rows=4, within_ms=1000, size=None):
    size = call_bytes(CODEC, kind=kind, rows=rows, numbers=NUMBERS) if size is None else size
    return ExpertCall(number, 0, place, kind, rows, 0, within_ms, memoryview(bytes([number % 256]) * size))


def test_call_is_computed_and_answered():
    desk = Desk()
    desk.call(A, 1)
    batch = desk.compute()
    assert (batch.layer, batch.place, batch.kind) == (0, (0, 0), CallKind.FORWARD)
    ((to, reply),) = desk.said
    assert (to, reply.call, reply.rows, reply.version) == (A, 1, 4, 7)
    assert bytes(reply.payload) == bytes([1]) * len(batch.payloads[0])
    assert desk.host.answered == {(0, (0, 0)): 4}


def test_worker_has_one_batch_ahead_and_calls_gather_meanwhile():
    desk = Desk()
    for number in range(8):
        desk.call(A if number % 2 else B, number)
    assert [len(batch.calls) for batch in desk.orders] == [1] * AHEAD
    desk.compute()
    assert [len(batch.calls) for batch in desk.orders] == [1, 4], "16 rows go together, two calls wait"


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        ({"place": (0, 2)}, CallRefusal.ABSENT),
        ({"place": (0,)}, CallRefusal.ABSENT),
        ({"size": 3}, CallRefusal.MALFORMED),
        ({"rows": 17}, CallRefusal.MALFORMED),
    ],
)
def test_call_that_cannot_be_computed_is_refused_at_once(odd, why):
    desk = Desk()
    desk.call(A, 1, **odd)
    assert desk.refusals() == {1: why}
    assert desk.orders == []


def test_call_is_refused_once_nobody_waits_for_it():
    desk = Desk()
    for number in range(AHEAD + 1):
        desk.call(A, number, within_ms=500)
    assert desk.host.deadline == 0.5
    desk.tell(Tick(), 0.5)
    assert desk.refusals() == {AHEAD: CallRefusal.LATE}
    assert desk.host.deadline is None, "those that are computed are waited for"
    desk.compute(0.6)
    assert desk.replies() == [0]
    assert desk.host.wait_s == pytest.approx(0.6)


def test_dropped_call_gets_no_answer_and_its_number_is_free():
    desk = Desk()
    for number in range(AHEAD + 1):
        desk.call(A, number)
    for number in (0, AHEAD):
        desk.tell(Received(A, ExpertDrop(number)))
    desk.call(A, 0, place=(0, 1))
    for _ in range(AHEAD + 1):
        desk.compute()
    assert desk.replies() == [*range(1, AHEAD), 0], "the answer is that of the second call"
    assert desk.orders == []


def test_trainer_that_is_gone_is_answered_no_more():
    desk = Desk()
    for number in range(4):
        desk.call(A, number)
    desk.call(B, 9)
    desk.tell(Lost(A, "gone"))
    while desk.orders:
        desk.compute()
    assert desk.replies() == [9]


def test_not_finite_call_is_refused_and_others_are_answered():
    desk = Desk()
    for number in range(AHEAD + 2):
        desk.call(A, number)
    for _ in range(AHEAD + 1):
        desk.compute(lame={AHEAD})
    assert desk.refusals() == {AHEAD: CallRefusal.MALFORMED}
    assert desk.replies() == [*range(AHEAD), AHEAD + 1]
    assert desk.trace["experts.not_finite"] == 1


def test_leaving_expert_answers_what_it_has_and_nothing_more():
    desk = Desk()
    for number in range(AHEAD + 1):
        desk.call(A, number)
    desk.tell(ExpertLeft(0, (0, 0)))
    desk.call(A, 50)
    assert desk.refusals() == {AHEAD: CallRefusal.STOPPING, 50: CallRefusal.ABSENT}
    for _ in range(AHEAD):
        desk.compute()
    assert desk.replies() == [*range(AHEAD)]


def test_every_call_ends_when_the_worker_stops():
    desk = Desk()
    for number in range(AHEAD + 3):
        desk.call(A, number)
    desk.tell(HostStopped())
    assert desk.refusals() == dict.fromkeys(range(AHEAD + 3), CallRefusal.STOPPING)
    desk.compute()
    assert desk.replies() == [], "what a dead worker had computed belongs to nobody"
    desk.tell(ExpertHosted(0, (0, 0)))
    desk.orders.clear()
    desk.call(A, 1)
    desk.compute()
    assert desk.replies() == [1]


def test_repeated_call_changes_nothing():
    desk = Desk()
    desk.call(A, 1)
    desk.call(A, 1, place=(0, 1))
    assert (len(desk.orders), desk.said, desk.trace["experts.repeated"]) == (1, [], 1)


def test_flood_of_one_trainer_leaves_room_for_others():
    desk = Desk()
    for number in range(200):
        desk.call(A, number, rows=1)
    desk.call(B, 1000, rows=1)
    assert Counter(desk.refusals().values()) == {CallRefusal.BUSY: 200 - LIMITS.calls_max // 2 - AHEAD}
    for _ in range(AHEAD + 1):
        desk.compute()
    assert 1000 in desk.replies(), "it is in the next batch"


@pytest.mark.parametrize("seed", range(3))
def test_every_admitted_call_ends_in_exactly_one_way(seed):
    random, desk, now = Random(seed), Desk(), 0.0
    ended, live, taken = Counter(), set(), 0
    for step in range(4000):
        now += random.random() * 0.05
        before = len(desk.said)
        sender = random.choice([A, B, C])
        match random.randrange(8):
            case 0 | 1 | 2:
                number, rows = step, random.randint(1, 4)
                desk.call(
                    sender, number, now, place=(0, random.randrange(2)), rows=rows, within_ms=random.randint(1, 900)
                )
                live.add((sender, number))
                taken += 1
            case 3 if live:
                dropped = random.choice(sorted(live))
                live.discard(dropped)
                desk.tell(Received(dropped[0], ExpertDrop(dropped[1])), now)
                ended["dropped"] += 1
            case 4 if random.random() < 0.05:
                desk.tell(Lost(sender, "gone"), now)
                gone = {one for one in live if one[0] == sender}
                live -= gone
                ended["lost"] += len(gone)
            case 5 if random.random() < 0.03:
                desk.tell(HostStopped(), now)
                desk.orders.clear()
            case 6:
                desk.tell(random.choice([ExpertLeft, ExpertHosted, ExpertHosted])(0, (0, random.randrange(2))), now)
            case _ if desk.orders:
                desk.compute(now, lame={number for _, number in live if random.random() < 0.05})
            case _:
                desk.tell(Tick(), now)
        for to, message in desk.said[before:]:
            assert (to, message.call) in live, "nothing is answered twice, and nothing that nobody asked"
            live.discard((to, message.call))
            ended[type(message).__name__] += 1
        assert desk.host.room >= 0
    desk.tell(HostStopped(), now)
    assert {(to, message.call) for to, message in desk.said[-len(live) :]} == live if live else True
    assert sum(ended.values()) + len(live) == taken
    assert min(ended.values()) > 2, ended


def test_hostile_messages_leave_the_host_answering():
    random, desk, codec, now = Random(5), Desk(), MessageCodec(EXPERT_MESSAGES), 0.0
    senders = [PeerId(random.randbytes(32)) for _ in range(50)]
    drawn = [encoded(random.choice(CALL_MESSAGES), random, spoilt=0.05) for _ in range(1000)]
    for _ in range(10_000):
        now += 0.001
        try:
            message = codec.decode(random.choice(drawn))
        except WireProblem:
            message = made(random.randrange(3), rows=random.randint(1, 20), kind=random.choice([*CallKind]))
        if isinstance(message, ExpertCall) and random.random() < 0.5:
            message = msgspec.structs.replace(
                message, layer=0, place=(0, random.randrange(3)), payload=memoryview(bytes(40))
            )
        desk.tell(Received(random.choice(senders), message), now)
        assert 0 <= desk.host.room <= LIMITS.calls_max
        if random.random() < 0.1 and desk.orders:
            desk.compute(now)
    desk.tell(HostStopped(), now)
    desk.tell(ExpertHosted(0, (0, 0)), now)
    desk.orders.clear()
    desk.call(A, 1 << 40, now)
    desk.compute(now)
    assert desk.replies()[-1] == 1 << 40
    assert desk.trace["experts.malformed"] > 100
