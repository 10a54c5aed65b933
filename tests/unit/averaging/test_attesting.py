"""Members exchange signatures: all of them come to the same receipt, and a liar gets nothing into it."""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from core.averaging.plan import Member, Plan
from core.averaging.receipts.exchange import SIGNED_BY_S, Attesting, Receipted
from core.averaging.receipts.receipt import (
    BUNDLE_MAX,
    Attestation,
    Attested,
    Deed,
    Receipt,
    Relayed,
    Statement,
    attest,
    check_receipt,
)
from core.base.ids import PeerId, hashed_key
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.base.signing import Ed25519Verifier, KeyPair
from core.base.wire import CONTROL_BYTES_MAX, MessageCodec
from tests.sim.world.signing import SimSigner, SimVerifier
from tests.unit.averaging.pump import Pump, make_plan

RUN = bytes(32)
NOW = 1_700_000_000.0
RELAY = PeerId(b"r" * 32)
CODEC = MessageCodec((Attested,))


def keys(count: int) -> list[KeyPair]:
    return sorted((KeyPair(number.to_bytes(32, "big")) for number in range(1, count + 1)), key=lambda key: key.peer_id)


def plan_of(peers: list[PeerId], *, round_: bytes = b"round") -> Plan:
    plain = make_plan([1] * len(peers), 16 * len(peers), chunk_numel=16)
    members = tuple(Member(peer, 1, 0.5) for peer in peers)
    leaders = tuple(sorted(range(len(peers)), key=lambda member: (member != 1, member)))
    return replace(plain, round=hashed_key(round_), members=members, leaders=leaders)


def statement_about(plan: Plan, **change: Any) -> Statement:
    deeds = tuple(Deed(peer, 4, 1, 16) for peer in plan.peers)
    plain = Statement(RUN, plan.round, 5, bytes(32), bytes(32), len(plan.peers), deeds)
    return replace(plain, **change)


class Desk:
    """One member, and others of which only the keys are there."""

    def __init__(self, members: int = 3) -> None:
        self.keys = keys(members)
        self.trace = Trace()
        self.now = NOW
        self.machine = Attesting(signer=self.keys[0], verifier=Ed25519Verifier(), trace=self.trace)
        self.said: list[Any] = []
        self.expect(plan_of([key.peer_id for key in self.keys]))

    def expect(self, plan: Plan) -> None:
        self.plan, self.statement = plan, statement_about(plan)
        self.machine.expect(plan)

    def sign(self, *, leader: int = 1) -> None:
        self.said += self.machine.sign(self.statement, leader=self.keys[leader].peer_id, now=self.now)

    def attestation(self, number: int, statement: Statement | None = None, **relayed: int) -> Attestation:
        carried = {RELAY: relayed["carried"]} if relayed else {}
        return attest(statement or self.statement, self.keys[number], time=self.now, relayed=carried)

    def forged(self, number: int) -> Attestation:
        return replace(self.attestation(number), signature=bytes(64))

    def tell(self, number: int, *attestations: Attestation, round_: bytes | None = None) -> None:
        """Member `number` sends these attestations, or its own."""
        message = Attested(round_ or self.plan.round, attestations or (self.attestation(number),))
        self.said += self.machine.handle(Received(self.keys[number].peer_id, message), self.now)

    def lose(self, number: int) -> None:
        self.said += self.machine.handle(Lost(self.keys[number].peer_id, "gone"), self.now)

    def late(self) -> None:
        self.now += SIGNED_BY_S
        self.said += self.machine.handle(Tick(), self.now)

    def dropped(self, reason: str) -> int:
        return self.trace[f"receipts.drop.{reason}"]

    @property
    def sent(self) -> list[Send[Attested]]:
        return [output for output in self.said if isinstance(output, Send)]

    @property
    def receipts(self) -> list[Receipt]:
        return [output.receipt for output in self.said if isinstance(output, Receipted)]

    def signers(self) -> list[int]:
        [receipt] = self.receipts
        check_receipt(receipt, Ed25519Verifier())
        order = [key.peer_id for key in self.keys]
        return [order.index(PeerId(one.member)) for one in receipt.attestations]


# --- all is well -----------------------------------------------------------------------------------------------------


def test_receipt_is_there_as_soon_as_all_have_signed() -> None:
    desk = Desk()
    desk.sign()
    assert [send.to for send in desk.sent] == [key.peer_id for key in desk.keys[1:]]
    desk.tell(1)
    assert not desk.receipts
    desk.tell(2, desk.attestation(2, carried=77))
    assert desk.signers() == [0, 1, 2]
    assert desk.receipts[0].attestations[2].relayed == (Relayed(RELAY, 77),)
    assert desk.machine.deadline is None


def test_signature_of_a_member_that_finished_earlier_counts() -> None:
    desk = Desk()
    desk.tell(1)
    desk.tell(2)
    assert not desk.receipts
    desk.sign()
    assert desk.signers() == [0, 1, 2]


def test_a_round_of_one_has_a_receipt_at_once() -> None:
    desk = Desk(1)
    desk.sign(leader=0)
    assert desk.signers() == [0]


def test_lost_members_are_absent_and_not_waited_for() -> None:
    desk = Desk(4)
    desk.sign()
    desk.tell(1)
    desk.lose(2)
    assert not desk.receipts
    assert desk.machine.deadline == NOW + SIGNED_BY_S
    desk.lose(3)
    assert desk.signers() == [0, 1]


def test_silent_members_are_absent_after_some_seconds() -> None:
    desk = Desk()
    desk.sign()
    desk.tell(1)
    desk.late()
    assert desk.signers() == [0, 1]


def test_member_reads_relayed_bytes_once_a_round_and_signs_them() -> None:
    desk = Desk()
    asked = []
    desk.machine.carried = lambda: asked.append(1) or {RELAY: 4321}
    desk.sign()
    desk.sign()
    assert asked == [1]
    assert [send.message.attestations[0].relayed for send in desk.sent] == [(Relayed(RELAY, 4321),)] * 2


def test_round_is_signed_to_its_end_while_others_begin() -> None:
    desk = Desk()
    desk.sign()
    word = Attested(desk.plan.round, (desk.attestation(1),))
    for number in range(3):
        desk.expect(plan_of([key.peer_id for key in desk.keys], round_=b"%d" % number))
    desk.said += desk.machine.handle(Received(desk.keys[1].peer_id, word), desk.now)
    desk.late()
    assert desk.signers() == [0, 1]


@pytest.mark.parametrize("members", [2, 5, BUNDLE_MAX, BUNDLE_MAX + 1, 150])
def test_all_members_come_to_the_same_receipt(members: int) -> None:
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
    if members > BUNDLE_MAX:
        assert pump.delivered < 8 * members
        assert pump.now - began <= SIGNED_BY_S + 0.1
    else:
        assert pump.delivered == direct + (members - 1) * (dead is not None)


def test_a_large_group_goes_on_when_its_leader_dies() -> None:
    desk = Desk(BUNDLE_MAX + 1)
    desk.sign()
    assert [send.to for send in desk.sent] == [desk.keys[1].peer_id]
    desk.lose(1)
    assert desk.signers() == [0]


def test_leader_bundles_in_time_for_the_others() -> None:
    desk = Desk(BUNDLE_MAX + 1)
    desk.sign(leader=0)
    assert desk.said == []
    desk.tell(4)
    assert desk.machine.deadline == NOW + SIGNED_BY_S / 2
    desk.late()
    assert {send.to for send in desk.sent} == {key.peer_id for key in desk.keys[1:]}
    assert all(len(send.message.attestations) == 2 for send in desk.sent)


def test_a_full_bundle_is_a_control_message() -> None:
    relayed = tuple(Relayed(bytes(32), 1 << 50) for _ in range(4))
    full = Attested(bytes(32), (Attestation(bytes(32), bytes(32), 1 << 39, relayed, bytes(64)),) * BUNDLE_MAX)
    assert len(CODEC.encode(full)) < CONTROL_BYTES_MAX


# --- attacks ---------------------------------------------------------------------------------------------------------


def test_signature_in_anothers_name_is_dropped() -> None:
    desk = Desk()
    desk.sign()
    desk.tell(2, desk.forged(1))
    assert desk.dropped("foreign") == 1
    desk.tell(1)
    desk.tell(2)
    assert desk.signers() == [0, 1, 2]


def test_signature_under_two_statements_is_kept_as_evidence() -> None:
    for honest_too, signers in ((False, [0, 1]), (True, [0, 1, 2])):
        desk = Desk()
        deeds = tuple(replace(deed, samples=999) for deed in desk.statement.deeds)
        lie = desk.attestation(2, replace(desk.statement, deeds=deeds))
        desk.sign()
        for word in (desk.attestation(2), lie) if honest_too else (lie,):
            desk.tell(2, word)
        assert desk.trace["receipts.contradiction"] == 1
        desk.tell(1)
        assert desk.signers() == signers
        assert desk.receipts[0].contradictions == (lie,)


def test_an_old_receipt_played_again_does_nothing() -> None:
    desk = Desk()
    old_plan = plan_of([key.peer_id for key in desk.keys], round_=b"old")
    old = desk.attestation(1, statement_about(old_plan))
    desk.sign()
    desk.tell(1, old, round_=old_plan.round)
    assert desk.dropped("foreign") == 1
    desk.tell(1, old)  # as if it were of this round
    assert desk.dropped("signature") == 1
    desk.late()
    assert desk.signers() == [0]
    desk.tell(1)  # the round is over here
    assert desk.dropped("foreign") == 2
    assert len(desk.receipts) == 1


def test_stranger_signs_no_round() -> None:
    desk = Desk()
    stranger = KeyPair(b"s" * 32)
    desk.sign()
    claim = attest(desk.statement, stranger, time=NOW, relayed={})
    desk.said += desk.machine.handle(Received(stranger.peer_id, Attested(desk.plan.round, (claim,))), NOW)
    desk.tell(1, claim)
    assert desk.dropped("foreign") == 2
    desk.late()
    assert desk.signers() == [0]


def test_member_signs_only_its_own_rounds_and_once() -> None:
    desk = Desk()
    foreign = statement_about(plan_of([key.peer_id for key in desk.keys], round_=b"foreign"))
    assert desk.machine.sign(foreign, leader=desk.keys[1].peer_id, now=NOW) == []
    desk.sign()
    before = len(desk.said)
    desk.sign()
    assert len(desk.said) == before


@pytest.mark.parametrize("sender", [1, 2])
@pytest.mark.parametrize("members", [3, BUNDLE_MAX + 1])
@pytest.mark.parametrize("before", [True, False])
def test_flood_of_wrong_signatures_costs_one_check(sender: int, members: int, *, before: bool) -> None:
    """A leader's flood costs no more, though it bundles as well."""
    desk = Desk(members)
    checked = []

    class Counting(Ed25519Verifier):
        def verify(self, peer: PeerId, signature: bytes, data: bytes) -> bool:
            checked.append(peer)
            return super().verify(peer, signature, data)

    desk.machine._verifier = Counting()
    if not before:
        desk.sign()
    for number in range(100):
        desk.tell(sender, *[replace(desk.forged(sender), time=number)] * 3)
    if before:
        desk.sign()
    assert len(checked) == 1
    desk.late()
    assert desk.signers() == [0]


def test_the_same_again_costs_nothing() -> None:
    desk = Desk(4)
    desk.sign()
    for _ in range(5):
        desk.tell(2)
    assert desk.dropped("duplicate") == 4
    desk.late()
    assert desk.signers() == [0, 2]


def test_only_the_leader_bundles_and_only_in_large_groups() -> None:
    for members, taken in ((3, []), (BUNDLE_MAX + 1, [2, 3])):
        desk = Desk(members)
        bundle = desk.attestation(2), desk.attestation(min(3, members - 1))
        desk.sign()
        desk.tell(1, *bundle)
        assert desk.dropped("foreign") == (0 if taken else 2)
        if taken:
            desk.tell(5, *bundle)
            assert desk.dropped("foreign") == 2
        desk.late()
        assert desk.signers() == [0, *taken]


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


@pytest.mark.parametrize(
    ("members", "others", "named", "sure"),
    [
        (5, (), False, False),
        (5, (2,), False, False),
        (5, (2, 3), True, False),
        (5, (2, 3, 4), True, True),
        (5, (1,), True, True),
        (6, (2, 3), False, False),
        (6, (2, 3, 4), True, False),
        (6, (1,), True, True),
        (3, (2,), False, False),
        (3, (1,), True, True),
    ],
)
def test_leader_that_committed_two_things_is_named(
    members: int, others: tuple[int, ...], *, named: bool, sure: bool
) -> None:
    """By half of the others' signatures, or surely by its own or most; one member alone may as well be the liar."""
    desk = Desk(members)
    done = split(desk, *others)
    assert (done.split_by, done.sure) == (desk.keys[1].peer_id if named else None, sure)


@pytest.mark.parametrize("helps", [False, True])
def test_signatures_between_helpers_and_receivers_name_no_leader(*, helps: bool) -> None:
    """Helpers sign what one reducer has told them."""
    desk = Desk(5)
    whose = (0, 4) if helps else (3, 4)
    members = tuple(replace(m, receives=index not in whose) for index, m in enumerate(desk.plan.members))
    desk.expect(replace(desk.plan, members=members))
    assert split(desk, *((1, 2, 3) if helps else (3, 4))).split_by is None


def test_successor_is_not_named_for_orders_of_its_predecessor() -> None:
    assert split(Desk(5), 2, 3, 4, leader=2).split_by is None


def test_leader_does_not_name_itself() -> None:
    assert split(Desk(5), 1, 2, 3, leader=0).split_by is None


def test_the_groups_of_a_grid_may_differ() -> None:
    desk = Desk(4)
    desk.expect(replace(desk.plan, stages=2))
    assert split(desk, 1, 2, 3).split_by is None
