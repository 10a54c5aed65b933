"""Issuers in the moderators' lists: whose passes hold, who may change that, and what signers see."""

import math

import msgspec
import pytest

from core.api.moderation import ModerationAct, ModerationWish
from core.authority.acts import signed_wish
from core.authority.changes import new_roles
from core.authority.documents import DocumentKind
from core.authority.issuers import ISSUERS_MAX, PLACES_MAX, RETIRING_S, Issuer, IssuerPlace
from core.authority.records import AuthorityRecords
from core.authority.roles import ROLES_BYTES_MAX, SCHEMA, Moderator, Roles
from core.authority.view import moderation_view
from core.backbone.authority import LIFETIME_S
from core.base.problems import BadInput, RemoteProblem
from tests.unit.authority.people import FOUNDER, SEAL, copy_of, known, signed, town
from tests.unit.net.people import NOW, id_of, keys

SECOND = Issuer(id_of("second"), "Ben's", (IssuerPlace("ben.example.org", 4000),))


def wished(records: AuthorityRecords, by: str, act: ModerationAct, who: str, *also: str, **more) -> AuthorityRecords:
    wish = ModerationWish(act=act, who=who, **more)
    document = signed(signed_wish(records, keys(by), NOW, wish, lambda _: []), *also)
    records.take(document, NOW)
    return records


def with_second(*also: str) -> AuthorityRecords:
    places = tuple(map(str, SECOND.places))
    records = town("anna", "ben", "cleo")
    return wished(
        records, "anna", ModerationAct.BACKBONE, SECOND.key.hex(), *(also or ("ben",)), words="Ben's", places=places
    )


def test_list_without_issuers_is_written_as_before():
    """The bytes that the version before wrote, and reads."""
    records = known()
    people = [Moderator(id_of("anna"), "anna")]
    document = new_roles(records, keys("authority"), NOW, moderators=people, threshold=1)
    roles = SCHEMA.decode(document.body)
    before = {
        "number": 1,
        "previous": b"",
        "moderators": [[id_of("anna"), "anna"]],
        "threshold": 1,
        "decisions": b"",
        "author": FOUNDER,
        "at": int(NOW),
    }
    assert document.body == msgspec.msgpack.encode(before)
    assert (roles.issuers, SCHEMA.encode(roles)) == ((), document.body)


def test_threshold_names_a_further_issuer_and_one_alone_does_not():
    assert with_second("anna").chain.issuing == {FOUNDER: math.inf}
    records = with_second()
    assert records.chain.issuing == {FOUNDER: math.inf, SECOND.key: math.inf}
    assert records.roles.issuers == (SECOND,)
    assert (records.roles.threshold, len(records.roles.moderators)) == (2, 3)
    assert copy_of(records).chain.issuing == records.chain.issuing


def test_moderators_change_and_issuers_stay():
    records = with_second()
    people = [Moderator(id_of(name), name) for name in ("anna", "ben")]
    records.take(signed(new_roles(records, keys("anna"), NOW, moderators=people, threshold=2), "ben"), NOW)
    assert (records.roles.number, records.roles.issuers) == (3, (SECOND,))


@pytest.mark.parametrize("who", [FOUNDER.hex(), "Ben's"])
def test_retired_issuers_passes_hold_until_they_end(who: str):
    records = wished(with_second(), "anna", ModerationAct.RETIRE, who, "cleo")
    ended = FOUNDER if who == FOUNDER.hex() else SECOND.key
    assert records.chain.issuing[ended] == int(NOW) + RETIRING_S > NOW + LIFETIME_S
    assert sorted(records.chain.issuing.values())[1] == math.inf


@pytest.mark.parametrize("who", [FOUNDER.hex(), "Ben's"])
def test_stolen_issuers_passes_end_at_once(who: str):
    records = wished(with_second(), "anna", ModerationAct.STOLEN, who, "cleo")
    ends = int(NOW) - 1
    assert sorted(records.chain.issuing.values()) == [ends, math.inf]
    assert [*records.chain.stolen.values()] == [ends]


@pytest.mark.parametrize(("since", "expected"), [(0.0, NOW - 90), (NOW - 50, NOW - 50), (NOW + 9, NOW - 1)])
def test_key_is_stolen_since_it_was_listed_or_as_said(since: float, expected: float):
    records = town("anna", "ben", "cleo")
    records.take(signed(new_roles(records, keys("anna"), NOW - 90, issuers=[SECOND]), "ben"), NOW)
    wish = ModerationWish(act=ModerationAct.STOLEN, who="Ben's", since=since)
    records.take(signed(signed_wish(records, keys("anna"), NOW, wish, lambda _: []), "ben"), NOW)
    assert records.chain.stolen == {SECOND.key: int(expected)}


def test_stolen_key_stays_so_and_retired_one_was_not():
    records = wished(with_second(), "anna", ModerationAct.STOLEN, "Ben's", "cleo")
    since = records.chain.stolen
    records = wished(records, "anna", ModerationAct.RETIRE, "Ben's", "cleo")
    assert (records.chain.issuing[SECOND.key], records.chain.stolen) == (since[SECOND.key], since)
    third = Issuer(id_of("third"), "third", ())
    records.take(signed(new_roles(records, keys("anna"), NOW, issuers=[third]), "cleo"), NOW)
    assert records.chain.stolen == since
    with pytest.raises(BadInput, match="wrong hands"):
        wished(records, "anna", ModerationAct.BACKBONE, SECOND.key.hex(), "cleo")
    records = wished(records, "anna", ModerationAct.RETIRE, "third", "cleo")
    later = NOW + RETIRING_S + 1
    for issuers in (records.roles.issuers, [SECOND]):
        records.take(signed(new_roles(records, keys("anna"), later, issuers=issuers), "cleo"), later)
        assert records.chain.stolen == since


def test_founders_issuer_key_has_no_voice_in_that():
    records = with_second()
    theirs = Roles(
        number=3, previous=records.in_force[0], moderators=records.roles.moderators, threshold=2, author=FOUNDER, at=0
    )
    document = SEAL.sign(DocumentKind.ROLES, SCHEMA.encode(theirs), keys("authority"))
    with pytest.raises(RemoteProblem):
        records.take(document, NOW)


def test_last_issuer_cannot_be_ended():
    with pytest.raises(BadInput, match="gives passes"):
        wished(town("anna", "ben", "cleo"), "anna", ModerationAct.STOLEN, FOUNDER.hex())
    records = with_second()
    gone = [msgspec.structs.replace(SECOND, until=1), Issuer(FOUNDER, "f", (), 1)]
    alive = new_roles(records, keys("anna"), NOW, issuers=[SECOND])
    body = msgspec.structs.replace(SCHEMA.decode(alive.body), listed=tuple(gone))
    forged = signed(SEAL.sign(DocumentKind.ROLES, SCHEMA.encode(body), keys("anna")), "ben", "cleo")
    with pytest.raises(RemoteProblem):
        records.take(forged, NOW)
    assert records.roles.number == 2


def test_two_keys_that_certificates_cannot_tell_apart_are_refused():
    twin = msgspec.structs.replace(SECOND, key=SECOND.key[:8] + bytes(24))
    with pytest.raises(BadInput, match="twice"):
        new_roles(with_second(), keys("anna"), NOW, issuers=[SECOND, twin])


def test_longest_list_fits_its_bound():
    places = tuple(IssuerPlace("h" * 255, 65535) for _ in range(PLACES_MAX))
    many = [Issuer(id_of(str(n)), "n" * 40, places, 2**52) for n in range(ISSUERS_MAX - 1)]
    people = [Moderator(id_of(f"m{n}"), "n" * 40) for n in range(15)]
    records = known()
    issuers = [*many, Issuer(id_of("last"), "n" * 40, places)]
    document = new_roles(records, keys("authority"), NOW, moderators=people, threshold=8, issuers=issuers)
    assert len(document.body) <= ROLES_BYTES_MAX
    with pytest.raises(BadInput, match="backbones"):
        new_roles(records, keys("authority"), NOW, issuers=[*issuers, SECOND])


def test_signers_see_what_becomes_of_each_backbone():
    def seen(act: ModerationAct, who: str, **more):
        records = wished(with_second(), "anna", act, who, **more)
        (one,) = moderation_view(records, id_of("ben"), lambda _: "", NOW).proposals
        return [(change.act, change.name, change.words) for change in one.changes]

    told = (ModerationAct.BACKBONE, "Ben's", "here:1, there:2")
    assert seen(ModerationAct.BACKBONE, SECOND.key.hex(), words="Ben's", places=("here:1", "there:2")) == [told]
    assert seen(ModerationAct.RETIRE, "Ben's") == [(ModerationAct.RETIRE, "Ben's", "")]
    assert seen(ModerationAct.STOLEN, FOUNDER.hex()) == [(ModerationAct.STOLEN, "the founder", "")]


def test_signers_see_an_issuer_that_a_list_leaves_out():
    records = wished(with_second(), "anna", ModerationAct.STOLEN, FOUNDER.hex(), "cleo")
    records.take(new_roles(records, keys("anna"), NOW + 1, issuers=[SECOND]), NOW)
    people = [Moderator(id_of(name), name) for name in ("anna", "ben", "cleo")]
    alone = msgspec.structs.replace(records.roles.issuers[1], until=None)
    records.take(new_roles(records, keys("ben"), NOW + 2, moderators=people, issuers=[alone]), NOW)
    shown = moderation_view(records, id_of("ben"), lambda _: "", NOW).proposals
    assert [[(one.act, one.key) for one in each.changes] for each in shown] == [
        [(ModerationAct.BACKBONE, FOUNDER.hex())],
        [(ModerationAct.BACKBONE, FOUNDER.hex()), (ModerationAct.STOLEN, SECOND.key.hex())],
    ]
