"""The attacks of S000 appendix I.5 on the datagram plane."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.backbone.authority import LIFETIME_S
from core.base.problems import ProofProblem, WireProblem
from core.base.signing import SIGNATURE_BYTES
from core.net.datagrams.envelope import (
    DATAGRAM_BYTES_MAX,
    DOMAIN,
    ENVELOPE,
    NEED_PASS,
    NONCE_BYTES,
    PassRequested,
    UnknownPass,
    VerifiedDatagram,
    WrongTime,
)
from tests.unit.net.people import (
    NOW,
    SAME_KEY_OTHER_RUN,
    SAME_RUN_OTHER_KEY,
    envelopes,
    id_of,
    issue,
    keys,
)

OLD_PASS = issue("anna", now=NOW - 3_600)
ANNA, BEN, EVE = id_of("anna"), id_of("ben"), id_of("eve")


def one(datagrams: list[bytes]) -> bytes:
    (datagram,) = datagrams
    return datagram


def refused(datagram: bytes, why: str, now: float = NOW) -> None:
    with pytest.raises(ProofProblem, match=why):
        envelopes("ben").open(datagram, now=now)


def letter(datagram: bytes, reader=None, now: float = NOW) -> VerifiedDatagram:
    found = (reader or envelopes("ben")).open(datagram, now=now)
    assert isinstance(found, VerifiedDatagram)
    return found


def test_a_letter_arrives_with_its_senders_key():
    found = letter(one(envelopes("anna").seal(BEN, b"hello", now=NOW)))
    assert (found.sender, found.body) == (ANNA, b"hello")


def test_the_pass_is_shown_once_and_its_hash_later():
    anna, ben = envelopes("anna"), envelopes("ben")
    first, second = one(anna.seal(BEN, b"1", now=NOW)), one(anna.seal(BEN, b"2", now=NOW))
    assert len(second) < len(first) - 200
    assert [letter(d, ben).body for d in (first, second)] == [b"1", b"2"]


def test_an_expired_pass_is_refused():
    refused(
        one(envelopes("anna", pass_der=issue("anna", now=NOW - LIFETIME_S - 3_600)).seal(BEN, b"x", now=NOW)), "expired"
    )


def test_a_pass_that_expires_is_refused_by_its_hash_too():
    anna, ben = envelopes("anna"), envelopes("ben")
    letter(one(anna.seal(BEN, b"x", now=NOW)), ben)
    later = NOW + LIFETIME_S + 3_600
    with pytest.raises(ProofProblem, match="expired"):
        ben.open(one(anna.seal(BEN, b"x", now=later)), now=later)


@pytest.mark.parametrize("authority", [SAME_KEY_OTHER_RUN, SAME_RUN_OTHER_KEY])
def test_a_pass_of_another_collaboration_or_authority_is_refused(authority):
    refused(one(envelopes("anna", pass_der=issue("anna", authority=authority)).seal(BEN, b"x", now=NOW)), "pass")


def test_a_stolen_pass_is_of_no_use_without_its_key():
    refused(one(envelopes("eve", pass_der=issue("anna")).seal(BEN, b"x", now=NOW)), "signature")


def test_a_letter_to_somebody_else_is_refused():
    refused(one(envelopes("anna").seal(EVE, b"x", now=NOW)), "recipient")


def test_a_letter_passed_on_is_refused():
    datagram = one(envelopes("anna").seal(EVE, b"x", now=NOW))
    assert letter(datagram, envelopes("eve")).sender == ANNA
    refused(datagram.replace(EVE, BEN), "signature")


@pytest.mark.parametrize("off_s", [-61.0, 61.0])
def test_an_old_or_early_letter_is_refused(off_s):
    refused(one(envelopes("anna", pass_der=OLD_PASS).seal(BEN, b"x", now=NOW + off_s)), "time")
    longer = one(envelopes("anna", pass_der=OLD_PASS).seal(BEN, b"a question", now=NOW + off_s))
    found = envelopes("ben").open(longer, now=NOW)
    assert isinstance(found, WrongTime), "nothing of it is delivered"


def test_a_letter_sent_again_is_refused():
    ben = envelopes("ben")
    datagram = one(envelopes("anna").seal(BEN, b"x", now=NOW))
    letter(datagram, ben)
    with pytest.raises(ProofProblem, match="replay"):
        ben.open(datagram, now=NOW + 30)
    with pytest.raises(ProofProblem, match="time"):
        ben.open(datagram, now=NOW + 61)


@given(st.integers(1, 2000), st.integers(1, 255))
def test_a_changed_letter_is_refused(place, change):
    datagram = bytearray(one(envelopes("anna").seal(BEN, b"some body", now=NOW)))
    datagram[1 + place % (len(datagram) - 1)] ^= change
    with pytest.raises((ProofProblem, WireProblem)):
        envelopes("ben").open(bytes(datagram), now=NOW)


def test_an_unsigned_letter_is_refused():
    datagram = one(envelopes("anna").seal(BEN, b"x", now=NOW))
    refused(datagram[:1] + bytes(64) + datagram[65:], "signature")


def test_a_letter_signed_for_another_purpose_is_refused():
    payload = one(envelopes("anna").seal(BEN, b"x", now=NOW))[65:]
    assert keys("anna").sign(DOMAIN + payload) != keys("anna").sign(payload)
    refused(ENVELOPE + keys("anna").sign(payload) + payload, "signature")


@given(st.binary(max_size=1500))
def test_garbage_is_refused(data):
    with pytest.raises((ProofProblem, WireProblem)):
        envelopes("ben").open(b"\x01" + data, now=NOW)


@given(st.binary(max_size=1500).filter(lambda d: d[:1] != b"\x01" and not (d[:1] == b"\x02" and len(d) == 9)))
def test_other_kinds_are_refused(data):
    with pytest.raises(WireProblem):
        envelopes("ben").open(data, now=NOW)


# --- passes that are not known ---------------------------------------------------------------------------------------


def test_peer_that_lost_our_pass_asks_and_gets_everything():
    anna = envelopes("anna")
    anna.seal(BEN, b"lost on the way", now=NOW)
    unknown = envelopes("ben").open(one(anna.seal(BEN, b"what I say", now=NOW)), now=NOW)
    assert isinstance(unknown, UnknownPass)
    wanted = anna.open(unknown.answer, now=NOW + 1)
    assert isinstance(wanted, PassRequested)
    assert wanted.peer == BEN
    ben = envelopes("ben")
    assert [letter(datagram, ben, NOW + 1).body for datagram in wanted.datagrams] == [b"", b"what I say"]


def test_the_request_for_a_pass_is_smaller_than_any_letter():
    anna = envelopes("anna")
    anna.seal(BEN, b"", now=NOW)
    datagram = one(anna.seal(BEN, b"", now=NOW))
    unknown = envelopes("ben").open(datagram, now=NOW)
    assert isinstance(unknown, UnknownPass)
    assert len(unknown.answer) < 10 < len(datagram)


def test_pass_is_sent_once_and_only_for_our_nonces():
    anna = envelopes("anna")
    assert anna.open(NEED_PASS + b"n" * 8, now=NOW) is None
    anna.seal(BEN, b"", now=NOW)
    unknown = envelopes("ben").open(one(anna.seal(BEN, b"x", now=NOW)), now=NOW)
    assert isinstance(unknown, UnknownPass)
    assert anna.open(unknown.answer, now=NOW) is not None
    assert anna.open(unknown.answer, now=NOW) is None


def test_a_renewed_pass_is_shown_again():
    anna, ben = envelopes("anna"), envelopes("ben")
    letter(one(anna.seal(BEN, b"1", now=NOW)), ben)
    anna.renew(issue("anna", now=NOW + LIFETIME_S / 2))
    later = NOW + LIFETIME_S + 3_600
    assert letter(one(anna.seal(BEN, b"2", now=later)), ben, later).body == b"2"


# --- answers ---------------------------------------------------------------------------------------------------------


def test_answer_is_accepted_from_the_asked_peer_only():
    anna, ben, eve = envelopes("anna"), envelopes("ben"), envelopes("eve")
    question = letter(one(anna.seal(BEN, b"question", now=NOW)), ben)
    answer = one(ben.seal(ANNA, b"answer", now=NOW, reply_to=question.nonce))
    forged = one(eve.seal(ANNA, b"lie", now=NOW, reply_to=question.nonce))
    with pytest.raises(ProofProblem, match="answer"):
        anna.open(forged, now=NOW)
    assert letter(answer, anna).body == b"answer"


def test_an_answer_to_nothing_or_too_late_is_refused():
    anna, ben = envelopes("anna"), envelopes("ben")
    question = letter(one(anna.seal(BEN, b"question", now=NOW)), ben)
    for reply_to, now in ((b"n" * 8, NOW), (question.nonce, NOW + 61)):
        with pytest.raises(ProofProblem, match="answer"):
            anna.open(one(ben.seal(ANNA, b"answer", now=now, reply_to=reply_to)), now=now)


# --- clocks ----------------------------------------------------------------------------------------------------------


def told(sender, receiver, *, ahead_s: float, now: float = NOW) -> bytes | None:
    """What `receiver` answers to a datagram of Anna's, whose clock is ahead; None: nothing."""
    datagram = sender.seal(BEN, b"a question", now=now + ahead_s)[-1]
    try:
        found = receiver.open(datagram, now=now)
    except ProofProblem:
        return None
    assert isinstance(found, WrongTime)
    assert len(found.answer) <= len(datagram)
    return found.answer


@pytest.mark.parametrize("ahead_s", [90.0, 600.0, -3_000.0])
def test_a_wrong_clock_is_told_the_time_only(ahead_s):
    heard: list[tuple[bytes, float]] = []
    anna, ben = envelopes("anna", pass_der=OLD_PASS, heard=lambda *news: heard.append(news)), envelopes("ben")
    answer = told(anna, ben, ahead_s=ahead_s)
    unknown = anna.open(answer, now=NOW + ahead_s)
    assert isinstance(unknown, UnknownPass)
    wanted = ben.open(unknown.answer, now=NOW)
    assert isinstance(wanted, PassRequested)
    for datagram in wanted.datagrams:
        with pytest.raises(ProofProblem, match="time"):
            anna.open(datagram, now=NOW + ahead_s + 1.0)
    assert heard == [(BEN, -ahead_s - 0.5)]


def test_the_time_is_told_once_a_second_to_requests():
    anna, ben = envelopes("anna"), envelopes("ben")
    assert told(anna, ben, ahead_s=600.0) is not None
    assert told(anna, ben, ahead_s=600.0, now=NOW + 0.5) is None
    assert told(anna, ben, ahead_s=600.0, now=NOW + 1.0) is not None
    question = letter(one(ben.seal(ANNA, b"a question", now=NOW)), anna)
    with pytest.raises(ProofProblem, match="time"):
        ben.open(one(anna.seal(BEN, b"an answer", now=NOW + 600, reply_to=question.nonce)), now=NOW)


def test_an_answer_tells_its_time_only_if_fresh():
    heard: list[float] = []
    anna, ben = envelopes("anna", heard=lambda _, ahead_s: heard.append(ahead_s)), envelopes("ben")
    question = letter(one(anna.seal(BEN, b"a question", now=NOW)), ben)
    answer = ben.seal(ANNA, b"an answer", now=NOW, reply_to=question.nonce)[0]
    with pytest.raises(ProofProblem, match="answer"):
        envelopes("anna").open(answer, now=NOW)
    letter(answer, anna, NOW + 10)
    assert heard == [], "a recorded answer says nothing about the present"
    question = letter(one(anna.seal(BEN, b"a question", now=NOW)), ben)
    letter(ben.seal(ANNA, b"an answer", now=NOW + 1, reply_to=question.nonce)[0], anna, NOW + 1)
    assert heard == [0.5]


def test_a_time_outside_the_pass_is_refused():
    for off_s in (2 * LIFETIME_S, -2 * LIFETIME_S):
        refused(one(envelopes("anna").seal(BEN, b"a question", now=NOW + off_s)), "pass")
    anna, ben = envelopes("anna"), envelopes("ben")
    letter(one(anna.seal(BEN, b"a question", now=NOW)), ben)
    with pytest.raises(ProofProblem, match="expired"):
        ben.open(one(anna.seal(BEN, b"a question", now=NOW + 2 * LIFETIME_S)), now=NOW)


def test_a_datagram_dated_back_prolongs_no_pass():
    ends = NOW + LIFETIME_S
    refused(one(envelopes("anna").seal(BEN, b"x", now=ends + 50)), "expired", now=ends + 100)


# --- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("username", ["anna", "Ж" * 32])
def test_a_body_of_700_bytes_always_gets_through(username):
    anna, ben = envelopes("anna", username=username), envelopes("ben")
    datagrams = anna.seal(BEN, b"x" * 700, now=NOW, reply_to=b"")
    assert all(len(datagram) <= DATAGRAM_BYTES_MAX for datagram in datagrams)
    assert [letter(datagram, ben).body for datagram in datagrams][-1] == b"x" * 700


def test_largest_body_is_preceded_by_an_introduction():
    anna, ben = envelopes("anna"), envelopes("ben")
    datagrams = anna.seal(BEN, b"x" * 1000, now=NOW)
    assert [letter(datagram, ben).body for datagram in datagrams] == [b"", b"x" * 1000]


def test_a_body_that_does_not_fit_is_our_mistake():
    with pytest.raises(ValueError):
        envelopes("anna").seal(BEN, b"x" * 1200, now=NOW)


def test_overlong_datagrams_are_refused():
    with pytest.raises(WireProblem):
        envelopes("ben").open(ENVELOPE + bytes(DATAGRAM_BYTES_MAX), now=NOW)


def signed(body: bytes) -> bytes:
    """A letter of Anna's that is right in every field."""
    payload = msgspec.msgpack.encode((issue("anna"), BEN, NOW, bytes(NONCE_BYTES), b"", body))
    return ENVELOPE + keys("anna").sign(DOMAIN + payload) + payload


def test_overlong_letter_is_refused_even_if_signed():
    least = len(signed(b"x" * 500)) - 500
    longest = signed(b"x" * (DATAGRAM_BYTES_MAX - least))
    assert len(letter(longest).body) == DATAGRAM_BYTES_MAX - least
    with pytest.raises(WireProblem, match="too long"):
        envelopes("ben").open(signed(b"x" * (DATAGRAM_BYTES_MAX - least + 1)), now=NOW)


def test_the_fields_are_those_of_the_paper():
    anna = envelopes("anna")
    datagram = one(anna.seal(BEN, b"said", now=NOW, reply_to=bytes(NONCE_BYTES)))
    proof, recipient, time, nonce, reply_to, body = msgspec.msgpack.decode(datagram[1 + SIGNATURE_BYTES :])
    assert (recipient, time, reply_to, body) == (BEN, NOW, bytes(NONCE_BYTES), b"said")
    assert proof == issue("anna")
    assert nonce != reply_to
