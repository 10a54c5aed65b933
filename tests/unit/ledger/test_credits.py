"""Credits that follow from a receipt."""

from msgspec.structs import replace

from core.averaging.receipts.receipt import Deed, Receipt
from core.ledger.credits import COUNT_MAX, Credit, credits_of
from tests.unit.ledger.examples import PEERS, RELAY, receipt


def test_reducers_and_relays_without_samples_are_credited():
    found = credits_of(receipt(1, relayed_bytes=50))
    assert found == {
        PEERS[0]: Credit(samples=10, rounds=1),
        PEERS[1]: Credit(samples=20, rounds=1, reduced=300),
        PEERS[2]: Credit(rounds=1, reduced=700),
        RELAY: Credit(relayed_bytes=100),
    }


def test_idle_member_gets_no_credit():
    plain = receipt(1)
    idle = replace(plain.statement, deeds=(*plain.statement.deeds, Deed(b"z" * 32, 0, 0, 0)))
    assert b"z" * 32 not in credits_of(Receipt(idle, plain.attestations))


def test_credits_add_up():
    one = Credit(samples=1, rounds=2, reduced=3, relayed_bytes=4)
    assert one + one == Credit(samples=2, rounds=4, reduced=6, relayed_bytes=8)


def test_no_sum_grows_beyond_what_can_be_read_again():
    most = Credit(samples=COUNT_MAX, rounds=COUNT_MAX - 1, reduced=COUNT_MAX, relayed_bytes=1)
    assert most + most == Credit(samples=COUNT_MAX, rounds=COUNT_MAX, reduced=COUNT_MAX, relayed_bytes=2)
