"""The attacks of S000 appendix I.5, each on real datagrams and on real streams.

An expired pass and the pass of another collaboration are in `test_net_host`, on both planes.
"""

import asyncio
import socket
from collections.abc import Callable
from secrets import token_bytes

import pytest

from core.base.problems import ProofProblem
from core.net.clock import Clock
from core.net.datagrams import replay
from core.net.datagrams.envelope import NONCE_BYTES, Envelopes, VerifiedDatagram
from core.net.identity.passes import PassVerifier, pass_request
from core.net.identity.tls import Credentials
from tests.process.between import Change, datagrams, records
from tests.process.net_people import AUTHORITY, CODEC, RUN, Answer, Ask, Peer, Say, eventually, id_of, in_loop, keys

pytestmark = pytest.mark.process
HOUR_S = 3600.0


def pass_of(name: str, now: float) -> bytes:
    return AUTHORITY.issue(pass_request(keys(name)), username=name, device="", now=now)


def envelopes(name: str, *, now: float, showing: str = "") -> Envelopes:
    """As `name` seals and opens; `showing` another's pass."""
    return Envelopes(
        signer=keys(name),
        pass_der=pass_of(showing or name, now),
        passes=PassVerifier(AUTHORITY.id, RUN),
        nonce=lambda: token_bytes(NONCE_BYTES),
    )


def put(packets: list[bytes], port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        for packet in packets:
            udp.sendto(packet, ("127.0.0.1", port))


def at(anna: Peer, ben: Peer, port: int) -> None:
    """Anna believes that ben is there."""
    anna.host.learn(ben.id, "127.0.0.1", port)


def flip(place: int) -> Callable[[bytes], bytes]:
    def flipped(data: bytes) -> bytes:
        changed = bytearray(data)
        changed[place % len(changed)] ^= 0x01
        return bytes(changed)

    return flipped


# --- nobody does anything: the tests' own tools are no attack ---------------------------------------------------------


@in_loop
async def test_passive_observer_on_the_wire_is_not_noticed():
    async with Peer("anna") as anna, Peer("ben") as ben:
        async with datagrams(ben.port) as tap:
            at(anna, ben, tap.port)
            anna.say(ben, Ask("1"))
            await anna.book.until(lambda book: book.heard)
            assert b"1" in {data[-1:] for data, _ in tap.seen}, "datagrams are signed, not secret"
        async with records(ben.port) as wire:
            at(anna, ben, wire.port)
            anna.say(ben, Say("a secret?"))
            await anna.book.until(lambda book: len(book.heard) == 2)
            assert not any(b"secret" in record for record, _ in wire.seen)
            await anna.host.close()
        assert anna.trace["net.drop.proof"] == ben.trace["net.drop.proof"] == 0


# --- datagrams --------------------------------------------------------------------------------------------------------


@in_loop
async def test_a_datagram_with_anothers_pass_is_not_heard():
    async with Peer("ben") as ben:
        now = ben.clock.now()
        eve = envelopes("eve", now=now, showing="anna")
        put(eve.seal(ben.id, CODEC.encode(Ask("I am anna")), now=now), ben.port)
        await eventually(lambda: ben.trace["net.drop.proof"] == 1)
        assert ben.book.heard == ben.book.observed == []


@in_loop
async def test_a_datagram_sent_again_is_heard_once():
    async with Peer("anna") as anna, Peer("ben") as ben, datagrams(ben.port, lambda data, _: [data, data]) as tap:
        at(anna, ben, tap.port)
        for text in ("1", "2"):
            anna.say(ben, Ask(text))
        await eventually(lambda: anna.trace["net.drop.proof"] == ben.trace["net.drop.proof"] == 2)
        put([data for data, outward in tap.seen if outward], ben.port)
        await eventually(lambda: ben.trace["net.drop.proof"] == 4)
        assert ben.texts() == anna.texts() == ["1", "2"]


@pytest.mark.parametrize("defended", [True, False])
@in_loop
async def test_letters_dated_ahead_by_many_members_silence_nobody(monkeypatch, defended):
    """26 passes fill the memory of nonces with letters of a minute ahead; one memory for all senders is no defence."""
    monkeypatch.setattr(replay, "NONCES_MAX", 500)
    if not defended:
        admit, anybody = replay.ReplayGuard.admit, id_of("anybody")
        monkeypatch.setattr(
            replay.ReplayGuard, "admit", lambda guard, _, *more, **at: admit(guard, anybody, *more, **at)
        )
    async with Peer("anna") as anna, Peer("ben") as ben:
        anna.knows(ben)
        ahead = ben.clock.now() + 58.0
        for number in range(26):
            eve = envelopes(f"eve{number}", now=ben.clock.now())
            for letter in range(40):
                put(eve.seal(ben.id, CODEC.encode(Ask("filler")), now=ahead + number / 100 + letter / 10_000), ben.port)
            await ben.book.until(lambda book, said=40 * (number + 1): len(book.heard) == said)
        if not defended:
            anna.say(ben, Ask("still there?"))
            await eventually(lambda: ben.trace["net.drop.proof"])
            assert not anna.book.heard
            return
        for count in range(5):
            anna.say(ben, Ask("still there?"))
            await anna.book.until(lambda book, answers=count + 1: len(book.heard) == answers)
        assert ben.trace["net.drop.proof"] == 0


@in_loop
async def test_a_datagram_for_somebody_else_is_not_heard():
    async with Peer("anna") as anna, Peer("ben") as ben, datagrams(ben.port) as tap:
        anna.host.learn(id_of("carl"), "127.0.0.1", tap.port)
        anna.say(id_of("carl"), Ask("for carl"))
        await eventually(lambda: ben.trace["net.drop.proof"] == 1)
        assert ben.book.heard == ben.book.observed == []


@in_loop
async def test_an_answer_of_somebody_else_is_not_heard():
    """Eve, a member as good as any, answers what anna asked ben."""
    async with Peer("anna") as anna, Peer("ben") as ben:
        now = anna.clock.now()
        eve, reader = envelopes("eve", now=now), envelopes("ben", now=now)

        def answer(data: bytes, outward: bool) -> list[bytes]:  # noqa: FBT001 - as a Change is called
            if outward:
                letter = reader.open(data, now=now)
                assert isinstance(letter, VerifiedDatagram)
                for packet in eve.seal(anna.id, CODEC.encode(Answer("I am ben")), now=now, reply_to=letter.nonce):
                    tap.put(packet, outward=False)
            return []

        async with datagrams(ben.port, answer) as tap:
            at(anna, ben, tap.port)
            anna.say(ben, Ask("who?"))
            await eventually(lambda: anna.trace["net.drop.proof"] == 1)
            assert anna.book.heard == []


@in_loop
async def test_an_answer_to_somebody_elses_question_is_not_heard():
    """Ben answers carl; anna, who has asked too, is given that answer."""
    async with Peer("anna") as anna, Peer("carl") as carl, Peer("ben") as ben:
        async with datagrams(ben.port) as near_carl:
            at(carl, ben, near_carl.port)
            carl.say(ben, Ask("carl's"))
            await carl.book.until(lambda book: book.heard)
            (to_carl,) = [data for data, outward in near_carl.seen if not outward]
        async with datagrams(ben.port, lambda data, outward: [data if outward else to_carl]) as near_anna:
            at(anna, ben, near_anna.port)
            anna.say(ben, Ask("anna's"))
            await eventually(lambda: anna.trace["net.drop.proof"] == 1)
            assert anna.book.heard == []


@pytest.mark.parametrize("outward", [True, False])
@pytest.mark.parametrize("place", [1, 40, 64, 66, 100, -30, -1])
@in_loop
async def test_a_datagram_changed_on_the_way_is_not_heard(place, outward):
    def change(data: bytes, is_outward: bool) -> list[bytes]:  # noqa: FBT001 - as a Change is called
        return [flip(place)(data) if is_outward == outward else data]

    async with Peer("anna") as anna, Peer("ben") as ben, datagrams(ben.port, change) as tap:
        at(anna, ben, tap.port)
        anna.say(ben, Ask("hello"))
        victim, other = (ben, anna) if outward else (anna, ben)
        await eventually(lambda: victim.trace["net.drop.proof"] + victim.trace["net.drop.garbage"])
        assert victim.book.heard == []
        assert other.trace["net.drop.proof"] == 0


# --- streams ----------------------------------------------------------------------------------------------------------


@in_loop
async def test_a_stream_with_anothers_pass_cannot_even_be_begun():
    """TLS proves the key; OpenSSL does not take a pass without it."""
    async with Peer("ben") as ben:
        with pytest.raises(OSError, match="KEY_VALUES_MISMATCH"):
            Credentials(
                keys=keys("eve"), pass_der=pass_of("anna", ben.clock.now()), passes=PassVerifier(AUTHORITY.id, RUN)
            )


async def _said(change: Change, *texts: str) -> tuple[Peer, Peer, list[tuple[bytes, bool]]]:
    """Anna says so to ben over a wire on which that is done to records once the link stands; until one side is lost."""
    armed = False

    def when_armed(record: bytes, outward: bool) -> list[bytes]:  # noqa: FBT001 - as a Change is called
        return change(record, outward) if armed else [record]

    async with Peer("anna") as anna, Peer("ben") as ben, records(ben.port, when_armed) as wire:
        at(anna, ben, wire.port)
        await anna.ask(ben, "first?")
        armed = True
        for text in texts:
            anna.say(ben, Say(text))
            await asyncio.sleep(0.02)  # a record of its own
        await eventually(lambda: anna.book.lost and ben.book.lost)
        return anna, ben, wire.seen


@in_loop
async def test_replayed_tls_record_is_dropped_and_ends_the_link():
    _, ben, _ = await _said(lambda record, outward: [record, record] if outward else [record], "second")
    assert ben.texts() in ([], ["second"])
    assert ben.book.lost[0].reason.startswith("broke")


@in_loop
async def test_records_that_change_places_end_the_link():
    """So no answer can be taken for that to another question."""
    held: list[bytes] = []

    def swap(record: bytes, outward: bool) -> list[bytes]:  # noqa: FBT001 - as a Change is called
        if outward:
            return [record]
        if not held:
            held.append(record)
            return []
        return [record, held.pop()]

    anna, _, _ = await _said(swap, "a?", "b?")
    assert anna.texts() == ["first!"]
    assert anna.book.lost[0].reason.startswith("broke")


@pytest.mark.parametrize("place", [5, 20, -1])
@in_loop
async def test_a_record_changed_on_the_way_ends_the_link(place):
    _, ben, _ = await _said(lambda record, outward: [flip(place)(record)] if outward else [record], "second")
    assert ben.texts() == []
    assert ben.book.lost[0].reason.startswith("broke")


@in_loop
async def test_a_whole_connection_played_again_says_nothing():
    async with Peer("anna") as anna, Peer("ben") as ben:
        async with records(ben.port) as wire:
            at(anna, ben, wire.port)
            anna.say(ben, Say("once"))
            await ben.book.until(lambda book: book.heard)
            recorded = b"".join(record for record, outward in wire.seen if outward)
        reader, writer = await asyncio.open_connection("127.0.0.1", ben.port)
        writer.write(recorded)
        await eventually(lambda: ben.trace["net.drop.handshake"] == 1)
        await reader.read()
        writer.close()
        assert ben.texts() == ["once"]


@in_loop
async def test_a_stream_that_is_led_to_somebody_else_says_nothing():
    """Ben is a member, and would like to hear what is for carl."""
    async with Peer("anna") as anna, Peer("ben") as ben, records(ben.port) as wire:
        anna.host.learn(id_of("carl"), "127.0.0.1", wire.port)
        anna.say(id_of("carl"), Say("for carl"))
        await eventually(lambda: anna.trace["net.drop.impostor"])
        await anna.book.until(lambda book: book.lost)
        assert ben.book.heard == []


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("outward", [True, False])
@in_loop
async def test_a_greeting_changed_on_the_way_makes_no_link(number, outward):
    """Hello, key, pass or proof of one side: an attacker in between cannot choose for them."""
    passed = [0, 0]

    def change(record: bytes, is_outward: bool) -> list[bytes]:  # noqa: FBT001 - as a Change is called
        passed[is_outward] += 1
        changed = is_outward == outward and passed[is_outward] == number + 1
        return [flip(-1)(record) if changed and record[0] != CHANGE_CIPHER else record]

    async with Peer("anna") as anna, Peer("ben") as ben, records(ben.port, change) as wire:
        at(anna, ben, wire.port)
        anna.say(ben, Say("hello"))
        await eventually(lambda: anna.book.lost or ben.book.lost or ben.book.heard)
        changed = [record for record, is_outward in wire.seen if is_outward == outward][number : number + 1]
        if changed and changed[0][0] != CHANGE_CIPHER:
            assert ben.book.heard == []


CHANGE_CIPHER = 20
"""A record that TLS 1.3 sends for the sake of old routers only."""


# --- clocks -----------------------------------------------------------------------------------------------------------


class WrongClock(Clock):
    """A clock that somebody sets wrong."""

    wrong_s = 0.0

    def now(self) -> float:
        return super().now() + self.wrong_s


@pytest.mark.parametrize("ahead_s", [HOUR_S, -HOUR_S])
@in_loop
async def test_datagrams_with_a_clock_an_hour_off_are_dropped(ahead_s):
    clock = WrongClock()
    async with Peer("anna", clock=clock, age_s=2 * HOUR_S) as anna, Peer("ben") as ben:
        clock.wrong_s = ahead_s
        anna.knows(ben)
        ben.knows(anna)
        anna.say(ben, Ask("what time is it?"))
        ben.say(anna, Ask("and there?"))
        await eventually(lambda: anna.trace["net.drop.time"] and ben.trace["net.drop.time"])
        assert anna.book.heard == ben.book.heard == []


def test_the_proofs_say_what_did_not_hold():
    now = 1_800_000_000.0
    anna, ben = envelopes("anna", now=now), envelopes("ben", now=now)
    (packet,) = anna.seal(id_of("ben"), b"x", now=now + HOUR_S)
    with pytest.raises(ProofProblem, match="time"):
        ben.open(packet, now=now)
