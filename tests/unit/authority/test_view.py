"""Moderators see all that they sign."""

import msgspec
import pytest

from core.api.moderation import ID_LETTERS, ModerationAct, ModerationWish, change_text
from core.authority import decisions as made
from core.authority.acts import signed_wish
from core.authority.decisions import Announcement, GoBack
from core.authority.documents import PURPOSES, Document, DocumentKind
from core.authority.records import AuthorityRecords
from core.authority.view import moderation_view, proposal_id
from core.base.content import digest
from core.base.problems import BadInput
from tests.unit.authority.people import SEAL, decided, roles, town
from tests.unit.net.people import NOW, id_of, keys

BACK = GoBack(epoch=7, source=b"s" * 32, root=b"r" * 32, digest=b"d" * 32)
OTHER = GoBack(epoch=7, source=b"s" * 32, root=b"t" * 32, digest=b"d" * 32)


def seen(records):
    (one,) = moderation_view(records, id_of("ben"), lambda _: "", NOW).proposals
    return [(change.act, change.words or change.name or change.count) for change in one.changes]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"passes_since": NOW}, (ModerationAct.OTHER, "passes_since")),
        ({"back": None}, (ModerationAct.OTHER, "back")),
        ({"back": OTHER}, (ModerationAct.GO_BACK, OTHER.root.hex()[:ID_LETTERS])),
        ({"notices": ()}, (ModerationAct.OTHER, "notices")),
        ({"pardoned": ()}, (ModerationAct.OTHER, "pardoned")),
    ],
)
def test_no_change_is_hidden(changes, told):
    records = town("anna", "ben", "cleo")
    said = Announcement(int(NOW), int(NOW) + 60, "hello")
    records.take(decided(records, "anna", "ben", back=BACK, notices=(said,), pardoned=(id_of("eve"),)), NOW)
    records.take(decided(records, "anna", now=NOW + 60, **changes), NOW + 60)
    assert seen(records) == [told]


def test_name_that_changes_is_seen():
    records = town("anna", "ben", "cleo")
    swapped = roles(
        records, "anna", moderators=("anna", "ben", "cleo"), threshold=2, called={"ben": "cleo", "cleo": "ben"}
    )
    records.take(swapped, NOW)
    assert seen(records) == [(ModerationAct.OTHER, "names")]


def test_new_moderator_is_seen_by_key_and_known_name():
    """The name in a list is its author's choice: eve was to become a moderator as the well-known anna."""
    records = town("ben", "cleo")
    records.take(roles(records, "ben", moderators=("ben", "cleo", "eve"), threshold=2, called={"eve": "anna"}), NOW)
    (one,) = moderation_view(records, id_of("cleo"), {id_of("eve"): "eve"}.get, NOW).proposals
    said = [change_text(change) for change in one.changes]
    assert said == [f"makes anna (eve, {id_of('eve').hex()[:16]}) a moderator"]


def agreed(records: AuthorityRecords, said: str) -> Document:
    """What ben signs who has read a proposal with this id."""
    wish = ModerationWish(act=ModerationAct.SIGN, who=said)
    return signed_wish(records, keys("ben"), NOW + 60, wish, lambda _: [])


def alike(records: AuthorityRecords) -> tuple[Document, Document]:
    """Two proposals of anna's, one to close and one to ban dora, whose names begin with the same eight digits."""
    roles_now, previous = records.in_force
    kinds = ({"newcomers": made.Newcomers.CLOSED}, {"revoked": (id_of("dora"),)})
    found: tuple[dict[bytes, bytes], dict[bytes, bytes]] = ({}, {})
    for number in range(1_000_000):
        which = number % 2
        base = made.Decisions(number=int(NOW) + which, roles=roles_now, previous=previous, author=id_of("anna"))
        body = made.SCHEMA.encode(msgspec.structs.replace(base, words=str(number), **kinds[which]))
        name = digest(PURPOSES[DocumentKind.DECISIONS] + body)[:4]
        found[which][name] = body
        if name in found[1 - which]:
            first, second = (SEAL.sign(DocumentKind.DECISIONS, each[name], keys("anna")) for each in found)
            return first, second
    raise AssertionError


def test_author_puts_no_other_proposal_behind_a_read_id():
    records = town("anna", "ben", "cleo")
    read, other = alike(records)
    records.take(read, NOW)
    (seen_before,) = moderation_view(records, id_of("ben"), lambda _: "", NOW).proposals
    for document in (other, decided(records, "anna", now=NOW + 2)):  # the last two of one author count
        records.take(document, NOW + 2)
    assert read.name not in {one.document.name for one in records.proposals}
    with pytest.raises(BadInput, match="No proposal is called"):
        agreed(records, seen_before.id)
    assert agreed(records, proposal_id(other)).name == other.name


def test_nobody_signs_what_this_version_does_not_read():
    records = town("anna", "ben", "cleo")
    body = decided(records, "anna", newcomers=made.Newcomers.CLOSED).body
    later = msgspec.msgpack.encode({**msgspec.msgpack.decode(body), "forget": True})
    document = SEAL.sign(DocumentKind.DECISIONS, later, keys("anna"))
    records.take(document, NOW)
    with pytest.raises(BadInput, match="does not know"):
        agreed(records, proposal_id(document))
