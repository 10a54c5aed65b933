"""Answers cut to the room they have: contacts, records, and the index of a key with too many records for one answer.

An index entry is 16 bytes, big-endian: the tag (8), the expiration in Unix milliseconds (6) and the record's length in
an answer (2).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from core.base.ids import Contact
from core.dht.messages import (
    INDEX_ENTRY_BYTES,
    NODES_MAX,
    TAG_BYTES,
    Fetch,
    Find,
    Get,
    Nodes,
    Record,
    Records,
    Values,
    answer_room,
)
from core.dht.records import Tag

NODES_BESIDE_INDEX = 4
"""Number of contacts named even where an index needs the room; beside records there is at least one."""
ANSWER_HEADER_BYTES = 34
"""Size of the largest answer, Values, without its contents."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A peer's claim, in an index, to hold a record."""

    tag: Tag
    expires_ms: int
    size_bytes: int


def record_bytes(record: Record) -> int:
    """Upper bound on a record's length in an answer, bytes."""
    return 81 + len(record.subkey) + len(record.value)


def contact_bytes(contact: Contact) -> int:
    """Upper bound on a contact's length in an answer, bytes."""
    return 40 + len(contact.host.encode())


def nodes_answer(request: Find, contacts: Iterable[Contact]) -> Nodes:
    """Answer a Find with as many of the contacts as fit, in their order.

    Args:
        request: The request.
        contacts: Contacts, nearest first.
    """
    return Nodes(request.query, _fitting(contacts, answer_room(request) - ANSWER_HEADER_BYTES))


def records_answer(request: Fetch, records: Mapping[Tag, Record]) -> Records:
    """Answer a Fetch with as many of the wanted records as fit, in the order asked.

    Args:
        request: The request.
        records: Records under its key, by tag.
    """
    room = answer_room(request) - ANSWER_HEADER_BYTES
    chosen: list[Record] = []
    for tag in split_tags(request.tags):
        record = records.get(tag)
        if record is None:
            continue
        room -= record_bytes(record)
        if room < 0:
            break
        chosen.append(record)
    return Records(request.query, tuple(chosen))


def values_answer(request: Get, records: Mapping[Tag, Record], contacts: Sequence[Contact]) -> Values:
    """Answer a Get with all records if they fit beside a few contacts; otherwise with a page of the index.

    Args:
        request: The request.
        records: Records under its key, by tag.
        contacts: Contacts, nearest first.
    """
    room = answer_room(request) - ANSWER_HEADER_BYTES
    if request.after:
        return _index_page(request, records, (), room)
    needed = sum(record_bytes(record) for record in records.values())
    if needed + sum(contact_bytes(contact) for contact in contacts[:1]) <= room:
        nodes = _fitting(contacts, room - needed)
        return Values(request.query, nodes, tuple(records.values()), b"", more=False)
    return _index_page(request, records, _fitting(contacts[:NODES_BESIDE_INDEX], room), room)


def index_entry(tag: Tag, record: Record) -> bytes:
    """Encode a record as an entry of an index.

    Args:
        tag: The record's tag.
        record: The record.
    """
    return tag + record.expires_ms.to_bytes(6, "big") + record_bytes(record).to_bytes(2, "big")


def split_index(index: bytes) -> list[Claim]:
    """Decode the entries of an index; a truncated one at the end is left out."""
    whole = len(index) // INDEX_ENTRY_BYTES * INDEX_ENTRY_BYTES
    entries = (index[start : start + INDEX_ENTRY_BYTES] for start in range(0, whole, INDEX_ENTRY_BYTES))
    return [
        Claim(Tag(entry[:8]), int.from_bytes(entry[8:14], "big"), int.from_bytes(entry[14:], "big"))
        for entry in entries
    ]


def split_tags(tags: bytes) -> list[Tag]:
    """Decode the tags of a Fetch; a truncated one at the end is left out."""
    whole = len(tags) // TAG_BYTES * TAG_BYTES
    return [Tag(tags[start : start + TAG_BYTES]) for start in range(0, whole, TAG_BYTES)]


def _index_page(request: Get, records: Mapping[Tag, Record], nodes: tuple[Contact, ...], room: int) -> Values:
    room -= sum(contact_bytes(contact) for contact in nodes)
    tags = sorted(tag for tag in records if tag > request.after)
    page = tags[: max(room, 0) // INDEX_ENTRY_BYTES]
    index = b"".join(index_entry(tag, records[tag]) for tag in page)
    return Values(request.query, nodes, (), index, more=len(page) < len(tags))


def _fitting(contacts: Iterable[Contact], room: int) -> tuple[Contact, ...]:
    chosen: list[Contact] = []
    for contact in islice(contacts, NODES_MAX):
        room -= contact_bytes(contact)
        if room < 0:
            break
        chosen.append(contact)
    return tuple(chosen)
