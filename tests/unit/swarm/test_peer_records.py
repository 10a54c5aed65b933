"""PeerRecords in the DHT."""

from core.base.ids import PeerId, hashed_key
from core.dht.events import Found, RecordStored
from core.dht.messages import Record
from core.nat.events import PeerRecordFound
from core.nat.messages import Address
from core.nat.peer_record import NO_PEER_RECORD, AddressCandidate, CandidateKind, decode, encode, peer_record_key
from core.swarm.reach.peer_records import ASKED_MAX, DOUBTED_MAX, PeerRecords
from tests.unit.swarm.test_connectivity import ANNA, BEN, ME, Directory, record_of

NOW = 1000.0


def peers(number: int) -> list[PeerId]:
    return [PeerId(hashed_key(index.to_bytes(4, "big"))) for index in range(number)]


def record(owner: PeerId, value: bytes) -> Record:
    return Record(owner, value, 2_000_000, bytes(64))


def test_a_card_is_read_once_and_only_from_its_owner() -> None:
    directory = Directory()
    peer_records = PeerRecords(ME, directory)
    peer_records.read(ANNA, NOW)
    assert directory.reads == [(peer_record_key(ANNA), 1)]
    peer_record = record_of(AddressCandidate(CandidateKind.LAN, Address("10.0.0.9", 1)))
    records = (record(BEN, encode(NO_PEER_RECORD)), record(ANNA, encode(peer_record)))
    assert peer_records.found(Found(peer_record_key(ANNA), records)) == PeerRecordFound(ANNA, peer_record)
    assert peer_records.found(Found(peer_record_key(ANNA), records)) is None, "nobody asked again"


def test_a_record_that_is_not_a_card_counts_as_none() -> None:
    peer_records = PeerRecords(ME, Directory())
    for records in ((), (record(ANNA, b"garbage"),), (record(BEN, encode(NO_PEER_RECORD)),)):
        peer_records.read(ANNA, NOW)
        assert peer_records.found(Found(peer_record_key(ANNA), records)) == PeerRecordFound(ANNA, None)


def test_misleading_record_is_read_from_all_holders_next_time() -> None:
    directory = Directory()
    peer_records = PeerRecords(ME, directory)
    peer_records.doubt(ANNA, reached=False)
    peer_records.read(ANNA, NOW)
    peer_records.doubt(ANNA, reached=True)
    peer_records.read(ANNA, NOW)
    assert [quorum for _, quorum in directory.reads] == [None, 1]


def test_the_own_card_is_stored_until_somebody_else_holds_it() -> None:
    directory = Directory()
    peer_records = PeerRecords(ME, directory)
    assert not peer_records.publish_again(NOW)
    peer_records.publish(NO_PEER_RECORD, NOW)
    ((key, value, subkey),) = directory.kept
    assert (key, decode(value), subkey) == (peer_record_key(ME), NO_PEER_RECORD, ME)
    for owner, replicas, again in ((ME, 1, True), (ANNA, 2, True), (ME, 2, False)):
        peer_records.stored(RecordStored(peer_record_key(owner), replicas))
        before = len(directory.kept)
        peer_records.publish_again(NOW)
        assert (len(directory.kept) > before) is again


def test_one_holder_suffices_for_the_record_of_a_client() -> None:
    directory = Directory()
    directory.client = True
    peer_records = PeerRecords(ME, directory)
    peer_records.publish(NO_PEER_RECORD, NOW)
    peer_records.stored(RecordStored(peer_record_key(ME), 1))
    peer_records.publish_again(NOW)
    assert len(directory.kept) == 1


def test_the_oldest_questions_and_doubts_are_forgotten() -> None:
    directory = Directory()
    peer_records = PeerRecords(ME, directory)
    first, *_, last = many = peers(max(ASKED_MAX, DOUBTED_MAX) + 1)
    for peer in many:
        peer_records.read(peer, NOW)
        peer_records.doubt(peer, reached=False)
    assert peer_records.found(Found(peer_record_key(first), ())) is None
    assert peer_records.found(Found(peer_record_key(last), ())) is not None
    peer_records.read(first, NOW)
    peer_records.read(last, NOW)
    assert [quorum for _, quorum in directory.reads[-2:]] == [1, None]
