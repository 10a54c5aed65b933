"""Whose signatures count, and that all come to know the same."""

from itertools import permutations
from random import Random

import msgspec
import pytest

from core.authority import decisions as made
from core.authority.changes import banned, new_decisions, new_holds, new_roles
from core.authority.decisions import REVOKED_MAX, Announcement, Decisions
from core.authority.documents import AHEAD_S, PURPOSES, Document, DocumentKind
from core.authority.proposals import OPEN_MAX, PROPOSAL_S
from core.authority.records import AuthorityRecords, read_bundle
from core.authority.roles import SETTLED_S, Moderator
from core.base.problems import BadInput, NotTrusted, RemoteProblem
from tests.unit.authority.people import FOUNDER, SEAL, copy_of, decided, known, only_signed, roles, signed, town
from tests.unit.net.people import NOW, OTHER_RUN, RUN, id_of, keys

EVE = id_of("eve")


def revoked(records: AuthorityRecords) -> tuple[bytes, ...]:
    return records.decisions.revoked


# --- decisions -------------------------------------------------------------------------------------------------------


def test_founder_decides_alone_until_there_are_moderators():
    records = known()
    assert records.take(decided(records, "authority", revoked=(EVE,)), NOW)
    assert records.shut_out(NOW) == {EVE}


def test_list_of_an_earlier_version_is_read():
    body = msgspec.msgpack.encode({"number": 7, "revoked": [EVE], "passes_since": 0.0})
    data = msgspec.msgpack.encode([body, keys("authority").sign(PURPOSES[DocumentKind.DECISIONS] + RUN + body)])
    records = known()
    assert records.learn(data, NOW)
    assert revoked(records) == (EVE,)


def test_earlier_versions_read_what_the_founder_decides():
    records = known()
    records.take(decided(records, "authority", revoked=(EVE,)), NOW)
    body, signature = msgspec.msgpack.decode(records.to_bytes())
    assert msgspec.msgpack.decode(body)["revoked"] == [EVE]
    keys("authority").private_key.public_key().verify(signature, PURPOSES[DocumentKind.DECISIONS] + RUN + body)


def test_decisions_of_a_later_version_are_handed_on_whole():
    body = msgspec.msgpack.encode({"number": 9, "revoked": [EVE], "ended": {"at": 1.0, "why": "done"}})
    document = SEAL.sign(DocumentKind.DECISIONS, body, keys("authority"))
    records = known(document)
    assert read_bundle(records.to_bytes())[0].body == body
    assert copy_of(records).shut_out(NOW) == {EVE}


@pytest.mark.parametrize(
    "document",
    [
        only_signed(decided(known(), "authority", revoked=(EVE,)), "eve"),
        msgspec.structs.replace(decided(known(), "authority", revoked=(EVE,)), kind=DocumentKind.ROLES),
        msgspec.structs.replace(decided(known(), "authority", revoked=(EVE,)), kind=DocumentKind.HOLDS),
        decided(AuthorityRecords(FOUNDER, OTHER_RUN), "authority", revoked=(EVE,)),
        Document(b"", ()),
        Document(b"\xc1", (), DocumentKind.ROLES),
    ],
)
def test_document_without_its_signatures_is_refused(document):
    records = known()
    body = document.body
    if document == decided(AuthorityRecords(FOUNDER, OTHER_RUN), "authority", revoked=(EVE,)):
        signature = keys("authority").sign(PURPOSES[DocumentKind.DECISIONS] + OTHER_RUN + body)
        document = Document(body, signature)
    with pytest.raises(RemoteProblem):
        records.take(document, NOW)
    assert records.to_bytes() == b""


def test_decisions_of_next_year_are_refused_but_for_kept_ones():
    records = known(decided(known(), "authority", revoked=(EVE,), now=NOW + AHEAD_S + 1))
    newcomer = known()
    with pytest.raises(RemoteProblem):
        newcomer.learn(records.to_bytes(), NOW)
    assert newcomer.learn(records.to_bytes(), NOW + 1)
    assert known().learn(records.to_bytes(), None), "a clock that was set back makes nothing false"


def test_threshold_of_moderators_decides():
    records = town("anna", "ben", "cleo")
    proposal = decided(records, "anna", revoked=(EVE,))
    assert records.take(proposal, NOW)
    assert not revoked(records)
    assert [one.author for one in records.proposals] == [id_of("anna")]
    assert records.take(only_signed(proposal, "ben"), NOW)
    assert revoked(records) == (EVE,)
    assert not list(records.proposals)


def test_signature_of_one_moderator_counts_once():
    records = town("anna", "ben", "cleo")
    one = decided(records, "anna", revoked=(EVE,))
    again = msgspec.structs.replace(one, signatures=one.signatures * 3)
    records.take(again, NOW)
    assert not revoked(records)
    assert not records.take(again, NOW)


@pytest.mark.parametrize("others", [(), ("eve",), ("authority",), ("eve", "authority", "mallory")])
def test_strangers_signatures_do_not_count(others):
    records = town("anna", "ben", "cleo")
    records.take(decided(records, "anna", *others, revoked=(EVE,)), NOW)
    assert not revoked(records)


def test_nobody_proposes_in_another_name():
    records = town("anna", "ben", "cleo")
    mine = msgspec.structs.replace(
        msgspec.msgpack.decode(decided(records, "anna").body, type=Decisions), author=id_of("ben")
    )
    with pytest.raises(RemoteProblem):
        records.take(SEAL.sign(DocumentKind.DECISIONS, made.SCHEMA.encode(mine), keys("anna")), NOW)
    assert not list(records.proposals)


def test_who_is_no_moderator_signs_nothing():
    records = town("anna", "ben", "cleo")
    for make in (
        lambda: new_decisions(records, keys("authority"), NOW),
        lambda: new_roles(records, keys("eve"), NOW, moderators=[Moderator(EVE, "eve")], threshold=1),
        lambda: new_holds(records, keys("eve"), NOW, hold=[], release=[EVE]),
    ):
        with pytest.raises(NotTrusted):
            make()


def test_moderator_has_two_open_proposals():
    records = town("anna", "ben", "cleo")
    for minute in range(5):
        records.take(decided(records, "anna", words=str(minute), now=NOW + minute), NOW + minute)
    records.take(decided(records, "ben", words="of another", now=NOW), NOW)
    assert [one.content.words for one in records.proposals if isinstance(one.content, Decisions)] == [
        "of another",
        *map(str, range(5 - OPEN_MAX, 5)),
    ]


def test_proposal_ends():
    records = town("anna", "ben", "cleo")
    proposal = decided(records, "anna", revoked=(EVE,))
    records.take(proposal, NOW)
    records.forget(NOW + PROPOSAL_S + 1)
    assert not list(records.proposals)
    with pytest.raises(RemoteProblem):
        records.take(proposal, NOW + PROPOSAL_S + 1)


def test_proposal_about_what_was_replaced_is_dropped():
    records = town("anna", "ben", "cleo")
    late = decided(records, "cleo", words="late")
    records.take(late, NOW)
    records.take(decided(records, "anna", "ben", revoked=(EVE,), now=NOW + 5), NOW + 5)
    assert not list(records.proposals)
    assert not records.take(only_signed(late, "cleo"), NOW + 5)


def test_greater_number_holds_whatever_the_order():
    records = town("anna", "ben", "cleo")
    first = decided(records, "anna", "ben", words="first")
    second = decided(records, "ben", "cleo", words="second", now=NOW + 60)
    for order in permutations([first, second]):
        peer = copy_of(records)
        for document in order:
            peer.take(document, NOW + 60)
        assert peer.decisions.words == "second"


# --- roles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signers", "holds"),
    [
        (("anna", "ben", "dora"), True),
        (("anna", "dora", "emil"), False),  # one of the old list
        (("anna", "ben"), True),
        (("ben", "cleo"), False),  # one of the new list
        (("dora", "emil"), False),
        (("authority", "anna"), False),
    ],
)
def test_roles_need_the_thresholds_of_both_lists(signers, holds):
    records = town("anna", "ben", "cleo")
    wanted = only_signed(roles(records, "anna", moderators=("anna", "ben", "dora", "emil"), threshold=2), *signers)
    if holds or "anna" in signers:
        records.take(wanted, NOW)
    else:
        with pytest.raises(RemoteProblem):
            records.take(wanted, NOW)
    assert (records.roles.number == 2) is holds


def test_roles_that_skip_a_number_are_refused():
    records = town("anna", "ben", "cleo")
    ahead = copy_of(records)
    ahead.take(roles(ahead, "anna", "ben", moderators=("anna", "ben"), threshold=2), NOW)
    third = roles(ahead, "anna", "ben", moderators=("anna",), threshold=1)
    with pytest.raises(RemoteProblem):
        records.take(third, NOW)
    assert records.learn(ahead.to_bytes(), NOW)
    assert records.take(third, NOW)


@pytest.mark.parametrize(
    ("people", "threshold"), [((), 1), (("anna",), 2), (("anna", "anna"), 1), ((" ",), 1), (("x" * 41,), 1)]
)
def test_list_by_which_nobody_could_decide_is_not_signed(people, threshold):
    moderators = [Moderator(id_of(name), name) for name in people]
    with pytest.raises(BadInput):
        new_roles(known(), keys("authority"), NOW, moderators=moderators, threshold=threshold)


def test_removed_moderators_decide_nothing():
    records = town("anna", "ben", "cleo")
    old = copy_of(records)
    records.take(roles(records, "anna", "ben", "dora", moderators=("anna", "dora"), threshold=2), NOW)
    with pytest.raises(RemoteProblem):
        records.take(decided(old, "ben", "cleo", revoked=(EVE,), now=NOW + 60), NOW + 60)
    assert not revoked(records)


def test_decisions_hold_on_when_the_moderators_change():
    records = town("anna", "ben", "cleo")
    records.take(decided(records, "anna", "ben", revoked=(EVE,)), NOW)
    records.take(roles(records, "anna", "ben", "dora", moderators=("anna", "dora"), threshold=2), NOW)
    newcomer = copy_of(records)
    assert newcomer.shut_out(NOW) == records.shut_out(NOW) == {EVE}
    newcomer.take(decided(newcomer, "anna", "dora", revoked=(), now=NOW + 60), NOW + 60)
    assert not newcomer.shut_out(NOW)


def test_of_two_lists_with_one_number_all_take_the_same():
    records = town("anna", "ben", "cleo")
    two = [
        roles(records, "anna", "ben", moderators=("anna", "ben"), threshold=2),
        roles(records, "ben", "cleo", moderators=("ben", "cleo"), threshold=2),
    ]
    followed = []
    for document in two:
        peer = copy_of(records)
        peer.take(document, NOW)
        by = ("anna", "ben") if document is two[0] else ("ben", "cleo")
        peer.take(decided(peer, *by, words="after it"), NOW)
        followed.append(peer)
    for peer, other in (followed, followed[::-1]):
        for document in read_bundle(other.to_bytes()):
            try:
                peer.take(document, NOW)
            except RemoteProblem:
                continue
    assert followed[0].in_force[0] == followed[1].in_force[0] == min(one.name for one in two)
    peer = next(one for one, document in zip(followed, two, strict=True) if document.name == one.in_force[0])
    assert peer.decisions.words == "after it"


def test_list_that_has_held_for_a_day_is_final():
    """A thief of an old copy of the charter has the founder's key, and draws lists until a name is small."""
    records = town("anna", "ben", "cleo")
    first = next(one for one in read_bundle(records.to_bytes()) if one.kind is DocumentKind.ROLES)
    stolen = (
        roles(known(), "authority", "eve", moderators=("eve",), threshold=1, now=NOW + number) for number in range(200)
    )
    rival = next(one for one in stolen if one.name < first.name)
    later = copy_of(records)
    assert not later.take(rival, NOW + SETTLED_S + 60)
    assert later.roles.keys == records.roles.keys
    assert records.take(rival, NOW + 60), "at once nobody can know which came first"


def test_roles_end_decisions_that_they_have_not_found():
    """Somebody who was away completes a list that was proposed before a ban."""
    records = town("anna", "ben", "cleo")
    wider = roles(records, "anna", moderators=("anna", "ben", "cleo", "dora"), threshold=2)
    ban = decided(records, "anna", "ben", revoked=(EVE,))
    one, other = copy_of(records), copy_of(records)
    one.take(ban, NOW)
    for peer in (one, other):
        peer.take(signed(wider, "cleo"), NOW)
    assert one.in_force == other.in_force
    assert one.marked().keys() == other.marked().keys()
    assert copy_of(one).in_force == one.in_force, "what it has can be read again"


def test_document_that_does_not_hold_hides_no_other():
    records = town("anna", "ben", "cleo")
    ban = decided(records, "anna", "ben", revoked=(EVE,))
    junk = msgspec.structs.replace(ban, kind=DocumentKind.HOLDS)
    assert records.learn(msgspec.msgpack.encode([junk, ban, junk]), NOW)
    assert records.shut_out(NOW) == {EVE}


def test_proposal_that_is_dropped_at_once_is_no_news():
    records = town("anna", "ben", "cleo")
    three = [decided(records, "anna", words=str(minute), now=NOW + minute) for minute in range(3)]
    assert [records.take(one, NOW + 3) for one in (*three, three[0])] == [True, True, True, False]


# --- sizes -----------------------------------------------------------------------------------------------------------


def test_longest_decisions_fit():
    records = town("anna", "ben", "cleo")
    many = [id_of(str(number)) for number in range(REVOKED_MAX)]
    notices = tuple(Announcement(int(NOW), int(NOW), "ü" * 300) for _ in range(4))
    records.take(
        decided(records, "anna", "ben", **banned(records.decisions, many, NOW), notices=notices, words="ü" * 300), NOW
    )
    assert records.shut_out(NOW) == set(many)
    fields = banned(records.decisions, [EVE], NOW)
    assert len(fields["revoked"]) == REVOKED_MAX
    assert fields["revoked"][-1] == EVE
    assert fields["passes_since"] > NOW


@pytest.mark.parametrize(
    "data", [b"\xc1", b"\x00", b"\x91\x00", b"\x92\xc4\x00\xc4\x00", b"\x90" * 2000, b"a" * 4_000_000]
)
def test_bytes_that_are_no_records_are_refused(data):
    with pytest.raises(RemoteProblem):
        known().learn(data, NOW)


def test_bytes_of_chance_end_nothing():
    random, records = Random(3), town("anna", "ben", "cleo")
    true = decided(records, "anna", "ben", revoked=(EVE,))
    encoded = SEAL.written(true)
    for _ in range(2000):
        data = bytearray(encoded)
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(len(data))] = random.randrange(256)
        try:
            records.learn(bytes(data), NOW)
        except RemoteProblem:
            continue
        assert not revoked(records) or bytes(data) == encoded or records.in_force[1] == true.name
    records.take(true, NOW)
    assert revoked(records) == (EVE,)
    assert signed(true, "cleo").name == true.name
