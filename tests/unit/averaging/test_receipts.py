"""Receipts: the same statement on every member, and nothing forged, altered or borrowed passes for one."""

from dataclasses import replace as altered
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.averaging.outcome import Outcome, RoundFinished
from core.averaging.receipts.receipt import (
    RECEIPT_BYTES_MAX,
    RELAYS_MAX,
    Attestation,
    Deed,
    Receipt,
    Relayed,
    Statement,
    attest,
    check_receipt,
    decode_receipt,
    encode_receipt,
    relayed_bytes_max,
    statement_of,
)
from core.base.ids import PeerId, hashed_key
from core.base.problems import ProofProblem, WireProblem
from core.base.signing import Ed25519Verifier, KeyPair
from tests.unit.averaging.pump import Pump, Round, make_plan

RUN = bytes(range(32))
AFTER = hashed_key(b"after")
KEYS = sorted((KeyPair(bytes([number]) * 32) for number in range(1, 5)), key=lambda key: key.peer_id)
RELAY = KeyPair(b"r" * 32).peer_id
OTHER = KeyPair(b"o" * 32)
TIME = 1_700_000_000.9


def statement(**change: Any) -> Statement:
    deeds = tuple(Deed(key.peer_id, 10 * number, 8, 100 + number) for number, key in enumerate(KEYS[:3], start=1))
    plain = Statement(RUN, hashed_key(b"round"), 7, AFTER, hashed_key(b"mean"), 8, deeds)
    return replace(plain, **change)


def receipt(signers: int = 3, **relayed: int) -> Receipt:
    said = statement()
    carried = {RELAY: relayed["carried"]} if relayed else {}
    return Receipt(said, tuple(attest(said, key, time=TIME, relayed=carried) for key in KEYS[:signers]))


def refused(bad: Receipt) -> str:
    with pytest.raises(ProofProblem) as problem:
        check_receipt(bad, Ed25519Verifier())
    return problem.value.message


def outcomes(round_: Round) -> dict[PeerId, Outcome]:
    found = {
        peer: event.outcome
        for peer, events in round_.pump.events.items()
        for event in events
        if isinstance(event, RoundFinished)
    }
    assert found
    return found


def statements(round_: Round) -> dict[PeerId, Statement]:
    return {
        peer: statement_of(round_.plan, outcome, run=RUN, epoch=4, lineage=AFTER)
        for peer, outcome in outcomes(round_).items()
    }


def test_statement_is_the_same_on_all_members_and_credits_reducers() -> None:
    plan = make_plan([5, 0, 7, 9], 250, chunk_numel=16)
    told = statements(Round(plan).run())
    assert len(told) == 4
    assert len({msgspec.msgpack.encode(said) for said in told.values()}) == 1
    said = next(iter(told.values()))
    assert said.numel == 250
    assert [deed.samples for deed in said.deeds] == [5, 0, 7, 9]
    assert [deed.chunks for deed in said.deeds] == [16, 0, 16, 16]
    spans = np.array_split(np.arange(250), range(16, 250, 16))  # the chunks themselves, counted one by one
    ends = np.cumsum(plan.chunks)
    expected = [
        sum(len(span) for span in spans[end - count : end]) for end, count in zip(ends, plan.chunks, strict=True)
    ]
    assert [deed.reduced for deed in said.deeds] == expected


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    samples=st.lists(st.integers(0, 50), min_size=3, max_size=7).filter(any),
    victim=st.integers(0, 6),
    steps=st.integers(0, 120),
)
def test_whoever_dies_the_survivors_statements_agree(seed: int, samples: list[int], victim: int, steps: int) -> None:
    round_ = Round(make_plan(samples, 300, chunk_numel=16), seed=seed)
    pump, peer = round_.pump, round_.plan.peers[victim % len(samples)]
    for _ in range(steps):
        pump.step()
    pump.kill(peer)
    round_.run()
    finished = [
        event.outcome for events in pump.events.values() for event in events if isinstance(event, RoundFinished)
    ]
    told = [statement_of(round_.plan, outcome, run=RUN, epoch=4, lineage=AFTER) for outcome in finished]
    assert len({said.digest for said in told}) <= 1
    for said in told:
        assert said.numel <= 300
        parts = [samples[index] * deed.chunks for index, deed in enumerate(said.deeds)]
        assert [deed.samples for deed in said.deeds] == [part // said.chunk_total for part in parts]


def test_a_share_that_was_reduced_anew_is_credited_to_nobody() -> None:
    """A leader may tell each member another reducer: the mean's name binds the versions of shares only."""
    plan = make_plan([5, 5, 5], 48, chunk_numel=16)
    outcome = next(iter(outcomes(Round(plan).run()).values()))
    said = statement_of(plan, altered(outcome, versions=(1, 0, 0)), run=RUN, epoch=4, lineage=AFTER)
    assert [deed.reduced for deed in said.deeds] == [0, 16, 16]


def test_a_receipt_proves_itself_also_after_it_was_written_down() -> None:
    whole = receipt(carried=1234)
    check_receipt(whole, Ed25519Verifier())
    again = decode_receipt(encode_receipt(whole))
    assert again == whole
    check_receipt(again, Ed25519Verifier())
    assert again.attestations[0].relayed == (Relayed(RELAY, 1234),)
    assert again.attestations[0].time == 1_700_000_000


def test_altered_samples_break_every_signature() -> None:
    good = receipt()
    richer = tuple(replace(deed, samples=deed.samples * 100) for deed in good.statement.deeds)
    bad = replace(good, statement=replace(good.statement, deeds=richer))
    assert "another statement" in refused(bad)
    renamed = tuple(replace(one, digest=bad.statement.digest) for one in good.attestations)
    assert "a signature is wrong" in refused(replace(bad, attestations=renamed))


@pytest.mark.parametrize(
    "change",
    [
        {"signature": bytes(64)},
        {"time": 5},
        {"relayed": (Relayed(RELAY, 999),)},
        {"relayed": ()},
        {"member": KEYS[1].peer_id},
    ],
)
def test_nothing_in_an_attestation_can_be_changed(change: dict[str, Any]) -> None:
    good = receipt(1, carried=5)
    refused(replace(good, attestations=(replace(good.attestations[0], **change),)))


def test_a_signature_from_another_round_does_not_pass() -> None:
    old = attest(statement(round=hashed_key(b"old")), KEYS[0], time=TIME, relayed={})
    assert "a signature is wrong" in refused(Receipt(statement(), (old,)))
    pretended = replace(old, digest=statement().digest)
    assert "a signature is wrong" in refused(Receipt(statement(), (pretended,)))


def test_who_was_not_in_the_round_cannot_sign() -> None:
    assert "not in the round" in refused(Receipt(statement(), (attest(statement(), KEYS[3], time=TIME, relayed={}),)))


def test_a_receipt_that_nobody_signed_or_somebody_twice_is_none() -> None:
    good = receipt()
    assert "missing" in refused(replace(good, attestations=()))
    assert "distinct" in refused(replace(good, attestations=good.attestations[:1] * 2))
    deeds = good.statement.deeds
    assert "contradicts itself" in refused(replace(good, statement=statement(deeds=(*deeds, deeds[0]))))


def test_relay_credits_itself_nothing_and_friends_only_within_the_limit() -> None:
    said = statement()
    limit = relayed_bytes_max(said)
    honest = attest(said, KEYS[0], time=TIME, relayed={RELAY: limit + 1})
    assert honest.relayed == (Relayed(RELAY, limit),)
    check_receipt(Receipt(said, (honest,)), Ed25519Verifier())
    for relayed in [(Relayed(KEYS[0].peer_id, 5),), (Relayed(RELAY, limit + 1),), (Relayed(RELAY, 1),) * 2]:
        boast = _signed_as_it_is(said, KEYS[0], relayed)
        assert "more of its relays" in refused(Receipt(said, (boast,)))


def test_a_member_names_its_busiest_relays() -> None:
    relays = {PeerId(bytes([number]) * 32): number for number in range(1, 9)}
    said = attest(statement(), KEYS[0], time=TIME, relayed={**relays, PeerId(bytes(32)): 0})
    assert [(one.relay[0], one.carried_bytes) for one in said.relayed] == [(n, n) for n in (5, 6, 7, 8)]
    assert len(said.relayed) == RELAYS_MAX


def test_contradictions_are_kept_only_if_they_are_signed() -> None:
    good = receipt(2)
    other = attest(statement(fingerprint=bytes(32)), KEYS[2], time=TIME, relayed={})
    check_receipt(replace(good, contradictions=(other,)), Ed25519Verifier())
    forged = replace(other, signature=bytes(64))
    assert "a signature is wrong" in refused(replace(good, contradictions=(forged,)))


@given(st.binary(max_size=300))
def test_garbage_is_no_receipt(data: bytes) -> None:
    with pytest.raises(WireProblem):
        decode_receipt(data)


def test_a_receipt_has_a_size() -> None:
    with pytest.raises(WireProblem):
        decode_receipt(bytes(RECEIPT_BYTES_MAX + 1))
    deeds = tuple(Deed(bytes([number]) * 32, 1 << 40, 1 << 39, 1 << 39) for number in range(256))
    relayed = tuple(Relayed(bytes(32), 1 << 50) for _ in range(RELAYS_MAX))
    attestations = tuple(Attestation(deed.peer, bytes(32), 1 << 39, relayed, bytes(64)) for deed in deeds)
    largest = Receipt(statement(deeds=deeds), attestations, attestations)
    assert decode_receipt(encode_receipt(largest)) == largest


def _signed_as_it_is(said: Statement, key: KeyPair, relayed: tuple[Relayed, ...]) -> Attestation:
    """Signed by a program that is not ours, which checks nothing."""
    name, moment = said.digest, int(TIME)
    data = msgspec.msgpack.encode(("potluck receipt 1", said.round, name, moment, relayed))
    return Attestation(key.peer_id, name, moment, relayed, key.sign(data))


def test_member_is_credited_only_for_chunks_that_it_is_in() -> None:
    plan = make_plan([1000, 5, 5], 16 * 40, chunk_numel=16)
    round_ = Round(plan)
    victim = plan.peers[0]
    inner = round_.pump.before
    assert inner is not None

    def before(pump: Pump, peer: PeerId, event: object) -> None:
        inner(pump, peer, event)
        if victim not in pump.dead and any(0 in machine.contributors(39) for machine in round_.machines.values()):
            pump.kill(victim)

    round_.pump.before = before
    round_.run()
    outcome = next(e.outcome for p in plan.peers[1:] for e in round_.pump.events[p] if isinstance(e, RoundFinished))
    chunks = dict(zip((peer for peer, _ in outcome.contributors), outcome.present, strict=True))[victim]
    assert 0 < chunks < 40
    assert dict(outcome.credited)[victim] == 1000 * chunks // 40
    said = statement_of(plan, outcome, run=RUN, epoch=4, lineage=AFTER)
    assert said.deeds[0].samples == 1000 * chunks // 40
