"""Moderators pause or end a collaboration, name another one, and find out who can still sign."""

import msgspec
import pytest

from core.api.moderation import ModerationAct, ModerationWish
from core.authority.acts import signed_wish
from core.authority.changes import new_drill, new_holds
from core.authority.decisions import SCHEMA, Decisions, End, EndState
from core.authority.documents import Document, DocumentKind
from core.authority.holds import CLOCKS_S, DRILL_S, HeldPerson, Holds
from core.authority.holds import SCHEMA as HOLDS
from core.authority.records import AuthorityRecords
from core.authority.view import moderation_view
from core.base.problems import BadInput, NotTrusted, RemoteProblem
from tests.unit.authority.people import FOUNDER_KEYS, SEAL, known, only_signed, signed, town
from tests.unit.net.people import NOW, RUN, id_of, keys

LINK = f"potluck://one.example:40711/{'ab' * 32}#secret"


def wished(records: AuthorityRecords, by: str, act: ModerationAct, *, who: str = "", words: str = "") -> Document:
    return signed_wish(records, keys(by), NOW, ModerationWish(act=act, who=who, words=words), lambda _: [])


def test_lists_without_an_end_have_the_bytes_of_before():
    alone = Decisions(number=5, revoked=(id_of("eve"),), words="why")
    assert SCHEMA.encode(alone) == msgspec.msgpack.encode({"number": 5, "revoked": [id_of("eve")], "words": "why"})
    signed = SEAL.written(SEAL.sign(DocumentKind.DECISIONS, SCHEMA.encode(alone), FOUNDER_KEYS))
    records = known()
    records.learn(signed, NOW)
    assert records.to_bytes() == signed
    assert records.decisions.end is None


def test_threshold_ends_and_takes_the_end_back():
    records = town("anna", "ben", "cleo")
    ended = wished(records, "anna", ModerationAct.SUCCESSOR, who=LINK, words="It was good.")
    records.take(ended, NOW)
    assert records.decisions.end is None, "one of three ends nothing"
    (told,) = moderation_view(records, id_of("ben"), lambda _: "", NOW).proposals
    assert [(one.act, one.words or one.name) for one in told.changes] == [
        (ModerationAct.END, "It was good."),
        (ModerationAct.SUCCESSOR, LINK),
    ]
    records.take(only_signed(ended, "ben"), NOW)
    assert records.decisions.end == End(state=EndState.CLOSED, words="It was good.", successor=LINK)
    assert not records.decisions.lets_in
    resumed = wished(records, "cleo", ModerationAct.RESUME)
    records.take(resumed, NOW)
    records.take(only_signed(resumed, "ben"), NOW)
    assert records.decisions.end is None
    assert records.decisions.lets_in


def test_pause_lets_newcomers_in():
    records = town("anna", threshold=1)
    records.take(wished(records, "anna", ModerationAct.PAUSE, words="The server moves."), NOW)
    assert records.decisions.end == End(state=EndState.PAUSED, words="The server moves.")
    assert records.decisions.lets_in
    with pytest.raises(BadInput, match="neither paused nor ended"):
        wished(town("anna", threshold=1), "anna", ModerationAct.RESUME)


@pytest.mark.parametrize(
    "link", ["", "https://one.example", LINK + " x", LINK.replace("ab", "a"), f"potluck://x/{RUN.hex()}#s", "x" * 599]
)
def test_successor_is_the_link_of_another_one(link):
    with pytest.raises(BadInput, match="not a link of another"):
        wished(town("anna", threshold=1), "anna", ModerationAct.SUCCESSOR, who=link)


def test_long_successor_is_refused_on_arrival():
    said = {"number": int(NOW), "end": {"state": "closed", "successor": "x" * 601}}
    document = SEAL.sign(DocumentKind.DECISIONS, msgspec.msgpack.encode(said), keys("anna"))
    with pytest.raises(RemoteProblem):
        town("anna", threshold=1).take(document, NOW)


def test_drill_names_those_who_have_not_signed():
    records = town("anna", "ben", "cleo")
    before = records.in_force
    records.take(new_drill(records, keys("anna"), NOW), NOW)
    assert records.in_force == before, "it changes nothing"
    assert not [*records.proposals]
    slow = NOW - 100  # a clock that is behind answers all the same
    records.take(new_drill(records, keys("ben"), slow), slow)

    def seen(at: float):
        return moderation_view(records, id_of("cleo"), lambda _: "", at).drill

    assert (seen(NOW).by, seen(NOW).missing, seen(NOW).is_late, seen(NOW).waits_here) == (
        "anna",
        ("cleo",),
        False,
        True,
    )
    assert seen(NOW + DRILL_S + 1).is_late
    records.take(new_drill(records, keys("cleo"), NOW + 60), NOW + 60)
    assert seen(NOW + 60).missing == ()
    assert seen(NOW + DRILL_S + 1) is None
    again = NOW + DRILL_S + 60
    records.take(new_drill(records, keys("ben"), again), again)
    assert (seen(again).by, set(seen(again).missing)) == ("ben", {"anna", "cleo"})


def test_drill_of_another_time_is_refused_and_stops_no_hold():
    records = town("anna", "ben")
    numbers = int(NOW) + 10, 2**53 - 1
    early = SEAL.sign(DocumentKind.HOLDS, HOLDS.encode(Holds(number=numbers[0], drill=numbers[1])), keys("anna"))
    with pytest.raises(RemoteProblem):
        records.take(early, NOW)
    late = SEAL.sign(DocumentKind.HOLDS, HOLDS.encode(Holds(number=numbers[1], drill=numbers[1])), keys("anna"))
    records.take(late, NOW)  # by a computer whose clock is wrong
    records.take(new_drill(records, keys("ben"), NOW), NOW)
    held = HeldPerson(id_of("eve"), int(NOW) + 86_400, "spam")
    assert records.take(new_holds(records, keys("ben"), NOW + 10, hold=[held], release=[]), NOW + 10)
    assert records.holds.of(id_of("ben")).number < NOW + 2 * CLOCKS_S


def test_only_moderators_drill():
    with pytest.raises(NotTrusted):
        new_drill(town("anna", threshold=1), keys("eve"), NOW)


def test_moderator_who_leaves_takes_no_decision_from_the_others():
    records = town("anna", "ben")
    leaves = wished(records, "anna", ModerationAct.REMOVE, who="anna")
    records.take(leaves, NOW)
    assert len(records.roles.moderators) == 2, "it waits for the other one"
    records.take(signed(leaves, "ben"), NOW)
    assert (records.roles.keys, records.roles.threshold) == ({id_of("ben")}, 1)
    with pytest.raises(BadInput, match="Nobody would be left"):
        wished(records, "ben", ModerationAct.REMOVE, who="ben")
