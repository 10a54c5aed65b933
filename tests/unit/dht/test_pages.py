from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.ids import hashed_key
from core.dht.messages import AMPLIFICATION, MESSAGE_BYTES_MAX, NODES_MAX, PAD, Fetch, Find, Get, Record, encoded_bytes
from core.dht.pages import nodes_answer, records_answer, split_index, split_tags, values_answer
from core.dht.records import tag_of
from tests.unit.dht.network import contact, peer_id

KEY = hashed_key(b"key")
CONTACTS = [contact(number) for number in range(20)]


def some_records(count, size):
    records = [Record(peer_id(n) + b"ab", bytes(size), 1_700_000_000_000 + n, bytes(64)) for n in range(count)]
    return {tag_of(record.subkey): record for record in records}


@settings(max_examples=80)
@given(st.integers(0, 60), st.integers(0, 512), st.integers(0, 233), st.integers(0, 20), st.binary(max_size=8))
def test_no_answer_is_larger_than_its_request_paid_for(count, size, pad, contacts, after):
    records = some_records(count, size)
    query = 2**62
    tags = b"".join(list(records)[:16]) or bytes(8)
    find, get = Find(query, False, KEY, bytes(pad)), Get(query, False, KEY, after, bytes(pad))
    fetch = Fetch(query, False, KEY, tags, bytes(pad))
    for request, answer in (
        (find, nodes_answer(find, CONTACTS[:contacts])),
        (get, values_answer(get, records, CONTACTS[:contacts])),
        (fetch, records_answer(fetch, records)),
    ):
        assert encoded_bytes(answer) <= min(MESSAGE_BYTES_MAX, AMPLIFICATION * encoded_bytes(request))


def test_few_records_come_with_the_contacts_that_fit():
    records = some_records(2, 20)
    answer = values_answer(Get(2**62, False, KEY, b"", PAD), records, CONTACTS)
    assert set(answer.records) == set(records.values())
    assert (answer.index, answer.more) == (b"", False)
    assert 4 < len(answer.nodes) <= NODES_MAX
    assert list(answer.nodes) == CONTACTS[: len(answer.nodes)]


def test_the_index_of_a_hundred_subkeys_is_paged_and_complete():
    records = some_records(100, 200)
    after, claims, pages = b"", [], 0
    while True:
        answer = values_answer(Get(2**62, False, KEY, after, PAD), records, CONTACTS)
        page = split_index(answer.index)
        assert answer.records == ()
        assert bool(answer.nodes) == (after == b"")
        claims += page
        pages += 1
        if not answer.more:
            break
        after = page[-1].tag
    assert pages == 3
    assert [claim.tag for claim in claims] == sorted(records)
    assert all(records[claim.tag].expires_ms == claim.expires_ms for claim in claims)


def test_fetch_is_answered_in_its_order_while_records_fit():
    records = some_records(8, 100)
    tags = list(records)
    unknown = bytes(8)
    wanted = b"".join([tags[3], unknown, tags[1], tags[0], tags[2]])
    answer = records_answer(Fetch(2**62, False, KEY, wanted, PAD), records)
    assert list(answer.records) == [records[tags[3]], records[tags[1]], records[tags[0]]]
    assert records_answer(Fetch(2**62, False, KEY, wanted + b"odd", PAD), {}).records == ()


@given(st.binary(max_size=100))
def test_anything_splits(data):
    assert len(split_index(data)) == len(data) // 16
    assert b"".join(split_tags(data)) == data[: len(data) // 8 * 8]
