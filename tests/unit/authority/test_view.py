"""Moderators see all that they sign."""

import pytest

from core.api.moderation import ModerationAct
from core.authority.decisions import Announcement, GoBack
from core.authority.view import moderation_view
from tests.unit.authority.people import decided, roles, town
from tests.unit.net.people import NOW, id_of

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
        ({"back": OTHER}, (ModerationAct.GO_BACK, OTHER.root.hex()[:8])),
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
