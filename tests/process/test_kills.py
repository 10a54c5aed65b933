"""Nothing that was acknowledged is lost by kill -9 under load; `python -m tests.attacks.kills` plays more moments."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.attacks.kills import kills

pytestmark = pytest.mark.process


@pytest.mark.skipif(sys.platform != "linux", reason="each newcomer has an address of its own, 127.x.y.z")
def test_killed_backbone_keeps_all_that_it_acknowledged(tmp_path: Path) -> None:
    known, missing = asyncio.run(kills(tmp_path, 2, 3))
    assert not missing
    assert known.people
    assert known.counts["copy"] + known.counts["revoked"] + known.counts["invitation"]
