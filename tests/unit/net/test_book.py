from random import Random

import core.net.book as module
from core.net.book import AddressBook, CallBackoff
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


def test_what_comes_over_ipv6_does_not_hide_an_ipv4_address():
    book = AddressBook()
    book.saw(BEN, ("2a00::1", 1))
    assert book.addresses(BEN) == (("2a00::1", 1),)
    book.saw(BEN, ("10.0.0.1", 1))
    book.saw(BEN, ("2a00::2", 1))
    assert book.addresses(BEN) == (("10.0.0.1", 1), ("2a00::2", 1), ("2a00::1", 1))
    book.learn(BEN, ("2a00::3", 1))  # this is meant
    assert book.addresses(BEN) == (("2a00::3", 1), ("10.0.0.1", 1), ("2a00::2", 1))


def test_it_forgets_whom_it_heard_of_longest_ago(monkeypatch):
    monkeypatch.setattr(module, "PEERS_MAX", 2)
    book = AddressBook()
    for name in ("anna", "ben", "anna", "carl"):
        book.learn(id_of(name), ("10.0.0.1", 1))
    assert [bool(book.addresses(id_of(name))) for name in ("anna", "ben", "carl")] == [True, False, True]


def test_rests_double_up_to_a_limit_with_jitter():
    backoff, now, rests = CallBackoff(first_s=1.0, longest_s=8.0), 0.0, []
    assert backoff.wait_s(now) == 0.0
    random = Random(7)
    for _ in range(40):
        backoff.failed(now, random)
        rests.append(backoff.wait_s(now))
        now += rests[-1]
        assert backoff.wait_s(now) == 0.0
    for rest, ideal in zip(rests, [1, 2, 4, 8, 8, 8], strict=False):
        assert 0.5 * ideal <= rest <= 1.5 * ideal
    assert max(rests) <= 12.0
    assert len(set(rests)) == len(rests)


def test_success_ends_the_rests():
    backoff = CallBackoff(first_s=1.0, longest_s=8.0)
    backoff.failed(0.0, Random(1))
    backoff.failed(0.0, Random(1))
    backoff.succeeded()
    assert backoff.wait_s(0.0) == 0.0
    backoff.failed(0.0, Random(1))
    assert backoff.wait_s(0.0) <= 1.5


def test_what_a_third_peer_says_takes_no_known_addresss_place():
    book = AddressBook()
    assert book.learn(ANNA, ("10.0.0.9", 9), hearsay=True)
    book.learn(ANNA, ("10.0.0.1", 1))
    book.learn(ANNA, ("10.0.0.2", 2), hearsay=True)
    book.learn(ANNA, ("10.0.0.3", 3), hearsay=True)
    assert book.addresses(ANNA) == (("10.0.0.1", 1), ("10.0.0.3", 3))
    book.learn(ANNA, ("10.0.0.1", 1), hearsay=True)
    assert book.addresses(ANNA) == (("10.0.0.1", 1), ("10.0.0.3", 3))
