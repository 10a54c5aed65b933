"""What hosts that lie, or do not answer, do to flights and to what they measure."""

import pytest
import torch

from core.experts.queue import CallKind
from core.training.flights.calls import AskExpert, CallNews, ExpertAnswered, ExpertLapsed
from core.training.flights.flight import Turn
from core.training.flights.flights import MEASURED_LOSSES_MAX, NotMeasured
from tests.unit.training.mixtures import World, batches_of
from tests.unit.training.test_flights import NUMBERS, Answering, Far


def test_measuring_ends_while_the_trunk_takes_steps() -> None:
    """An evaluation of a far model takes longer than one of its steps."""
    world = World(NUMBERS, iter(()), carried=Far)
    world.flights.measure()
    for _ in range(200):
        world.field.epoch += 1
        world.experts.now += 1
        world.flights.turn(begin=False)
    assert world.flights.measured is not None


def test_measuring_ends_where_no_flight_comes_back() -> None:
    world = World(NUMBERS, iter(()), carried=lambda given: Answering(given, lambda ask, _: ExpertLapsed(ask.call)))
    world.flights.measure()
    turns = world.run()
    assert turns.count(Turn.LOST) <= MEASURED_LOSSES_MAX * len(world.passes.held_out)
    with pytest.raises(NotMeasured):
        assert world.flights.measured
    assert len(world.flights) == 0


def lying_world(lie: float, *, kind: CallKind, liars: set[int]) -> World:
    def change(ask: AskExpert, news: CallNews) -> CallNews:
        lies = ask.place in liars and ask.kind is kind
        return ExpertAnswered(ask.call, torch.full_like(ask.x_rW, lie), 0) if lies else news

    world = World(NUMBERS, iter(()), carried=lambda given: Answering(given, change), bounded=True)
    world.field.batches = iter(batches_of(world.task, 8, rows=16, seed=15))
    return world


@pytest.mark.parametrize("kind", list(CallKind))
@pytest.mark.parametrize("lie", [1e6, 3e38])
def test_lies_of_a_host_scale_no_gradient(lie: float, kind: CallKind) -> None:
    """One of nine places of each layer answers so, or gives such gradients of rows."""
    honest, lied = (lying_world(lie, kind=kind, liars=liars) for liars in (set[int](), {0}))
    for world in (honest, lied):
        assert world.run().count(Turn.LANDED) == 8
    sizes = [sum(gradient.norm().item() for _, _, gradient in world.field.landed) for world in (honest, lied)]
    assert sizes[1] < 2 * sizes[0]
    assert all(ask.gradient_rW is None or ask.gradient_rW.isfinite().all() for ask in lied.experts.asked)


@pytest.mark.parametrize("kind", list(CallKind))
def test_numbers_that_overflow_give_batches_back(kind: CallKind) -> None:
    """Where all hosts lie nothing is usual, but no honest one is asked with what came of it, and no row is lost."""
    world = lying_world(3e38, kind=kind, liars=set(range(9)))
    world.field.land = lambda *_: bool(world.parameters.gradients_N.isfinite().all())
    assert set(world.run()) == {Turn.MOVED, Turn.LOST}
    assert len(world.field.lost) == 8
    assert all(ask.gradient_rW is None or ask.gradient_rW.isfinite().all() for ask in world.experts.asked)
    assert all(ask.x_rW.isfinite().all() for ask in world.experts.asked)


def test_a_gradient_that_is_not_finite_blames_large_answers() -> None:
    world = lying_world(1e6, kind=CallKind.FORWARD, liars={0})
    world.field.land = lambda *_: False
    assert world.run().count(Turn.LOST) == 8
    liars = {ask.call for ask in world.experts.asked if ask.place == 0 and ask.kind is CallKind.FORWARD}
    assert set(world.experts.blamed) == liars


def test_a_trunk_that_is_not_finite_asks_nobody() -> None:
    world = World(NUMBERS, iter(()))
    world.field.batches = iter(batches_of(world.task, 2, rows=4, seed=16))
    world.parameters.values_N.fill_(torch.nan)
    assert world.run() == [Turn.NOT_FINITE] * 2
    assert not world.experts.asked
