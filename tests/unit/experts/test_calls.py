"""A trainer's calls: each ends once and in time, whatever hosts do; who fails rests, who is busy gets fewer calls."""

import tracemalloc
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import ClassVar

import pytest

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.experts.calls import BUSY_S, HOSTS_MAX, REFUSALS_MAX, WINDOW, CallAnswered, CallLapsed, ExpertAsk, ExpertCalls
from core.experts.grid import ExpertGrid
from core.experts.messages import ExpertCall, ExpertDrop, ExpertRefused, ExpertReply
from core.experts.queue import CallKind, CallRefusal
from core.experts.table import ExpertTable, RowNews

A, B, C, D = (PeerId(bytes([n]) * 32) for n in range(4))
PATIENCE_S = 10.0
ROWS, BYTES = 4, 16


class Trainer:
    """The machine, with one layer of a row of eight places, which all hosts say to have."""

    def __init__(self, *hosts, seed=0, members=()):
        self.table = ExpertTable(ExpertGrid((8,), 8), owner_most=8)
        self.table.heard((), {host: RowNews(bits=255, until=1e9) for host in hosts})
        self.trace = Trace()
        self.calls = ExpertCalls(
            {0: self.table}, patience_s=PATIENCE_S, members=members, random=Random(seed), trace=self.trace
        )
        self.came = {}
        self.ticket = 0

    def ask(self, now=0.0, place=0, count=1):
        asks = []
        for _ in range(count):
            self.ticket += 1
            asks.append(
                ExpertAsk(
                    ticket=self.ticket,
                    layer=0,
                    place=(place,),
                    kind=CallKind.FORWARD,
                    rows=ROWS,
                    payload=lambda: memoryview(bytes(BYTES)),
                    bytes=BYTES,
                )
            )
        return self.take(self.calls.ask(asks, now), now)

    def take(self, outputs, now):
        """What is to be sent; tickets that come back are written down, once each."""
        sent = []
        for output in outputs:
            if isinstance(output, CallAnswered | CallLapsed):
                assert output.ticket not in self.came
                self.came[output.ticket] = (type(output), now)
            else:
                sent.append(output)
        return sent

    def hear(self, sender, message, now):
        return self.take(self.calls.handle(Received(sender, message), now), now)

    def tick(self, now):
        return self.take(self.calls.handle(Tick(), now), now)


def reply(call, size=BYTES, rows=ROWS, version=1):
    return ExpertReply(call=call.call, rows=rows, version=version, payload=memoryview(bytes(size)))


def refused(call, why, after=0.0):
    return ExpertRefused(call=call.call, why=why, retry_after_s=after)


def test_answer_counts_of_the_host_that_was_asked_only():
    trainer = Trainer(A)
    (sent,) = trainer.ask()
    assert sent.to == A
    assert (sent.message.rows, sent.message.within_ms) == (ROWS, 3333)
    assert trainer.hear(B, reply(sent.message), 1.0) == []
    assert trainer.came == {}
    trainer.hear(A, reply(sent.message), 1.0)
    trainer.hear(A, reply(sent.message), 1.0)
    assert trainer.came == {1: (CallAnswered, 1.0)}
    assert trainer.trace["experts.drop.not_asked"] == 2


@pytest.mark.parametrize("wrong", [{"size": BYTES + 1}, {"rows": ROWS + 1}, {"size": 0}])
def test_answer_of_wrong_length_makes_another_host_asked(wrong):
    trainer = Trainer(A, B)
    (sent,) = trainer.ask()
    (other,) = trainer.hear(A, reply(sent.message, **wrong), 1.0)
    assert other.to == B
    (third,) = trainer.ask(1.0)
    assert third.to == B, "the first one rests"


def test_silent_host_is_told_to_drop_and_another_asked():
    trainer = Trainer(A, B)
    (sent,) = trainer.ask()
    assert trainer.calls.deadline == pytest.approx(PATIENCE_S / 3)
    dropped, other = trainer.tick(PATIENCE_S / 3)
    assert dropped == Send(A, ExpertDrop(call=sent.message.call))
    assert other.to == B
    trainer.hear(A, reply(sent.message), 4.0)
    assert trainer.came == {}, "too late"
    trainer.tick(PATIENCE_S)
    assert trainer.came == {1: (CallLapsed, PATIENCE_S)}


def test_lost_host_is_asked_again_where_all_rest():
    trainer = Trainer(A)
    trainer.ask()
    trainer.take(trainer.calls.handle(Lost(A, "gone"), 1.0), 1.0)
    assert trainer.came == {1: (CallLapsed, 1.0)}
    (sent,) = trainer.ask(1.5)
    assert sent.to == A


def test_busy_host_gets_fewer_calls_after_its_pause():
    trainer = Trainer(A)
    sent = trainer.ask(count=40)
    assert len(sent) == WINDOW[1]
    for one in sent:
        assert trainer.hear(A, refused(one.message, CallRefusal.BUSY, after=1.0), 0.5) == []
    assert trainer.calls.deadline is not None
    assert trainer.tick(0.9) == []
    assert len(trainer.tick(2.0)) == WINDOW[0]
    assert trainer.came == {}


def test_host_that_is_always_busy_makes_another_host_asked():
    trainer = Trainer(A, B)
    (sent,) = trainer.ask()
    now, refusals = 0.0, 0
    while sent.to == A:
        refusals += 1
        again = trainer.hear(A, refused(sent.message, CallRefusal.BUSY), now + 0.01)
        while not again:
            assert trainer.calls.deadline > now, "no turn without a pause"
            now = trainer.calls.deadline
            again = trainer.tick(now)
        (sent,) = again
    assert refusals == REFUSALS_MAX
    assert now >= (REFUSALS_MAX - 1) * BUSY_S
    (other,) = trainer.ask(now)
    assert other.to == B, "the first one rests"


def test_host_of_useless_answers_rests_longer_each_time():
    trainer = Trainer(A, B)
    now, asked = 0.0, []
    for _ in range(200):
        (sent,) = trainer.ask(now)
        asked.append(sent.to)
        trainer.hear(sent.to, reply(sent.message), now + 0.01)
        if sent.to == A:
            trainer.calls.blame(trainer.ticket, now + 0.02)
        now += 0.5
    assert asked.count(A) <= 6


def test_nothing_of_an_ended_worker_is_answered():
    trainer = Trainer(A)
    sent = trainer.ask(count=20)
    dropped = trainer.take(trainer.calls.forget(None, 0.1), 0.1)
    assert [one.message for one in dropped] == [ExpertDrop(call=one.message.call) for one in sent]
    trainer.hear(A, reply(sent[0].message), 0.3)
    assert trainer.came == {}
    assert len(trainer.ask(0.2, count=16)) == 16, "the host's window is free"


def test_window_grows_with_answers():
    trainer = Trainer(A)
    open_calls = trainer.ask(count=400)
    for turn in range(300):
        call = open_calls.pop(0)
        open_calls += trainer.hear(A, reply(call.message), 0.01 * turn)
    assert 26 <= len(open_calls) <= 32


def test_what_is_forgotten_never_comes_back():
    trainer = Trainer(A)
    (sent,) = trainer.ask()
    assert trainer.take(trainer.calls.forget([1, 77], 1.0), 1.0) == [Send(A, ExpertDrop(call=sent.message.call))]
    trainer.hear(A, reply(sent.message), 1.0)
    trainer.tick(100.0)
    assert trainer.came == {}
    assert trainer.calls.deadline is None


def test_blamed_host_rests():
    trainer = Trainer(A, B)
    (sent,) = trainer.ask()
    trainer.hear(A, reply(sent.message), 0.1)
    trainer.calls.blame(1, 0.2)
    trainer.calls.blame(1, 0.2)
    (other,) = trainer.ask(0.3)
    assert other.to == B
    assert trainer.trace["experts.useless_answer"] == 1


class Hosts:
    """Hosts that are honest, silent, lost, busy, wrong or slow by chance; time goes on by what is due next."""

    ODDS: ClassVar = {"right": 86, "silent": 4, "lost": 1, "busy": 3, "wrong": 2, "absent": 2, "slow": 2}

    def __init__(self, seed):
        self.random = Random(seed)
        self.trainer = Trainer(A, B, C, D, seed=seed)
        self.now = 0.0
        self._wires = []
        self._posted = 0

    def hear(self, sent):
        for one in sent:
            if isinstance(one.message, ExpertCall):
                kind = self.random.choices([*self.ODDS], [*self.ODDS.values()])[0]
                delay_s = self.random.expovariate(5) * (50 if kind == "slow" else 1)
                if kind != "silent":
                    self._posted += 1
                    heappush(self._wires, (self.now + delay_s, self._posted, self._event(kind, one)))

    def _event(self, kind, sent):
        if kind == "lost":
            return Lost(sent.to, "gone")
        answers = {
            "busy": refused(sent.message, CallRefusal.BUSY, self.random.random()),
            "absent": refused(sent.message, CallRefusal.ABSENT),
            "wrong": reply(sent.message, size=self.random.randint(0, 99)),
        }
        return Received(sent.to, answers.get(kind, reply(sent.message)))

    def go_on(self, until):
        calls = self.trainer.calls
        while True:
            post = self._wires[0][0] if self._wires else inf
            at = min(post, inf if calls.deadline is None else calls.deadline)
            if at > until:
                break
            self.now = max(self.now, at)
            due = self._wires and self._wires[0][0] <= self.now
            event = heappop(self._wires)[2] if due else Tick()
            self.hear(self.trainer.take(calls.handle(event, self.now), self.now))
        self.now = until


@pytest.mark.parametrize("seed", range(20))
def test_each_ask_ends_once_within_its_patience(seed):
    hosts, asked_at = Hosts(seed), {}
    for _ in range(300):
        fresh = hosts.trainer.ticket + 1
        sent = hosts.trainer.ask(hosts.now, place=hosts.random.randrange(8), count=hosts.random.randint(1, 8))
        asked_at |= dict.fromkeys(range(fresh, hosts.trainer.ticket + 1), hosts.now)
        hosts.hear(sent)
        hosts.go_on(hosts.now + hosts.random.expovariate(10))
    hosts.go_on(1e6)
    came = hosts.trainer.came
    assert set(came) == set(asked_at)
    assert hosts.trainer.calls.deadline is None
    assert max(at - asked_at[ticket] for ticket, (_, at) in came.items()) <= PATIENCE_S + 1e-6
    assert sum(kind is CallAnswered for kind, _ in came.values()) > 0.8 * len(asked_at)


@pytest.mark.parametrize("defended", [True, False])
def test_made_up_keys_are_not_asked_before_a_member(defended):
    """Each says to host all places, and others come every second; none of them answers."""
    trainer, answered_at = Trainer(members=(D,) if defended else ()), []
    for second in range(10):
        ghosts = [PeerId(bytes([0, 100 + second, number, 0]) * 8) for number in range(50)]
        trainer.table.heard((), {host: RowNews(bits=255, until=1e9) for host in (*ghosts, D)})
        [call] = trainer.ask(now=float(second))
        if call.to == D:
            trainer.hear(D, reply(call.message), second + 0.1)
            answered_at.append(second)
    assert len(answered_at) == (10 if defended else 0)


def test_hosts_that_nobody_has_are_forgotten():
    """Keys are made up by the thousand, and each is asked once."""
    trainer, now, sizes = Trainer(A), 0.0, []
    tracemalloc.start()
    for number in range(4 * HOSTS_MAX):
        trainer.table.heard((), {PeerId(bytes([9, number // 256, number % 256, 9]) * 8): RowNews(1, 1e9)})
        trainer.table.now = now
        trainer.table.answered((0,))
        trainer.ask(now)
        now += PATIENCE_S
        trainer.tick(now)
        trainer.came.clear()
        if number % HOSTS_MAX == HOSTS_MAX - 1:
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[3] < sizes[1] + 100 * HOSTS_MAX
