"""What a moderator does alone is bounded, and ends."""

import msgspec
import pytest

from core.authority.changes import banned, new_holds, pardoned
from core.authority.documents import AHEAD_S, Document, DocumentKind
from core.authority.holds import GAP_S, HELD_MAX, HOLD_S, HeldPerson
from core.authority.records import AuthorityRecords
from core.base.ids import PeerId
from core.base.problems import BadInput, RemoteProblem
from tests.unit.authority.people import FOUNDER, SEAL, decided, only_signed, roles, town
from tests.unit.net.people import NOW, id_of, keys

EVE = id_of("eve")


def held(records: AuthorityRecords, by: str, whom: PeerId, *, days: float = 1.0, now: float = NOW) -> Document:
    hold = HeldPerson(whom, int(now + days * 24 * 3600), "noise")
    return new_holds(records, keys(by), now, hold=[hold], release=[whom])


def test_one_moderator_holds_somebody_for_days():
    records = town("anna", "ben", "cleo")
    records.take(held(records, "anna", EVE), NOW)
    assert records.shut_out(NOW) == {EVE}
    assert not records.shut_out(NOW + 24 * 3600)
    records.take(new_holds(records, keys("anna"), NOW + 5, hold=[], release=[EVE]), NOW + 5)
    assert not records.shut_out(NOW + 5)


def test_pardon_of_the_others_ends_a_hold():
    records = town("anna", "ben", "cleo")
    records.take(held(records, "anna", EVE), NOW)
    records.take(decided(records, "ben", "cleo", **pardoned(records.decisions, [EVE])), NOW)
    assert not records.shut_out(NOW)
    records.take(held(records, "anna", EVE, now=NOW + 5), NOW + 5)
    assert not records.shut_out(NOW + 5)


def test_moderators_cannot_be_held():
    records = town("anna", "ben", "cleo")
    for whom in (id_of("ben"), FOUNDER):
        with pytest.raises(BadInput):
            held(records, "anna", whom)
    sly = {"number": int(NOW), "held": [[id_of("ben"), int(NOW) + 60, ""]]}
    records.take(SEAL.sign(DocumentKind.HOLDS, msgspec.msgpack.encode(sly), keys("anna")), NOW)
    assert not records.shut_out(NOW)


def test_hold_is_bounded():
    records = town("anna", "ben", "cleo")
    with pytest.raises(BadInput):
        held(records, "anna", EVE, days=8)
    longer = {"number": int(NOW), "held": [[EVE, int(NOW) + HOLD_S + 1, ""]]}
    many = {"number": int(NOW), "held": [[id_of(str(n)), int(NOW) + 60, ""] for n in range(HELD_MAX + 1)]}
    for said in (longer, many):
        with pytest.raises(RemoteProblem):
            records.take(SEAL.sign(DocumentKind.HOLDS, msgspec.msgpack.encode(said), keys("anna")), NOW)
    later = SEAL.sign(DocumentKind.HOLDS, msgspec.msgpack.encode({"number": int(NOW + AHEAD_S) + 1}), keys("anna"))
    with pytest.raises(RemoteProblem):
        records.learn(SEAL.written(later), NOW)
    with pytest.raises(RemoteProblem):
        records.take(only_signed(held(records, "anna", EVE), "eve"), NOW)
    for number in range(HELD_MAX):
        records.take(held(records, "anna", id_of(str(number)), now=NOW + number), NOW + number)
    with pytest.raises(BadInput):
        held(records, "anna", EVE)


def test_holds_of_a_removed_moderator_end():
    records = town("anna", "ben", "cleo")
    records.take(held(records, "anna", EVE), NOW)
    records.take(roles(records, "ben", "cleo", moderators=("ben", "cleo"), threshold=2), NOW)
    assert not records.shut_out(NOW)


def test_holds_that_two_have_signed_are_nobodys():
    records = town("anna", "ben", "cleo")
    document = held(records, "anna", EVE)
    with pytest.raises(RemoteProblem):
        records.take(SEAL.countersign(document, keys("ben")), NOW)
    assert records.take(document, NOW)


def test_moderator_keeps_nobody_busy_with_empty_lists():
    records = town("anna", "ben", "cleo")
    lists = [msgspec.msgpack.encode({"number": int(NOW) + number}) for number in range(1000)]
    signed = [SEAL.sign(DocumentKind.HOLDS, one, keys("anna")) for one in lists]
    assert sum(records.take(one, NOW) for one in signed) == 1000 / GAP_S


def test_pardoned_person_can_be_banned_again():
    records = town("anna", "ben", "cleo")
    records.take(decided(records, "anna", "ben", **pardoned(records.decisions, [EVE])), NOW)
    records.take(decided(records, "anna", "ben", **banned(records.decisions, [EVE], NOW), now=NOW + 5), NOW + 5)
    assert records.shut_out(NOW + 5) == {EVE}
    assert not records.decisions.pardoned
