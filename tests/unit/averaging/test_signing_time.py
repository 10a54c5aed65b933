"""The time under a signature is its signer's word, and moves no receipt far."""

from core.averaging.receipts.exchange import CLOCKS_DIFFER_S
from core.averaging.receipts.receipt import BUNDLE_MAX, Attestation, Receipt, attest
from core.ledger.receipts import MOMENT_MAX, CheckedReceipt
from tests.unit.averaging.test_attesting import NOW, Desk


def test_signature_of_another_time_is_dropped() -> None:
    desk = Desk()
    desk.sign()
    for number, time in ((1, NOW - CLOCKS_DIFFER_S - 2), (2, NOW + CLOCKS_DIFFER_S + 2)):
        desk.tell(number, attest(desk.statement, desk.keys[number], time=time, relayed={}))
    assert desk.trace["receipts.drop.time"] == 2


def test_leader_that_bundles_tests_no_clock() -> None:
    """Its own may be the wrong one: the others had no signatures, if it dropped theirs."""
    desk = Desk(BUNDLE_MAX + 1)
    desk.sign(leader=0)
    desk.tell(4, attest(desk.statement, desk.keys[4], time=NOW - CLOCKS_DIFFER_S - 2, relayed={}))
    desk.late()
    assert desk.trace["receipts.drop.time"] == 0
    assert desk.signers() == [0, 4]


def test_moment_of_a_receipt_can_be_shown_whatever_signers_say() -> None:
    desk = Desk()
    first, second = desk.keys[:2]
    signed = [attest(desk.statement, key, time=at, relayed={}) for key, at in ((first, NOW), (second, 2**40 - 1))]
    assert CheckedReceipt(_receipt(desk, signed), "").moment == int(NOW), "one signer alone moves nothing"
    assert CheckedReceipt(_receipt(desk, signed[1:]), "").moment == MOMENT_MAX


def _receipt(desk: Desk, signed: list[Attestation]) -> Receipt:
    return Receipt(desk.statement, tuple(signed))
