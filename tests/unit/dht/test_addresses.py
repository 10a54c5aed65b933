from core.base.ids import Contact
from core.dht.neighbours import PeerAddresses
from tests.unit.dht.network import contact, peer_id

HERE = contact(1)
THERE = Contact(HERE.peer, "192.0.2.66", 6666)


def test_the_host_is_told_each_address_once():
    book = PeerAddresses()
    assert book.before_send(HERE) == HERE
    assert book.before_send(HERE) is None
    assert book.before_send(THERE) == THERE
    assert book.get(peer_id(1)) == THERE


def test_hearsay_replaces_an_observed_address_only_after_silence():
    book = PeerAddresses()
    assert book.observed(peer_id(1), HERE.host, HERE.port) == HERE
    assert book.before_send(HERE) is None  # the host told us
    assert book.preferred(THERE) == HERE
    assert book.before_send(THERE) is None
    assert book.get(peer_id(1)) == HERE
    book.silent(peer_id(1))
    assert book.preferred(THERE) == THERE
    assert book.before_send(THERE) == THERE
    assert book.answered(peer_id(1)) == THERE
    assert book.preferred(HERE) == THERE


def test_limits():
    book = PeerAddresses(limit=2)
    for number in (1, 2, 3):
        book.before_send(contact(number))
    assert book.get(peer_id(1)) is None
    assert book.before_send(contact(1)) == contact(1)
    assert book.observed(peer_id(4), "", 5) is None
    assert book.observed(peer_id(4), "h" * 61, 5) is None
    assert book.observed(peer_id(4), "h", 0) is None
    assert book.answered(peer_id(9)) is None
    book.silent(peer_id(9))
