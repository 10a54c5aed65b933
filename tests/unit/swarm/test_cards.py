"""Cards in the DHT."""

from core.base.ids import PeerId, hashed_key
from core.dht.events import Found, RecordStored
from core.dht.messages import Record
from core.nat.card import NOBODY, Kind, Listed, card_key, decode, encode
from core.nat.events import CardFound
from core.nat.messages import Address
from core.swarm.cards import ASKED_MAX, DOUBTED_MAX, Cards
from tests.unit.swarm.test_connectivity import ANNA, BEN, ME, Directory, card_of

NOW = 1000.0


def peers(number: int) -> list[PeerId]:
    return [PeerId(hashed_key(index.to_bytes(4, "big"))) for index in range(number)]


def record(owner: PeerId, value: bytes) -> Record:
    return Record(owner, value, 2_000_000, bytes(64))


def test_a_card_is_read_once_and_only_from_its_owner() -> None:
    directory = Directory()
    cards = Cards(ME, directory)
    cards.read(ANNA, NOW)
    assert directory.reads == [(card_key(ANNA), 1)]
    card = card_of(Listed(Kind.LAN, Address("10.0.0.9", 1)))
    records = (record(BEN, encode(NOBODY)), record(ANNA, encode(card)))
    assert cards.found(Found(card_key(ANNA), records)) == CardFound(ANNA, card)
    assert cards.found(Found(card_key(ANNA), records)) is None, "nobody asked again"


def test_a_record_that_is_not_a_card_counts_as_none() -> None:
    cards = Cards(ME, Directory())
    for records in ((), (record(ANNA, b"garbage"),), (record(BEN, encode(NOBODY)),)):
        cards.read(ANNA, NOW)
        assert cards.found(Found(card_key(ANNA), records)) == CardFound(ANNA, None)


def test_a_card_that_misled_is_read_from_all_holders_the_next_time() -> None:
    directory = Directory()
    cards = Cards(ME, directory)
    cards.doubt(ANNA, reached=False)
    cards.read(ANNA, NOW)
    cards.doubt(ANNA, reached=True)
    cards.read(ANNA, NOW)
    assert [quorum for _, quorum in directory.reads] == [None, 1]


def test_the_own_card_is_stored_until_somebody_else_holds_it() -> None:
    directory = Directory()
    cards = Cards(ME, directory)
    assert not cards.publish_again(NOW)
    cards.publish(NOBODY, NOW)
    ((key, value, subkey),) = directory.kept
    assert (key, decode(value), subkey) == (card_key(ME), NOBODY, ME)
    for replicas, again in ((1, True), (2, False)):
        assert cards.stored(RecordStored(card_key(ME), ME, replicas))
        before = len(directory.kept)
        cards.publish_again(NOW)
        assert (len(directory.kept) > before) is again
    assert not cards.stored(RecordStored(card_key(ANNA), ME, 2))


def test_one_holder_is_enough_for_a_peer_that_holds_nothing_itself() -> None:
    directory = Directory()
    directory.client = True
    cards = Cards(ME, directory)
    cards.publish(NOBODY, NOW)
    cards.stored(RecordStored(card_key(ME), ME, 1))
    cards.publish_again(NOW)
    assert len(directory.kept) == 1


def test_the_oldest_questions_and_doubts_are_forgotten() -> None:
    directory = Directory()
    cards = Cards(ME, directory)
    first, *_, last = many = peers(max(ASKED_MAX, DOUBTED_MAX) + 1)
    for peer in many:
        cards.read(peer, NOW)
        cards.doubt(peer, reached=False)
    assert cards.found(Found(card_key(first), ())) is None
    assert cards.found(Found(card_key(last), ())) is not None
    cards.read(first, NOW)
    cards.read(last, NOW)
    assert [quorum for _, quorum in directory.reads[-2:]] == [1, None]
