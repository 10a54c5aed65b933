"""What a round tells of its members' looks at the held-out text."""

import msgspec
import pytest

from core.averaging.allreduce.share_map import ShareMap
from core.averaging.outcome import outcome_of
from tests.unit.averaging.pump import make_plan

EPOCH = 12


@pytest.mark.parametrize(
    ("looks", "told"),
    [
        ([(10, 2.0), (10, 2.5), (10, 2.25)], ((10, 2.25),)),
        ([(10, 2.0), (5, 3.0), (EPOCH, 2.5)], ((5, 3.0), (10, 2.0), (EPOCH, 2.5))),
        ([(10, 2.0), (EPOCH + 1, 2.0), (10, None)], ((10, 2.0),)),
        ([(10, 2.0), (10, 60.0), (11, -60.0)], ((10, 2.0),)),
        ([(10, None)] * 3, ()),
    ],
)
def test_looks_at_heldout_text(looks: list[tuple[int, float | None]], told: tuple[tuple[int, float], ...]) -> None:
    plan = make_plan([1, 1, 1], 48, chunk_numel=16)
    members = tuple(member.seen(*look) for member, look in zip(plan.members, looks, strict=True))
    shares = ShareMap(msgspec.structs.replace(plan, members=members, epoch=EPOCH))
    outcome = outcome_of(shares, present=[3, 3, 3], versions=(0, 0, 0), bits=b"")
    assert outcome.heldout == told
