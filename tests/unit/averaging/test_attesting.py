"""Members exchange signatures: all of them come to the same receipt, and a liar gets nothing into it."""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from core.averaging.plan import Member, Plan
from core.averaging.receipts.exchange import (
    CLOCKS_DIFFER_S,
    DIRECT_MAX,
    ROUNDS_MAX,
    SIGNED_BY_S,
    TRIES,
    Attesting,
    Receipted,
)
from core.averaging.receipts.receipt import (
    RECEIPT_MESSAGES,
    Attestation,
    Attested,
    Bundle,
    Deed,
    Receipt,
    Relayed,
    Statement,
    attest,
    check_receipt,
)
from core.base.ids import PeerId, hashed_key
from core.base.machine import Lost, Received, Send, Tick
from core.base.signing import Ed25519Verifier, KeyPair
from core.base.trace import Trace
from core.base.wire import CONTROL_BYTES_MAX, MessageCodec
from core.sim.signing import SimSigner, SimVerifier
from tests.unit.averaging.pump import Pump, make_plan

RUN = bytes(32)
NOW = 1_700_000_000.0
RELAY = PeerId(b"r" * 32)
CODEC = MessageCodec(RECEIPT_MESSAGES)


def keys(count: int) -> list[KeyPair]:
    return sorted((KeyPair(number.to_bytes(32, "big")) for number in range(1, count + 1)), key=lambda key: key.peer_id)


def plan_of(peers: list[PeerId], *, round_: bytes = b"round") -> Plan:
    plain = make_plan([1] * len(peers), 16 * len(peers), chunk_numel=16)
    members = tuple(Member(peer, 1, 0.5) for peer in peers)
    leaders = tuple(sorted(range(len(peers)), key=lambda member: (member != 1, member)))
    return replace(plain, round=hashed_key(round_), members=members, leaders=leaders)


def statement_about(plan: Plan, **change: Any) -> Statement:
    deeds = tuple(Deed(peer, 4, 1, 16) for peer in plan.peers)
    plain = Statement("potluck receipt 1", RUN, plan.round, 5, bytes(32), bytes(32), len(plan.peers), deeds)
    return replace(plain, **change)


class Desk:
    """One member, and others of whom only the keys are there."""

    def __init__(self, members: int = 3) -> None:
        self.keys = keys(members)
        self.trace = Trace()
        self.plan = plan_of([key.peer_id for key in self.keys])
        self.statement = statement_about(self.plan)
        self.now = NOW
        self.machine = Attesting(signer=self.keys[0], verifier=Ed25519Verifier(), trace=self.trace)
        self.said: list[Any] = []
        self.hear(self.machine.expect(self.plan))

    def hear(self, outputs: list[Any]) -> None:
        self.said += outputs

    def sign(self, *, leader: int = 1) -> None:
        self.hear(self.machine.sign(self.statement, leader=self.keys[leader].peer_id, now=self.now))

    def attestation(self, number: int, statement: Statement | None = None, **relayed: int) -> Attestation:
        carried = {RELAY: relayed["carried"]} if relayed else {}
        return attest(statement or self.statement, self.keys[number], time=self.now, relayed=carried)

    def tell(self, number: int, attestation: Attestation, *, round_: bytes | None = None) -> None:
        message = Attested(round_ or self.plan.round, attestation)
        self.hear(self.machine.handle(Received(self.keys[number].peer_id, message), self.now))

    def late(self) -> None:
        self.now += SIGNED_BY_S
        self.hear(self.machine.handle(Tick(), self.now))

    @property
    def receipts(self) -> list[Receipt]:
        return [output.receipt for output in self.said if isinstance(output, Receipted)]

    def signers(self) -> list[int]:
        [receipt] = self.receipts
        check_receipt(receipt, Ed25519Verifier())
        order = [key.peer_id for key in self.keys]
        return [order.index(PeerId(one.member)) for one in receipt.attestations]


# --- all is well -----------------------------------------------------------------------------------------------------


def test_the_receipt_is_there_as_soon_as_everybody_has_signed() -> None:
    desk = Desk()
    desk.sign()
    assert [output.to for output in desk.said] == [key.peer_id for key in desk.keys[1:]]
    desk.tell(1, desk.attestation(1))
    assert not desk.receipts
    desk.tell(2, desk.attestation(2, carried=77))
    assert desk.signers() == [0, 1, 2]
    assert desk.receipts[0].attestations[2].relayed == (Relayed(RELAY, 77),)
    assert desk.machine.deadline is None


def test_one_that_finished_before_us_is_not_forgotten() -> None:
    desk = Desk()
    desk.tell(1, desk.attestation(1))
    desk.tell(2, desk.attestation(2))
    assert not desk.receipts
    desk.sign()
    assert desk.signers() == [0, 1, 2]


def test_a_round_of_one_has_a_receipt_at_once() -> None:
    desk = Desk(1)
    desk.sign(leader=0)
    assert desk.signers() == [0]


def test_the_dead_are_absent() -> None:
    desk = Desk(4)
    desk.sign()
    desk.tell(1, desk.attestation(1))
    desk.hear(desk.machine.handle(Lost(desk.keys[2].peer_id, "gone"), desk.now))
    assert not desk.receipts
    assert desk.machine.deadline == NOW + SIGNED_BY_S
    desk.late()
    assert desk.signers() == [0, 1]


def test_nobody_is_waited_for_when_all_others_are_gone() -> None:
    desk = Desk()
    desk.sign()
    for key in desk.keys[1:]:
        desk.hear(desk.machine.handle(Lost(key.peer_id, "gone"), desk.now))
    assert desk.signers() == [0]


def test_member_reads_relayed_bytes_once_a_round_and_signs_them() -> None:
    desk = Desk()
    asked = []
    desk.machine.carried = lambda: asked.append(1) or {RELAY: 4321}
    desk.sign()
    desk.sign()
    sent = [output.message for output in desk.said if isinstance(output, Send)]
    assert asked == [1]
    assert [message.attestation.relayed for message in sent] == [(Relayed(RELAY, 4321),)] * 2


def test_only_so_many_rounds_are_open_and_none_is_lost() -> None:
    desk = Desk()
    desk.sign()
    for number in range(ROUNDS_MAX):
        desk.hear(desk.machine.expect(plan_of([key.peer_id for key in desk.keys], round_=b"%d" % number)))
    assert desk.signers() == [0]


@pytest.mark.parametrize("members", [2, 5, DIRECT_MAX, DIRECT_MAX + 1, 150])
def test_everybody_comes_to_the_same_receipt(members: int) -> None:
    signers = sorted((SimSigner.numbered(3, number) for number in range(members)), key=lambda one: one.peer_id)
    plan = plan_of([signer.peer_id for signer in signers])
    machines = {s.peer_id: Attesting(signer=s, verifier=SimVerifier(), trace=Trace()) for s in signers}
    pump = Pump(machines, Random(members), through_bytes=False)
    leader, dead = plan.peers[1], plan.peers[0] if members > 2 else None
    for peer, machine in machines.items():
        machine.expect(plan)
        if peer != dead:
            pump.say(peer, machine.sign(statement_about(plan), leader=leader, now=pump.now))
    began = pump.now
    pump.run()
    found = {p: [e.receipt for e in events if isinstance(e, Receipted)] for p, events in pump.events.items()}
    receipts = [receipt for peer, [receipt] in ((p, r) for p, r in found.items() if p != dead)]
    assert len({receipt.statement.digest for receipt in receipts}) == 1
    assert all(receipt == receipts[0] for receipt in receipts)
    assert [one.member for one in receipts[0].attestations] == [peer for peer in plan.peers if peer != dead]
    direct = members * (members - 1) - 2 * (members - 1) * (dead is not None)
    if members > DIRECT_MAX:
        assert pump.delivered < 6 * members
        assert pump.now - began <= SIGNED_BY_S + 0.1
    else:
        assert pump.delivered == direct + (members - 1) * (dead is not None)


def test_a_large_group_goes_on_when_its_leader_dies() -> None:
    desk = Desk(DIRECT_MAX + 1)
    desk.sign()
    assert [output.to for output in desk.said] == [desk.keys[1].peer_id]
    desk.hear(desk.machine.handle(Lost(desk.keys[1].peer_id, "gone"), desk.now))
    assert desk.signers() == [0]


def test_the_leader_bundles_in_time_for_the_others() -> None:
    desk = Desk(DIRECT_MAX + 1)
    desk.sign(leader=0)
    assert desk.said == []
    desk.tell(4, desk.attestation(4))
    assert desk.machine.deadline == NOW + SIGNED_BY_S / 2
    desk.late()
    bundles = [output for output in desk.said if isinstance(output, Send)]
    assert {output.to for output in bundles} == {key.peer_id for key in desk.keys[1:]}
    assert all(len(output.message.attestations) == 2 for output in bundles)


def test_a_full_bundle_is_a_control_message() -> None:
    relayed = tuple(Relayed(bytes(32), 1 << 50) for _ in range(4))
    full = Bundle(bytes(32), (Attestation(bytes(32), bytes(32), 1 << 39, relayed, bytes(64)),) * 64)
    assert len(CODEC.encode(full)) < CONTROL_BYTES_MAX


# --- attacks ---------------------------------------------------------------------------------------------------------


def test_a_forged_signature_is_dropped_and_its_victim_still_signs() -> None:
    desk = Desk()
    desk.sign()
    forged = replace(desk.attestation(1), signature=bytes(64))
    desk.tell(1, forged)
    assert desk.trace["receipts.drop.signature"] == 1
    desk.tell(2, forged)  # in another's name
    assert desk.trace["receipts.drop.foreign"] == 1
    desk.tell(1, desk.attestation(1))
    desk.tell(2, desk.attestation(2))
    assert desk.signers() == [0, 1, 2]


def test_altered_samples_are_kept_as_evidence_and_count_for_nothing() -> None:
    desk = Desk()
    deeds = tuple(replace(deed, samples=999) for deed in desk.statement.deeds)
    lie = desk.attestation(2, replace(desk.statement, deeds=deeds))
    desk.sign()
    desk.tell(2, lie)
    assert desk.trace["receipts.contradiction"] == 1
    desk.tell(1, desk.attestation(1))
    assert desk.signers() == [0, 1]
    assert desk.receipts[0].contradictions == (lie,)


def test_who_signs_two_statements_is_caught_either_way() -> None:
    desk = Desk(4)
    lie = desk.attestation(2, replace(desk.statement, epoch=99))
    desk.sign()
    desk.tell(2, desk.attestation(2))
    desk.tell(2, lie)
    desk.late()
    assert desk.signers() == [0, 2]
    assert desk.receipts[0].contradictions == (lie,)


def test_an_old_receipt_played_again_does_nothing() -> None:
    desk = Desk()
    old_plan = plan_of([key.peer_id for key in desk.keys], round_=b"old")
    old = desk.attestation(1, statement_about(old_plan))
    desk.sign()
    desk.tell(1, old, round_=old_plan.round)
    assert desk.trace["receipts.drop.foreign"] == 1
    desk.tell(1, old)  # as if it were of this round
    assert desk.trace["receipts.drop.signature"] == 1
    desk.late()
    assert desk.signers() == [0]
    desk.tell(1, desk.attestation(1))  # the round is over for us
    assert desk.trace["receipts.drop.foreign"] == 2
    assert len(desk.receipts) == 1


def test_nobody_signs_for_a_round_that_he_was_not_in() -> None:
    desk = Desk()
    stranger = KeyPair(b"s" * 32)
    desk.sign()
    claim = attest(desk.statement, stranger, time=NOW, relayed={})
    desk.hear(desk.machine.handle(Received(stranger.peer_id, Attested(desk.plan.round, claim)), NOW))
    desk.tell(1, claim)
    assert desk.trace["receipts.drop.foreign"] == 2
    desk.late()
    assert desk.signers() == [0]


def test_we_sign_only_rounds_that_we_were_in_and_once() -> None:
    desk = Desk()
    foreign = statement_about(plan_of([key.peer_id for key in desk.keys], round_=b"foreign"))
    assert desk.machine.sign(foreign, leader=desk.keys[1].peer_id, now=NOW) == []
    desk.sign()
    before = len(desk.said)
    desk.sign()
    assert len(desk.said) == before


@pytest.mark.parametrize("before", [True, False])
def test_flood_costs_two_checks_and_its_sender_loses_its_place(*, before: bool) -> None:
    desk = Desk()
    looked = []

    class Counting(Ed25519Verifier):
        def verify(self, peer: PeerId, signature: bytes, data: bytes) -> bool:
            looked.append(peer)
            return super().verify(peer, signature, data)

    desk.machine._verifier = Counting()
    if not before:
        desk.sign()
    for number in range(1000):
        desk.tell(2, replace(desk.attestation(2), time=number))
    if before:
        desk.sign()
    assert len(looked) == (1 if before else TRIES)
    if not before:
        assert desk.trace["receipts.drop.flood"] == 1000 - TRIES
    desk.tell(1, desk.attestation(1))
    desk.late()
    assert desk.signers() == [0, 1]


def test_the_same_again_costs_nothing() -> None:
    desk = Desk(4)
    desk.sign()
    for _ in range(5):
        desk.tell(2, desk.attestation(2))
    assert desk.trace["receipts.drop.duplicate"] == 4
    assert desk.trace["receipts.drop.flood"] == 0
    desk.late()
    assert desk.signers() == [0, 2]


def test_a_signature_of_another_time_is_refused() -> None:
    desk = Desk()
    desk.sign()
    for number, time in ((1, NOW - CLOCKS_DIFFER_S - 2), (2, NOW + CLOCKS_DIFFER_S + 2)):
        desk.tell(number, attest(desk.statement, desk.keys[number], time=time, relayed={}))
    assert desk.trace["receipts.drop.time"] == 2
    desk.late()
    assert desk.signers() == [0]


def test_only_the_leader_bundles_and_only_in_large_groups() -> None:
    small = Desk()
    small.sign()
    bundle = Bundle(small.plan.round, (small.attestation(2),))
    small.hear(small.machine.handle(Received(small.keys[1].peer_id, bundle), NOW))
    assert small.trace["receipts.drop.foreign"] == 1
    large = Desk(DIRECT_MAX + 1)
    bundle = Bundle(large.plan.round, (large.attestation(2), replace(large.attestation(3), signature=bytes(64))))
    large.hear(large.machine.handle(Received(large.keys[1].peer_id, bundle), NOW))  # before anybody can have signed
    large.sign()
    large.hear(large.machine.handle(Received(large.keys[5].peer_id, bundle), NOW))
    assert large.trace["receipts.drop.foreign"] == 2
    large.hear(large.machine.handle(Received(large.keys[1].peer_id, bundle), NOW))
    assert large.trace["receipts.drop.signature"] == 1
    large.late()
    assert large.signers() == [0, 2]


def test_flooding_leader_gets_one_signature_check_per_member() -> None:
    desk = Desk(DIRECT_MAX + 1)
    desk.sign()
    forged = tuple(replace(desk.attestation(2), time=number) for number in range(64))
    for _ in range(3):
        bundle = Bundle(desk.plan.round, forged)
        desk.hear(desk.machine.handle(Received(desk.keys[1].peer_id, bundle), NOW))
    assert desk.trace["receipts.drop.signature"] == DIRECT_MAX + 1
    desk.late()
    assert desk.signers() == [0]


# --- a leader that commits two things --------------------------------------------------------------------------------


def split(desk: Desk, *others: int, leader: int = 1) -> Receipted:
    """The receipt when these members have signed something else."""
    desk.sign(leader=leader)
    other = statement_about(desk.plan, fingerprint=b"o" * 32)
    for number in range(1, len(desk.keys)):
        desk.tell(number, desk.attestation(number, other if number in others else None))
    [done] = [output for output in desk.said if isinstance(output, Receipted)]
    assert len(done.receipt.contradictions) == len(others)
    return done


def split_by(desk: Desk, *others: int, leader: int = 1) -> PeerId | None:
    """Whom it names."""
    return split(desk, *others, leader=leader).split_by


@pytest.mark.parametrize(
    ("members", "others", "sure"),
    [(5, (2,), False), (5, (2, 3), False), (5, (2, 3, 4), True), (5, (1,), True), (6, (2, 3, 4), False)],
)
def test_few_liars_never_prove_a_split_by_an_honest_leader(
    members: int, others: tuple[int, ...], *, sure: bool
) -> None:
    assert split(Desk(members), *others).sure is sure


@pytest.mark.parametrize(
    ("members", "others", "named"),
    [
        (5, (), False),
        (5, (2, 3), True),
        (5, (2,), False),
        (6, (2, 3), False),
        (6, (2, 3, 4), True),
        (3, (2,), False),
        (3, (1,), True),
        (6, (1,), True),
    ],
)
def test_leader_is_named_after_committing_differently_to_half_the_others(
    members: int, others: tuple[int, ...], *, named: bool
) -> None:
    """By their signatures, or by its own; one member alone may as well be the liar."""
    desk = Desk(members)
    assert split_by(desk, *others) == (desk.keys[1].peer_id if named else None)


@pytest.mark.parametrize("helps", [False, True])
def test_signatures_between_helpers_and_receivers_name_no_leader(*, helps: bool) -> None:
    """Helpers sign what one reducer has told them."""
    desk = Desk(5)
    whose = (0, 4) if helps else (3, 4)
    members = tuple(replace(m, receives=index not in whose) for index, m in enumerate(desk.plan.members))
    desk.plan = replace(desk.plan, members=members, round=hashed_key(b"helped"))
    desk.statement = statement_about(desk.plan)
    desk.hear(desk.machine.expect(desk.plan))
    assert split_by(desk, *((1, 2, 3) if helps else (3, 4))) is None


def test_successor_is_not_named_for_orders_of_its_predecessor() -> None:
    assert split_by(Desk(5), 2, 3, 4, leader=2) is None


def test_whoever_led_names_nobody() -> None:
    assert split_by(Desk(5), 1, 2, 3, leader=0) is None


def test_the_groups_of_a_grid_may_differ() -> None:
    desk = Desk(4)
    desk.plan = replace(desk.plan, stages=2, round=hashed_key(b"grid"))
    desk.statement = statement_about(desk.plan)
    desk.hear(desk.machine.expect(desk.plan))
    assert split_by(desk, 1, 2, 3) is None
