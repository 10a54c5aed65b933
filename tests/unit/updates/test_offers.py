"""Who takes which version, and when it is looked for."""

import hashlib
from random import Random

import pytest

from core.api.program_folder import numbers, this_system
from core.engine.update_watch import DAY_S, next_look
from core.updates.offers import OfferedArchive, OfferedVersion, best, place

PEOPLE = [hashlib.sha256(f"{number}".encode()).hexdigest()[:32] for number in range(10_000)]
HERE = {this_system(): OfferedArchive(name="a.tar.xz", unpacked_bytes=1)}


def takers(share: float, version: str = "0.2.0") -> set[str]:
    offered = [OfferedVersion(version=version, share=share, archives=HERE)]
    chosen = {one: best(offered, installation=one, above="0.1.0", is_bad=lambda _: False) for one in PEOPLE}
    return {one for one, found in chosen.items() if found is not None}


def test_shares_are_right_and_raising_one_keeps_people():
    before: set[str] = set()
    for share in (0.0, 0.01, 0.1, 0.25, 0.5, 0.9, 1.0):
        now = takers(share)
        assert abs(len(now) / len(PEOPLE) - share) < 4 * (share * (1 - share) / len(PEOPLE)) ** 0.5 + 1e-9
        assert before <= now
        before = now
    assert before == set(PEOPLE)


def test_first_people_are_others_for_each_version():
    one, other = takers(0.1), takers(0.1, "0.3.0")
    assert abs(len(one & other) / len(PEOPLE) - 0.01) < 0.005


def test_places_are_even_and_follow_from_id_alone():
    assert place("me", "1.0") == place("me", "1.0")
    tenths = [0] * 10
    for one in PEOPLE:
        tenths[int(10 * place(one, "0.2.0"))] += 1
    assert max(abs(count - 1000) for count in tenths) < 150


@pytest.mark.parametrize(
    ("above", "bad", "found"),
    [("0.1.0", "", "0.10.0"), ("0.1.0", "0.10.0", "0.9.1"), ("0.10.0", "", None), ("1.0", "", None)],
)
def test_newest_version_that_is_not_bad_is_taken(above, bad, found):
    offered = [OfferedVersion(version=one, archives=HERE) for one in ("0.9.1", "0.10.0", "0.2.0")]
    offered.append(OfferedVersion(version="9.0", archives={"amiga-m68k": HERE[this_system()]}))
    taken = best(offered, installation="me", above=above, is_bad=lambda version: version == bad)
    assert (taken.version if taken is not None else None) == found


def test_numbers_of_what_is_not_a_version_are_empty():
    assert numbers("0.10.0") > numbers("0.9.1") > numbers("") == numbers("../etc") == numbers("1") == ()


def test_looks_spread_over_a_day_and_its_neighbours():
    random, now = Random(1), 1e9
    looks = [next_look(now - 3600, now, random) - (now - 3600) for _ in range(1000)]
    assert 0.8 * DAY_S <= min(looks) < 0.82 * DAY_S
    assert 1.18 * DAY_S < max(looks) <= 1.2 * DAY_S
    for never in (0.0, now + 1e6):
        assert 60 <= next_look(never, now, random) - now <= 3600
    assert next_look(now - 9 * DAY_S, now, random) <= now + 60
