"""A town whose moderators decide while a thief has keys of two of them, and of all who were removed."""

import pytest

from core.authority import records, roles
from core.authority.records import AuthorityRecords
from tests.attacks.moderators import town


def test_nothing_holds_that_too_few_have_signed():
    found = town(1)
    assert (found.too_few, found.apart) == (0, 0)
    assert found.decided > 3
    assert found.dropped > 10


def test_thief_rules_where_old_moderators_are_not_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(records, "can_follow", lambda new, _before, signers: roles.can_follow(new, new, signers))
    assert sum(town(seed).too_few for seed in range(3)) > 0


def test_town_stays_apart_where_nobody_asks_back(monkeypatch: pytest.MonkeyPatch):
    """Without the parts that were lost: what one has learned stays with those whom it told at once."""
    monkeypatch.setattr(AuthorityRecords, "marked", lambda _self: {})
    assert sum(town(seed).apart for seed in range(3)) > 0
