"""What counts for the next step, and for the one after."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.work import Progress
from core.swarm.epoch.contributing import Pending
from core.swarm.presence.membership import GOES_ON_S
from core.swarm.words.epoch import Phase


def counted(samples: int, *, ahead: int = 0, loss: float = 1.0) -> Progress:
    return Progress(epoch=0, samples=samples, ahead=ahead, samples_per_s=8.0, loss=loss)


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        (Phase.TRAINING, (84, 0)),
        (Phase.COLLECTING, (84, 0)),
        (Phase.OFFERED, (60, 24)),
        (Phase.AVERAGING, (60, 24)),
        (Phase.STEPPING, (24, 0)),
    ],
)
def test_samples_ahead_are_set_apart_while_a_contribution_is_out(phase: Phase, expected: tuple[int, int]) -> None:
    pending = Pending()
    pending.count(counted(84, ahead=24), phase, 1.0)
    assert (pending.samples, pending.ahead) == expected


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_a_failed_round_gives_back_what_a_committed_one_takes(out: int, ahead: int) -> None:
    failed, committed = Pending(out, ahead), Pending(out, ahead)
    failed.give_back()
    committed.take()
    assert (failed.samples, failed.ahead) == (out + ahead, 0)
    assert (committed.samples, committed.ahead) == (ahead, 0)


def test_a_speed_counts_until_the_next_word_is_due() -> None:
    pending = Pending(samples=10, samples_per_s=8.0, at=100.0)
    assert pending.by_now(99.0) == 10
    assert pending.by_now(101.0) == 18
    assert pending.by_now(500.0) == 10 + 8 * GOES_ON_S


def test_a_loss_that_is_not_a_number_is_passed_over() -> None:
    pending = Pending()
    pending.count(counted(4, loss=2.0), Phase.TRAINING, 1.0)
    pending.count(counted(8, loss=math.nan), Phase.TRAINING, 2.0)
    assert (pending.samples, pending.loss) == (8, 2.0)
