"""A participant takes its numbers from the manifest and the role."""

from pathlib import Path

import pytest

from core.base.manifest import Manifest
from core.base.signing import KeyPair
from core.nat.relay import RelaySettings
from core.session.participant import Role, participant_of

KEY = KeyPair(b"k" * 32)


@pytest.mark.parametrize(("floor", "asked", "last"), [(0.0, None, 30), (0.0, 7, 7), (0.0, 99, 30), (0.1, None, None)])
def test_participant_stops_where_the_schedule_ends(
    tmp_path: Path, floor: float, asked: int | None, last: int | None
) -> None:
    optimizer = {"name": "lamb", "total_epochs": 30, "floor": floor}
    manifest = Manifest(name="n", organiser="o", task="gpt", authority=KEY.peer_id.hex(), optimizer=optimizer)
    role = Role(name="volunteer", bind="127.0.0.1", relay=RelaySettings(), last_epoch=asked)
    participant = participant_of(manifest, role, keys=KEY, folder=tmp_path)
    assert participant.view(0.0).settings.last_epoch == last
