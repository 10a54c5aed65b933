"""How great a radius may be that a reducer says: what members tell in the whole share has room for all its chunks."""

import math

import numpy as np
import pytest

from core.averaging.commit.proof import RADIUS_SLACK, ChunkFacts, Measure
from core.averaging.commit.sums import Term
from core.averaging.messages import SUMS

TYPICAL = 2.0
TERMS = {member: Term(1 / 3, 1.0, 1.0) for member in range(3)}


@pytest.mark.parametrize("apart", [0.1, 1.0, 1.5, 5.0])
@pytest.mark.parametrize("far", [1, 3])
def test_radius_has_room_where_members_agree_in_some_chunks(apart: float, far: int) -> None:
    """In four chunks two members agree, and the radius is half of what is typical; in others they are apart.

    The third member is further from both.  Projections tell the distances exactly, so all of the slack is left.
    """
    near = [ChunkFacts(TERMS, TYPICAL / 2, 0.0, TYPICAL)] * 4
    radius = max(apart / math.sqrt(2), TYPICAL / 2)
    measure = Measure(frozenset(TERMS), [*near, *[ChunkFacts(TERMS, radius, 0.0, TYPICAL)] * far])
    distance = apart * math.sqrt(far)
    sums = {member: np.full(SUMS, place * distance / 3) for member, place in enumerate((0.0, 1.0, 4.0))}
    assert measure.widest(sums, 1.0) >= RADIUS_SLACK * measure.clipped * (1 - 1e-9)
    alike = {member: np.zeros(SUMS) for member in TERMS}
    assert measure.widest(alike, 1.0) == pytest.approx(RADIUS_SLACK * TYPICAL / 2 * math.sqrt(4 + far))
