"""Losses on the held-out text that others report."""

import pytest

from core.swarm.presence.membership import heldout_news
from core.swarm.words.orders import HeldoutLearned
from core.swarm.words.progress import ProgressReport
from tests.unit.swarm.stage import FIRST, report_of


def said(loss: float | None, epoch: int = 0) -> ProgressReport:
    return report_of(FIRST, time=1000.0, heldout_loss=loss, heldout_epoch=epoch)


@pytest.mark.parametrize("known", [(4.0, None), (None, 3.0), (0.5, 4.0)])
def test_loss_near_what_is_known_is_shown(known: tuple[float | None, ...]) -> None:
    assert heldout_news(said(3.5), known=known, others=[]) == [HeldoutLearned(0, 3.5)]


@pytest.mark.parametrize("loss", [1e9, -1e9, 17.0])
def test_loss_far_from_what_is_known_is_not_shown(loss: float) -> None:
    assert heldout_news(said(loss), known=(4.0, 3.0), others=[said(loss)] * 5) == []


def test_peer_that_knows_nothing_goes_by_the_median() -> None:
    others = [said(3.0), said(3.1), said(3.2), said(1e9)]
    assert heldout_news(said(3.2), known=(None, None), others=others) == [HeldoutLearned(0, 3.2)]
    assert heldout_news(said(1e9), known=(None, None), others=[*others, said(None)]) == []
    assert heldout_news(said(1e9), known=(), others=[said(3.0), said(3.1), said(1e9)]) == [], "each counts once"
    assert heldout_news(said(3.2), known=(), others=[]) == [HeldoutLearned(0, 3.2)]


def test_report_without_a_look_tells_nothing() -> None:
    assert heldout_news(said(None), known=(4.0,), others=[]) == []
    assert heldout_news(said(4.0, epoch=5), known=(4.0,), others=[]) == []
