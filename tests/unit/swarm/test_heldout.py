"""Losses on the held-out text that others report."""

import pytest

from core.base.bounds import EPOCH_MAX
from core.swarm.presence.membership import heldout_news
from core.swarm.words.orders import HeldoutLearned
from core.swarm.words.progress import ProgressReport
from core.swarm.words.states import StateName
from tests.unit.swarm.stage import FIRST, Stage, report_of


def said(loss: float | None, epoch: int = 0) -> ProgressReport:
    return report_of(FIRST, time=1000.0, heldout_loss=loss, heldout_epoch=epoch)


def shown(*losses: float | None, known: tuple[float | None, ...] = ()) -> list[float]:
    return sorted(look.loss for look in heldout_news(map(said, losses), known=known, epoch_max=0))


@pytest.mark.parametrize("known", [(4.0, None), (None, 3.0), (0.5, 4.0)])
def test_loss_near_what_is_known_is_shown(known: tuple[float | None, ...]) -> None:
    assert shown(3.5, known=known) == [3.5]


@pytest.mark.parametrize("loss", [1e9, -1e9, 17.0])
def test_loss_far_from_what_is_known_is_not_shown(loss: float) -> None:
    assert shown(*[loss] * 6, known=(4.0, 3.0)) == []


def test_peer_that_knows_nothing_goes_by_the_median() -> None:
    assert shown(3.0, 3.1, 3.2, 1e9, known=(None, None)) == [3.0, 3.1, 3.2]
    assert shown(3.0, 3.1, 1e9, None) == [3.0, 3.1], "each counts once"
    assert shown(3.2) == [3.2]
    assert shown() == []


def test_report_without_a_look_tells_nothing() -> None:
    assert shown(None, known=(4.0,)) == []
    assert not heldout_news([said(4.0, epoch=5)], known=(4.0,), epoch_max=9)


def looks(stage: Stage) -> list[HeldoutLearned]:
    return [output for output in stage.said if isinstance(output, HeldoutLearned)]


def test_look_is_told_once_and_at_no_later_epoch() -> None:
    """A liar puts a point where the curve of everybody that looks at it ends in millions of steps."""
    stage, ahead = Stage(), StateName(EPOCH_MAX, b"\xff" * 32)
    stage.ready()
    for _ in range(3):
        stage.now += 1
        stage.read(
            p1=report_of(FIRST, time=stage.now, heldout_loss=3.0),
            p20=report_of(ahead, time=stage.now, heldout_loss=3.0, heldout_epoch=EPOCH_MAX),
        )
    assert looks(stage) == [HeldoutLearned(0, 3.0)]


def test_keys_without_a_pass_tell_of_no_look() -> None:
    stage = Stage()
    stage.ready()
    stage.passes = False
    stage.read(p20=report_of(FIRST, time=stage.now, heldout_loss=3.0))
    assert looks(stage) == []
