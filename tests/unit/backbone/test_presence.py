"""What newcomers are told of a collaboration, of which its members make a part."""

import msgspec
import pytest

from core.backbone.welcome import FASTER, presence
from core.base.ids import PeerId
from core.joining.look import NOW
from core.swarm.words.progress import decode_report, encode_report
from tests.unit.engine.test_snapshots import report, seen


@pytest.mark.parametrize("honest", [[], [5.0], [5.0, 8.0, 300.0]])
def test_member_with_a_made_up_speed_turns_no_newcomer_away(honest: list[float]) -> None:
    speeds = [0.0, *honest, 1e12]
    records = [encode_report(report(samples_per_s=speed)) for speed in speeds]
    peers = {PeerId(bytes([n]) * 32): decode_report(record) for n, record in enumerate(records)}
    read = NOW.decode(msgspec.json.encode(presence(seen(peers=peers))))
    assert read.computers == len(speeds)
    if honest:
        assert sum(honest) <= read.samples_per_s <= sum(honest) + FASTER * 8.0
