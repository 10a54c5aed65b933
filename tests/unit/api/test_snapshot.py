"""What a snapshot says of itself."""

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
