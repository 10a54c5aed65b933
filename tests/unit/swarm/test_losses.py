"""A trainer whose losses are not numbers."""

import math

from core.api.score import Score
from core.averaging.matchmaking import Ready
from core.base.work import Collected, Evaluated
from core.swarm.words.orders import HeldoutLearned
from tests.unit.swarm.stage import Stage
from tests.unit.swarm.test_participant import call


def test_a_loss_that_is_no_number_counts_for_nothing() -> None:
    stage = Stage()
    stage.ready()
    called = call(stage, 1)
    stage.progress(samples=4, samples_per_s=1.0, loss=math.nan)
    stage.answer(Collected(round=called, epoch=0, samples=9, loss=math.nan))
    assert [(ready.member.samples, ready.member.loss) for ready in stage.heard_by(1, Ready)] == [(0, 0.0)]
    assert stage.actor.report(stage.now).samples == 0
    stage.answer(Evaluated(epoch=0, score=Score(math.inf), baselines={}))
    assert not stage.ordered(HeldoutLearned)  # type: ignore[arg-type]
    assert stage.actor.report(stage.now).heldout_loss is None
