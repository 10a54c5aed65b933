"""Circuits: no byte is lost, repeated or out of order, whatever the relay does."""

import ssl
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.nat.circuit_endpoint import DETACHED_S, SILENT_S
from core.nat.events import CircuitEnded
from core.nat.messages import WINDOW_BYTES_MAX, CircuitAck, CircuitData, CloseCircuit
from core.net.identity.tls import SecureChannel
from tests.unit.nat.circuit_pair import CIRCUIT, RELAYS, STEP_S, WINDOW_BYTES, Pair
from tests.unit.net.people import credentials


def test_bytes_go_both_ways_and_it_ends_clean() -> None:
    pair = Pair(1)
    there, back = Random(2).randbytes(300_000), Random(3).randbytes(200_000)
    pair.write(0, there)
    pair.write(1, back)
    pair.run(5)
    assert (bytes(pair.got[1]), bytes(pair.got[0])) == (there, back)
    pair.perform(0, pair.ends[0].close(pair.now))
    pair.run(1)
    assert pair.ended[1] == CircuitEnded(CIRCUIT, "", True)
    assert pair.ended[0] == CircuitEnded(CIRCUIT, "", True)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    sizes=st.lists(st.integers(1, 90_000), min_size=1, max_size=6),
    deaths=st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=4),
    faults=st.tuples(*[st.floats(0, 0.2)] * 3),
)
def test_no_byte_is_lost_whatever_happens(
    seed: int, sizes: list[int], deaths: list[tuple[int, bool]], faults: tuple[float, float, float]
) -> None:
    pair = Pair(seed, drop=faults[0], repeat=faults[1], reorder=faults[2])
    random = Random(seed)
    parts = [random.randbytes(size) for size in sizes]
    relay = 0
    for number, part in enumerate(parts):
        pair.write(number % 2, part)
        if number < len(deaths):
            steps, loudly = deaths[number]
            for _ in range(steps):
                pair.step()
            pair.kill(RELAYS[relay % 3], loudly=loudly)
            if not loudly:
                pair.run(SILENT_S + 1)
            pair.dead.clear()
            relay += 1
            pair.attach(RELAYS[relay % 3])
    for _ in range(3000):
        pair.step()
        for end in pair.ends:
            if end.relay is None:
                relay += 1
                pair.attach(RELAYS[relay % 3])
        if not any(end.sending.unsettled_bytes for end in pair.ends):
            break
    assert pair.got[1] == b"".join(parts[0::2])
    assert pair.got[0] == b"".join(parts[1::2])


@pytest.mark.parametrize("after_steps", range(0, 40, 3))
def test_a_relay_that_falls_silent_is_replaced_within_two_seconds(after_steps: int) -> None:
    pair = Pair(7)
    data = Random(8).randbytes(900_000)
    pair.write(0, data[:400_000])
    for _ in range(after_steps):
        pair.step()
    pair.kill(RELAYS[0], loudly=False)
    pair.write(0, data[400_000:])
    died_at = pair.now
    while not pair.lost and pair.now < died_at + 5:
        pair.step()
    assert pair.now - died_at <= SILENT_S + 0.6
    pair.attach(RELAYS[1])
    pair.run(10)
    assert pair.got[1] == data


def test_each_end_counts_every_relayed_byte_once() -> None:
    pair = Pair(5, repeat=0.3, reorder=0.2)
    pair.write(0, bytes(200_000))
    pair.run(30)
    assert pair.carried == [Counter({RELAYS[0]: 200_000})] * 2
    pair.kill(RELAYS[0], loudly=True)
    pair.dead.clear()
    pair.attach(RELAYS[1])
    pair.write(1, bytes(70_000))
    pair.run(30)
    assert pair.carried == [Counter({RELAYS[0]: 200_000, RELAYS[1]: 70_000})] * 2


def test_nonsense_about_what_has_arrived_costs_the_relay_its_place() -> None:
    pair = Pair(1)
    pair.write(0, b"abc")
    pair.perform(0, pair.ends[0].handle(RELAYS[0], CircuitAck(CIRCUIT, 10**9, 0, again=False, answer=False), pair.now))
    assert [lost.reason for lost in pair.lost] == ["acknowledged what was never sent"]
    assert pair.trace["nat.circuit.nonsense"] == 1
    pair.attach(RELAYS[1])
    pair.run(3)
    assert pair.got[1] == b"abc"


def test_after_too_much_nonsense_the_circuit_ends() -> None:
    pair = Pair(1)
    for _ in range(4):
        pair.perform(0, pair.ends[0].attach(RELAYS[1], 5, pair.now))
    assert pair.ended[0] is not None
    assert not pair.ended[0].clean


def test_bytes_from_a_relay_that_is_not_ours_are_dropped() -> None:
    pair = Pair(1)
    assert pair.ends[0].handle(RELAYS[2], CircuitData(CIRCUIT, 0, b"evil"), pair.now) == []
    assert pair.trace["nat.circuit.stale"] == 1


def test_reader_paused_for_a_minute_stops_the_sender() -> None:
    pair = Pair(1)
    pair.reading[1] = False
    data = Random(4).randbytes(3_000_000)
    position = 0
    for _ in range(3000):
        count = min(pair.ends[0].sending.room, 65536, len(data) - position)
        pair.write(0, data[position : position + count])
        position += count
        pair.step()
    assert len(pair.got[1]) <= WINDOW_BYTES
    assert not pair.lost
    pair.reading[1] = True
    pair.perform(1, pair.ends[1].consumed(len(pair.got[1]), pair.now))
    while len(pair.got[1]) < len(data) and pair.now < 1200:
        count = min(pair.ends[0].sending.room, 65536, len(data) - position)
        pair.write(0, data[position : position + count])
        position += count
        pair.step()
    assert pair.got[1] == data
    assert pair.rooms


def test_more_than_the_window_is_dropped() -> None:
    pair = Pair(1)
    pair.reading[1] = False
    for offset in range(0, 2 * WINDOW_BYTES, 32768):
        pair.perform(1, pair.ends[1].handle(RELAYS[0], CircuitData(CIRCUIT, offset, bytes(32768)), pair.now))
    assert len(pair.got[1]) == WINDOW_BYTES
    assert pair.trace["nat.circuit.flooded"]


def test_without_another_relay_it_ends() -> None:
    pair = Pair(1)
    pair.kill(RELAYS[0], loudly=True)
    pair.now += DETACHED_S
    pair.step()
    assert all(ended is not None and not ended.clean for ended in pair.ended)


def test_an_idle_circuit_says_nothing() -> None:
    pair = Pair(1)
    pair.write(0, b"x")
    pair.run(10)
    assert all(end.deadline is None for end in pair.ends)


def test_abort_tells_the_other_end() -> None:
    pair = Pair(1)
    pair.perform(0, pair.ends[0].end("broken"))
    pair.run(0.1)
    assert pair.ended[1] == CircuitEnded(CIRCUIT, "broken", False)
    assert pair.ends[0].write(b"late", pair.now) == []


def test_our_own_misuse_raises() -> None:
    pair = Pair(1)
    with pytest.raises(ValueError, match="keeps at most"):
        pair.ends[0].write(bytes(9 << 20), pair.now)
    with pytest.raises(ValueError, match="read of"):
        pair.ends[0].consumed(1, pair.now)


def test_the_relay_may_ask_for_another_one() -> None:
    pair = Pair(1)
    pair.perform(0, pair.ends[0].handle(RELAYS[0], CloseCircuit(CIRCUIT, "used up", final=False), pair.now))
    assert [lost.reason for lost in pair.lost] == ["used up"]


@pytest.mark.parametrize("lost", [3, -1])
def test_bytes_that_a_relay_drops_are_retransmitted(lost: int) -> None:
    """In the middle: within a round trip.  At the end: the sender has to find out by itself."""
    pair = Pair(1)
    data = Random(5).randbytes(200_000)
    pair.write(0, data)
    carries = [entry for entry in pair.queues[1] if isinstance(entry[1], CircuitData)]
    pair.queues[1].remove(carries[lost])
    pair.run(0.5 if lost > 0 else 3.5)
    assert pair.got[1] == data


def test_peer_that_misses_all_it_gets_is_sent_little() -> None:
    pair, sent = Pair(1), 0
    pair.write(0, bytes(200_000))
    for step in range(600):
        ack = CircuitAck(CIRCUIT, 0, WINDOW_BYTES, again=True, answer=True)
        outputs = pair.ends[0].handle(RELAYS[0], ack, pair.now + step / 20)
        sent += sum(len(out.message.payload) for out in outputs if isinstance(getattr(out, "message", 0), CircuitData))
    assert sent <= WINDOW_BYTES_MAX


class Talk:
    """TLS over a pair; the relay changes one byte on the way to the called side."""

    def __init__(self, position: int) -> None:
        self.pair = Pair(1)
        self.words = Random(6).randbytes(80_000)
        self.heard = bytearray()
        self.position = position
        self.taken = [0, 0]
        self.done = [False, False]
        self.channels = [
            SecureChannel(credentials("ann"), server_side=False),
            SecureChannel(credentials("bob"), server_side=True),
        ]

    def run(self) -> None:
        for _ in range(200):
            self.pair.step()
            for number, channel in enumerate(self.channels):
                channel.feed(self.arrived(number))
                self.talk(number, channel)
                if data := channel.take():
                    self.pair.write(number, data)

    def talk(self, number: int, channel: SecureChannel) -> None:
        if self.done[number]:
            if number == 1:
                room = bytearray(65536)
                count, _ = channel.read_into(memoryview(room))
                self.heard += room[:count]
            return
        self.done[number] = channel.handshake()
        if number == 0 and self.done[0]:
            channel.write(self.words)

    def arrived(self, number: int) -> bytes:
        data = self.pair.got[number][self.taken[number] :]
        at = self.position - self.taken[number]
        if number == 1 and 0 <= at < len(data):
            data[at] ^= 0x40
        self.taken[number] += len(data)
        return bytes(data)


def test_tls_over_a_circuit() -> None:
    talk = Talk(-1)
    talk.run()
    assert talk.heard == talk.words


@pytest.mark.parametrize("position", [100, 700, 5000, 60_000])
def test_bytes_that_a_relay_changes_are_noticed(position: int) -> None:
    """By TLS between the two ends: nothing that was changed is ever taken for the other side's words."""
    talk = Talk(position)
    with pytest.raises(ssl.SSLError):
        talk.run()
    assert talk.words.startswith(bytes(talk.heard))


@pytest.mark.parametrize("delay_s", [0.0, 0.15])
@pytest.mark.parametrize("sender", [0, 1])
def test_a_slow_line_is_not_taken_for_a_dead_relay(sender: int, delay_s: float) -> None:
    """Neither by the end that sends into it nor by the one that waits for what comes out of it."""
    pair = Pair(1)
    pair.bytes_per_s, pair.delay_s = 16_000, delay_s
    data = Random(9).randbytes(300_000)
    pair.write(0, data)
    if sender:
        pair.write(1, data)
    pair.run(30)
    assert pair.lost == []
    assert pair.got[1] == data


@pytest.mark.parametrize("late_s", [0.0, 0.2, 0.4])
def test_stuttering_line_is_not_mistaken_for_a_dead_relay(late_s: float) -> None:
    """Wi-Fi that looks around, or a packet that was lost and repeated: everything stands still for a while."""
    pair = Pair(1)
    data = Random(9).randbytes(2_000_000)
    for number in range(40):
        pair.delay_s = 0.15 + (late_s if number % 4 == 3 else 0.0)
        pair.write(number % 2, data[number * 50_000 : (number + 1) * 50_000])
        pair.run(0.3)
    pair.run(3)
    assert pair.lost == []
    assert bytes(pair.got[1]) == b"".join(data[n * 50_000 : (n + 1) * 50_000] for n in range(0, 40, 2))


def test_satellite_relay_is_left_once_and_then_kept() -> None:
    pair = Pair(1)
    pair.delay_s = 0.65
    data = Random(9).randbytes(300_000)
    for writer in (0, 1, 0, 1):
        before = len(pair.lost)
        pair.write(writer, data)
        for _ in range(int(15 / STEP_S)):
            pair.step()
            if any(end.relay is None for end in pair.ends):
                pair.attach(RELAYS[len(pair.lost) % 3])
        assert len(pair.lost) - before <= 1
    assert bytes(pair.got[0]) == bytes(pair.got[1]) == data + data
    assert len(pair.lost) <= 2


def test_reader_notices_a_dead_relay_too() -> None:
    """The end that opened the circuit is the one that finds the next relay, whichever way the bytes go."""
    pair = Pair(1)
    pair.delay_s = 0.15
    data = Random(9).randbytes(2_000_000)
    pair.write(1, data)
    pair.run(0.5)
    assert pair.got[0]
    pair.kill(RELAYS[0], loudly=False)
    died_at = pair.now
    while pair.ends[0].relay is not None and pair.now < died_at + 5:
        pair.step()
    assert pair.now - died_at <= SILENT_S + 0.2


def test_end_that_has_everything_waits_for_nothing() -> None:
    pair = Pair(1)
    pair.write(1, b"x" * 1000)
    pair.run(1)
    pair.kill(RELAYS[0], loudly=False)
    pair.run(5)
    assert pair.lost == []
