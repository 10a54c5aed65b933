"""The checker of samples notices what it is there for."""

from typing import Any

import numpy as np
import pytest

from core.base.ids import PeerId
from core.swarm.words.orders import RoundRecord
from core.swarm.words.states import StateName
from tests.sim.swarm.sample_checkers import Contributions, EachSampleOnce
from tests.sim.swarm.samples import Contributed, Stretch
from tests.sim.swarm.worker import Absorbed

STATES = [StateName(n, bytes([n]) * 32) for n in range(5)]
MEAN = np.zeros(4, dtype=np.float32)


class At:
    peer = PeerId(b"p" * 32)


NODE: Any = At()


def step(checker: EachSampleOnce, before: StateName, to: StateName, *stretches: Stretch) -> None:
    samples = sum(stretch.samples for stretch in stretches)
    said = (
        Contributed(before, stretches),
        RoundRecord(to, ((NODE.peer, samples),), 1.0, (), 1.0),
        Absorbed(before, to, MEAN),
    )
    for second, news in enumerate(said, 10 * to.epoch):  # the round began when the contribution was there
        checker.said(NODE, news, float(second))


def at(number: int, first: int, samples: int, *, life: int = 1) -> Stretch:
    return Stretch(life, STATES[number], first, samples)


def test_samples_one_step_old_are_fine() -> None:
    checker = EachSampleOnce()
    step(checker, STATES[0], STATES[1], at(0, 0, 8))
    step(checker, STATES[1], STATES[2], at(0, 8, 4), at(1, 0, 12))
    step(checker, STATES[2], STATES[3], at(1, 12, 4))
    assert (checker.samples, checker.stale) == (28, 8)


def test_samples_that_are_older_are_noticed() -> None:
    checker = EachSampleOnce()
    step(checker, STATES[0], STATES[1], at(0, 0, 8))
    step(checker, STATES[1], STATES[2], at(1, 0, 8))
    with pytest.raises(Exception, match="older than one step"):
        step(checker, STATES[2], STATES[3], at(0, 8, 4))


def test_samples_that_count_twice_are_noticed() -> None:
    checker = EachSampleOnce()
    step(checker, STATES[0], STATES[1], at(0, 0, 8))
    step(checker, STATES[1], STATES[2], at(0, 8, 4, life=1))
    with pytest.raises(Exception, match="and in the one before"):
        step(checker, STATES[1], STATES[3], at(0, 7, 4))
    step(checker, STATES[1], STATES[4], at(0, 0, 8, life=2))  # another worker's


def test_samples_that_are_lost_are_noticed() -> None:
    checker = EachSampleOnce()
    step(checker, STATES[0], STATES[1], at(0, 0, 8))
    with pytest.raises(Exception, match="lost samples"):
        step(checker, STATES[1], STATES[2], at(0, 12, 4), at(1, 0, 8))


def test_samples_that_were_never_handed_over_are_noticed() -> None:
    checker = EachSampleOnce()
    checker.said(NODE, Contributed(STATES[0], (at(0, 0, 8),)), 0.0)
    checker.said(NODE, RoundRecord(STATES[1], ((NODE.peer, 9),), 1.0, (), 1.0), 0.0)
    with pytest.raises(Exception, match="never handed over"):
        checker.said(NODE, Absorbed(STATES[0], STATES[1], MEAN), 0.0)


def test_last_contribution_before_a_round_is_the_one_that_counts() -> None:
    """Whatever was handed over later, or had just so many samples when another round failed."""
    made = Contributions()
    stretches = [at(0, 0, samples) for samples in (8, 12, 16)]
    for now, stretch in enumerate(stretches):
        made.add(NODE.peer, Contributed(STATES[0], (stretch,)), float(now))
    for began_at, samples, place in ((1.5, 8, 1), (0.5, 8, 0), (9.0, 8, 2), (0.5, 12, 1), (1.5, 16, 2)):
        assert made.of(NODE.peer, STATES[0], samples, began_at=began_at) == (stretches[place],)
