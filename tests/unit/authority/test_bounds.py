"""Records that no program of ours makes, with all signatures that they need."""

import msgspec
import pytest

from core.authority import roles as chain
from core.authority.decisions import REVOKED_MAX
from core.authority.documents import MODERATORS_MAX, DocumentKind
from core.authority.roles import CHAIN_MAX, Moderator
from core.base.problems import RemoteProblem
from tests.unit.authority.people import SEAL, decided, roles, signed, town
from tests.unit.net.people import NOW, id_of, keys

EVE = id_of("eve")


def test_more_bans_than_a_list_has_room_for_are_refused():
    records = town("anna", "ben", "cleo")
    many = tuple(id_of(str(number)) for number in range(REVOKED_MAX + 1))
    assert records.take(decided(records, "anna", "ben", revoked=many[:-1]), NOW)
    with pytest.raises(RemoteProblem):
        records.take(decided(records, "anna", "ben", revoked=many, now=NOW + 1), NOW + 1)
    assert EVE not in records.shut_out(NOW)


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold": 4},
        {"threshold": MODERATORS_MAX + 1},
        {"number": CHAIN_MAX + 1},
        {"moderators": tuple(Moderator(id_of(str(number)), "m") for number in range(MODERATORS_MAX + 1))},
    ],
)
def test_roles_beyond_their_bounds_are_refused_on_arrival(changes):
    """All of both lists have signed them: a program that was changed made them."""
    records = town("anna", "ben", "cleo")
    good = chain.SCHEMA.decode(roles(records, "anna", moderators=("anna", "ben", "cleo"), threshold=3).body)
    for said in (msgspec.structs.replace(good, **changes), good):
        document = SEAL.sign(DocumentKind.ROLES, chain.SCHEMA.encode(said), keys("anna"))
        if said is good:
            assert records.take(signed(document, "ben", "cleo"), NOW)
            continue
        with pytest.raises(RemoteProblem):
            records.take(signed(document, "ben", "cleo"), NOW)
