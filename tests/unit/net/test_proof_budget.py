"""Datagrams that prove nothing cost little, and silence nobody that is known; a member's own are bounded."""

from contextlib import nullcontext
from itertools import count

import pytest

from core.base.problems import ProofProblem
from core.net.datagrams.envelope import ENVELOPE, Envelopes, VerifiedDatagram
from core.net.identity.passes import PassVerifier
from core.net.limits.proof_budget import FAILED_BURST, SHARE, SHARE_BURST_S, SOURCES_MAX, ProofBudget
from tests.unit.net.people import AUTHORITY, NOW, RUN, SAME_RUN_OTHER_KEY, envelopes, id_of, issue, keys, nonces

BEN = id_of("ben")


class Counting(PassVerifier):
    """Counts the certificates that it reads."""

    def __init__(self) -> None:
        super().__init__(AUTHORITY.id, RUN)
        self.reads = 0

    def read(self, der, now):
        self.reads += 1
        return super().read(der, now)


def receiver() -> tuple[Envelopes, Counting]:
    passes = Counting()
    return Envelopes(signer=keys("ben"), pass_der=issue("ben"), passes=passes, nonce=nonces("ben")), passes


def refused(ben: Envelopes, datagrams: list[bytes], source: str, now: float = NOW) -> None:
    for datagram in datagrams:
        with pytest.raises(ProofProblem):
            ben.open(datagram, now=now, source=source)


def forged(count: int) -> list[bytes]:
    """With passes of a foreign authority, which differ."""
    eves = [envelopes("eve", pass_der=issue("eve", authority=SAME_RUN_OTHER_KEY, now=NOW - n)) for n in range(count)]
    return [eve.seal(BEN, b"x", now=NOW)[0] for eve in eves]


def spoiled(datagram: bytes) -> bytes:
    return ENVELOPE + bytes(64) + datagram[65:]


def test_forged_passes_of_one_source_are_read_a_few_times():
    ben, passes = receiver()
    refused(ben, forged(200), "203.0.113.9")
    assert passes.reads <= FAILED_BURST + 1
    (honest,) = envelopes("anna").seal(BEN, b"hello", now=NOW)
    assert isinstance(ben.open(honest, now=NOW, source="192.0.2.1"), VerifiedDatagram)


def test_known_peer_is_heard_whatever_strangers_fail_at():
    """From its own household, from everywhere, and with its pass."""
    ben, _ = receiver()
    anna = envelopes("anna")
    assert isinstance(ben.open(anna.seal(BEN, b"1", now=NOW)[0], now=NOW, source="192.0.2.1"), VerifiedDatagram)
    copied = [spoiled(anna.seal(BEN, b"2", now=NOW)[0]) for _ in range(100)]
    refused(ben, forged(50), "192.0.2.1")
    refused(ben, copied, "203.0.113.9")
    for number in range(2 * SOURCES_MAX):
        refused(ben, copied[: FAILED_BURST + 2], f"198.51.{number}.1")
    assert isinstance(ben.open(anna.seal(BEN, b"3", now=NOW)[0], now=NOW, source="192.0.2.1"), VerifiedDatagram)


def test_forged_address_silences_a_peer_only_while_it_lasts():
    ben, _ = receiver()
    anna = envelopes("anna")
    ben.open(anna.seal(BEN, b"1", now=NOW)[0], now=NOW, source="192.0.2.1")
    refused(ben, [spoiled(anna.seal(BEN, b"2", now=NOW)[0]) for _ in range(50)], "192.0.2.1")
    later = NOW + 1.0
    assert isinstance(ben.open(anna.seal(BEN, b"3", now=later)[0], now=later, source="192.0.2.1"), VerifiedDatagram)


def test_work_for_strangers_is_bounded_from_many_addresses():
    budget, looked_at = ProofBudget(), 0
    for second in range(10):
        for number in range(20_000):
            source = f"a{number % 1000}"
            if budget.allows(None, source, NOW + second):
                looked_at += 1
                budget.failed(None, source, NOW + second)
    assert looked_at < (SOURCES_MAX + 1) * (FAILED_BURST + 1 + 5 * 10)


def test_member_that_sends_valid_datagrams_has_its_share(monkeypatch):
    """From as many households as it likes; a copy of another member's pass uses up nothing of that member's."""
    used_s = count(step=0.005)  # between two looks at the clock
    ben = Envelopes(
        signer=keys("ben"),
        pass_der=issue("ben"),
        passes=PassVerifier(AUTHORITY.id, RUN),
        nonce=nonces("ben"),
        busy=lambda: next(used_s),
    )
    anna, mallory = envelopes("anna"), envelopes("mallory")

    def taken(sender: Envelopes, number: int, at: float, source: str) -> int:
        opened = 0
        for (datagram,) in [sender.seal(BEN, b"x", now=at) for _ in range(number)]:
            beyond = ben.is_beyond_share(datagram, now=at)
            with pytest.raises(ProofProblem) if beyond else nullcontext():
                found = ben.open(datagram, now=at, source=source)
                assert isinstance(found, VerifiedDatagram)
                with ben.work_for(found.sender, at):
                    opened += 1
        return opened

    assert taken(anna, 1, NOW, "192.0.2.1") == 1
    refused(ben, [spoiled(anna.seal(BEN, b"2", now=NOW)[0]) for _ in range(200)], "203.0.113.9")
    first = sum(taken(mallory, 30, NOW, f"203.0.113.{n}") for n in range(4))
    assert first == pytest.approx(SHARE_BURST_S / 0.01, abs=1)
    assert taken(anna, 20, NOW, "192.0.2.1") == 20
    assert taken(mallory, 30, NOW + 2, "203.0.113.1") == pytest.approx(2 * SHARE / 0.01, abs=1)
    monkeypatch.setattr(ProofBudget, "is_beyond_share", lambda *_: False)
    assert taken(mallory, 200, NOW + 2, "203.0.113.1") == 200, "without the share it takes whatever it sends"
