"""A moderator holds the backbone, in the records of who starts."""

import pytest

from core.authority.changes import new_holds
from core.authority.holds import HeldPerson
from core.authority.records import AuthorityRecords
from core.net.clock import Clock
from tests.process.net_people import eventually, in_loop, keys
from tests.process.test_session import AUTHORITY, LOOPBACK, MANIFEST, two

pytestmark = pytest.mark.process


def test_one_moderator_keeps_no_backbone_away_from_who_starts(tmp_path):
    """Who starts has seen no pass yet, so it cannot tell by that which of the held is a backbone."""
    anna, now, records = keys("anna").peer_id, Clock().now(), AuthorityRecords(AUTHORITY.id, MANIFEST.id)
    held = HeldPerson(anna, int(now) + 3600, "")
    records.take(new_holds(records, keys("authority"), now, hold=[held], release=[]), now)

    @in_loop
    async def run():
        async with two(tmp_path, LOOPBACK, records.to_bytes()) as (_, volunteer):
            await eventually(lambda: volunteer.sees() == {"anna"})

    run()
