import core.net.addresses.address_book as module
from core.net.addresses.address_book import AddressBook
from tests.unit.net.people import id_of

ANNA, BEN = id_of("anna"), id_of("ben")


def test_the_newest_address_comes_first_and_old_ones_go():
    book = AddressBook()
    assert book.learn(ANNA, ("10.0.0.1", 1))
    assert not book.learn(ANNA, ("10.0.0.1", 1))
    assert book.learn(ANNA, ("10.0.0.2", 2))
    assert book.learn(ANNA, ("10.0.0.3", 3))
    assert book.addresses(ANNA) == (("10.0.0.3", 3), ("10.0.0.2", 2))
    assert book.addresses(BEN) == ()


def test_two_addresses_of_each_family_are_kept():
    book = AddressBook()
    for number in range(3):
        book.learn(ANNA, ("10.0.0.1", number))
        book.learn(ANNA, ("2a00::1", number))
    assert book.addresses(ANNA) == (("2a00::1", 2), ("10.0.0.1", 2), ("2a00::1", 1), ("10.0.0.1", 1))


def test_ipv6_source_does_not_hide_an_ipv4_address():
    book = AddressBook()
    book.saw(BEN, ("2a00::1", 1))
    assert book.addresses(BEN) == (("2a00::1", 1),)
    book.saw(BEN, ("10.0.0.1", 1))
    book.saw(BEN, ("2a00::2", 1))
    assert book.addresses(BEN) == (("10.0.0.1", 1), ("2a00::2", 1), ("2a00::1", 1))
    book.learn(BEN, ("2a00::3", 1))  # this is meant
    assert book.addresses(BEN) == (("2a00::3", 1), ("10.0.0.1", 1), ("2a00::2", 1))


def test_book_forgets_the_peer_heard_of_longest_ago(monkeypatch):
    monkeypatch.setattr(module, "PEERS_MAX", 2)
    book = AddressBook()
    for name in ("anna", "ben", "anna", "carl"):
        book.learn(id_of(name), ("10.0.0.1", 1))
    assert [bool(book.addresses(id_of(name))) for name in ("anna", "ben", "carl")] == [True, False, True]


def test_hearsay_does_not_replace_a_known_address():
    book = AddressBook()
    assert book.learn(ANNA, ("10.0.0.9", 9), hearsay=True)
    book.learn(ANNA, ("10.0.0.1", 1))
    book.learn(ANNA, ("10.0.0.2", 2), hearsay=True)
    book.learn(ANNA, ("10.0.0.3", 3), hearsay=True)
    assert book.addresses(ANNA) == (("10.0.0.1", 1), ("10.0.0.3", 3))
    book.learn(ANNA, ("10.0.0.1", 1), hearsay=True)
    assert book.addresses(ANNA) == (("10.0.0.1", 1), ("10.0.0.3", 3))
