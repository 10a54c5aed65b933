"""What a snapshot says of itself."""

import msgspec

from core.api.reports import DayGift
from core.api.snapshot import PeerView
from tests.unit.cli.conftest import a_snapshot


def peer(role: str, number: int) -> PeerView:
    return PeerView(
        peer=str(number),
        name="x",
        is_me=False,
        role=role,
        activity="training",
        epoch=1,
        samples_pending=0,
        samples_per_s=1,
    )


def test_volunteers_train_and_backbones_are_apart():
    snapshot = a_snapshot(peers=[peer(role, n) for n, role in enumerate(["volunteer", "backbone", "volunteer", "odd"])])
    assert (snapshot.volunteers, snapshot.always_on) == (2, 1)


def test_time_given_today_says_nothing_new_and_samples_do():
    today = DayGift(day="2026-11-24", seconds=5.0, samples=7)
    before = msgspec.structs.replace(a_snapshot(), today=today)
    for change, same in (({"seconds": 9.0, "joules": 4.0, "bytes_sent": 3}, True), ({"samples": 8}, False)):
        after = msgspec.structs.replace(before, today=msgspec.structs.replace(today, **change))
        assert after.says_the_same(before) is same
